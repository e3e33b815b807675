//! Input for `sp pkg create`: JSON or YAML written by hand.
//!
//! It is either a package without hashes, or only the content: `nodes`, `edges` and layers.

use std::ops::Range;

use sp_tree::Limits;

use crate::json::{JsonDocument, JsonKind, JsonValue, quoted};
use crate::package::rules::{PK_01, PK_03, PK_04};
use crate::report::Report;

use super::dependencies::{PackageDependency, read_conflicts, read_dependencies};
use super::layers::is_layer;
use super::locate::{PackageInputFile, SourceJson};
use super::manifest::PackageKind;
use super::manifest_fields::{ManifestFields, truncate_for_message};
use super::name::{PackageName, PackageVersion};

/// Manifest members that are generated and must not be written by hand.
const GENERATED_MEMBERS: &[&str] =
    &["integrity", "signature", "graph_summary", "stats", "layers", "provenance", "schema_version"];
const MANIFEST_MEMBERS: &[&str] = &[
    "name",
    "version",
    "description",
    "author",
    "created_at",
    "conformance_level",
    "tags",
    "dependencies",
    "optional_dependencies",
    "conflicts",
    "kind",
    "scope",
    VISIBILITY_MEMBER,
];
/// Copied to the manifest as it is written.
pub(super) const VISIBILITY_MEMBER: &str = "visibility";

/// What a package is created from. Members that the file does not have are `None` or empty.
#[derive(Debug, Clone, Default)]
pub struct PackageInput {
    pub name: Option<PackageName>,
    pub version: Option<PackageVersion>,
    pub description: Option<String>,
    pub author: Option<String>,
    pub created_at: Option<String>,
    /// The level to claim.
    pub level: Option<u64>,
    pub kind: Option<PackageKind>,
    pub tags: Vec<String>,
    pub dependencies: Vec<PackageDependency>,
    pub conflicts: Vec<PackageName>,
    /// Manifest members that are not known to `sp`, as raw JSON.
    pub extra_members: Vec<(String, String)>,
    /// The content as JSON.
    pub content: String,
    /// The file, for locating findings in the generated package.
    pub file: Option<PackageInputFile>,
}

/// Reads an input file. Returns `None` if the report has an error.
pub fn read_input(file: &str, bytes: &[u8], limits: &Limits) -> (Option<PackageInput>, Report) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        let mut report = Report::new(file, "");
        report
            .whole_file(crate::Severity::Error, &PK_01, "the file is not UTF-8")
            .help("save the file as UTF-8");
        return (None, report);
    };
    let mut report = Report::new(file, text);
    let source = match SourceJson::parse(text, limits) {
        Ok(source) => source,
        Err(error) => {
            report.error(&PK_01, error.span, error.message).help(error.help);
            return (None, report);
        }
    };
    let input = parse_input(&source.json, &mut report);
    for finding in &mut report.findings {
        finding.span = finding.span.take().and_then(|span| source.file_span(&span));
    }
    let file = PackageInputFile::new(file, text, limits);
    (
        input
            .filter(|_| report.is_usable())
            .map(|input| PackageInput { file: Some(file), ..input }),
        report,
    )
}

fn parse_input(json: &JsonDocument, report: &mut Report) -> Option<PackageInput> {
    let root = json.root();
    if root.kind() != JsonKind::Object {
        let message = format!("the input must be an object, not {}", root.kind().describe());
        report
            .error(&PK_01, root.span(), message)
            .help("write `nodes:`, followed by a list of nodes");
        return None;
    }
    let manifest = root.get("manifest");
    let is_package = manifest.is_some()
        || root.get("content").is_some_and(|content| content.kind() == JsonKind::Object);
    let content = match (is_package, root.get("content")) {
        (true, Some(content)) => content_json(content, &[]),
        (true, None) => "{}".into(),
        // Every member that is not about the package is content.
        (false, _) => content_json(root, MANIFEST_MEMBERS),
    };
    let head = if is_package { manifest.unwrap_or(root) } else { root };
    let mut input = read_fields(head, report);
    input.content = content;
    if is_package {
        let more = head.members().map(|(key, value)| {
            (key.text().unwrap_or_default().into_owned(), value.raw().to_owned())
        });
        input.extra_members = more
            .filter(|(key, _)| {
                !GENERATED_MEMBERS.contains(&key.as_str())
                    && !MANIFEST_MEMBERS.contains(&key.as_str())
            })
            .collect();
    }
    let visibility = head.get(VISIBILITY_MEMBER).map(|value| value.raw().to_owned());
    input.extra_members.extend(visibility.map(|value| (VISIBILITY_MEMBER.to_owned(), value)));
    Some(input)
}

/// Renders the content, with top-level nodes and edges moved into the graph.
fn content_json(value: JsonValue<'_>, without: &[&str]) -> String {
    let (mut members, mut graph) = (Vec::new(), Vec::new());
    for (key, value) in value.members() {
        let name = key.text().unwrap_or_default();
        let text = format!("{}:{}", quoted(&name), value.raw());
        match &*name {
            "nodes" | "edges" => graph.push(text),
            name if without.contains(&name) && !is_layer(name) => {}
            _ => members.push(text),
        }
    }
    if !graph.is_empty() {
        members.push(format!("\"context_graph\":{{{}}}", graph.join(",")));
    }
    format!("{{{}}}", members.join(","))
}

fn read_fields(head: JsonValue<'_>, report: &mut Report) -> PackageInput {
    let fields = ManifestFields { value: head };
    let span = |key: &str| head.get(key).map_or(0..0, JsonValue::span);
    let mut input = PackageInput {
        description: fields.text("description", report),
        author: fields.text("author", report),
        created_at: fields.text("created_at", report),
        level: fields.integer("conformance_level", &PK_04, report),
        tags: fields.text_list("tags", report).into_iter().map(|(word, _)| word).collect(),
        dependencies: read_dependencies(&fields, report),
        conflicts: read_conflicts(&fields, report),
        ..PackageInput::default()
    };
    if let Some(time) = &input.created_at
        && !crate::time::is_timestamp(time)
    {
        report
            .error(
                &PK_03,
                span("created_at"),
                format!("invalid time in `created_at`: `{}`", truncate_for_message(time)),
            )
            .help("use RFC 3339, such as `2026-05-22T00:00:00Z`");
    }
    input.name =
        fields.text("name", report).and_then(|text| read_name(&text, span("name"), report));
    input.version = fields
        .text("version", report)
        .and_then(|text| read_version(&text, span("version"), report));
    input.kind =
        fields.text("kind", report).and_then(|text| read_kind(&text, span("kind"), report));
    input
}

fn read_name(text: &str, span: Range<usize>, report: &mut Report) -> Option<PackageName> {
    PackageName::new(text)
        .inspect_err(|why| {
            let shown = truncate_for_message(text);
            let message = format!("invalid package name `{shown}`: {why}");
            report.error(&PK_03, span, message).help("use a name such as `my-project`");
        })
        .ok()
}

fn read_version(text: &str, span: Range<usize>, report: &mut Report) -> Option<PackageVersion> {
    PackageVersion::new(text)
        .inspect_err(|why| {
            let shown = truncate_for_message(text);
            let message = format!("invalid version `{shown}`: {why}");
            report.error(&PK_03, span, message).help("use a version such as `\"1.2.3\"`");
        })
        .ok()
}

fn read_kind(text: &str, span: Range<usize>, report: &mut Report) -> Option<PackageKind> {
    let kind = PackageKind::parse(text);
    if kind.is_none() {
        let shown = truncate_for_message(text);
        let message = format!("unknown package kind `{shown}`");
        report.error(&PK_04, span, message).help("valid kinds: context, skills, addon, grammar");
    }
    kind
}
