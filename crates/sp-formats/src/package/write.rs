//! Writing a package: strictly, canonically, and as widely readable as it can be.

use std::sync::Arc;

use sp_tree::{Hasher, Limits, PrivateKey};
use thiserror::Error;

use crate::json::{Compact, Json, JsonError, Kind, Numbers, Value, canonical, quoted};
use crate::report::{Report, Severity};

use super::graph::{self, CanonicalGraph, GRAPH_FORMAT, Graph, Strictness};
use super::layers::{self, NewEdge, NewGraph, POLICIES};
use super::manifest::{Dependency, PackageKind};
use super::name::{PackageName, PackageVersion};
use super::{Package, composite, read_text, signature};

/// What a package is to be made of.
#[derive(Debug, Clone)]
pub struct Draft {
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
    pub dependencies: Vec<Dependency>,
    /// What it cannot be together with.
    pub conflicts: Vec<PackageName>,
    /// The version of the tool.
    pub tool_version: String,
    /// Members of a manifest that we do not know, as JSON.
    pub more: Vec<(String, String)>,
    /// The content, as JSON in any form.
    pub content: String,
    /// In place of the content: a graph that was merged, which is canonical and whole as it is.
    pub merged: Option<Arc<CanonicalGraph>>,
}

/// The content of a package in the parts of which its text is made: what is large is not copied for it.
struct Parts<'p> {
    parts: [&'p str; 3],
    /// What it hashes to, if it is canonical, and so without white space.
    compact: Option<Compact>,
}

impl<'p> Parts<'p> {
    /// A content that we wrote.
    fn canonical(parts: [&'p str; 3]) -> Self {
        let mut hasher = Hasher::default();
        parts.iter().for_each(|part| hasher.update(part.as_bytes()));
        let size = parts.iter().map(|part| part.len() as u64).sum();
        Self { parts, compact: Some(Compact { digest: hasher.finish(), size }) }
    }
}

/// What the manifest says of the content.
struct Summary {
    layers: Vec<String>,
    /// Of the graph, if there is one: nodes, edges, and the types of the nodes, sorted.
    graph: Option<(usize, usize, Vec<String>)>,
}

impl Summary {
    fn of(content: Value<'_>) -> Self {
        let names = content.members().filter_map(|(key, _)| key.text());
        let mut layers: Vec<String> = names.filter(|key| layers::is_layer(key)).map(Into::into).collect();
        layers.sort_unstable();
        let has_graph = content.get("context_graph").is_some();
        Self { layers, graph: has_graph.then(|| Graph::of(content)).map(|graph| figures(&graph)) }
    }
}

fn figures(graph: &Graph<'_>) -> (usize, usize, Vec<String>) {
    let types = graph.node_types().into_iter().map(Into::into).collect();
    (graph.nodes.len(), graph.edges.len(), types)
}

/// Why a package cannot be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// What it is made of is no JSON.
    #[error("the content is no JSON: {0}")]
    Json(#[from] JsonError),
    /// What it is made of is not as it must be.
    #[error("the content is not as it must be")]
    Content(Box<Report>),
    /// The version is no SemVer.
    #[error("the version `{0}` is no SemVer")]
    Version(PackageVersion),
    /// There is nothing in it.
    #[error("there is nothing in it: no nodes, no layers and no documents")]
    Empty,
    /// A member of the manifest cannot be signed.
    #[error("the manifest holds a number that cannot be signed")]
    Number,
    /// What was written is not what we would read.
    #[error("the package would not be read again")]
    Refused(Box<Report>),
}

/// Writes a package, signed if there is a key.
pub fn write(draft: &Draft, key: Option<&PrivateKey>, limits: &Limits) -> Result<String, WriteError> {
    build(draft, key, limits).map(|package| package.text().to_string())
}

/// Makes a package, signed if there is a key, as whoever reads it has it.
pub fn build(draft: &Draft, key: Option<&PrivateKey>, limits: &Limits) -> Result<Package, WriteError> {
    if draft.version.semver().is_none() {
        return Err(WriteError::Version(draft.version.clone()));
    }
    if let Some(merged) = &draft.merged {
        let summary = Summary {
            layers: Vec::new(),
            graph: Some((merged.nodes, merged.edges, merged.types.iter().cloned().collect())),
        };
        let content = Parts::canonical(["{\"context_graph\":", &merged.text, "}"]);
        return finish(&manifest(draft, &summary, content.compact), &content, key, limits);
    }
    let json = Json::parse(complete(draft, limits)?, limits)?;
    let content = canonical(json.root(), "", Numbers::Lossless).unwrap_or_default();
    let summary = Summary::of(json.root());
    drop(json);
    let content = Parts::canonical(["", &content, ""]);
    finish(&manifest(draft, &summary, content.compact), &content, key, limits)
}

/// Manifest and content together, signed if there is a key, and read again as anybody would.
fn finish(
    manifest: &str,
    content: &Parts<'_>,
    key: Option<&PrivateKey>,
    limits: &Limits,
) -> Result<Package, WriteError> {
    let json = Json::parse(manifest, limits)?;
    let mut sorted = canonical(json.root(), "signature", Numbers::Rounded).ok_or(WriteError::Number)?;
    if let Some(key) = key {
        let unsigned = Json::parse(sorted.as_str(), limits)?;
        let signature = signature::sign(unsigned.root(), key).ok_or(WriteError::Number)?;
        let open = sorted.strip_suffix('}').unwrap_or(&sorted);
        let json = Json::parse(format!("{open},\"signature\":{signature}}}"), limits)?;
        sorted = canonical(json.root(), "", Numbers::Rounded).ok_or(WriteError::Number)?;
    }
    let size: usize = content.parts.iter().map(|part| part.len()).sum();
    let mut text = String::with_capacity(sorted.len() + size + 32);
    ["{\"manifest\":", &sorted, ",\"content\":"].iter().chain(&content.parts).for_each(|part| text.push_str(part));
    text.push('}');
    let read = read_text("the package", text, content.compact, limits);
    match read.package {
        Some(package) => strict(&package, read.sound).map(|()| package),
        None => Err(WriteError::Refused(Box::new(read.report))),
    }
}

/// What is a warning to whoever reads is an error to whoever writes.
fn strict(package: &Package, sound: bool) -> Result<(), WriteError> {
    let mut report = Report::deferred("the content");
    // Of what is sound already there is nothing to say again.
    if !sound {
        layers::check(package.content(), &package.manifest, Strictness::Writing, &mut report);
        graph::check(package.content(), Strictness::Writing, &mut report);
    }
    graph::check_level(package.raw_manifest(), package.content(), &mut report);
    match report.is_usable() {
        true => Ok(()),
        false => {
            report.findings.retain(|finding| finding.severity == Severity::Error);
            Err(WriteError::Content(Box::new(report.about(package.text()))))
        }
    }
}

/// The content with all that is demanded: defaults, and the graph where a level is wanted.
fn complete(draft: &Draft, limits: &Limits) -> Result<String, WriteError> {
    let json = Json::parse(draft.content.as_str(), limits)?;
    let root = json.root();
    if root.kind() != Kind::Object || root.members().next().is_none() {
        return Err(WriteError::Empty);
    }
    refuse_kinds(&json)?;
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
        let mut made = NewGraph::default();
        match own {
            // What the layers say stands in the graph too; where there is one already, only the policies do.
            None => made = layers::to_graph(root),
            Some(_) => layers::policies(root, &mut made),
        }
        members.push(("context_graph".into(), complete_graph(own, &made)));
    }
    Ok(object(&members))
}

/// What is no object or no list where one must be would be lost without a word.
fn refuse_kinds(json: &Json) -> Result<(), WriteError> {
    let mut report = Report::deferred("the content");
    layers::check_kinds(json.root(), &mut report);
    graph::check(json.root(), Strictness::Reading, &mut report);
    match report.is_usable() {
        true => Ok(()),
        false => Err(WriteError::Content(Box::new(report.about(json.text())))),
    }
}

fn object(members: &[(String, String)]) -> String {
    let members: Vec<String> = members.iter().map(|(key, value)| format!("{}:{value}", quoted(key))).collect();
    format!("{{{}}}", members.join(","))
}

/// A graph with its defaults written out, and with more nodes and edges.
fn complete_graph(own: Option<Value<'_>>, made: &NewGraph) -> String {
    let mut members = vec![("format".to_owned(), quoted(GRAPH_FORMAT))];
    let list = |key: &str| own.and_then(|graph| graph.get(key)).into_iter().flat_map(Value::items);
    let known: std::collections::HashSet<String> =
        list("nodes").filter_map(|node| node.get("id")?.text().map(Into::into)).collect();
    let own_nodes = list("nodes").map(|node| with_default(node, "activation", "1.0"));
    let new_nodes = made.nodes.iter().filter(|node| !known.contains(&node.id())).map(layers::NewNode::to_json);
    let nodes: Vec<String> = own_nodes.chain(new_nodes).collect();
    let own_edges = list("edges").map(|edge| with_default(edge, "weight", "1.0"));
    let edges: Vec<String> = own_edges.chain(made.edges.iter().map(NewEdge::to_json)).collect();
    for (key, value) in own.into_iter().flat_map(Value::members) {
        let key = key.text().unwrap_or_default().into_owned();
        if !matches!(key.as_str(), "format" | "nodes" | "edges") {
            members.push((key, value.raw().into()));
        } else if key == "format" {
            members[0].1 = value.raw().into();
        }
    }
    members.push(("nodes".into(), format!("[{}]", nodes.join(","))));
    members.push(("edges".into(), format!("[{}]", edges.join(","))));
    object(&members)
}

/// An object with a member more, if it is not there.
fn with_default(value: Value<'_>, key: &str, default: &str) -> String {
    let raw = value.raw();
    match value.get(key) {
        None if value.kind() == Kind::Object => {
            let comma = if value.members().next().is_some() { "," } else { "" };
            format!("{}{comma}{}:{default}}}", &raw[..raw.len() - 1], quoted(key))
        }
        _ => raw.into(),
    }
}

/// A layer with the members that other tools demand; what an author left out has its plainest value.
fn complete_layer(name: &str, value: Value<'_>, now: &str) -> String {
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
    let pattern: &[(&str, &str)] =
        &[("pattern_type", "\"general\""), ("examples", empty), ("source_session", text), ("created_at", &now)];
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
    match Json::parse(text, &Limits::default()) {
        Ok(json) => with_default(json.root(), key, default),
        Err(_) => text.into(),
    }
}

fn complete_entries(layer: &str, entries: &[(&str, &[(&str, &str)])]) -> String {
    let Ok(json) = Json::parse(layer, &Limits::default()) else { return layer.into() };
    let mut members = Vec::new();
    for (key, value) in json.root().members() {
        let key = key.text().unwrap_or_default().into_owned();
        let defaults = entries.iter().find(|(list, _)| *list == key).map(|(_, defaults)| *defaults);
        let text = match defaults {
            Some(defaults) => {
                let entry = |entry: Value<'_>| {
                    defaults.iter().fold(entry.raw().to_owned(), |text, (key, default)| add_member(&text, key, default))
                };
                let completed: Vec<String> =
                    value.items().enumerate().map(|(at, item)| with_id(&entry(item), &key, at)).collect();
                format!("[{}]", completed.join(","))
            }
            None => value.raw().to_owned(),
        };
        members.push((key, text));
    }
    object(&members)
}

/// Gotchas and policies have ids; an author may leave counting to us.
fn with_id(entry: &str, list: &str, at: usize) -> String {
    match list {
        "gotchas" => add_member(entry, "id", &quoted(&format!("gotcha-{}", at + 1))),
        "policies" => add_member(entry, "id", &quoted(&format!("policy-{}", at + 1))),
        _ => entry.into(),
    }
}

fn manifest(draft: &Draft, summary: &Summary, content: Option<Compact>) -> String {
    let schema = if summary.graph.is_some() || draft.kind != PackageKind::Context || draft.name.scope().is_some() {
        2
    } else {
        1
    };
    let (content_hash, size) = content.map_or_else(Default::default, |content| (content.digest.hex(), content.size));
    let sha256 = composite(draft.name.as_str(), draft.version.as_str(), &content_hash);
    let mut members: Vec<(String, String)> = vec![
        ("schema_version".into(), schema.to_string()),
        ("name".into(), quoted(draft.name.as_str())),
        ("version".into(), quoted(draft.version.as_str())),
        ("description".into(), quoted(&draft.description)),
        ("created_at".into(), quoted(&draft.created_at)),
        ("layers".into(), texts(&summary.layers)),
        ("dependencies".into(), dependencies(&draft.dependencies)),
        ("tags".into(), texts(&draft.tags)),
        (
            "integrity".into(),
            format!("{{\"sha256\":\"{sha256}\",\"content_hash\":\"{content_hash}\",\"byte_size\":{size}}}"),
        ),
        ("provenance".into(), format!("{{\"tool\":\"skillpack\",\"tool_version\":{}}}", quoted(&draft.tool_version))),
        ("compatibility".into(), "{\"target_languages\":[],\"target_frameworks\":[]}".into()),
    ];
    let mut add = |key: &str, value: Option<String>| members.extend(value.map(|value| (key.to_owned(), value)));
    add("author", draft.author.as_deref().map(quoted));
    add("scope", draft.name.scope().map(quoted));
    add("kind", (draft.kind != PackageKind::Context).then(|| quoted(draft.kind.word())));
    let conflicts: Vec<String> = draft.conflicts.iter().map(ToString::to_string).collect();
    add("conflicts", (!conflicts.is_empty()).then(|| texts(&conflicts)));
    if let Some((nodes, edges, types)) = &summary.graph {
        // The third level is claimed only by whoever asks for it.
        let reached = if *edges == 0 { 1 } else { 2 };
        add("conformance_level", Some(draft.level.unwrap_or(reached).to_string()));
        let summary = format!("{{\"node_count\":{nodes},\"edge_count\":{edges},\"node_types\":{}}}", texts(types));
        add("graph_summary", Some(summary));
    }
    let own: Vec<String> = members.iter().map(|(key, _)| key.clone()).collect();
    members.extend(draft.more.iter().filter(|(key, _)| !own.contains(key)).cloned());
    object(&members)
}

fn texts(words: &[String]) -> String {
    format!("[{}]", words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(","))
}

fn dependencies(list: &[Dependency]) -> String {
    let one = |one: &Dependency| {
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
pub fn compatible(package: &Package, key: Option<&PrivateKey>, limits: &Limits) -> Result<String, WriteError> {
    let manifest = package.raw_manifest();
    let layers: Vec<String> = package
        .manifest
        .layers
        .iter()
        .map(|(layer, _)| layer.clone())
        .filter(|layer| layers::is_layer(layer) && layer != POLICIES)
        .collect();
    let members: Vec<(String, String)> = manifest
        .members()
        .filter(|(key, _)| !key.is("signature"))
        .map(|(key, value)| {
            let text = if key.is("layers") { texts(&layers) } else { value.raw().to_owned() };
            (key.text().unwrap_or_default().into_owned(), text)
        })
        .collect();
    let content = package.content().raw();
    let parts = Parts { parts: ["", content, ""], compact: None };
    if let (None, Some(signature)) = (key, manifest.get("signature").filter(|signature| !signature.is_null())) {
        let kept: Vec<(String, String)> = signature
            .members()
            .filter(|(key, _)| !key.is("manifest_value"))
            .map(|(key, value)| (key.text().unwrap_or_default().into_owned(), value.raw().to_owned()))
            .collect();
        let manifest = object(&[members, vec![("signature".into(), object(&kept))]].concat());
        return Ok(format!("{{\"manifest\":{manifest},\"content\":{content}}}"));
    }
    finish(&object(&members), &parts, key, limits).map(|package| package.text().to_string())
}
