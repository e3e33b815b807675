//! The layers of schema 1 packages: what each must contain, and how layers become a graph.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use sp_tree::Digest;

use crate::json::{JsonKind, JsonValue, quoted};
use crate::package::rules::{PK_06, PK_07};
use crate::report::Report;

use super::graph::{CappedFindings, PackageStrictness};
use super::manifest::PackageManifest;
use super::manifest_fields::truncate_for_message;

/// A list in a layer, and the required members of its entries.
struct LayerList {
    key: &'static str,
    fields: &'static [&'static str],
}

/// A layer and its required members.
struct PackageLayer {
    name: &'static str,
    fields: &'static [&'static str],
    lists: &'static [LayerList],
}

const PATTERN_FIELDS: &[&str] =
    &["pattern_type", "description", "examples", "source_session", "created_at"];

/// Every known layer. The requirements are those of other tools.
const LAYERS: &[PackageLayer] = &[
    PackageLayer {
        name: "knowledge",
        fields: &["facts", "patterns", "insights", "exported_at"],
        lists: &[
            LayerList {
                key: "facts",
                fields: &[
                    "category",
                    "key",
                    "value",
                    "source_session",
                    "confidence",
                    "created_at",
                    "last_confirmed",
                ],
            },
            LayerList { key: "patterns", fields: PATTERN_FIELDS },
            LayerList { key: "insights", fields: &["summary", "from_sessions", "timestamp"] },
        ],
    },
    PackageLayer {
        name: "graph",
        fields: &["nodes", "edges", "exported_at"],
        lists: &[
            LayerList { key: "nodes", fields: &["kind", "name", "file_path"] },
            LayerList {
                key: "edges",
                fields: &["source_path", "source_name", "target_path", "target_name", "kind"],
            },
        ],
    },
    PackageLayer {
        name: "session",
        fields: &["findings", "decisions", "next_steps", "files_touched", "exported_at"],
        lists: &[],
    },
    PackageLayer {
        name: "patterns",
        fields: &["patterns", "exported_at"],
        lists: &[LayerList { key: "patterns", fields: PATTERN_FIELDS }],
    },
    PackageLayer {
        name: "gotchas",
        fields: &["gotchas", "exported_at"],
        lists: &[LayerList {
            key: "gotchas",
            fields: &[
                "id",
                "category",
                "severity",
                "trigger",
                "resolution",
                "file_patterns",
                "confidence",
            ],
        }],
    },
    PackageLayer {
        name: "policies",
        fields: &["policies", "exported_at"],
        lists: &[LayerList { key: "policies", fields: &["id", "kind", "rule", "severity"] }],
    },
];

/// The layer that only Skillpack knows.
pub(super) const POLICIES_LAYER: &str = "policies";

/// Whether a member of the content is a layer.
pub fn is_layer(name: &str) -> bool {
    LAYERS.iter().any(|layer| layer.name == name)
}

/// Reports every problem in the layers of a content.
pub(super) fn check(
    content: JsonValue<'_>,
    manifest: &PackageManifest,
    strictness: PackageStrictness,
    report: &mut Report,
) {
    let mut findings = CappedFindings::new(report, strictness.severity());
    check_declared(content, manifest, &mut findings);
    for (key, value) in content.members() {
        let Some(layer) = LAYERS.iter().find(|layer| key.eq_str(layer.name)) else { continue };
        if value.is_null() {
            continue;
        }
        let is_declared = manifest.layers.iter().any(|(declared, _)| declared == layer.name);
        // Other tools reject a package that declares the policies.
        if !is_declared && layer.name != POLICIES_LAYER {
            let message = format!("the layer `{}` is not declared in `layers`", layer.name);
            findings.add_at_span(key.span(), message, "add it to `layers`");
        }
        check_layer(layer, value, &mut findings);
    }
    findings.finish(&PK_07);
}

/// Reports declared layers that are unknown or missing.
fn check_declared(
    content: JsonValue<'_>,
    manifest: &PackageManifest,
    findings: &mut CappedFindings<'_>,
) {
    let mut seen = HashSet::new();
    for (declared, span) in manifest.layers.iter().filter(|(declared, _)| seen.insert(declared)) {
        if !is_layer(declared) {
            let name = truncate_for_message(declared);
            let message = format!("unknown layer `{name}`");
            findings
                .report
                .warning(&PK_06, span.clone(), message)
                .help("`sp` keeps the layer, but does not use it");
        } else if content.get(declared).is_none_or(JsonValue::is_null) {
            let message = format!("the declared layer `{declared}` is missing");
            let help = "remove it from `layers`, or add it to `content`";
            findings.add_at_span(span.clone(), message, help);
        }
    }
}

impl CappedFindings<'_> {
    fn add_at_span(&mut self, span: std::ops::Range<usize>, message: String, help: &str) {
        match self.severity {
            crate::Severity::Error => self.report.error(&PK_07, span, message).help(help),
            _ => self.report.warning(&PK_07, span, message).help(help),
        };
    }
}

fn check_layer(layer: &PackageLayer, value: JsonValue<'_>, findings: &mut CappedFindings<'_>) {
    if value.kind() != JsonKind::Object {
        let message = || {
            format!("the layer `{}` must be an object, not {}", layer.name, value.kind().describe())
        };
        findings.add_at_value("write the layer as an object", &PK_06, value, message);
        return;
    }
    check_fields(value, layer.fields, findings, || format!("the layer `{}`", layer.name));
    for list in layer.lists {
        let Some(entries) = value.get(list.key) else { continue };
        let path = || format!("`{}.{}`", layer.name, list.key);
        if entries.kind() != JsonKind::Array {
            findings.add_at_value("write it as a list", &PK_06, entries, || {
                format!("{} must be a list", path())
            });
        }
        for entry in entries.items() {
            check_fields(entry, list.fields, findings, || format!("an entry of {}", path()));
        }
    }
}

/// Reports the members that `value` lacks. `subject` names the value in the message.
fn check_fields(
    value: JsonValue<'_>,
    fields: &[&str],
    findings: &mut CappedFindings<'_>,
    subject: impl Fn() -> String,
) {
    let missing: Vec<&str> =
        fields.iter().copied().filter(|field| value.get(field).is_none()).collect();
    if !missing.is_empty() {
        let help = "add the missing members; other tools require them";
        findings.add_at_value(help, &PK_07, value, || {
            format!("{} has no {}", subject(), join_quoted(&missing))
        });
    }
}

fn join_quoted(fields: &[&str]) -> String {
    fields.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ")
}

/// Reports objects and lists that have another type, because converting them would lose data.
pub(super) fn check_json_kinds(content: JsonValue<'_>, report: &mut Report) {
    for layer in LAYERS {
        let Some(value) = content.get(layer.name).filter(|value| !value.is_null()) else {
            continue;
        };
        if value.kind() != JsonKind::Object {
            let message = format!(
                "the layer `{}` must be an object, not {}",
                layer.name,
                value.kind().describe()
            );
            let help = format!("write `{{\"{}\": […]}}`", layer.fields[0]);
            report.error(&PK_06, value.span(), message).help(help);
        }
        // Every other field is a list.
        for key in layer.fields.iter().filter(|key| **key != "exported_at") {
            let Some(list) = value.get(key).filter(|list| list.kind() != JsonKind::Array) else {
                continue;
            };
            let message =
                format!("`{}.{key}` must be a list, not {}", layer.name, list.kind().describe());
            report.error(&PK_06, list.span(), message).help("write it as a list");
        }
    }
}

/// A node to be written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewNode {
    /// The node type.
    pub kind: String,
    pub content: String,
    /// Additional members as raw JSON.
    pub members: Vec<(&'static str, String)>,
    /// The ID, if it differs from the derived one.
    id: Option<String>,
}

impl NewNode {
    pub fn new(kind: impl Into<String>, content: impl Into<String>) -> Self {
        Self { kind: kind.into(), content: content.into(), members: Vec::new(), id: None }
    }

    /// Adds a member unless it is `None`.
    pub fn with_member(mut self, key: &'static str, json: Option<String>) -> Self {
        self.members.extend(json.map(|json| (key, json)));
        self
    }

    /// The node ID. It is derived from type and content, so that the same knowledge has the same ID
    /// everywhere.
    pub fn id(&self) -> String {
        if let Some(id) = &self.id {
            return id.clone();
        }
        let member = |name: &str| {
            self.members.iter().find(|(key, _)| *key == name).map_or("", |(_, json)| json)
        };
        let (file, key) = (member("file_path"), member("key"));
        let digest =
            Digest::of(format!("{}\0{}\0{file}\0{key}", self.kind, self.content).as_bytes());
        format!("{}-{}", self.kind, &digest.hex()[..12])
    }

    /// Renders the node with its defaults, which not every tool knows.
    pub fn to_json(&self) -> String {
        let mut text = format!(
            "{{\"id\":{},\"type\":{},\"content\":{}",
            quoted(&self.id()),
            quoted(&self.kind),
            quoted(&self.content)
        );
        if !self.members.iter().any(|(key, _)| *key == "activation") {
            text += ",\"activation\":1.0";
        }
        for (key, json) in &self.members {
            text += &format!(",{}:{json}", quoted(key));
        }
        text + "}"
    }
}

/// An edge to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEdge {
    /// The source node ID.
    pub from: String,
    /// The target node ID.
    pub to: String,
    /// The edge type.
    pub kind: String,
    /// From 0 to 1.
    pub weight: f64,
}

impl NewEdge {
    pub fn to_json(&self) -> String {
        let [from, to, kind] = [&self.from, &self.to, &self.kind].map(|text| quoted(text));
        format!("{{\"from\":{from},\"to\":{to},\"type\":{kind},\"weight\":{:?}}}", self.weight)
    }
}

/// Collects nodes and edges without duplicates.
#[derive(Debug, Clone, Default)]
pub struct GraphBuilder {
    /// In insertion order.
    pub nodes: Vec<NewNode>,
    /// In insertion order.
    pub edges: Vec<NewEdge>,
    /// Node IDs by the digest of everything in the node.
    known_nodes: HashMap<Digest, String>,
    /// How many nodes have the same derived ID.
    id_counts: HashMap<String, usize>,
    known_edges: HashSet<(String, String, String)>,
}

impl GraphBuilder {
    /// Adds a node unless it is present and returns its ID. Nodes with the same content that differ
    /// otherwise are two nodes.
    pub fn add_node(&mut self, mut node: NewNode) -> String {
        let digest = Digest::of(node.to_json().as_bytes());
        if let Some(id) = self.known_nodes.get(&digest) {
            return id.clone();
        }
        let twins = self.id_counts.entry(node.id()).or_default();
        *twins += 1;
        if *twins > 1 {
            node.id = Some(format!("{}-{twins}", node.id()));
        }
        let id = node.id();
        self.known_nodes.insert(digest, id.clone());
        self.nodes.push(node);
        id
    }

    /// Adds an edge of weight 1 unless it is present.
    pub fn add_edge(&mut self, from: &str, to: &str, kind: &str) {
        self.add_weighted_edge(from, to, (kind, 1.0));
    }

    /// Adds an edge unless there is one of the same type between the nodes.
    pub fn add_weighted_edge(&mut self, from: &str, to: &str, (kind, weight): (&str, f64)) {
        if self.known_edges.insert((from.to_owned(), to.to_owned(), kind.to_owned())) {
            self.edges.push(NewEdge {
                from: from.to_owned(),
                to: to.to_owned(),
                kind: kind.to_owned(),
                weight,
            });
        }
    }

    /// Renders a content that consists of this graph.
    pub fn to_content_json(&self) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(NewNode::to_json).collect();
        let edges: Vec<String> = self.edges.iter().map(NewEdge::to_json).collect();
        format!(
            "{{\"context_graph\":{{\"nodes\":[{}],\"edges\":[{}]}}}}",
            nodes.join(","),
            edges.join(",")
        )
    }
}

/// Converts the layers of a content to a graph.
pub fn layers_to_graph(content: JsonValue<'_>) -> GraphBuilder {
    let mut graph = GraphBuilder::default();
    let entries = |layer: &str, list: &str| -> Vec<JsonValue<'_>> {
        content
            .get(layer)
            .and_then(|layer| layer.get(list))
            .into_iter()
            .flat_map(JsonValue::items)
            .collect()
    };
    for fact in entries("knowledge", "facts") {
        graph.add_node(fact_node(fact));
    }
    for pattern in
        entries("knowledge", "patterns").into_iter().chain(entries("patterns", "patterns"))
    {
        graph.add_node(pattern_node(pattern));
    }
    for insight in entries("knowledge", "insights") {
        graph.add_node(
            NewNode::new("insight", text_member(insight, "summary"))
                .with_member("created_at", raw_member(insight, "timestamp")),
        );
    }
    for gotcha in entries("gotchas", "gotchas") {
        graph.add_node(gotcha_node(gotcha));
    }
    add_policies(content, &mut graph);
    add_code(content, &mut graph);
    add_session(content, &mut graph);
    graph
}

fn fact_node(fact: JsonValue<'_>) -> NewNode {
    NewNode::new("fact", text_member(fact, "value"))
        .with_member("key", raw_member(fact, "key"))
        .with_member("category", raw_member(fact, "category"))
        .with_member("source", raw_member(fact, "source_session"))
        .with_member("created_at", raw_member(fact, "created_at"))
        .with_member("confidence", raw_member(fact, "confidence"))
}

fn pattern_node(pattern: JsonValue<'_>) -> NewNode {
    NewNode::new("pattern", text_member(pattern, "description"))
        .with_member("category", raw_member(pattern, "pattern_type"))
        .with_member("source", raw_member(pattern, "source_session"))
        .with_member("created_at", raw_member(pattern, "created_at"))
}

fn gotcha_node(gotcha: JsonValue<'_>) -> NewNode {
    let (trigger, resolution) = (text_member(gotcha, "trigger"), text_member(gotcha, "resolution"));
    NewNode::new("gotcha", format!("{trigger}\n---\n{resolution}"))
        .with_member("category", raw_member(gotcha, "category"))
        .with_member("severity", raw_member(gotcha, "severity"))
        .with_member("confidence", raw_member(gotcha, "confidence"))
}

/// Adds the policies of a content as nodes.
pub(super) fn add_policies(content: JsonValue<'_>, graph: &mut GraphBuilder) {
    let policies = content.get(POLICIES_LAYER).and_then(|layer| layer.get("policies"));
    for policy in policies.into_iter().flat_map(JsonValue::items) {
        let node = NewNode::new("policy", text_member(policy, "rule"))
            .with_member("category", raw_member(policy, "kind"))
            .with_member("severity", raw_member(policy, "severity"))
            .with_member("applies_to", raw_member(policy, "applies_to"));
        graph.add_node(node);
    }
}

fn add_code(content: JsonValue<'_>, graph: &mut GraphBuilder) {
    let Some(layer) = content.get("graph") else { return };
    let mut ids = HashMap::new();
    for node in layer.get("nodes").into_iter().flat_map(JsonValue::items) {
        let (name, file) = (text_member(node, "name"), text_member(node, "file_path"));
        let new = NewNode::new(format!("code_{}", text_member(node, "kind")), name.clone())
            .with_member("category", raw_member(node, "kind"))
            .with_member("file_path", raw_member(node, "file_path"))
            .with_member("line_start", raw_member(node, "line_start"))
            .with_member("line_end", raw_member(node, "line_end"));
        ids.insert((file, name), graph.add_node(new));
    }
    for edge in layer.get("edges").into_iter().flat_map(JsonValue::items) {
        let end =
            |path: &str, name: &str| ids.get(&(text_member(edge, path), text_member(edge, name)));
        if let (Some(from), Some(to)) =
            (end("source_path", "source_name"), end("target_path", "target_name"))
        {
            graph.add_edge(from, to, &text_member(edge, "kind"));
        }
    }
}

fn add_session(content: JsonValue<'_>, graph: &mut GraphBuilder) {
    let Some(layer) = content.get("session").filter(|layer| layer.kind() == JsonKind::Object)
    else {
        return;
    };
    let texts = |key: &str| -> Vec<Cow<'_, str>> {
        layer.get(key).into_iter().flat_map(JsonValue::items).filter_map(entry_text).collect()
    };
    let lists = [("findings", "finding"), ("decisions", "decision"), ("next_steps", "task")]
        .map(|(key, kind)| (kind, texts(key)));
    let task = text_member(layer, "task_description");
    if task.is_empty() && lists.iter().all(|(_, texts)| texts.is_empty()) {
        return;
    }
    let task = if task.is_empty() { "a session".to_owned() } else { task };
    let session = graph.add_node(
        NewNode::new("session", task).with_member("created_at", raw_member(layer, "exported_at")),
    );
    for (kind, texts) in lists {
        for text in texts {
            let id = graph.add_node(NewNode::new(kind, text));
            graph.add_edge(&session, &id, "contains");
        }
    }
}

/// The text of a session entry, which is a string or an object with a text member.
fn entry_text(entry: JsonValue<'_>) -> Option<Cow<'_, str>> {
    let known = ["summary", "description", "text", "content", "title"];
    entry.text().or_else(|| known.iter().find_map(|key| entry.get(key).and_then(JsonValue::text)))
}

fn text_member(value: JsonValue<'_>, key: &str) -> String {
    value.get(key).and_then(JsonValue::text).unwrap_or_default().into_owned()
}

/// A member as raw JSON, if it is present and not null.
fn raw_member(value: JsonValue<'_>, key: &str) -> Option<String> {
    value.get(key).filter(|member| !member.is_null()).map(|member| member.raw().to_owned())
}
