//! JSON, YAML and TOML as one kind of tree, with the position of each value.

use std::ops::Range;

use sp_tree::Limits;
use toml_edit::{Document, Item, TableLike, Value};

use crate::json::{JsonDocument, JsonKind, JsonValue};
use crate::text::ByteSize;
use crate::yaml::{self, YamlNode, YamlValue};

/// A value and its position.
#[derive(Debug, Clone)]
pub(super) struct ForeignNode {
    pub span: Range<usize>,
    pub value: ForeignValue,
}

#[derive(Debug, Clone)]
pub(super) enum ForeignValue {
    Text(String),
    /// A number as written. In YAML, numbers are [`Self::Text`].
    Number(String),
    Bool(bool),
    Null,
    List(Vec<ForeignNode>),
    /// Without duplicate keys.
    Map(Vec<ForeignMember>),
}

/// A member of a mapping.
#[derive(Debug, Clone)]
pub(super) struct ForeignMember {
    pub key: String,
    pub key_span: Range<usize>,
    pub node: ForeignNode,
}

impl ForeignNode {
    /// The kind as a noun phrase, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self.value {
            ForeignValue::Text(_) => "text",
            ForeignValue::Number(_) => "a number",
            ForeignValue::Bool(_) => "a boolean",
            ForeignValue::Null => "null",
            ForeignValue::List(_) => "a list",
            ForeignValue::Map(_) => "a mapping",
        }
    }
}

/// The text is not valid, or too large.
#[derive(Debug)]
pub(super) struct ForeignSyntaxError {
    pub span: Range<usize>,
    pub message: String,
    pub help: &'static str,
}

impl ForeignSyntaxError {
    fn new(span: Range<usize>, message: String) -> Self {
        Self { span, message, help: "fix the file, or restore it from version control" }
    }
}

/// The notation of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForeignSyntax {
    Json,
    Yaml,
    Toml,
}

impl ForeignSyntax {
    pub(super) fn parse(
        self,
        text: &str,
        limits: &Limits,
    ) -> Result<ForeignNode, ForeignSyntaxError> {
        let size = text.len() as u64;
        if size > limits.yaml_bytes {
            let (size, limit) = (ByteSize(size), ByteSize(limits.yaml_bytes));
            return Err(ForeignSyntaxError {
                span: 0..0,
                message: format!("the file is {size}, larger than the limit of {limit}"),
                help: "raise the limit with `--limit yaml-bytes=<bytes>`",
            });
        }
        match self {
            Self::Json => parse_json(text, limits),
            Self::Yaml => parse_yaml(text, limits),
            Self::Toml => parse_toml(text),
        }
    }
}

fn parse_json(text: &str, limits: &Limits) -> Result<ForeignNode, ForeignSyntaxError> {
    let json = JsonDocument::parse(text, limits).map_err(|error| {
        ForeignSyntaxError::new(error.span, format!("invalid JSON: {}", error.message))
    })?;
    Ok(json_node(json.root()))
}

fn parse_yaml(text: &str, limits: &Limits) -> Result<ForeignNode, ForeignSyntaxError> {
    let node = yaml::parse(text, limits).map_err(|error| {
        ForeignSyntaxError::new(error.span, format!("invalid YAML: {}", error.message))
    })?;
    Ok(yaml_node(&node))
}

fn parse_toml(text: &str) -> Result<ForeignNode, ForeignSyntaxError> {
    let document = Document::parse(text).map_err(|error| {
        let message = error.message().lines().next().unwrap_or_default();
        ForeignSyntaxError::new(error.span().unwrap_or(0..0), format!("invalid TOML: {message}"))
    })?;
    let members = table_members(document.as_table());
    Ok(ForeignNode { span: 0..text.len(), value: ForeignValue::Map(members) })
}

fn json_node(json: JsonValue<'_>) -> ForeignNode {
    let text = || json.text().unwrap_or_default().into_owned();
    let value = match json.kind() {
        JsonKind::Text => ForeignValue::Text(text()),
        JsonKind::Number => ForeignValue::Number(json.raw().into()),
        JsonKind::Bool => ForeignValue::Bool(json.as_bool().unwrap_or_default()),
        JsonKind::Null => ForeignValue::Null,
        JsonKind::Array => ForeignValue::List(json.items().map(json_node).collect()),
        JsonKind::Object => {
            let member = |(key, value): (JsonValue<'_>, JsonValue<'_>)| ForeignMember {
                key: key.text().unwrap_or_default().into_owned(),
                key_span: key.span(),
                node: json_node(value),
            };
            ForeignValue::Map(json.members().map(member).collect())
        }
    };
    ForeignNode { span: json.span(), value }
}

fn yaml_node(node: &YamlNode) -> ForeignNode {
    let value = match &node.value {
        YamlValue::Scalar { .. } if node.is_null() => ForeignValue::Null,
        YamlValue::Scalar { text, .. } => match node.as_bool() {
            Some(truth) => ForeignValue::Bool(truth),
            None => ForeignValue::Text(text.clone()),
        },
        YamlValue::Seq(items) => ForeignValue::List(items.iter().map(yaml_node).collect()),
        YamlValue::Map(pairs) => {
            let member = |(key, value): &(YamlNode, YamlNode)| ForeignMember {
                key: key.text().unwrap_or_default().into(),
                key_span: key.span.clone(),
                node: yaml_node(value),
            };
            ForeignValue::Map(pairs.iter().map(member).collect())
        }
    };
    ForeignNode { span: node.span.clone(), value }
}

fn table_members(table: &dyn TableLike) -> Vec<ForeignMember> {
    let key_span = |key: &str| table.key(key).and_then(toml_edit::Key::span).unwrap_or(0..0);
    let member = |(key, item): (&str, &Item)| ForeignMember {
        key: key.into(),
        key_span: key_span(key),
        node: item_node(item, key_span(key)),
    };
    table.iter().map(member).collect()
}

/// Converts an item. One without a position of its own gets that of its key.
fn item_node(item: &Item, key_span: Range<usize>) -> ForeignNode {
    let span = item.span().unwrap_or(key_span.clone());
    let value = match item {
        Item::None => ForeignValue::Null,
        Item::Table(table) => ForeignValue::Map(table_members(table)),
        Item::ArrayOfTables(list) => {
            let node = |table: &toml_edit::Table| ForeignNode {
                span: table.span().unwrap_or(key_span.clone()),
                value: ForeignValue::Map(table_members(table)),
            };
            ForeignValue::List(list.iter().map(node).collect())
        }
        Item::Value(value) => toml_value(value),
    };
    ForeignNode { span, value }
}

fn toml_value(value: &Value) -> ForeignValue {
    match value {
        Value::String(text) => ForeignValue::Text(text.value().clone()),
        Value::Integer(number) => ForeignValue::Number(number.value().to_string()),
        Value::Float(number) => ForeignValue::Number(number.value().to_string()),
        Value::Boolean(truth) => ForeignValue::Bool(*truth.value()),
        Value::Datetime(time) => ForeignValue::Text(time.value().to_string()),
        Value::Array(items) => {
            let node = |item: &Value| ForeignNode {
                span: item.span().unwrap_or(0..0),
                value: toml_value(item),
            };
            ForeignValue::List(items.iter().map(node).collect())
        }
        Value::InlineTable(table) => ForeignValue::Map(table_members(table)),
    }
}
