//! Edits of settings files that belong to other programs.
//!
//! One entry of one table is looked up, set or removed, and every other byte stays as it was,
//! including comments, order and indentation. The result of an edit is parsed before it is
//! returned: it must equal the old content with that one entry changed. Otherwise the edit is
//! rejected.

mod json;
mod toml;

use std::ops::Range;

use serde_json::{Map, Value};
use sp_tree::Limits;
use thiserror::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsFormat {
    /// JSON, possibly with comments and trailing commas.
    Json,
    Toml,
}

/// An entry: a key in a top-level table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingsKey<'a> {
    pub table: &'a str,
    pub key: &'a str,
}

/// Why a file cannot be read or edited.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct SettingsError {
    /// The bytes that caused the error.
    pub span: Range<usize>,
    pub message: String,
    /// How to fix it.
    pub help: &'static str,
}

impl SettingsError {
    fn new(span: Range<usize>, message: impl Into<String>, help: &'static str) -> Self {
        Self { span, message: message.into(), help }
    }
}

type Result<T> = std::result::Result<T, SettingsError>;

impl SettingsFormat {
    /// Returns the value of an entry, or `None` if it is missing.
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

    /// Returns the text with the entry set to `value`.
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

    /// Returns the text without an entry, or `None` if it is missing.
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
                // A TOML table that is empty without the entry is removed with it.
                wanted.remove(entry.table);
            }
        }
        self.verify_edit(edited, &wanted, limits).map(Some)
    }

    fn read_all(self, text: &str, limits: &Limits) -> Result<Map<String, Value>> {
        match self {
            Self::Json => json::JsonSettings::parse(text, limits)?.read_all(),
            Self::Toml => toml::read_all(text),
        }
    }

    /// Returns the edited text if its content is as expected.
    fn verify_edit(
        self,
        edited: String,
        expected: &Map<String, Value>,
        limits: &Limits,
    ) -> Result<String> {
        let says = |text: &str| self.read_all(text, limits).ok();
        let same = says(&edited).is_some_and(|mut said| {
            // An empty TOML table may stay if it has a header.
            said.retain(|key, value| {
                expected.contains_key(key) || value != &Value::Object(Map::new())
            });
            said == *expected
        });
        if same {
            Ok(edited)
        } else {
            Err(SettingsError::new(
                0..0,
                "the file cannot be changed without affecting other settings",
                "edit the file by hand",
            ))
        }
    }
}

#[cfg(test)]
mod tests;
