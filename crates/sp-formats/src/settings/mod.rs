//! Settings files that other programs and people wrote: one entry of one table is looked up, set or taken
//! out, and every other byte stays as it was, comments, order and indentation included.
//!
//! Whatever an edit gives is read again before it is given out: it must say what the old text said, with
//! that one entry changed. What cannot be changed so is refused.

mod json;
mod toml;

use std::ops::Range;

use serde_json::{Map, Value};
use sp_tree::Limits;
use thiserror::Error;

/// How a settings file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsFormat {
    /// JSON, perhaps with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
}

/// Which entry: its key, in a table at the top of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingsKey<'a> {
    /// The table.
    pub table: &'a str,
    /// The key in it.
    pub key: &'a str,
}

/// Why a file cannot be read, or not be changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct SettingsError {
    /// Which bytes are to blame.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: &'static str,
}

impl SettingsError {
    fn new(span: Range<usize>, message: impl Into<String>, help: &'static str) -> Self {
        Self { span, message: message.into(), help }
    }
}

type Result<T> = std::result::Result<T, SettingsError>;

impl SettingsFormat {
    /// What an entry holds; none if it is not there.
    pub fn get_entry(
        self,
        text: &str,
        entry: SettingsKey<'_>,
        limits: &Limits,
    ) -> Result<Option<Value>> {
        match self {
            Self::Json => json::JsonSettings::parse(text, limits)?.get_entry(entry),
            Self::Toml => toml::get_entry(text, entry),
        }
    }

    /// The text with an entry that holds `value`, new or in the place of the old one.
    pub fn with_entry(
        self,
        text: &str,
        entry: SettingsKey<'_>,
        value: &Value,
        limits: &Limits,
    ) -> Result<String> {
        if self.get_entry(text, entry, limits)?.as_ref() == Some(value) {
            return Ok(text.into());
        }
        let (edited, mut wanted) = match self {
            Self::Json => {
                let settings = json::JsonSettings::parse(text, limits)?;
                (settings.set_entry(entry, value)?, settings.read_all()?)
            }
            Self::Toml => (toml::set_entry(text, entry, value)?, toml::read_all(text)?),
        };
        let table = wanted.entry(entry.table).or_insert_with(|| Map::new().into());
        if let Some(table) = table.as_object_mut() {
            table.insert(entry.key.into(), value.clone());
        }
        self.verify_edit(edited, &wanted, limits)
    }

    /// The text without an entry; none if it is not there.
    pub fn without_entry(
        self,
        text: &str,
        entry: SettingsKey<'_>,
        limits: &Limits,
    ) -> Result<Option<String>> {
        if self.get_entry(text, entry, limits)?.is_none() {
            return Ok(None);
        }
        let (edited, mut wanted) = match self {
            Self::Json => {
                let settings = json::JsonSettings::parse(text, limits)?;
                (settings.remove_entry(entry)?, settings.read_all()?)
            }
            Self::Toml => (toml::remove_entry(text, entry)?, toml::read_all(text)?),
        };
        if let Some(table) = wanted.get_mut(entry.table).and_then(Value::as_object_mut) {
            table.remove(entry.key);
            if table.is_empty() && self == Self::Toml {
                // A table of TOML that was only there for its entry goes with it.
                wanted.remove(entry.table);
            }
        }
        self.verify_edit(edited, &wanted, limits).map(Some)
    }

    /// All that a text says.
    fn read_all(self, text: &str, limits: &Limits) -> Result<Map<String, Value>> {
        match self {
            Self::Json => json::JsonSettings::parse(text, limits)?.read_all(),
            Self::Toml => toml::read_all(text),
        }
    }

    /// Gives the text out if it says what is wanted.
    fn verify_edit(
        self,
        edited: String,
        wanted: &Map<String, Value>,
        limits: &Limits,
    ) -> Result<String> {
        let says = |text: &str| self.read_all(text, limits).ok();
        let same = says(&edited).is_some_and(|mut said| {
            // An empty table of TOML may stay, where it was written out.
            said.retain(|key, value| {
                wanted.contains_key(key) || value != &Value::Object(Map::new())
            });
            said == *wanted
        });
        match same {
            true => Ok(edited),
            false => Err(SettingsError::new(
                0..0,
                "it cannot be changed without a risk for the rest",
                "edit it by hand",
            )),
        }
    }
}

#[cfg(test)]
mod tests;
