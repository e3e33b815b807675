//! TOML with the position of each value.

use crate::extract::line_range::LineRange;
use crate::extract::source_text::SourceText;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(crate) struct TomlFile<'s> {
    source: SourceText<'s>,
    root: Spanned<DeTable<'s>>,
}

impl<'s> TomlFile<'s> {
    /// Parses a text; `None` if it is not valid TOML.
    pub(crate) fn parse(source: SourceText<'s>) -> Option<Self> {
        Some(Self { source, root: DeTable::parse(source.text).ok()? })
    }

    /// The table at a key path; the root for an empty path.
    pub(crate) fn table(&self, path: &[&str]) -> Option<&DeTable<'s>> {
        let mut table = self.root.get_ref();
        for key in path {
            match table.get(*key)?.get_ref() {
                DeValue::Table(inner) => table = inner,
                _ => return None,
            }
        }
        Some(table)
    }

    pub(crate) fn value(&self, path: &[&str]) -> Option<&Spanned<DeValue<'s>>> {
        let (last, tables) = path.split_last()?;
        self.table(tables)?.get(*last)
    }

    /// The scalar at a key path, as text.
    pub(crate) fn scalar_text(&self, path: &[&str]) -> Option<String> {
        self.value(path).and_then(|value| text(value.get_ref()))
    }

    /// The strings of the array at a key path.
    pub(crate) fn strings(&self, path: &[&str]) -> Vec<String> {
        match self.value(path).map(Spanned::get_ref) {
            Some(DeValue::Array(list)) => {
                list.iter().filter_map(|item| text(item.get_ref())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The entries of a table, in file order.
    pub(crate) fn entries(&self, path: &[&str]) -> Vec<(String, &DeValue<'s>)> {
        let table = self.table(path).into_iter().flat_map(|table| table.iter());
        let mut entries: Vec<(usize, String, &DeValue<'s>)> = table
            .map(|(key, value)| (key.span().start, key.get_ref().to_string(), value.get_ref()))
            .collect();
        entries.sort_by_key(|(at, ..)| *at);
        entries.into_iter().map(|(_, key, value)| (key, value)).collect()
    }

    /// The lines of a table, from its first key to the end of its last value.
    pub(crate) fn line_range(&self, path: &[&str]) -> LineRange {
        match self.table(path).and_then(table_span) {
            Some(range) => self.source.line_range(&range),
            None => self.source.all_lines(),
        }
    }
}

fn table_span(table: &DeTable<'_>) -> Option<Range<usize>> {
    let start = table.iter().map(|(key, _)| key.span().start).min()?;
    let end = table.iter().map(|(_, value)| value.span().end).max()?;
    (start < end).then_some(start..end)
}

/// A string, number or boolean as text.
pub(crate) fn text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::Boolean(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// Formats a value on one line, with tables and arrays abbreviated.
pub(crate) fn format_value(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Array(list) => {
            let items: Vec<String> =
                list.iter().take(12).map(|item| format_value(item.get_ref())).collect();
            format!("[{}{}]", items.join(", "), if list.len() > 12 { ", …" } else { "" })
        }
        DeValue::Table(table) => {
            let items: Vec<String> = table
                .iter()
                .take(8)
                .map(|(key, value)| {
                    format!("{} = {}", key.get_ref(), format_value(value.get_ref()))
                })
                .collect();
            format!("{{ {} }}", items.join(", "))
        }
        other => text(other).unwrap_or_default(),
    }
}
