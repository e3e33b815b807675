//! YAML as a tree of nodes with spans.
//!
//! [`parse`] builds [`YamlNode`]s from the events of a YAML parser and enforces the [`Limits`] on
//! depth, nodes and aliases, so that an alias bomb is rejected before it costs memory. Duplicate
//! keys are errors. Scalars stay text: what YAML would make of `1.0` or `yes` is only computed on
//! request, by [`YamlNode::implicit_type`]. Nothing else in the workspace parses YAML.
//!
//! ```
//! use sp_formats::yaml;
//! use sp_tree::Limits;
//!
//! let text = "name: team\nversion: 1.10\n";
//! let root = yaml::parse(text, &Limits::default())?;
//! let version = root.get("version").expect("it has this key");
//! // Scalars keep the text as written: 1.10 does not become 1.1.
//! assert_eq!(version.text(), Some("1.10"));
//! assert_eq!(&text[version.span.clone()], "1.10");
//!
//! let error = yaml::parse("name: a\nname: b\n", &Limits::default()).unwrap_err();
//! assert_eq!(error.span.start, 8);
//! # Ok::<(), yaml::YamlError>(())
//! ```

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StructureStyle};
use sp_tree::Limits;
use thiserror::Error;

use crate::text::ByteSize;

const MAX_DEPTH: usize = 64;

/// The text is not valid YAML, or exceeds a limit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct YamlError {
    /// The bytes that caused the error.
    pub span: Range<usize>,
    pub kind: YamlErrorKind,
    pub message: String,
}

/// What must be changed to fix an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YamlErrorKind {
    Syntax,
    /// A tab where YAML wants spaces.
    Tab,
    /// An anchor or an alias, or text that reads as one.
    Anchor,
    DuplicateKey,
    /// A second document, or a marker of one.
    Document,
    /// A limit is exceeded.
    Limit,
}

impl YamlErrorKind {
    fn of(error: &ErrorKind) -> Self {
        match error {
            ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabAtBlockScalarStart
            | ErrorKind::TabInPlainScalar => Self::Tab,
            ErrorKind::AnchorCountOverflow
            | ErrorKind::UnknownAnchor
            | ErrorKind::MissingAnchorOrAliasName => Self::Anchor,
            ErrorKind::ExpectedDocumentStart
            | ErrorKind::MissingDocumentEndBeforeDirective
            | ErrorKind::MultipleDocumentsUnsupported
            | ErrorKind::InvalidDocumentEnd
            | ErrorKind::DocumentIndicatorInQuotedScalar => Self::Document,
            ErrorKind::RecursionLimitExceeded => Self::Limit,
            _ => Self::Syntax,
        }
    }
}

impl YamlError {
    fn new(kind: YamlErrorKind, span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, kind, message: message.into() }
    }

    /// How to fix it.
    pub fn help(&self) -> &'static str {
        match self.kind {
            YamlErrorKind::Tab => "replace the tab with spaces",
            YamlErrorKind::Anchor => "quote values that start with `*` or `&`",
            YamlErrorKind::DuplicateKey => "remove the duplicate",
            YamlErrorKind::Document => "remove the line `---` and the other document",
            YamlErrorKind::Limit => "reduce the size, or raise the limit with `--limit`",
            YamlErrorKind::Syntax => "fix the YAML syntax here, or quote the value",
        }
    }
}

/// Returns a YAML scalar that reads as this text. For text of one line without special characters.
pub(crate) fn to_yaml_scalar(text: &str) -> String {
    let node = YamlNode::scalar(0..0, text.into(), true);
    if node.is_null() || node.implicit_type().is_some() {
        format!("\"{text}\"")
    } else {
        text.into()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlNode {
    /// For an alias, the bytes where it is used.
    pub span: Range<usize>,
    pub value: YamlValue,
    /// Whether it is a collection in brackets or braces.
    pub is_flow: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum YamlValue {
    Scalar {
        text: String,
        /// Whether it is written without quotes.
        plain: bool,
    },
    Seq(Vec<YamlNode>),
    /// Keys and values in order, without duplicates.
    Map(Vec<(YamlNode, YamlNode)>),
}

/// How YAML interprets unquoted text that is not a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImplicitType {
    Bool,
    Number,
}

impl fmt::Display for ImplicitType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "a boolean",
            Self::Number => "a number",
        })
    }
}

impl YamlNode {
    fn scalar(span: Range<usize>, text: String, plain: bool) -> Self {
        Self { span, value: YamlValue::Scalar { text, plain }, is_flow: false }
    }

    /// The items of a list; empty for other kinds.
    pub fn items(&self) -> impl Iterator<Item = &Self> {
        let items = if let YamlValue::Seq(items) = &self.value { items.as_slice() } else { &[] };
        items.iter()
    }

    /// The string keys of a map with their values; empty for other kinds.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Self)> {
        let members =
            if let YamlValue::Map(members) = &self.value { members.as_slice() } else { &[] };
        members.iter().filter_map(|(key, value)| Some((key.text()?, value)))
    }

    pub fn get(&self, key: &str) -> Option<&Self> {
        self.members().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The text of a scalar that is not null.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Scalar { .. } if self.is_null() => None,
            YamlValue::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Whether it is empty, `~` or `null`.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, YamlValue::Scalar { text, plain: true }
            if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// The value of an unquoted `true` or `false`.
    pub fn as_bool(&self) -> Option<bool> {
        match &self.value {
            YamlValue::Scalar { text, plain: true } => match text.as_str() {
                "true" | "True" | "TRUE" => Some(true),
                "false" | "False" | "FALSE" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// How YAML interprets unquoted text other than as a string: `1.0`, `yes`, `0x1F`.
    pub fn implicit_type(&self) -> Option<ImplicitType> {
        let YamlValue::Scalar { text, plain: true } = &self.value else {
            return None;
        };
        let lower = text.to_ascii_lowercase();
        if matches!(lower.as_str(), "true" | "false" | "yes" | "no" | "on" | "off") {
            return Some(ImplicitType::Bool);
        }
        let digits = lower.strip_prefix(['+', '-']).unwrap_or(&lower);
        let radix = digits
            .strip_prefix("0x")
            .is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
            || digits
                .strip_prefix("0o")
                .is_some_and(|octal| octal.bytes().all(|byte| matches!(byte, b'0'..=b'7')));
        let decimal = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && digits.parse::<f64>().is_ok();
        (radix && digits.len() > 2 || decimal || matches!(digits, ".inf" | ".nan"))
            .then_some(ImplicitType::Number)
    }

    /// Converts the node to JSON, with unquoted text interpreted as YAML does.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            YamlValue::Scalar { .. } if self.is_null() => serde_json::Value::Null,
            YamlValue::Scalar { text, plain } => match self.as_bool() {
                Some(truth) => truth.into(),
                // A number stays a number only if JSON writes it the same way.
                None => Some(text)
                    .filter(|_| *plain && self.implicit_type() == Some(ImplicitType::Number))
                    .and_then(|text| serde_json::from_str::<serde_json::Number>(text).ok())
                    .map_or_else(|| text.as_str().into(), serde_json::Value::Number),
            },
            YamlValue::Seq(items) => items.iter().map(Self::to_json).collect(),
            YamlValue::Map(pairs) => {
                let pair = |(key, value): &(Self, Self)| {
                    (key.text().unwrap_or_default().to_owned(), value.to_json())
                };
                serde_json::Value::Object(pairs.iter().map(pair).collect())
            }
        }
    }

    /// Converts the node to JSON, with numbers as in the YAML core schema, in any notation. `None`
    /// for a value that JSON cannot represent.
    pub fn to_core_json(&self) -> Option<serde_json::Value> {
        match &self.value {
            YamlValue::Scalar { text, .. }
                if self.implicit_type() == Some(ImplicitType::Number) =>
            {
                parse_core_number(text)
            }
            YamlValue::Scalar { .. } => Some(self.to_json()),
            YamlValue::Seq(items) => items.iter().map(Self::to_core_json).collect(),
            YamlValue::Map(pairs) => {
                let pair = |(key, value): &(Self, Self)| {
                    Some((key.text()?.to_owned(), value.to_core_json()?))
                };
                pairs.iter().map(pair).collect::<Option<_>>().map(serde_json::Value::Object)
            }
        }
    }

    /// Maps every span in the tree.
    pub(crate) fn map_spans(&mut self, to: &impl Fn(&Range<usize>) -> Range<usize>) {
        self.span = to(&self.span);
        match &mut self.value {
            YamlValue::Scalar { .. } => {}
            YamlValue::Seq(items) => items.iter_mut().for_each(|item| item.map_spans(to)),
            YamlValue::Map(pairs) => pairs.iter_mut().for_each(|(key, value)| {
                key.map_spans(to);
                value.map_spans(to);
            }),
        }
    }

    /// The kind as a noun phrase, for messages.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            _ if self.is_null() => "null",
            YamlValue::Scalar { .. } => "text",
            YamlValue::Seq(_) => "a list",
            YamlValue::Map(_) => "a mapping",
        }
    }
}

/// Parses a number, including notations that JSON does not have: `0x1F`, `+1`, `.5`. `None` for a
/// number that JSON cannot represent.
fn parse_core_number(text: &str) -> Option<serde_json::Value> {
    let whole = match (text.strip_prefix("0x"), text.strip_prefix("0o")) {
        (Some(digits), _) => i64::from_str_radix(digits, 16).ok(),
        (_, Some(digits)) => i64::from_str_radix(digits, 8).ok(),
        _ => text.parse().ok(),
    };
    let number =
        || text.parse().ok().and_then(serde_json::Number::from_f64).map(serde_json::Value::Number);
    whole.map(Into::into).or_else(number)
}

/// Parses a text with one document. An empty text is a null node.
pub fn parse(text: &str, limits: &Limits) -> Result<YamlNode, YamlError> {
    if text.len() as u64 > limits.yaml_bytes {
        let (size, limit) = (ByteSize(text.len() as u64), ByteSize(limits.yaml_bytes));
        let message = format!("the file is {size}; the limit is {limit}");
        return Err(YamlError::new(YamlErrorKind::Limit, 0..0, message));
    }
    // The byte-order mark is not part of the text, but spans count it.
    let skipped = text.len() - text.trim_start_matches('\u{feff}').len();
    let mut builder = YamlBuilder::new(&text[skipped..], limits);
    let options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
        emit_comments: false,
    };
    let mut parser = Parser::new_from_str_with_options(&text[skipped..], options);
    while let Some(event) = parser.next_event() {
        let result = event
            .map_err(|e| scan_error(&e, text.len() - skipped))
            .and_then(|(event, span)| builder.handle_event(event, &span));
        result.map_err(|mut e| {
            e.span = shift(&e.span, skipped);
            e
        })?;
    }
    let mut root = builder.root.unwrap_or(YamlNode::scalar(0..0, String::new(), true));
    if skipped > 0 {
        root.map_spans(&|span| shift(span, skipped));
    }
    Ok(root)
}

fn scan_error(error: &ScanError, length: usize) -> YamlError {
    let at = error.marker().byte_offset().unwrap_or(length).min(length);
    YamlError::new(YamlErrorKind::of(error.kind()), at..at, error.info())
}

fn shift(span: &Range<usize>, by: usize) -> Range<usize> {
    span.start + by..span.end + by
}

#[derive(Clone, Copy)]
struct CollectionStart {
    is_map: bool,
    style: StructureStyle,
}

/// A collection whose end has not been reached.
struct OpenCollection {
    start: usize,
    anchor: usize,
    is_map: bool,
    is_flow: bool,
    key: Option<YamlNode>,
    items: Vec<YamlNode>,
    pairs: Vec<(YamlNode, YamlNode)>,
    keys: HashMap<String, Range<usize>>,
}

struct YamlBuilder<'a> {
    text: &'a str,
    limits: &'a Limits,
    stack: Vec<OpenCollection>,
    anchors: HashMap<usize, (Rc<YamlNode>, u64)>,
    nodes: u64,
    aliases: u64,
    root: Option<YamlNode>,
}

impl<'a> YamlBuilder<'a> {
    fn new(text: &'a str, limits: &'a Limits) -> Self {
        Self {
            text,
            limits,
            stack: Vec::new(),
            anchors: HashMap::new(),
            nodes: 0,
            aliases: 0,
            root: None,
        }
    }

    fn handle_event(&mut self, event: Event<'_>, span: &Span) -> Result<(), YamlError> {
        let range = span.byte_range().unwrap_or(0..0);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let range = match style {
                    ScalarStyle::Literal | ScalarStyle::Folded => self.block_scalar_span(range),
                    _ => range,
                };
                // An explicit tag determines the type, as quotes do.
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let node = YamlNode::scalar(range, text.into_owned(), plain);
                self.store_anchor(anchor, &node, 1);
                self.charge_nodes(1, &node.span)?;
                self.attach(node)
            }
            Event::SequenceStart(style, anchor, _) => {
                self.open(range, anchor, CollectionStart { is_map: false, style })
            }
            Event::MappingStart(style, anchor, _) => {
                self.open(range, anchor, CollectionStart { is_map: true, style })
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(range.end),
            Event::Alias(anchor) => self.expand_alias(anchor, range),
            Event::DocumentStart(..) if self.root.is_some() => {
                let message = "multiple YAML documents are not supported";
                Err(YamlError::new(YamlErrorKind::Document, range, message))
            }
            _ => Ok(()),
        }
    }

    fn open(
        &mut self,
        range: Range<usize>,
        anchor: usize,
        what: CollectionStart,
    ) -> Result<(), YamlError> {
        if self.stack.len() >= MAX_DEPTH {
            let message = format!("the YAML is nested more than {MAX_DEPTH} levels deep");
            return Err(YamlError::new(YamlErrorKind::Limit, range, message));
        }
        self.charge_nodes(1, &range)?;
        self.stack.push(OpenCollection {
            start: range.start,
            anchor,
            is_map: what.is_map,
            is_flow: what.style == StructureStyle::Flow,
            key: None,
            items: Vec::new(),
            pairs: Vec::new(),
            keys: HashMap::new(),
        });
        Ok(())
    }

    fn close(&mut self, end: usize) -> Result<(), YamlError> {
        let Some(open) = self.stack.pop() else {
            return Ok(());
        };
        let span = self.collection_span(&open, end);
        let value =
            if open.is_map { YamlValue::Map(open.pairs) } else { YamlValue::Seq(open.items) };
        let node = YamlNode { span, value, is_flow: open.is_flow };
        let weight = count_nodes(&node);
        self.store_anchor(open.anchor, &node, weight);
        self.attach(node)
    }

    /// From the first to the last character of a collection. The parser's events for a block
    /// collection start after the first `-` and end after the following blank lines.
    fn collection_span(&self, open: &OpenCollection, end: usize) -> Range<usize> {
        let items = || {
            open.items.first().zip(open.items.last()).map(|(first, last)| (&first.span, &last.span))
        };
        let pairs = || {
            open.pairs
                .first()
                .zip(open.pairs.last())
                .map(|(first, last)| (&first.0.span, &last.1.span))
        };
        match if open.is_map { pairs() } else { items() } {
            Some((first, last)) if !open.is_flow => {
                let at_dash = open.is_map || self.text[open.start..].starts_with('-');
                let start = if at_dash { None } else { self.text[..first.start].rfind('-') }
                    .unwrap_or(open.start);
                start..last.end.max(start)
            }
            _ => open.start..end.max(open.start),
        }
    }

    /// A block scalar from its `
    /// ` or `>` to its last character.
    fn block_scalar_span(&self, content: Range<usize>) -> Range<usize> {
        let before = self.text[..content.start].trim_end_matches([' ', '\t']);
        let line_end = before.trim_end_matches(['\n', '\r']).len();
        let line_start = self.text[..line_end].rfind('\n').map_or(0, |offset| offset + 1);
        let line = &self.text[line_start..line_end];
        let is_header =
            |(offset, _): &(usize, &str)| line[..*offset].ends_with([' ', '\t']) || *offset == 0;
        let header = line.match_indices(['|', '>']).find(is_header);
        let start = header.map_or(content.start, |(offset, _)| line_start + offset);
        let end = self.text[..content.end].trim_end().len();
        start..end.max(start)
    }

    fn expand_alias(&mut self, anchor: usize, span: Range<usize>) -> Result<(), YamlError> {
        self.aliases += 1;
        if self.aliases > self.limits.yaml_aliases {
            let message =
                format!("the YAML contains more than {} aliases", self.limits.yaml_aliases);
            return Err(YamlError::new(YamlErrorKind::Limit, span, message));
        }
        let Some((node, weight)) = self.anchors.get(&anchor).cloned() else {
            let message = "the alias refers to a value that contains it";
            return Err(YamlError::new(YamlErrorKind::Anchor, span, message));
        };
        self.charge_nodes(weight, &span)?;
        self.attach(YamlNode { span, value: node.value.clone(), is_flow: node.is_flow })
    }

    fn store_anchor(&mut self, anchor: usize, node: &YamlNode, weight: u64) {
        if anchor != 0 {
            self.anchors.insert(anchor, (Rc::new(node.clone()), weight));
        }
    }

    fn charge_nodes(&mut self, nodes: u64, span: &Range<usize>) -> Result<(), YamlError> {
        self.nodes += nodes;
        if self.nodes > self.limits.yaml_nodes {
            let message = format!("the YAML contains more than {} nodes", self.limits.yaml_nodes);
            return Err(YamlError::new(YamlErrorKind::Limit, span.clone(), message));
        }
        Ok(())
    }

    fn attach(&mut self, node: YamlNode) -> Result<(), YamlError> {
        let Some(open) = self.stack.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        if !open.is_map {
            open.items.push(node);
            return Ok(());
        }
        match open.key.take() {
            None => {
                let YamlValue::Scalar { text, .. } = &node.value else {
                    let message = format!("a key must be text, not {}", node.kind());
                    return Err(YamlError::new(YamlErrorKind::Syntax, node.span, message));
                };
                if let Some(first) = open.keys.insert(text.clone(), node.span.clone()) {
                    open.keys.insert(text.clone(), first);
                    let message = format!("duplicate key `{text}`");
                    return Err(YamlError::new(YamlErrorKind::DuplicateKey, node.span, message));
                }
                open.key = Some(node);
            }
            Some(key) => open.pairs.push((key, node)),
        }
        Ok(())
    }
}

/// The number of nodes in a tree.
pub(crate) fn count_nodes(node: &YamlNode) -> u64 {
    1 + match &node.value {
        YamlValue::Scalar { .. } => 0,
        YamlValue::Seq(items) => items.iter().map(count_nodes).sum(),
        YamlValue::Map(pairs) => {
            pairs.iter().map(|(key, value)| count_nodes(key) + count_nodes(value)).sum()
        }
    }
}

#[cfg(test)]
mod tests;
