//! Settings in JSON, possibly with comments and trailing commas.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Plain};
use sp_tree::Limits;

use super::{Result, SettingsError, SettingsKey};
use crate::json::{JsonDocument, JsonError, JsonKind, JsonValue, quoted, without_comments};
use crate::report::{TextEdit, apply_edits};

pub(super) struct JsonSettings<'t> {
    text: &'t str,
    /// The text with comments replaced by spaces; `None` if there is nothing else.
    json: Option<JsonDocument>,
}

/// How new members are laid out.
#[derive(Clone, Copy)]
enum JsonMemberLayout<'a> {
    /// On lines of their own with this indentation.
    Lines(&'a str),
    /// On the same line as the others.
    Inline,
}

/// A member to insert.
#[derive(Clone, Copy)]
struct NewMember<'a> {
    key: &'a str,
    value: &'a Plain,
}

/// Edits by position.
#[derive(Default)]
struct JsonSettingsEdits(Vec<TextEdit>);

impl JsonSettingsEdits {
    fn add(&mut self, span: Range<usize>, text: impl Into<String>) {
        self.0.push(TextEdit { span, text: text.into() });
    }
}

impl From<JsonError> for SettingsError {
    fn from(error: JsonError) -> Self {
        Self::new(error.span, error.message, error.help)
    }
}

impl<'t> JsonSettings<'t> {
    pub(super) fn parse(text: &'t str, limits: &Limits) -> Result<Self> {
        let plain = without_comments(text);
        let json =
            if plain.trim().is_empty() { None } else { Some(JsonDocument::parse(plain, limits)?) };
        let settings = Self { text, json };
        match settings.root() {
            Some(root) if root.kind() != JsonKind::Object => {
                let message =
                    format!("the settings must be an object, not {}", root.kind().describe());
                Err(SettingsError::new(root.span(), message, "write an object: `{}`"))
            }
            _ => Ok(settings),
        }
    }

    fn root(&self) -> Option<JsonValue<'_>> {
        self.json.as_ref().map(JsonDocument::root)
    }

    pub(super) fn read_all(&self) -> Result<Map<String, Plain>> {
        self.root().map_or(Ok(Map::new()), deserialize)
    }

    pub(super) fn get_entry(&self, entry: SettingsKey<'_>) -> Result<Option<Plain>> {
        let found = self.table(entry.table)?.and_then(|(_, table)| find_member(table, entry.key));
        found.map(|(_, value)| deserialize(value)).transpose()
    }

    /// The table of this name with its key, if it is present.
    fn table(&self, name: &str) -> Result<Option<(JsonValue<'_>, JsonValue<'_>)>> {
        let found = self.root().and_then(|root| find_member(root, name));
        match found {
            Some((_, table)) if table.kind() != JsonKind::Object => {
                let message =
                    format!("`{name}` must be an object, not {}", table.kind().describe());
                Err(SettingsError::new(table.span(), message, "write an object here: `{}`"))
            }
            found => Ok(found),
        }
    }

    pub(super) fn set_entry(&self, entry: SettingsKey<'_>, value: &Plain) -> Result<String> {
        let mut edits = JsonSettingsEdits::default();
        let table: Plain = Map::from_iter([(entry.key.to_owned(), value.clone())]).into();
        match (self.root(), self.table(entry.table)?) {
            (None, _) => {
                let end = self.text.len();
                let is_on_own_line = self.text.is_empty() || self.text.ends_with('\n');
                let gap = if is_on_own_line { "" } else { self.newline() };
                let root = Map::from_iter([(entry.table.to_owned(), table)]).into();
                let object = self.format_pretty(&root, "");
                edits.add(end..end, format!("{gap}{object}{}", self.newline()));
            }
            (Some(root), None) => {
                let new = NewMember { key: entry.table, value: &table };
                self.insert_member(&mut edits, root, JsonMemberLayout::Lines(""), new);
            }
            (Some(_), Some((key, table))) => match find_member(table, entry.key) {
                Some((key, old)) => {
                    edits.add(old.span(), self.format_value(value, self.layout(key)));
                }
                None => {
                    let new = NewMember { key: entry.key, value };
                    self.insert_member(&mut edits, table, self.layout(key), new);
                }
            },
        }
        Ok(apply_edits(self.text, edits.0))
    }

    /// Inserts a member after all others of an object that is laid out like `layout`.
    fn insert_member(
        &self,
        edits: &mut JsonSettingsEdits,
        object: JsonValue<'_>,
        layout: JsonMemberLayout<'_>,
        new: NewMember<'_>,
    ) {
        match object.members().last() {
            Some((last_key, last)) => self.insert_after(edits, last_key, last, new),
            None => self.insert_first(edits, object, layout, new),
        }
    }

    /// Inserts a member into an object without members.
    fn insert_first(
        &self,
        edits: &mut JsonSettingsEdits,
        object: JsonValue<'_>,
        layout: JsonMemberLayout<'_>,
        new: NewMember<'_>,
    ) {
        let inside = object.span().start + 1..object.span().end - 1;
        let indent = match layout {
            JsonMemberLayout::Lines(indent) => indent,
            // Text after a comment on the same line could become part of the comment.
            JsonMemberLayout::Inline if !self.text[inside.clone()].trim().is_empty() => {
                self.indent(object.span().start)
            }
            JsonMemberLayout::Inline => {
                return edits.add(inside, self.format_member(new, JsonMemberLayout::Inline));
            }
        };
        // The object may contain comments; the new member follows them.
        let kept = self.text[inside.clone()].trim_end().len();
        let blank = &self.text[inside.start + kept..inside.end];
        let newline = self.newline();
        let deeper = format!("{indent}{}", self.indent_unit());
        let end =
            if blank.contains('\n') { blank.to_owned() } else { format!("{newline}{indent}") };
        let member = self.format_member(new, JsonMemberLayout::Lines(&deeper));
        edits.add(inside.start + kept..inside.end, format!("{newline}{deeper}{member}{end}"));
    }

    /// Inserts a member after the last one, and a comma between them.
    fn insert_after(
        &self,
        edits: &mut JsonSettingsEdits,
        last_key: JsonValue<'_>,
        last: JsonValue<'_>,
        new: NewMember<'_>,
    ) {
        let last_end = last.span().end;
        let comma = self.find_comma(last_end);
        if comma.is_none() {
            edits.add(last_end..last_end, ",");
        }
        let after_comma = comma.map_or(last_end, |comma| comma + 1);
        let after_comments = self.comments_end(after_comma);
        let ending = if comma.is_some() { "," } else { "" };
        let on_own_line = |indent: &str| {
            let member = self.format_member(new, JsonMemberLayout::Lines(indent));
            format!("{}{indent}{member}{ending}", self.newline())
        };
        let text = match self.layout(last_key) {
            // Text after a comment on the same line could become part of the comment.
            JsonMemberLayout::Inline if after_comments == after_comma => {
                format!(" {}{ending}", self.format_member(new, JsonMemberLayout::Inline))
            }
            JsonMemberLayout::Inline => {
                let indent = self.indent(last_key.span().start);
                on_own_line(&format!("{indent}{}", self.indent_unit()))
            }
            JsonMemberLayout::Lines(indent) => on_own_line(indent),
        };
        edits.add(after_comments..after_comments, text);
    }

    fn format_member(&self, new: NewMember<'_>, layout: JsonMemberLayout<'_>) -> String {
        format!("{}: {}", quoted(new.key), self.format_value(new.value, layout))
    }

    pub(super) fn remove_entry(&self, entry: SettingsKey<'_>) -> Result<String> {
        let mut edits = JsonSettingsEdits::default();
        if let Some((_, table)) = self.table(entry.table)? {
            let members: Vec<_> = table.members().collect();
            if let Some(at) = members.iter().position(|(key, _)| key.eq_str(entry.key)) {
                self.remove_member(&mut edits, table, &members, at);
            }
        }
        Ok(apply_edits(self.text, edits.0))
    }

    /// Removes a member and one comma.
    fn remove_member(
        &self,
        edits: &mut JsonSettingsEdits,
        object: JsonValue<'_>,
        members: &[(JsonValue<'_>, JsonValue<'_>)],
        index: usize,
    ) {
        let (key, value) = members[index];
        let inside = object.span().start + 1..object.span().end - 1;
        let comma = self.find_comma(value.span().end).map(|comma| comma..comma + 1);
        let own = comma.clone().unwrap_or(value.span().end..value.span().end);
        let span = self.member_start(key, value.span().end..own.start, own.end)..value.span().end;
        let left = [inside.start..span.start, span.end..own.start, own.end..inside.end];
        if members.len() == 1 && left.into_iter().all(|part| self.text[part].trim().is_empty()) {
            return edits.add(inside, "");
        }
        match comma {
            Some(comma) if index + 1 < members.len() && self.is_inline(key) => {
                // The spaces after the comma belonged to the next member.
                let blanks =
                    self.text[comma.end..].bytes().take_while(|byte| *byte == b' ').count();
                edits.add(key.span().start..span.end, "");
                edits.add(comma.start..comma.end + blanks, "");
                return;
            }
            Some(comma) => edits.add(comma, ""),
            None if index > 0 => {
                let before = self.find_comma(members[index - 1].1.span().end);
                before.into_iter().for_each(|comma| edits.add(comma..comma + 1, ""));
            }
            None => {}
        }
        edits.add(span, "");
    }

    /// Where a member starts, including the line break or spaces before it.
    fn member_start(&self, key: JsonValue<'_>, before_comma: Range<usize>, end: usize) -> usize {
        let rest = self.text[end..].lines().next().unwrap_or_default();
        let left = self.text[before_comma].chars().chain(rest.chars());
        if !self.is_inline(key) && left.into_iter().any(|c| !c.is_whitespace()) {
            // Without the line break, the rest would be joined to the line before, which may end in
            // a comment.
            return key.span().start;
        }
        let before = self.text[..key.span().start].trim_end_matches([' ', '\t']);
        let before = before.strip_suffix('\n').unwrap_or(before);
        before.strip_suffix('\r').unwrap_or(before).len()
    }

    /// The comma after a value, if only white space and comments are in between.
    fn find_comma(&self, from: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut offset = from;
        loop {
            offset = match bytes.get(offset)? {
                b',' => return Some(offset),
                byte if byte.is_ascii_whitespace() => offset + 1,
                b'/' => self.comment_end(offset)?,
                _ => return None,
            };
        }
    }

    /// Where the comments on this line end.
    fn comments_end(&self, from: usize) -> usize {
        let (bytes, mut end) = (self.text.as_bytes(), from);
        loop {
            let blanks =
                bytes[end..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            match self.comment_end(end + blanks) {
                Some(found) => end = found,
                None => return end,
            }
        }
    }

    /// Where a comment that starts here ends, not including its line break.
    fn comment_end(&self, from: usize) -> Option<usize> {
        let rest = &self.text[from..];
        if rest.starts_with("//") {
            let line = rest.lines().next().unwrap_or(rest);
            return Some(from + line.len());
        }
        let inside = rest.strip_prefix("/*")?;
        Some(from + 2 + inside.find("*/").map_or(inside.len(), |end| end + 2))
    }

    fn layout(&self, key: JsonValue<'_>) -> JsonMemberLayout<'t> {
        if self.is_inline(key) {
            JsonMemberLayout::Inline
        } else {
            JsonMemberLayout::Lines(self.indent(key.span().start))
        }
    }

    fn is_inline(&self, key: JsonValue<'_>) -> bool {
        let line = &self.text[self.line_start(key.span().start)..key.span().start];
        !line.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |line| line + 1)
    }

    /// The white space at the start of the line that contains a byte.
    fn indent(&self, at: usize) -> &'t str {
        let line = &self.text[self.line_start(at)..at];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// One level of indentation, as used in the file.
    fn indent_unit(&self) -> &'t str {
        let mut keys = self.root().into_iter().flat_map(JsonValue::members).map(|(key, _)| key);
        let own = keys.find(|key| !self.is_inline(*key)).map(|key| self.indent(key.span().start));
        own.filter(|unit| !unit.is_empty()).unwrap_or("  ")
    }

    fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    fn format_value(&self, value: &Plain, layout: JsonMemberLayout<'_>) -> String {
        match layout {
            JsonMemberLayout::Lines(indent) => self.format_pretty(value, indent),
            JsonMemberLayout::Inline => format_inline(value),
        }
    }

    /// Formats a value with one line per member.
    fn format_pretty(&self, value: &Plain, indent: &str) -> String {
        let Plain::Object(members) = value else { return format_inline(value) };
        let (newline, deeper) = (self.newline(), format!("{indent}{}", self.indent_unit()));
        let lines: Vec<String> = members
            .iter()
            .map(|(key, value)| {
                format!("{newline}{deeper}{}: {}", quoted(key), self.format_pretty(value, &deeper))
            })
            .collect();
        if lines.is_empty() {
            "{}".into()
        } else {
            format!("{{{}{newline}{indent}}}", lines.join(","))
        }
    }
}

fn deserialize<T: DeserializeOwned>(value: JsonValue<'_>) -> Result<T> {
    serde_json::from_str(value.raw())
        .map_err(|e| SettingsError::new(value.span(), e.to_string(), "fix the JSON here"))
}

/// Formats a value on one line.
fn format_inline(value: &Plain) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Plain::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| format!("{}: {}", quoted(key), format_inline(value)));
            format!("{{{}}}", joined(members.collect()))
        }
        Plain::Array(items) => format!("[{}]", joined(items.iter().map(format_inline).collect())),
        Plain::String(text) => quoted(text),
        other => other.to_string(),
    }
}

/// A member of an object with its key.
fn find_member<'j>(object: JsonValue<'j>, name: &str) -> Option<(JsonValue<'j>, JsonValue<'j>)> {
    object.members().find(|(key, _)| key.eq_str(name))
}
