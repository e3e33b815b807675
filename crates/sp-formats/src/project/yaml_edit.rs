//! Edits of YAML text that change one item or member and no other byte.
//!
//! An edit is a splice at a position that the spans of the parsed nodes determine. Callers parse
//! the result again and compare it with what they expect, so that unusual YAML is refused and not
//! damaged.

use std::ops::Range;

use sp_tree::Limits;

use crate::yaml::{self, YamlNode, YamlValue};

/// A new item of a list, or a new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NewItem {
    Text(String),
    /// A mapping with text and lists of text.
    Members(Vec<(&'static str, NewValue)>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NewValue {
    Text(String),
    List(Vec<String>),
}

/// A document that is edited.
pub(super) struct YamlText<'t> {
    pub text: &'t str,
    pub root: YamlNode,
}

/// Writes text as a YAML scalar, with quotes if it needs them.
pub(super) fn quote_scalar(text: &str) -> String {
    let is_plain = yaml::parse(&format!("[{text}]"), &Limits::default()).is_ok_and(|node| {
        let mut items = node.items();
        let first = items.next();
        items.next().is_none()
            && first.is_some_and(|item| {
                matches!(&item.value, YamlValue::Scalar { plain: true, .. })
                    && item.text() == Some(text)
                    && item.implicit_type().is_none()
            })
    });
    if is_plain { text.into() } else { format!("'{}'", text.replace('\'', "''")) }
}

impl NewValue {
    fn flow(&self) -> String {
        match self {
            Self::Text(text) => quote_scalar(text),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| quote_scalar(item)).collect();
                format!("[{}]", items.join(", "))
            }
        }
    }
}

impl NewItem {
    fn flow(&self) -> String {
        match self {
            Self::Text(text) => quote_scalar(text),
            Self::Members(members) => {
                let members: Vec<String> =
                    members.iter().map(|(key, value)| format!("{key}: {}", value.flow())).collect();
                format!("{{{}}}", members.join(", "))
            }
        }
    }

    /// The lines of a block item, after its dash.
    fn lines(&self) -> Vec<String> {
        match self {
            Self::Text(text) => vec![quote_scalar(text)],
            Self::Members(members) => {
                members.iter().map(|(key, value)| format!("{key}: {}", value.flow())).collect()
            }
        }
    }
}

impl<'t> YamlText<'t> {
    pub(super) fn parse(text: &'t str, limits: &Limits) -> Option<Self> {
        yaml::parse(text, limits).ok().map(|root| Self { text, root })
    }

    fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    fn splice(&self, range: Range<usize>, new: &str) -> String {
        format!("{}{new}{}", &self.text[..range.start], &self.text[range.end..])
    }

    /// Inserts whole lines after the line that contains a position.
    fn insert_lines_after(&self, at: usize, lines: &[String]) -> String {
        let newline = self.newline();
        let end = self.text[at..].find('\n').map(|offset| at + offset + 1);
        let block: String = lines.iter().map(|line| format!("{line}{newline}")).collect();
        match end {
            Some(end) => self.splice(end..end, &block),
            None => format!("{}{newline}{block}", self.text),
        }
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    fn column(&self, at: usize) -> usize {
        at - self.line_start(at)
    }

    /// The position after the last character of a node that is not white space.
    fn end_of(&self, node: &YamlNode) -> usize {
        let span = node.span.clone();
        span.start + self.text[span].trim_end().len()
    }

    /// Adds an item to the list `key` of a mapping. The list is created if it is missing.
    pub(super) fn add_item(&self, map: &YamlNode, key: &str, item: &NewItem) -> Option<String> {
        match map.get(key) {
            Some(YamlNode { value: YamlValue::Seq(items), is_flow: true, span }) => {
                let end = span.end.checked_sub(1)?;
                let separator = if items.is_empty() { "" } else { ", " };
                // A list over several lines keeps its last line break.
                let at = items.last().map_or(end, |last| self.end_of(last));
                Some(self.splice(at..at, &format!("{separator}{}", item.flow())))
            }
            Some(list @ YamlNode { value: YamlValue::Seq(items), .. }) => {
                let last = items.last()?;
                let indent = " ".repeat(self.column(list.span.start));
                Some(self.insert_lines_after(self.end_of(last), &item_lines(&indent, item)))
            }
            Some(value) if value.is_null() => {
                let key_node = key_node(map, key)?;
                let written = self.text.get(value.span.clone()).unwrap_or_default();
                if !written.trim().is_empty() {
                    return Some(self.splice(value.span.clone(), &format!("[{}]", item.flow())));
                }
                let indent = " ".repeat(self.column(key_node.span.start) + 2);
                Some(self.insert_lines_after(key_node.span.end, &item_lines(&indent, item)))
            }
            Some(_) => None,
            None if map.is_flow => {
                let end = map.span.end.checked_sub(1)?;
                let separator = if map.members().next().is_some() { ", " } else { "" };
                Some(self.splice(end..end, &format!("{separator}{key}: [{}]", item.flow())))
            }
            None => {
                let indent = self.member_indent(map);
                let mut lines = vec![format!("{indent}{key}:")];
                lines.extend(item_lines(&format!("{indent}  "), item));
                Some(self.append_to_map(map, &lines))
            }
        }
    }

    /// Sets a member of a mapping to text.
    pub(super) fn set_member(&self, map: &YamlNode, key: &str, value: &str) -> Option<String> {
        let value = quote_scalar(value);
        match map.get(key) {
            Some(old) if old.is_null() && self.text[old.span.clone()].trim().is_empty() => {
                let end = key_node(map, key)?.span.end;
                let colon = end + self.text[end..].find(':')? + 1;
                Some(self.splice(colon..colon, &format!(" {value}")))
            }
            Some(old) => Some(self.splice(old.span.start..self.end_of(old), &value)),
            None if map.is_flow => {
                let end = map.span.end.checked_sub(1)?;
                let separator = if map.members().next().is_some() { ", " } else { "" };
                Some(self.splice(end..end, &format!("{separator}{}: {value}", quote_scalar(key))))
            }
            None => {
                let line = format!("{}{}: {value}", self.member_indent(map), quote_scalar(key));
                Some(self.append_to_map(map, &[line]))
            }
        }
    }

    /// Adds a member to the mapping `key` of a mapping, which is created if it is missing.
    pub(super) fn set_nested(
        &self,
        map: &YamlNode,
        key: &str,
        name: &str,
        value: &str,
    ) -> Option<String> {
        let member = format!("{}: {}", quote_scalar(name), quote_scalar(value));
        match map.get(key) {
            Some(nested @ YamlNode { value: YamlValue::Map(_), .. }) => {
                self.set_member(nested, name, value)
            }
            Some(empty) if empty.is_null() => {
                let key_node = key_node(map, key)?;
                let written = self.text.get(empty.span.clone()).unwrap_or_default();
                if !written.trim().is_empty() {
                    return Some(self.splice(empty.span.clone(), &format!("{{{member}}}")));
                }
                let indent = " ".repeat(self.column(key_node.span.start) + 2);
                Some(self.insert_lines_after(key_node.span.end, &[format!("{indent}{member}")]))
            }
            Some(_) => None,
            None => {
                let indent = self.member_indent(map);
                let lines = [format!("{indent}{key}:"), format!("{indent}  {member}")];
                (!map.is_flow).then(|| self.append_to_map(map, &lines))
            }
        }
    }

    fn member_indent(&self, map: &YamlNode) -> String {
        match &map.value {
            YamlValue::Map(pairs) => {
                let first = pairs.first().map_or(0, |(key, _)| self.column(key.span.start));
                " ".repeat(first)
            }
            _ => String::new(),
        }
    }

    /// Adds lines after the last member of a block mapping.
    fn append_to_map(&self, map: &YamlNode, lines: &[String]) -> String {
        match &map.value {
            YamlValue::Map(pairs) if !pairs.is_empty() => {
                let (key, value) = &pairs[pairs.len() - 1];
                let end = self.end_of(value).max(key.span.end);
                self.insert_lines_after(end, lines)
            }
            // The document is empty, perhaps with comments.
            _ => {
                let newline = self.newline();
                let gap =
                    if self.text.is_empty() || self.text.ends_with('\n') { "" } else { newline };
                let block: String = lines.iter().map(|line| format!("{line}{newline}")).collect();
                format!("{}{gap}{block}", self.text)
            }
        }
    }

    /// Removes an item of a list.
    pub(super) fn remove_item(&self, list: &YamlNode, index: usize) -> Option<String> {
        let YamlValue::Seq(items) = &list.value else { return None };
        let item = items.get(index)?;
        if list.is_flow {
            return Some(self.remove_flow_item(items, index));
        }
        let start = self.line_start(item.span.start);
        let before = self.text[start..item.span.start].trim();
        if before != "-" {
            return None;
        }
        Some(self.splice(start..self.end_of_line(self.end_of(item)), ""))
    }

    fn remove_flow_item(&self, items: &[YamlNode], index: usize) -> String {
        let item = &items[index];
        let range = match (index.checked_sub(1).map(|before| &items[before]), items.get(index + 1))
        {
            (_, Some(next)) => item.span.start..next.span.start,
            (Some(previous), None) => self.end_of(previous)..self.end_of(item),
            (None, None) => item.span.start..self.end_of(item),
        };
        self.splice(range, "")
    }

    /// Removes a member of a mapping.
    pub(super) fn remove_member(&self, map: &YamlNode, key: &str) -> Option<String> {
        let YamlValue::Map(pairs) = &map.value else { return None };
        let index = pairs.iter().position(|(name, _)| name.text() == Some(key))?;
        let (name, value) = &pairs[index];
        if map.is_flow {
            let range = match (index.checked_sub(1), pairs.get(index + 1)) {
                (_, Some((next, _))) => name.span.start..next.span.start,
                (Some(previous), None) => self.end_of(&pairs[previous].1)..self.end_of(value),
                (None, None) => name.span.start..self.end_of(value),
            };
            return Some(self.splice(range, ""));
        }
        let start = self.line_start(name.span.start);
        // The first member of an item follows its dash.
        if !self.text[start..name.span.start].trim().is_empty() {
            return None;
        }
        let end = self.end_of(value).max(name.span.end);
        Some(self.splice(start..self.end_of_line(end), ""))
    }

    /// The start of the next line.
    fn end_of_line(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline + 1)
    }
}

fn item_lines(indent: &str, item: &NewItem) -> Vec<String> {
    let mut lines = item.lines().into_iter();
    let first = lines.next().map(|line| format!("{indent}- {line}"));
    first.into_iter().chain(lines.map(|line| format!("{indent}  {line}"))).collect()
}

fn key_node<'n>(map: &'n YamlNode, key: &str) -> Option<&'n YamlNode> {
    let YamlValue::Map(pairs) = &map.value else { return None };
    pairs.iter().find(|(name, _)| name.text() == Some(key)).map(|(name, _)| name)
}
