//! Settings in TOML.

use std::ops::Range;

use serde_json::{Map, Value as Plain};
use toml_edit::{Document, DocumentMut, Item, Key, Table};

use super::{Result, SettingsError, SettingsKey};
use crate::toml_json::{item_to_json, table_to_json, to_toml_value};

const BOM: char = '\u{feff}';

/// Returns the text without its byte-order mark, and the mark.
fn split_bom(text: &str) -> (&str, &str) {
    let plain = text.strip_prefix(BOM).unwrap_or(text);
    text.split_at(text.len() - plain.len())
}

fn parse(text: &str) -> Result<Document<&str>> {
    let (mark, plain) = split_bom(text);
    Document::parse(plain).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let message = error.message().lines().next().unwrap_or_default().to_owned();
        SettingsError::new(
            span.start + mark.len()..span.end + mark.len(),
            message,
            "fix the TOML syntax here",
        )
    })
}

pub(super) fn read_all(text: &str) -> Result<Map<String, Plain>> {
    Ok(table_to_json(parse(text)?.as_table()))
}

pub(super) fn get_entry(text: &str, entry: SettingsKey<'_>) -> Result<Option<Plain>> {
    let document = parse(text)?;
    check_is_table(&document, entry.table, split_bom(text).0.len())?;
    Ok(document.get(entry.table).and_then(|table| table.get(entry.key)).map(item_to_json))
}

/// Fails if the name of the table is used by another value.
fn check_is_table(document: &Document<&str>, name: &str, shift: usize) -> Result<()> {
    match document.get(name) {
        Some(item) if !item.is_table_like() => {
            let span = item.span().unwrap_or(0..0);
            let message = format!("`{name}` must be a table, not {}", item.type_name());
            let help = "write a table, or remove the key";
            Err(SettingsError::new(span.start + shift..span.end + shift, message, help))
        }
        _ => Ok(()),
    }
}

pub(super) fn set_entry(text: &str, entry: SettingsKey<'_>, value: &Plain) -> Result<String> {
    let (mark, plain) = split_bom(text);
    let document = parse(text)?;
    check_is_table(&document, entry.table, mark.len())?;
    let table = document.get(entry.table);
    let old = table.and_then(|table| table.get(entry.key));
    let edited = match (table, old) {
        (None | Some(Item::Table(_)), None) => append_table(plain, entry, value),
        (Some(Item::Table(_)), Some(Item::Table(old))) if !old.is_dotted() => {
            let newline = newline(plain);
            replace_table(plain, old, &format_table(entry, value).replace('\n', newline))
        }
        _ => {
            let mut changed = document.into_mut();
            if let Some(table) = changed.get_mut(entry.table).and_then(Item::as_table_like_mut) {
                let mut new = to_toml_value(value);
                // A comment after the old value stays.
                if let Some(old) = table.get(entry.key).and_then(Item::as_value) {
                    new.decor_mut().clone_from(old.decor());
                }
                table.insert(entry.key, Item::Value(new));
            }
            splice_change(plain, &changed)
        }
    };
    Ok(format!("{mark}{edited}"))
}

pub(super) fn remove_entry(text: &str, entry: SettingsKey<'_>) -> Result<String> {
    let (mark, plain) = split_bom(text);
    let document = parse(text)?;
    let old = document.get(entry.table).and_then(|table| table.get(entry.key));
    let edited = match old {
        Some(Item::Table(old)) if !old.is_dotted() => replace_table(plain, old, ""),
        _ => {
            let mut changed = document.into_mut();
            if let Some(table) = changed.get_mut(entry.table).and_then(Item::as_table_like_mut) {
                table.remove(entry.key);
            }
            splice_change(plain, &changed)
        }
    };
    Ok(format!("{mark}{edited}"))
}

fn has_header(table: &Table) -> bool {
    !table.is_dotted() && !table.is_implicit()
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Formats a table with its header.
fn format_table(entry: SettingsKey<'_>, value: &Plain) -> String {
    let key = |key: &str| Key::new(key).display_repr().into_owned();
    let members = value.as_object().into_iter().flatten();
    let lines: String = members
        .map(|(name, value)| format!("{} = {}\n", key(name), to_toml_value(value)))
        .collect();
    format!("[{}.{}]\n{lines}", key(entry.table), key(entry.key))
}

/// Appends a table after a blank line, which is removed together with the table.
fn append_table(text: &str, entry: SettingsKey<'_>, value: &Plain) -> String {
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let new = format!("{gap}{}", format_table(entry, value));
    format!("{text}{}", new.replace('\n', newline(text)))
}

/// Replaces a table and its subtables.
fn replace_table(text: &str, table: &Table, new: &str) -> String {
    let mut regions = Vec::new();
    find_regions(text, table, &mut regions);
    regions.sort_by_key(|region| region.start);
    let (mut edited, mut at) = (String::with_capacity(text.len()), 0);
    for (number, region) in regions.into_iter().enumerate() {
        let before = &text[at..region.start.max(at)];
        let gap = newline(text);
        let blank = before.ends_with(&gap.repeat(2));
        let before =
            if new.is_empty() && blank { &before[..before.len() - gap.len()] } else { before };
        edited.push_str(before);
        if number == 0 {
            edited.push_str(new);
        }
        at = region.end.max(at);
    }
    edited + &text[at..]
}

/// The lines of a table from its header to its last value, and those of its subtables.
fn find_regions(text: &str, table: &Table, regions: &mut Vec<Range<usize>>) {
    if let Some(header) = table.span().filter(|_| has_header(table)) {
        let end = last_value_end(table).max(header.end);
        let start = text[..header.start].rfind('\n').map_or(0, |line| line + 1);
        regions.push(start..text[end..].find('\n').map_or(text.len(), |line| end + line + 1));
    }
    for (_, item) in table {
        match item {
            Item::Table(below) => find_regions(text, below, regions),
            Item::ArrayOfTables(list) => {
                list.iter().for_each(|below| find_regions(text, below, regions));
            }
            _ => {}
        }
    }
}

/// Where the last value of a table ends, including dotted keys.
fn last_value_end(table: &Table) -> usize {
    let ends = table.iter().map(|(_, item)| match item {
        Item::Value(value) => value.span().map_or(0, |span| span.end),
        Item::Table(below) if below.is_dotted() => last_value_end(below),
        _ => 0,
    });
    ends.max().unwrap_or(0)
}

/// Applies only the part that differs to the old text, so that line endings elsewhere stay.
fn splice_change(text: &str, changed: &DocumentMut) -> String {
    let changed = changed.to_string().replace("\r\n", "\n");
    let old = text.replace("\r\n", "\n");
    let same = |(a, b): &(char, char)| a == b;
    let start: usize =
        old.chars().zip(changed.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let (old_rest, new_rest) = (&old[start..], &changed[start..]);
    let backwards = old_rest.chars().rev().zip(new_rest.chars().rev());
    let end: usize = backwards.take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let middle = new_rest[..new_rest.len() - end].replace('\n', newline(text));
    // In the old text a line ending may be one byte longer.
    let original_offset = |at: usize| {
        let mut passed = 0;
        let found = text.bytes().enumerate().find(|(offset, byte)| {
            let dropped = *byte == b'\r' && text.as_bytes().get(offset + 1) == Some(&b'\n');
            let here = passed == at;
            passed += usize::from(!dropped);
            here
        });
        found.map_or(text.len(), |(offset, _)| offset)
    };
    format!(
        "{}{middle}{}",
        &text[..original_offset(start)],
        &text[original_offset(old.len() - end)..]
    )
}
