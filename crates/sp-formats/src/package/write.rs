//! Writing packages: canonical, strictly checked, and readable by as many tools as possible.

use std::sync::Arc;

use sp_tree::{Hasher, Limits, PrivateKey};
use thiserror::Error;

use crate::json::{
    CompactDigest, JsonDocument, JsonError, JsonKind, JsonNumberFormat, JsonValue, canonicalize,
    quoted,
};
use crate::report::{Report, Severity};

use super::dependencies::PackageDependency;
use super::graph::{self, CanonicalGraph, GRAPH_FORMAT, Graph, PackageStrictness};
use super::input::VISIBILITY_MEMBER;
use super::integrity::composite_hash;
use super::layers::{self, GraphBuilder, NewEdge, POLICIES_LAYER};
use super::manifest::PackageKind;
use super::name::{PackageName, PackageVersion};
use super::{Package, read_text, signature};

/// What a package is created from.
#[derive(Debug, Clone)]
pub struct PackageDraft {
    pub name: PackageName,
    /// Must be SemVer.
    pub version: PackageVersion,
    pub description: String,
    pub author: Option<String>,
    pub created_at: String,
    pub kind: PackageKind,
    /// The level to claim. `None` leaves a package of layers as it is.
    pub level: Option<u64>,
    pub tags: Vec<String>,
    pub dependencies: Vec<PackageDependency>,
    pub conflicts: Vec<PackageName>,
    /// The version of `sp`.
    pub tool_version: String,
    /// Manifest members that are not known to `sp`, as raw JSON.
    pub extra_members: Vec<(String, String)>,
    /// The content as JSON in any formatting.
    pub content: String,
    /// A merged graph that replaces `content`. It is canonical and complete.
    pub merged_graph: Option<Arc<CanonicalGraph>>,
}

/// The content as parts of the text, so that large parts are not copied.
struct ContentParts<'p> {
    parts: [&'p str; 3],
    /// The digest, known if the content is canonical and therefore compact.
    compact: Option<CompactDigest>,
}

impl<'p> ContentParts<'p> {
    fn from_canonical(parts: [&'p str; 3]) -> Self {
        let mut hasher = Hasher::default();
        parts.iter().for_each(|part| hasher.update(part.as_bytes()));
        let size = parts.iter().map(|part| part.len() as u64).sum();
        Self { parts, compact: Some(CompactDigest { digest: hasher.finish(), size }) }
    }
}

/// What the manifest states about the content.
struct ContentSummary {
    layers: Vec<String>,
    graph: Option<GraphSummary>,
}

/// What the manifest states about the graph.
struct GraphSummary {
    node_count: usize,
    edge_count: usize,
    /// Sorted.
    node_types: Vec<String>,
}

impl ContentSummary {
    fn of(content: JsonValue<'_>) -> Self {
        let names = content.members().filter_map(|(key, _)| key.text());
        let mut layers: Vec<String> =
            names.filter(|key| layers::is_layer(key)).map(Into::into).collect();
        layers.sort_unstable();
        let has_graph = content.get("context_graph").is_some();
        Self {
            layers,
            graph: has_graph
                .then(|| Graph::from_content(content))
                .map(|graph| GraphSummary::of(&graph)),
        }
    }
}

impl GraphSummary {
    fn of(graph: &Graph<'_>) -> Self {
        Self {
            node_count: graph.nodes.len(),
            edge_count: graph.edges.len(),
            node_types: graph.node_types().into_iter().map(Into::into).collect(),
        }
    }
}

/// Why a package cannot be written.
#[derive(Debug, Error)]
pub enum PackageWriteError {
    /// The content is not JSON.
    #[error("the content is not valid JSON: {0}")]
    Json(#[from] JsonError),
    /// The content is invalid.
    #[error("the content is invalid")]
    InvalidContent(Box<Report>),
    /// The version is not SemVer.
    #[error("the version `{0}` is not a SemVer version")]
    InvalidVersion(PackageVersion),
    /// The package would be empty.
    #[error("the package is empty: it has no nodes, layers or documents")]
    Empty,
    /// The manifest contains a number that cannot be signed.
    #[error("the manifest contains a number that cannot be signed")]
    UnsignableNumber,
    /// The package could not be read back.
    #[error("the package is invalid")]
    Unreadable(Box<Report>),
}

/// Writes a package, signed if a key is given.
pub fn write(
    draft: &PackageDraft,
    key: Option<&PrivateKey>,
    limits: &Limits,
) -> Result<String, PackageWriteError> {
    build(draft, key, limits).map(|package| package.text().to_string())
}

/// Creates a package, signed if a key is given, and returns it as a reader sees it.
pub fn build(
    draft: &PackageDraft,
    key: Option<&PrivateKey>,
    limits: &Limits,
) -> Result<Package, PackageWriteError> {
    if draft.version.semver().is_none() {
        return Err(PackageWriteError::InvalidVersion(draft.version.clone()));
    }
    if let Some(merged) = &draft.merged_graph {
        let summary = ContentSummary {
            layers: Vec::new(),
            graph: Some(GraphSummary {
                node_count: merged.node_count,
                edge_count: merged.edge_count,
                node_types: merged.node_types.iter().cloned().collect(),
            }),
        };
        let content = ContentParts::from_canonical(["{\"context_graph\":", &merged.json, "}"]);
        return assemble(&manifest_json(draft, &summary, content.compact), &content, key, limits);
    }
    let json = JsonDocument::parse(complete_content(draft, limits)?, limits)?;
    let content = canonicalize(json.root(), "", JsonNumberFormat::Lossless).unwrap_or_default();
    let summary = ContentSummary::of(json.root());
    drop(json);
    let content = ContentParts::from_canonical(["", &content, ""]);
    assemble(&manifest_json(draft, &summary, content.compact), &content, key, limits)
}

/// Joins manifest and content, signs them if a key is given, and reads the result back.
fn assemble(
    manifest: &str,
    content: &ContentParts<'_>,
    key: Option<&PrivateKey>,
    limits: &Limits,
) -> Result<Package, PackageWriteError> {
    let json = JsonDocument::parse(manifest, limits)?;
    let mut sorted = canonicalize(json.root(), "signature", JsonNumberFormat::Rounded)
        .ok_or(PackageWriteError::UnsignableNumber)?;
    if let Some(key) = key {
        let unsigned = JsonDocument::parse(sorted.as_str(), limits)?;
        let signature =
            signature::sign(unsigned.root(), key).ok_or(PackageWriteError::UnsignableNumber)?;
        let open = sorted.strip_suffix('}').unwrap_or(&sorted);
        let json = JsonDocument::parse(format!("{open},\"signature\":{signature}}}"), limits)?;
        sorted = canonicalize(json.root(), "", JsonNumberFormat::Rounded)
            .ok_or(PackageWriteError::UnsignableNumber)?;
    }
    let size: usize = content.parts.iter().map(|part| part.len()).sum();
    let mut text = String::with_capacity(sorted.len() + size + 32);
    ["{\"manifest\":", &sorted, ",\"content\":"]
        .iter()
        .chain(&content.parts)
        .for_each(|part| text.push_str(part));
    text.push('}');
    let read = read_text("the package", text, content.compact, limits);
    match read.package {
        Some(package) => check_strictly(&package, read.content_is_clean).map(|()| package),
        None => Err(PackageWriteError::Unreadable(Box::new(read.report))),
    }
}

/// Rejects what is only a warning when reading.
fn check_strictly(package: &Package, sound: bool) -> Result<(), PackageWriteError> {
    let mut report = Report::deferred("the content");
    // Content that was checked already is not checked again.
    if !sound {
        layers::check(
            package.content(),
            &package.manifest,
            PackageStrictness::Writing,
            &mut report,
        );
        graph::check(package.content(), PackageStrictness::Writing, &mut report);
    }
    graph::check_level(package.raw_manifest(), package.content(), &mut report);
    if report.is_usable() {
        return Ok(());
    }
    report.findings.retain(|finding| finding.severity == Severity::Error);
    Err(PackageWriteError::InvalidContent(Box::new(report.with_text(package.text()))))
}

/// Completes the content: defaults, and a graph if a level requires one.
fn complete_content(draft: &PackageDraft, limits: &Limits) -> Result<String, PackageWriteError> {
    let json = JsonDocument::parse(draft.content.as_str(), limits)?;
    let root = json.root();
    if root.kind() != JsonKind::Object || root.members().next().is_none() {
        return Err(PackageWriteError::Empty);
    }
    check_content_kinds(&json)?;
    let mut members: Vec<(String, String)> = Vec::new();
    for (key, value) in root.members() {
        let key = key.text().unwrap_or_default();
        let text = match &*key {
            "context_graph" => continue,
            name if layers::is_layer(name) && value.is_null() => continue,
            name if layers::is_layer(name) => complete_layer(name, value, &draft.created_at),
            _ => value.raw().to_owned(),
        };
        members.push((key.into_owned(), text));
    }
    let own = root.get("context_graph").filter(|graph| !graph.is_null());
    if own.is_some() || draft.level.is_some() {
        let mut made = GraphBuilder::default();
        match own {
            // Knowledge in layers is repeated in the graph; if there is a graph already, only
            // policies are.
            None => made = layers::layers_to_graph(root),
            Some(_) => layers::add_policies(root, &mut made),
        }
        members.push(("context_graph".into(), complete_graph(own, &made)));
    }
    Ok(json_object(&members))
}

/// Rejects objects and lists of another type, because converting them would lose data.
fn check_content_kinds(json: &JsonDocument) -> Result<(), PackageWriteError> {
    let mut report = Report::deferred("the content");
    layers::check_json_kinds(json.root(), &mut report);
    graph::check(json.root(), PackageStrictness::Reading, &mut report);
    if report.is_usable() {
        return Ok(());
    }
    Err(PackageWriteError::InvalidContent(Box::new(report.with_text(json.text()))))
}

fn json_object(members: &[(String, String)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(key, value)| format!("{}:{value}", quoted(key))).collect();
    format!("{{{}}}", members.join(","))
}

/// Renders a graph with its defaults and with additional nodes and edges.
fn complete_graph(own: Option<JsonValue<'_>>, made: &GraphBuilder) -> String {
    let mut members = vec![("format".to_owned(), quoted(GRAPH_FORMAT))];
    let list =
        |key: &str| own.and_then(|graph| graph.get(key)).into_iter().flat_map(JsonValue::items);
    let known: std::collections::HashSet<String> =
        list("nodes").filter_map(|node| node.get("id")?.text().map(Into::into)).collect();
    let own_nodes = list("nodes").map(|node| with_default(node, "activation", "1.0"));
    let new_nodes =
        made.nodes.iter().filter(|node| !known.contains(&node.id())).map(layers::NewNode::to_json);
    let nodes: Vec<String> = own_nodes.chain(new_nodes).collect();
    let own_edges = list("edges").map(|edge| with_default(edge, "weight", "1.0"));
    let edges: Vec<String> = own_edges.chain(made.edges.iter().map(NewEdge::to_json)).collect();
    for (key, value) in own.into_iter().flat_map(JsonValue::members) {
        let key = key.text().unwrap_or_default().into_owned();
        if !matches!(key.as_str(), "format" | "nodes" | "edges") {
            members.push((key, value.raw().into()));
        } else if key == "format" {
            members[0].1 = value.raw().into();
        }
    }
    members.push(("nodes".into(), format!("[{}]", nodes.join(","))));
    members.push(("edges".into(), format!("[{}]", edges.join(","))));
    json_object(&members)
}

/// Adds a member to an object unless it is present.
fn with_default(value: JsonValue<'_>, key: &str, default: &str) -> String {
    let raw = value.raw();
    match value.get(key) {
        None if value.kind() == JsonKind::Object => {
            let comma = if value.members().next().is_some() { "," } else { "" };
            format!("{}{comma}{}:{default}}}", &raw[..raw.len() - 1], quoted(key))
        }
        _ => raw.into(),
    }
}

/// The neutral value of a member that other tools require.
#[derive(Clone, Copy)]
enum NeutralValue {
    EmptyList,
    EmptyText,
    /// The time of writing.
    Now,
    /// Raw JSON.
    Json(&'static str),
}

impl NeutralValue {
    fn json(self, now: &str) -> String {
        match self {
            Self::EmptyList => "[]".into(),
            Self::EmptyText => "\"\"".into(),
            Self::Now => quoted(now),
            Self::Json(raw) => raw.into(),
        }
    }
}

use NeutralValue::{EmptyList, EmptyText, Json, Now};

/// The members that the entries of a list need.
struct EntryDefaults {
    list: &'static str,
    members: &'static [(&'static str, NeutralValue)],
}

const ENTRY_DEFAULTS: &[EntryDefaults] = &[
    EntryDefaults {
        list: "facts",
        members: &[
            ("category", Json("\"general\"")),
            ("key", EmptyText),
            ("source_session", EmptyText),
            ("confidence", Json("1.0")),
            ("created_at", Now),
            ("last_confirmed", Now),
        ],
    },
    EntryDefaults {
        list: "patterns",
        members: &[
            ("pattern_type", Json("\"general\"")),
            ("examples", EmptyList),
            ("source_session", EmptyText),
            ("created_at", Now),
        ],
    },
    EntryDefaults {
        list: "insights",
        members: &[("from_sessions", EmptyList), ("timestamp", Now)],
    },
    EntryDefaults {
        list: "gotchas",
        members: &[
            ("category", Json("\"general\"")),
            ("severity", Json("\"warning\"")),
            ("file_patterns", EmptyList),
            ("confidence", Json("1.0")),
        ],
    },
    EntryDefaults {
        list: "policies",
        members: &[("kind", Json("\"quality\"")), ("severity", Json("\"warning\""))],
    },
];

/// The lists that a layer must have.
fn layer_lists(name: &str) -> &'static [&'static str] {
    match name {
        "knowledge" => &["facts", "patterns", "insights"],
        "graph" => &["nodes", "edges"],
        "session" => &["findings", "decisions", "next_steps", "files_touched"],
        "patterns" => &["patterns"],
        "gotchas" => &["gotchas"],
        _ => &["policies"],
    }
}

/// Adds the members that other tools require to a layer, with neutral values.
fn complete_layer(name: &str, value: JsonValue<'_>, now: &str) -> String {
    let with_lists = layer_lists(name)
        .iter()
        .fold(value.raw().to_owned(), |layer, list| add_member(&layer, list, "[]"));
    complete_entries(&add_member(&with_lists, "exported_at", &quoted(now)), now)
}

/// Adds a member to the text of an object unless it is present.
fn add_member(text: &str, key: &str, default: &str) -> String {
    // The text was parsed before, so parsing cannot fail.
    match JsonDocument::parse(text, &Limits::default()) {
        Ok(json) => with_default(json.root(), key, default),
        Err(_) => text.into(),
    }
}

/// Adds the members that other tools require to the entries of each list.
fn complete_entries(layer: &str, now: &str) -> String {
    let Ok(json) = JsonDocument::parse(layer, &Limits::default()) else { return layer.into() };
    let mut members = Vec::new();
    for (key, value) in json.root().members() {
        let key = key.text().unwrap_or_default().into_owned();
        let text = match ENTRY_DEFAULTS.iter().find(|defaults| defaults.list == key) {
            Some(defaults) => {
                let completed: Vec<String> = value
                    .items()
                    .enumerate()
                    .map(|(index, item)| with_id(&defaults.complete(item, now), &key, index))
                    .collect();
                format!("[{}]", completed.join(","))
            }
            None => value.raw().to_owned(),
        };
        members.push((key, text));
    }
    json_object(&members)
}

impl EntryDefaults {
    fn complete(&self, entry: JsonValue<'_>, now: &str) -> String {
        self.members.iter().fold(entry.raw().to_owned(), |text, (key, default)| {
            add_member(&text, key, &default.json(now))
        })
    }
}

/// Gotchas and policies need an ID. If the author left it out, it is the position in the list.
fn with_id(entry: &str, list: &str, index: usize) -> String {
    match list {
        "gotchas" => add_member(entry, "id", &quoted(&format!("gotcha-{}", index + 1))),
        "policies" => add_member(entry, "id", &quoted(&format!("policy-{}", index + 1))),
        _ => entry.into(),
    }
}

fn manifest_json(
    draft: &PackageDraft,
    summary: &ContentSummary,
    content: Option<CompactDigest>,
) -> String {
    let mut members: Vec<(String, String)> = required_members(draft, summary, content)
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
    let mut add = |key: &str, value: Option<String>| {
        members.extend(value.map(|value| (key.to_owned(), value)));
    };
    add("author", draft.author.as_deref().map(quoted));
    add("scope", draft.name.scope().map(quoted));
    add("kind", (draft.kind != PackageKind::Context).then(|| quoted(draft.kind.as_str())));
    let conflicts: Vec<String> = draft.conflicts.iter().map(ToString::to_string).collect();
    add("conflicts", (!conflicts.is_empty()).then(|| json_text_list(&conflicts)));
    if let Some(graph) = &summary.graph {
        // Level 3 is only claimed on request.
        let reached = if graph.edge_count == 0 { 1 } else { 2 };
        add("conformance_level", Some(draft.level.unwrap_or(reached).to_string()));
        add("graph_summary", Some(graph_summary_json(graph)));
    }
    let own: Vec<String> = members.iter().map(|(key, _)| key.clone()).collect();
    members.extend(draft.extra_members.iter().filter(|(key, _)| !own.contains(key)).cloned());
    json_object(&members)
}

/// The members that every manifest has.
fn required_members(
    draft: &PackageDraft,
    summary: &ContentSummary,
    content: Option<CompactDigest>,
) -> Vec<(&'static str, String)> {
    let needs_schema_2 = summary.graph.is_some()
        || draft.kind != PackageKind::Context
        || draft.name.scope().is_some()
        || draft.extra_members.iter().any(|(key, _)| key == VISIBILITY_MEMBER);
    let schema = if needs_schema_2 { 2 } else { 1 };
    let provenance =
        format!("{{\"tool\":\"skillpack\",\"tool_version\":{}}}", quoted(&draft.tool_version));
    vec![
        ("schema_version", schema.to_string()),
        ("name", quoted(draft.name.as_str())),
        ("version", quoted(draft.version.as_str())),
        ("description", quoted(&draft.description)),
        ("created_at", quoted(&draft.created_at)),
        ("layers", json_text_list(&summary.layers)),
        ("dependencies", dependencies_json(&draft.dependencies)),
        ("tags", json_text_list(&draft.tags)),
        ("integrity", integrity_json(draft, content)),
        ("provenance", provenance),
        ("compatibility", "{\"target_languages\":[],\"target_frameworks\":[]}".into()),
    ]
}

fn integrity_json(draft: &PackageDraft, content: Option<CompactDigest>) -> String {
    let (content_hash, size) =
        content.map_or_else(Default::default, |content| (content.digest.hex(), content.size));
    let sha256 = composite_hash(draft.name.as_str(), draft.version.as_str(), &content_hash);
    format!("{{\"sha256\":\"{sha256}\",\"content_hash\":\"{content_hash}\",\"byte_size\":{size}}}")
}

fn graph_summary_json(graph: &GraphSummary) -> String {
    let GraphSummary { node_count, edge_count, node_types } = graph;
    format!(
        "{{\"node_count\":{node_count},\"edge_count\":{edge_count},\"node_types\":{}}}",
        json_text_list(node_types)
    )
}

fn json_text_list(words: &[String]) -> String {
    format!("[{}]", words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(","))
}

fn dependencies_json(list: &[PackageDependency]) -> String {
    let one = |one: &PackageDependency| {
        format!(
            "{{\"name\":{},\"version_req\":{},\"optional\":{}}}",
            quoted(one.name.as_str()),
            quoted(one.range.as_str()),
            one.optional
        )
    };
    format!("[{}]", list.iter().map(one).collect::<Vec<_>>().join(","))
}

/// Rewrites a package for lean-ctx, without the layer that it does not know. The content does not
/// change, so the first signature stays valid; the second is created again if the key is given.
pub fn write_lean_ctx_compatible(
    package: &Package,
    key: Option<&PrivateKey>,
    limits: &Limits,
) -> Result<String, PackageWriteError> {
    let manifest = package.raw_manifest();
    let layers: Vec<String> = package
        .manifest
        .layers
        .iter()
        .map(|(layer, _)| layer.clone())
        .filter(|layer| layers::is_layer(layer) && layer != POLICIES_LAYER)
        .collect();
    let members: Vec<(String, String)> = manifest
        .members()
        .filter(|(key, _)| !key.eq_str("signature"))
        .map(|(key, value)| {
            let text =
                if key.eq_str("layers") { json_text_list(&layers) } else { value.raw().to_owned() };
            (key.text().unwrap_or_default().into_owned(), text)
        })
        .collect();
    let content = package.content().raw();
    let parts = ContentParts { parts: ["", content, ""], compact: None };
    if let (None, Some(signature)) =
        (key, manifest.get("signature").filter(|signature| !signature.is_null()))
    {
        let signature_members: Vec<(String, String)> = signature
            .members()
            .filter(|(key, _)| !key.eq_str("manifest_value"))
            .map(|(key, value)| {
                (key.text().unwrap_or_default().into_owned(), value.raw().to_owned())
            })
            .collect();
        let manifest = json_object(
            &[members, vec![("signature".into(), json_object(&signature_members))]].concat(),
        );
        return Ok(format!("{{\"manifest\":{manifest},\"content\":{content}}}"));
    }
    assemble(&json_object(&members), &parts, key, limits).map(|package| package.text().to_string())
}
