//! Maps findings in a generated package back to the file that a person wrote.
//!
//! The file becomes JSON ([`SourceJson`]), then content, then a package with sorted keys and
//! defaults. A finding in any of them is reported at the value in the file that it came from: its
//! span becomes a path of keys and indexes, and the path is looked up in the file. For a value that
//! is not in the file, the nearest enclosing value is used.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use sp_tree::Limits;

use crate::json::{JsonDocument, JsonError, JsonKind, JsonValue, push_quoted};
use crate::report::Report;
use crate::yaml::{self, YamlNode};

/// A JSON or YAML file as JSON whose values can be located in the file.
pub(super) struct SourceJson {
    pub(super) json: JsonDocument,
    /// For a YAML file: where each value came from, sorted so that outer values come first. A JSON
    /// file needs no mapping.
    mappings: Option<Vec<SpanMapping>>,
}

/// A value of the generated JSON, and where it is in the YAML file.
struct SpanMapping {
    json: Range<usize>,
    file: Range<usize>,
}

impl SourceJson {
    /// Parses a file. The span of an error is in the file.
    pub(super) fn parse(text: &str, limits: &Limits) -> Result<Self, JsonError> {
        if text.trim_start().starts_with(['{', '[']) {
            return Ok(Self { json: JsonDocument::parse(text, limits)?, mappings: None });
        }
        let node = yaml::parse(text, limits).map_err(|error| {
            let help = error.help();
            JsonError { span: error.span, message: error.message, help }
        })?;
        let (mut written, mut mappings) = (String::with_capacity(text.len()), Vec::new());
        write_node(&node, &mut written, &mut mappings);
        mappings.sort_by_key(|mapping| (mapping.json.start, Reverse(mapping.json.end)));
        let json = JsonDocument::parse(written, limits).map_err(|error| JsonError {
            span: innermost_file_span(&mappings, &error.span).unwrap_or_default(),
            ..error
        })?;
        Ok(Self { json, mappings: Some(mappings) })
    }

    /// Returns where a part of the JSON is in the file.
    pub(super) fn file_span(&self, span: &Range<usize>) -> Option<Range<usize>> {
        match &self.mappings {
            None => Some(span.clone()),
            Some(mappings) => innermost_file_span(mappings, span),
        }
    }
}

/// Returns where the innermost value that contains `span` is in the file.
fn innermost_file_span(mappings: &[SpanMapping], span: &Range<usize>) -> Option<Range<usize>> {
    let before = mappings.partition_point(|mapping| mapping.json.start <= span.start);
    mappings[..before]
        .iter()
        .rev()
        .find(|mapping| mapping.json.end >= span.end)
        .map(|mapping| mapping.file.clone())
}

/// Writes a node as JSON and records where each value came from.
fn write_node(node: &YamlNode, json: &mut String, mappings: &mut Vec<SpanMapping>) {
    let start = json.len();
    match &node.value {
        yaml::YamlValue::Scalar { .. } => json.push_str(&node.to_json().to_string()),
        yaml::YamlValue::Seq(items) => {
            json.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    json.push(',');
                }
                write_node(item, json, mappings);
            }
            json.push(']');
        }
        yaml::YamlValue::Map(pairs) => {
            json.push('{');
            for (index, (key, value)) in pairs.iter().enumerate() {
                if index > 0 {
                    json.push(',');
                }
                let start = json.len();
                push_quoted(key.text().unwrap_or_default(), json);
                mappings.push(SpanMapping { json: start..json.len(), file: key.span.clone() });
                json.push(':');
                write_node(value, json, mappings);
            }
            json.push('}');
        }
    }
    mappings.push(SpanMapping { json: start..json.len(), file: node.span.clone() });
}

/// A step of a path in a JSON document.
enum JsonPathStep {
    Key(String),
    Index(usize),
}

/// The file that an input was read from.
#[derive(Debug, Clone)]
pub struct PackageInputFile {
    name: String,
    text: Arc<str>,
    limits: Limits,
}

impl PackageInputFile {
    pub(super) fn new(name: &str, text: &str, limits: &Limits) -> Self {
        Self { name: name.into(), text: text.into(), limits: limits.clone() }
    }

    /// Converts a report on the generated content or package to a report on this file.
    pub fn relocate(&self, report: Report) -> Report {
        let made = JsonDocument::parse(Arc::clone(&report.text), &self.limits);
        let source = SourceJson::parse(&self.text, &self.limits);
        let locate = |span: &Range<usize>| {
            let (made, source) = (made.as_ref().ok()?, source.as_ref().ok()?);
            let (mut path, is_key) = path_to(made.root(), span);
            if made.text().starts_with("{\"manifest\":") {
                path = to_input_path(path, source.json.root());
            } else {
                path = to_content_path(path, source.json.root());
            }
            source.file_span(&span_at_path(source.json.root(), &path, is_key))
        };
        report.relocated(self.name.clone(), &self.text, locate)
    }
}

/// Returns the path to the innermost value that contains `span`, and whether `span` is in its key.
fn path_to(root: JsonValue<'_>, span: &Range<usize>) -> (Vec<JsonPathStep>, bool) {
    let holds =
        |value: JsonValue<'_>| value.span().start <= span.start && span.end <= value.span().end;
    let (mut path, mut here) = (Vec::new(), root);
    loop {
        if here.kind() == JsonKind::Array {
            let Some((at, item)) = here.items().enumerate().find(|(_, item)| holds(*item)) else {
                break;
            };
            path.push(JsonPathStep::Index(at));
            here = item;
        } else {
            let Some((key, value)) =
                here.members().find(|(key, value)| holds(*key) || holds(*value))
            else {
                break;
            };
            path.push(JsonPathStep::Key(key.text().unwrap_or_default().into_owned()));
            if holds(key) {
                return (path, true);
            }
            here = value;
        }
    }
    (path, false)
}

/// Converts a path in a package to a path in the input.
fn to_input_path(mut path: Vec<JsonPathStep>, input: JsonValue<'_>) -> Vec<JsonPathStep> {
    match path.first() {
        Some(JsonPathStep::Key(first)) if first == "content" => {
            to_content_path(path.split_off(1), input)
        }
        // Without a manifest, its members are at the top level.
        Some(JsonPathStep::Key(first))
            if first == "manifest" && input.get("manifest").is_none() =>
        {
            path.split_off(1)
        }
        _ => path,
    }
}

/// Converts a path in a content to a path in the input.
fn to_content_path(path: Vec<JsonPathStep>, input: JsonValue<'_>) -> Vec<JsonPathStep> {
    let nested = input.get("content").filter(|content| content.kind() == JsonKind::Object);
    let is_key = |step: Option<&JsonPathStep>, name: &str| matches!(step, Some(JsonPathStep::Key(key)) if key == name);
    // Nodes and edges may be next to the layers in the input; the package has them in the graph.
    let lifted = is_key(path.first(), "context_graph")
        && ["nodes", "edges"]
            .iter()
            .any(|list| is_key(path.get(1), list) && nested.unwrap_or(input).get(list).is_some());
    let prefix = nested.map(|_| JsonPathStep::Key("content".into()));
    prefix.into_iter().chain(path.into_iter().skip(usize::from(lifted))).collect()
}

/// Returns the span of the value at a path, or of the nearest enclosing value.
fn span_at_path(root: JsonValue<'_>, path: &[JsonPathStep], is_key: bool) -> Range<usize> {
    let mut node = root;
    for (at, step) in path.iter().enumerate() {
        let next = match step {
            JsonPathStep::Index(index) => node.items().nth(*index).map(|item| (item, item)),
            JsonPathStep::Key(name) => node.members().find(|(key, _)| key.eq_str(name)),
        };
        let Some((key, value)) = next else { break };
        if is_key && at + 1 == path.len() {
            return key.span();
        }
        node = value;
    }
    node.span()
}
