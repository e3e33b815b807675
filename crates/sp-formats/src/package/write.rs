//! Writing a package: strictly, canonically, and as widely readable as it can be.

use std::sync::Arc;

use sp_tree::{Hasher, Limits, PrivateKey};
use thiserror::Error;

use crate::json::{
    CompactDigest, JsonDocument, JsonError, JsonKind, JsonNumberFormat, JsonValue, canonicalize,
    quoted,
};
use crate::report::{Report, Severity};

use super::graph::{self, CanonicalGraph, GRAPH_FORMAT, Graph, PackageStrictness};
use super::layers::{self, GraphBuilder, NewEdge, POLICIES_LAYER};
use super::manifest::{PackageDependency, PackageKind};
use super::name::{PackageName, PackageVersion};
use super::{Package, composite_hash, read_text, signature};

/// What a package is to be made of.
#[derive(Debug, Clone)]
pub struct PackageDraft {
    /// Its name.
    pub name: PackageName,
    /// Its version, which must be SemVer.
    pub version: PackageVersion,
    /// What it is about.
    pub description: String,
    /// Who wrote it.
    pub author: Option<String>,
    /// The time that it bears.
    pub created_at: String,
    /// What it is for.
    pub kind: PackageKind,
    /// The level that it is to claim; none leaves a package of layers as it is.
    pub level: Option<u64>,
    /// Free words.
    pub tags: Vec<String>,
    /// What it needs.
    pub dependencies: Vec<PackageDependency>,
    /// What it cannot be together with.
    pub conflicts: Vec<PackageName>,
    /// The version of the tool.
    pub tool_version: String,
    /// Members of a manifest that we do not know, as JSON.
    pub extra_members: Vec<(String, String)>,
    /// The content, as JSON in any form.
    pub content: String,
    /// In place of the content: a graph that was merged, which is canonical and whole as it is.
    pub merged_graph: Option<Arc<CanonicalGraph>>,
}

/// The content of a package in the parts of which its text is made: what is large is not copied for it.
struct ContentParts<'p> {
    parts: [&'p str; 3],
    /// What it hashes to, if it is canonical, and so without white space.
    compact: Option<CompactDigest>,
}

impl<'p> ContentParts<'p> {
    /// A content that we wrote.
    fn from_canonical(parts: [&'p str; 3]) -> Self {
        let mut hasher = Hasher::default();
        parts.iter().for_each(|part| hasher.update(part.as_bytes()));
        let size = parts.iter().map(|part| part.len() as u64).sum();
        Self { parts, compact: Some(CompactDigest { digest: hasher.finish(), size }) }
    }
}

/// What the manifest says of the content.
struct ContentSummary {
    layers: Vec<String>,
    /// Of the graph, if there is one: nodes, edges, and the types of the nodes, sorted.
    graph: Option<(usize, usize, Vec<String>)>,
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
                .map(|graph| graph_counts(&graph)),
        }
    }
}

fn graph_counts(graph: &Graph<'_>) -> (usize, usize, Vec<String>) {
    let types = graph.node_types().into_iter().map(Into::into).collect();
    (graph.nodes.len(), graph.edges.len(), types)
}

/// Why a package cannot be written.
#[derive(Debug, Error)]
pub enum PackageWriteError {
    /// What it is made of is no JSON.
    #[error("the content is no JSON: {0}")]
    Json(#[from] JsonError),
    /// What it is made of is not as it must be.
    #[error("the content is not as it must be")]
    InvalidContent(Box<Report>),
    /// The version is no SemVer.
    #[error("the version `{0}` is no SemVer")]
    InvalidVersion(PackageVersion),
    /// There is nothing in it.
    #[error("there is nothing in it: no nodes, no layers and no documents")]
    Empty,
    /// A member of the manifest cannot be signed.
    #[error("the manifest holds a number that cannot be signed")]
    UnsignableNumber,
    /// What was written is not what we would read.
    #[error("the package would not be read again")]
    Unreadable(Box<Report>),
}

/// Writes a package, signed if there is a key.
pub fn write(
    draft: &PackageDraft,
    key: Option<&PrivateKey>,
    limits: &Limits,
) -> Result<String, PackageWriteError> {
    build(draft, key, limits).map(|package| package.text().to_string())
}

/// Makes a package, signed if there is a key, as whoever reads it has it.
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
            graph: Some((
                merged.node_count,
                merged.edge_count,
                merged.node_types.iter().cloned().collect(),
            )),
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

/// Manifest and content together, signed if there is a key, and read again as anybody would.
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

/// What is a warning to whoever reads is an error to whoever writes.
fn check_strictly(package: &Package, sound: bool) -> Result<(), PackageWriteError> {
    let mut report = Report::deferred("the content");
    // Of what is sound already there is nothing to say again.
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
    match report.is_usable() {
        true => Ok(()),
        false => {
            report.findings.retain(|finding| finding.severity == Severity::Error);
            Err(PackageWriteError::InvalidContent(Box::new(report.with_text(package.text()))))
        }
    }
}

/// The content with all that is demanded: defaults, and the graph where a level is wanted.
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
            // What the layers say stands in the graph too; where there is one already, only the policies do.
            None => made = layers::layers_to_graph(root),
            Some(_) => layers::add_policies(root, &mut made),
        }
        members.push(("context_graph".into(), complete_graph(own, &made)));
    }
    Ok(json_object(&members))
}

/// What is no object or no list where one must be would be lost without a word.
fn check_content_kinds(json: &JsonDocument) -> Result<(), PackageWriteError> {
    let mut report = Report::deferred("the content");
    layers::check_json_kinds(json.root(), &mut report);
    graph::check(json.root(), PackageStrictness::Reading, &mut report);
    match report.is_usable() {
        true => Ok(()),
        false => Err(PackageWriteError::InvalidContent(Box::new(report.with_text(json.text())))),
    }
}

fn json_object(members: &[(String, String)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(key, value)| format!("{}:{value}", quoted(key))).collect();
    format!("{{{}}}", members.join(","))
}

/// A graph with its defaults written out, and with more nodes and edges.
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

/// An object with a member more, if it is not there.
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

/// A layer with the members that other tools demand; what an author left out has its plainest value.
fn complete_layer(name: &str, value: JsonValue<'_>, now: &str) -> String {
    let (empty, now) = ("[]", quoted(now));
    let text = "\"\"";
    let mut layer = value.raw().to_owned();
    let mut add = |key: &str, default: &str| layer = add_member(&layer, key, default);
    let lists: &[&str] = match name {
        "knowledge" => &["facts", "patterns", "insights"],
        "graph" => &["nodes", "edges"],
        "session" => &["findings", "decisions", "next_steps", "files_touched"],
        "patterns" => &["patterns"],
        "gotchas" => &["gotchas"],
        _ => &["policies"],
    };
    lists.iter().for_each(|list| add(list, empty));
    add("exported_at", &now);
    let pattern: &[(&str, &str)] = &[
        ("pattern_type", "\"general\""),
        ("examples", empty),
        ("source_session", text),
        ("created_at", &now),
    ];
    let entries: &[(&str, &[(&str, &str)])] = &[
        (
            "facts",
            &[
                ("category", "\"general\""),
                ("key", text),
                ("source_session", text),
                ("confidence", "1.0"),
                ("created_at", &now),
                ("last_confirmed", &now),
            ],
        ),
        ("patterns", pattern),
        ("insights", &[("from_sessions", empty), ("timestamp", &now)]),
        (
            "gotchas",
            &[
                ("category", "\"general\""),
                ("severity", "\"warning\""),
                ("file_patterns", empty),
                ("confidence", "1.0"),
            ],
        ),
        ("policies", &[("kind", "\"quality\""), ("severity", "\"warning\"")]),
    ];
    complete_entries(&layer, entries)
}

/// Adds a member to the text of an object, if it is not there.
fn add_member(text: &str, key: &str, default: &str) -> String {
    // The text was read before, so it is read again.
    match JsonDocument::parse(text, &Limits::default()) {
        Ok(json) => with_default(json.root(), key, default),
        Err(_) => text.into(),
    }
}

fn complete_entries(layer: &str, entries: &[(&str, &[(&str, &str)])]) -> String {
    let Ok(json) = JsonDocument::parse(layer, &Limits::default()) else { return layer.into() };
    let mut members = Vec::new();
    for (key, value) in json.root().members() {
        let key = key.text().unwrap_or_default().into_owned();
        let defaults = entries.iter().find(|(list, _)| *list == key).map(|(_, defaults)| *defaults);
        let text = match defaults {
            Some(defaults) => {
                let entry = |entry: JsonValue<'_>| {
                    defaults.iter().fold(entry.raw().to_owned(), |text, (key, default)| {
                        add_member(&text, key, default)
                    })
                };
                let completed: Vec<String> = value
                    .items()
                    .enumerate()
                    .map(|(at, item)| with_id(&entry(item), &key, at))
                    .collect();
                format!("[{}]", completed.join(","))
            }
            None => value.raw().to_owned(),
        };
        members.push((key, text));
    }
    json_object(&members)
}

/// Gotchas and policies have ids; an author may leave counting to us.
fn with_id(entry: &str, list: &str, at: usize) -> String {
    match list {
        "gotchas" => add_member(entry, "id", &quoted(&format!("gotcha-{}", at + 1))),
        "policies" => add_member(entry, "id", &quoted(&format!("policy-{}", at + 1))),
        _ => entry.into(),
    }
}

fn manifest_json(
    draft: &PackageDraft,
    summary: &ContentSummary,
    content: Option<CompactDigest>,
) -> String {
    let schema = if summary.graph.is_some()
        || draft.kind != PackageKind::Context
        || draft.name.scope().is_some()
    {
        2
    } else {
        1
    };
    let (content_hash, size) =
        content.map_or_else(Default::default, |content| (content.digest.hex(), content.size));
    let sha256 = composite_hash(draft.name.as_str(), draft.version.as_str(), &content_hash);
    let mut members: Vec<(String, String)> = vec![
        ("schema_version".into(), schema.to_string()),
        ("name".into(), quoted(draft.name.as_str())),
        ("version".into(), quoted(draft.version.as_str())),
        ("description".into(), quoted(&draft.description)),
        ("created_at".into(), quoted(&draft.created_at)),
        ("layers".into(), json_text_list(&summary.layers)),
        ("dependencies".into(), dependencies_json(&draft.dependencies)),
        ("tags".into(), json_text_list(&draft.tags)),
        (
            "integrity".into(),
            format!(
                "{{\"sha256\":\"{sha256}\",\"content_hash\":\"{content_hash}\",\"byte_size\":{size}}}"
            ),
        ),
        (
            "provenance".into(),
            format!("{{\"tool\":\"skillpack\",\"tool_version\":{}}}", quoted(&draft.tool_version)),
        ),
        ("compatibility".into(), "{\"target_languages\":[],\"target_frameworks\":[]}".into()),
    ];
    let mut add = |key: &str, value: Option<String>| {
        members.extend(value.map(|value| (key.to_owned(), value)))
    };
    add("author", draft.author.as_deref().map(quoted));
    add("scope", draft.name.scope().map(quoted));
    add("kind", (draft.kind != PackageKind::Context).then(|| quoted(draft.kind.as_str())));
    let conflicts: Vec<String> = draft.conflicts.iter().map(ToString::to_string).collect();
    add("conflicts", (!conflicts.is_empty()).then(|| json_text_list(&conflicts)));
    if let Some((nodes, edges, types)) = &summary.graph {
        // The third level is claimed only by whoever asks for it.
        let reached = if *edges == 0 { 1 } else { 2 };
        add("conformance_level", Some(draft.level.unwrap_or(reached).to_string()));
        let summary = format!(
            "{{\"node_count\":{nodes},\"edge_count\":{edges},\"node_types\":{}}}",
            json_text_list(types)
        );
        add("graph_summary", Some(summary));
    }
    let own: Vec<String> = members.iter().map(|(key, _)| key.clone()).collect();
    members.extend(draft.extra_members.iter().filter(|(key, _)| !own.contains(key)).cloned());
    json_object(&members)
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

/// The package as lean-ctx takes it: without the layer that it does not know. The content stays,
/// and with it the first signature; the second is made anew if there is the key for it.
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
        let kept: Vec<(String, String)> = signature
            .members()
            .filter(|(key, _)| !key.eq_str("manifest_value"))
            .map(|(key, value)| {
                (key.text().unwrap_or_default().into_owned(), value.raw().to_owned())
            })
            .collect();
        let manifest =
            json_object(&[members, vec![("signature".into(), json_object(&kept))]].concat());
        return Ok(format!("{{\"manifest\":{manifest},\"content\":{content}}}"));
    }
    assemble(&json_object(&members), &parts, key, limits).map(|package| package.text().to_string())
}
