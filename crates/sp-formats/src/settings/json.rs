//! Settings in JSON, perhaps with comments and trailing commas.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Plain};
use sp_tree::Limits;

use super::{Entry, Result, SettingsError};
use crate::json::{Json, JsonError, Kind, Value, quoted, without_comments};
use crate::report::{Edit, edited};

/// A text that was read.
pub(super) struct Settings<'t> {
    text: &'t str,
    /// The text without comments, each byte in its place; none if nothing but comments is there.
    json: Option<Json>,
}

/// How what is new is laid out.
#[derive(Clone, Copy)]
enum Layout<'a> {
    /// On lines of its own, behind this indentation.
    Lines(&'a str),
    /// On the line on which the rest is.
    Inline,
}

/// Changes of a text, each at its place.
#[derive(Default)]
struct Edits(Vec<Edit>);

impl Edits {
    fn add(&mut self, span: Range<usize>, text: impl Into<String>) {
        self.0.push(Edit { span, text: text.into() });
    }
}

impl From<JsonError> for SettingsError {
    fn from(error: JsonError) -> Self {
        Self::new(error.span, error.message, error.help)
    }
}

impl<'t> Settings<'t> {
    pub(super) fn parse(text: &'t str, limits: &Limits) -> Result<Self> {
        let plain = without_comments(text);
        let json = match plain.trim().is_empty() {
            true => None,
            false => Some(Json::parse(plain, limits)?),
        };
        let settings = Self { text, json };
        match settings.root() {
            Some(root) if root.kind() != Kind::Object => {
                let message = format!("the file holds {}, and settings are an object", root.kind().word());
                Err(SettingsError::new(root.span(), message, "write an object: `{}`"))
            }
            _ => Ok(settings),
        }
    }

    fn root(&self) -> Option<Value<'_>> {
        self.json.as_ref().map(Json::root)
    }

    /// All that the text says.
    pub(super) fn read(&self) -> Result<Map<String, Plain>> {
        self.root().map_or(Ok(Map::new()), plain)
    }

    pub(super) fn entry(&self, entry: Entry<'_>) -> Result<Option<Plain>> {
        let found = self.table(entry.table)?.and_then(|(_, table)| member(table, entry.key));
        found.map(|(_, value)| plain(value)).transpose()
    }

    /// The table of this name and its key, if it is there.
    fn table(&self, name: &str) -> Result<Option<(Value<'_>, Value<'_>)>> {
        let found = self.root().and_then(|root| member(root, name));
        match found {
            Some((_, table)) if table.kind() != Kind::Object => {
                let message = format!("`{name}` is {}, and not an object", table.kind().word());
                Err(SettingsError::new(table.span(), message, "write an object here: `{}`"))
            }
            found => Ok(found),
        }
    }

    pub(super) fn set(&self, entry: Entry<'_>, value: &Plain) -> Result<String> {
        let mut edits = Edits::default();
        let within: Plain = Map::from_iter([(entry.key.to_owned(), value.clone())]).into();
        match (self.root(), self.table(entry.table)?) {
            (None, _) => {
                let end = self.text.len();
                let gap = if self.text.is_empty() || self.text.ends_with('\n') { "" } else { self.newline() };
                let whole = Map::from_iter([(entry.table.to_owned(), within)]).into();
                edits.add(end..end, format!("{gap}{}{}", self.pretty(&whole, ""), self.newline()));
            }
            (Some(root), None) => self.insert(&mut edits, root, Layout::Lines(""), (entry.table, &within)),
            (Some(_), Some((key, table))) => match member(table, entry.key) {
                Some((key, old)) => edits.add(old.span(), self.written(value, self.layout(key))),
                None => self.insert(&mut edits, table, self.layout(key), (entry.key, value)),
            },
        }
        Ok(edited(self.text, edits.0))
    }

    /// Puts a member behind all others of an object, which is itself laid out like `layout`.
    fn insert(&self, edits: &mut Edits, object: Value<'_>, layout: Layout<'_>, new: (&str, &Plain)) {
        let member = |layout| format!("{}: {}", quoted(new.0), self.written(new.1, layout));
        let newline = self.newline();
        let Some((last_key, last)) = object.members().last() else {
            let inside = object.span().start + 1..object.span().end - 1;
            let Layout::Lines(indent) = layout else {
                return edits.add(inside, member(Layout::Inline));
            };
            // Comments may be inside; what is new stands behind them.
            let kept = self.text[inside.clone()].trim_end().len();
            let blank = &self.text[inside.start + kept..inside.end];
            let deeper = format!("{indent}{}", self.unit());
            let end = if blank.contains('\n') { blank.to_owned() } else { format!("{newline}{indent}") };
            let new = format!("{newline}{deeper}{}{end}", member(Layout::Lines(&deeper)));
            return edits.add(inside.start + kept..inside.end, new);
        };
        let comma = self.comma(last.span().end);
        if comma.is_none() {
            edits.add(last.span().end..last.span().end, ",");
        }
        let behind = comma.map_or(last.span().end, |comma| comma + 1);
        let at = self.end_of_remarks(behind);
        let ending = if comma.is_some() { "," } else { "" };
        let new = match self.layout(last_key) {
            // What follows a remark on its line may be part of the remark.
            Layout::Inline if at == behind => format!(" {}{ending}", member(Layout::Inline)),
            Layout::Inline => {
                let indent = format!("{}{}", self.indent(last_key.span().start), self.unit());
                format!("{newline}{indent}{}{ending}", member(Layout::Lines(&indent)))
            }
            Layout::Lines(indent) => format!("{newline}{indent}{}{ending}", member(Layout::Lines(indent))),
        };
        edits.add(at..at, new);
    }

    pub(super) fn remove(&self, entry: Entry<'_>) -> Result<String> {
        let mut edits = Edits::default();
        if let Some((_, table)) = self.table(entry.table)? {
            let members: Vec<_> = table.members().collect();
            if let Some(at) = members.iter().position(|(key, _)| key.is(entry.key)) {
                self.cut(&mut edits, table, &members, at);
            }
        }
        Ok(edited(self.text, edits.0))
    }

    /// Takes a member out, with the comma that would be one too many.
    fn cut(&self, edits: &mut Edits, object: Value<'_>, members: &[(Value<'_>, Value<'_>)], at: usize) {
        let (key, value) = members[at];
        let inside = object.span().start + 1..object.span().end - 1;
        let comma = self.comma(value.span().end).map(|comma| comma..comma + 1);
        let own = comma.clone().unwrap_or(value.span().end..value.span().end);
        let span = self.beginning(key, value.span().end..own.start, own.end)..value.span().end;
        let left = [inside.start..span.start, span.end..own.start, own.end..inside.end];
        if members.len() == 1 && left.into_iter().all(|part| self.text[part].trim().is_empty()) {
            return edits.add(inside, "");
        }
        match comma {
            Some(comma) if at + 1 < members.len() && self.is_inline(key) => {
                // The blanks behind the comma were before the next member.
                let blanks = self.text[comma.end..].bytes().take_while(|byte| *byte == b' ').count();
                edits.add(key.span().start..span.end, "");
                edits.add(comma.start..comma.end + blanks, "");
                return;
            }
            Some(comma) => edits.add(comma, ""),
            None if at > 0 => {
                let before = self.comma(members[at - 1].1.span().end);
                before.into_iter().for_each(|comma| edits.add(comma..comma + 1, ""));
            }
            None => {}
        }
        edits.add(span, "");
    }

    /// Where a member begins, the line break or the blanks before it included.
    fn beginning(&self, key: Value<'_>, before_comma: Range<usize>, end: usize) -> usize {
        let rest = self.text[end..].lines().next().unwrap_or_default();
        let left = self.text[before_comma].chars().chain(rest.chars());
        if !self.is_inline(key) && left.into_iter().any(|c| !c.is_whitespace()) {
            // Without its line break what is left would belong to the line before, perhaps to a remark.
            return key.span().start;
        }
        let before = self.text[..key.span().start].trim_end_matches([' ', '\t']);
        let before = before.strip_suffix('\n').unwrap_or(before);
        before.strip_suffix('\r').unwrap_or(before).len()
    }

    /// The first comma behind a value, if one follows before anything else.
    fn comma(&self, from: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut at = from;
        loop {
            at = match bytes.get(at)? {
                b',' => return Some(at),
                byte if byte.is_ascii_whitespace() => at + 1,
                b'/' => self.end_of_remark(at)?,
                _ => return None,
            };
        }
    }

    /// Where the remarks end that stand on this line.
    fn end_of_remarks(&self, from: usize) -> usize {
        let (bytes, mut end) = (self.text.as_bytes(), from);
        loop {
            let blanks = bytes[end..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            match self.end_of_remark(end + blanks) {
                Some(found) => end = found,
                None => return end,
            }
        }
    }

    /// Where a comment ends that begins here, if one does; its line break is not part of it.
    fn end_of_remark(&self, from: usize) -> Option<usize> {
        let rest = &self.text[from..];
        if rest.starts_with("//") {
            let line = rest.lines().next().unwrap_or(rest);
            return Some(from + line.len());
        }
        let inside = rest.strip_prefix("/*")?;
        Some(from + 2 + inside.find("*/").map_or(inside.len(), |end| end + 2))
    }

    /// How the member of this key is laid out.
    fn layout(&self, key: Value<'_>) -> Layout<'t> {
        match self.is_inline(key) {
            true => Layout::Inline,
            false => Layout::Lines(self.indent(key.span().start)),
        }
    }

    fn is_inline(&self, key: Value<'_>) -> bool {
        let line = &self.text[self.line_start(key.span().start)..key.span().start];
        !line.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |line| line + 1)
    }

    /// The blanks at the beginning of the line on which a byte is.
    fn indent(&self, at: usize) -> &'t str {
        let line = &self.text[self.line_start(at)..at];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// One level of indentation, as the file has it.
    fn unit(&self) -> &'t str {
        let mut keys = self.root().into_iter().flat_map(Value::members).map(|(key, _)| key);
        let own = keys.find(|key| !self.is_inline(*key)).map(|key| self.indent(key.span().start));
        own.filter(|unit| !unit.is_empty()).unwrap_or("  ")
    }

    fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    fn written(&self, value: &Plain, layout: Layout<'_>) -> String {
        match layout {
            Layout::Lines(indent) => self.pretty(value, indent),
            Layout::Inline => inline(value),
        }
    }

    /// A value whose objects have a line for each member.
    fn pretty(&self, value: &Plain, indent: &str) -> String {
        let Plain::Object(members) = value else { return inline(value) };
        let (newline, deeper) = (self.newline(), format!("{indent}{}", self.unit()));
        let lines: Vec<String> = members
            .iter()
            .map(|(key, value)| format!("{newline}{deeper}{}: {}", quoted(key), self.pretty(value, &deeper)))
            .collect();
        match lines.is_empty() {
            true => "{}".into(),
            false => format!("{{{}{newline}{indent}}}", lines.join(",")),
        }
    }
}

/// What a value says, without its place.
fn plain<T: DeserializeOwned>(value: Value<'_>) -> Result<T> {
    serde_json::from_str(value.raw()).map_err(|e| SettingsError::new(value.span(), e.to_string(), "mend the JSON here"))
}

/// A value on one line.
fn inline(value: &Plain) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Plain::Object(members) => {
            let members = members.iter().map(|(key, value)| format!("{}: {}", quoted(key), inline(value)));
            format!("{{{}}}", joined(members.collect()))
        }
        Plain::Array(items) => format!("[{}]", joined(items.iter().map(inline).collect())),
        Plain::String(text) => quoted(text),
        other => other.to_string(),
    }
}

/// A member of an object, with its key.
fn member<'j>(object: Value<'j>, name: &str) -> Option<(Value<'j>, Value<'j>)> {
    object.members().find(|(key, _)| key.is(name))
}
