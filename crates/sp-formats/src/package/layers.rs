//! The layers of a package of schema 1: what each has, and how it becomes a graph.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use sp_tree::Digest;

use crate::checks::{PK_06, PK_07};
use crate::json::{Kind, Value, quoted};
use crate::printable::printable;
use crate::report::Report;

use super::graph::{Few, Strictness};
use super::manifest::{Manifest, cut};

/// A list of a layer, and what each of its entries must have.
struct List {
    key: &'static str,
    fields: &'static [&'static str],
}

/// A layer, and what must be in it.
struct Layer {
    name: &'static str,
    fields: &'static [&'static str],
    lists: &'static [List],
}

const PATTERN: &[&str] = &["pattern_type", "description", "examples", "source_session", "created_at"];

/// Every layer that is known. What its entries must have is what other tools demand.
const LAYERS: &[Layer] = &[
    Layer {
        name: "knowledge",
        fields: &["facts", "patterns", "insights", "exported_at"],
        lists: &[
            List {
                key: "facts",
                fields: &["category", "key", "value", "source_session", "confidence", "created_at", "last_confirmed"],
            },
            List { key: "patterns", fields: PATTERN },
            List { key: "insights", fields: &["summary", "from_sessions", "timestamp"] },
        ],
    },
    Layer {
        name: "graph",
        fields: &["nodes", "edges", "exported_at"],
        lists: &[
            List { key: "nodes", fields: &["kind", "name", "file_path"] },
            List { key: "edges", fields: &["source_path", "source_name", "target_path", "target_name", "kind"] },
        ],
    },
    Layer {
        name: "session",
        fields: &["findings", "decisions", "next_steps", "files_touched", "exported_at"],
        lists: &[],
    },
    Layer {
        name: "patterns",
        fields: &["patterns", "exported_at"],
        lists: &[List { key: "patterns", fields: PATTERN }],
    },
    Layer {
        name: "gotchas",
        fields: &["gotchas", "exported_at"],
        lists: &[List {
            key: "gotchas",
            fields: &["id", "category", "severity", "trigger", "resolution", "file_patterns", "confidence"],
        }],
    },
    Layer {
        name: "policies",
        fields: &["policies", "exported_at"],
        lists: &[List { key: "policies", fields: &["id", "kind", "rule", "severity"] }],
    },
];

/// The layer that no other tool knows.
pub(super) const POLICIES: &str = "policies";

/// Whether a member of a content is a layer.
pub fn is_layer(name: &str) -> bool {
    LAYERS.iter().any(|layer| layer.name == name)
}

/// Reports everything about the layers of a content.
pub(super) fn check(content: Value<'_>, manifest: &Manifest, strictness: Strictness, report: &mut Report) {
    let mut few = Few::new(report, strictness.severity());
    let mut seen = HashSet::new();
    for (declared, span) in manifest.layers.iter().filter(|(declared, _)| seen.insert(declared)) {
        if !is_layer(declared) {
            let message = format!("there is no layer called `{}`", printable(&cut(declared)));
            few.report.warning(&PK_06, span.clone(), message).help("it is kept, and nothing is made of it");
        } else if content.get(declared).is_none_or(Value::is_null) {
            let message = format!("the layer `{declared}` is declared and not there");
            few.report_at(span.clone(), message, "take it out of `layers`, or put it into `content`");
        }
    }
    for (key, value) in content.members() {
        let Some(layer) = LAYERS.iter().find(|layer| key.is(layer.name)) else { continue };
        if value.is_null() {
            continue;
        }
        if !manifest.layers.iter().any(|(declared, _)| declared == layer.name) {
            // Other tools do not take a package that declares this one.
            if layer.name != POLICIES {
                few.report_at(
                    key.span(),
                    format!("the layer `{}` is there and not declared", layer.name),
                    "name it in `layers`",
                );
            }
        }
        check_layer(layer, value, &mut few);
    }
    few.finish(&PK_07);
}

impl Few<'_> {
    fn report_at(&mut self, span: std::ops::Range<usize>, message: String, help: &str) {
        match self.severity {
            crate::Severity::Error => self.report.error(&PK_07, span, message).help(help),
            _ => self.report.warning(&PK_07, span, message).help(help),
        };
    }
}

fn check_layer(layer: &Layer, value: Value<'_>, few: &mut Few<'_>) {
    const HELP: &str = "other tools do not read an entry without it";
    if value.kind() != Kind::Object {
        let message = || format!("the layer `{}` must be an object, not {}", layer.name, value.kind().word());
        few.tell("write it as an object", &PK_06, value, message);
        return;
    }
    let missing: Vec<&str> = layer.fields.iter().copied().filter(|field| value.get(field).is_none()).collect();
    if !missing.is_empty() {
        few.tell(HELP, &PK_07, value, || format!("the layer `{}` has no {}", layer.name, listed(&missing)));
    }
    for list in layer.lists {
        let Some(entries) = value.get(list.key) else { continue };
        if entries.kind() != Kind::Array {
            few.tell("write it as a list", &PK_06, entries, || format!("`{}.{}` must be a list", layer.name, list.key));
        }
        for entry in entries.items() {
            let missing: Vec<&str> = list.fields.iter().copied().filter(|field| entry.get(field).is_none()).collect();
            if !missing.is_empty() {
                few.tell(HELP, &PK_07, entry, || {
                    format!("an entry of `{}.{}` has no {}", layer.name, list.key, listed(&missing))
                });
            }
        }
    }
}

fn listed(fields: &[&str]) -> String {
    fields.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ")
}

/// Reports what is no object and no list where one must be; nothing could be made of it.
pub(super) fn check_kinds(content: Value<'_>, report: &mut Report) {
    for layer in LAYERS {
        let Some(value) = content.get(layer.name).filter(|value| !value.is_null()) else { continue };
        if value.kind() != Kind::Object {
            let message = format!("the layer `{}` must be an object, not {}", layer.name, value.kind().word());
            let help = format!("write `{{\"{}\": […]}}`", layer.fields[0]);
            report.error(&PK_06, value.span(), message).help(help);
        }
        // Whatever is no time is a list.
        for key in layer.fields.iter().filter(|key| **key != "exported_at") {
            let Some(list) = value.get(key).filter(|list| list.kind() != Kind::Array) else { continue };
            let message = format!("`{}.{key}` must be a list, not {}", layer.name, list.kind().word());
            report.error(&PK_06, list.span(), message).help("write it as a list");
        }
    }
}

/// A node that is made of something else.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewNode {
    /// Its type.
    pub kind: String,
    /// What it says.
    pub content: String,
    /// More members, as JSON.
    pub members: Vec<(&'static str, String)>,
    /// Its id, if it is not the one that follows from what it says.
    id: Option<String>,
}

impl NewNode {
    /// A node of this type that says this.
    pub fn new(kind: impl Into<String>, content: impl Into<String>) -> Self {
        Self { kind: kind.into(), content: content.into(), members: Vec::new(), id: None }
    }

    /// Adds a member, if there is one.
    pub fn with(mut self, key: &'static str, json: Option<String>) -> Self {
        self.members.extend(json.map(|json| (key, json)));
        self
    }

    /// Its id: it follows from what the node says, so that the same knowledge has the same id everywhere.
    pub fn id(&self) -> String {
        if let Some(id) = &self.id {
            return id.clone();
        }
        let member = |name: &str| self.members.iter().find(|(key, _)| *key == name).map_or("", |(_, json)| json);
        let (file, key) = (member("file_path"), member("key"));
        let digest = Digest::of(format!("{}\0{}\0{file}\0{key}", self.kind, self.content).as_bytes());
        format!("{}-{}", self.kind, &digest.hex()[..12])
    }

    /// The node as JSON. Defaults are written too: not every tool knows them.
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

/// An edge that is made of something else.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEdge {
    /// The id of the node that it leads from.
    pub from: String,
    /// The id of the node that it leads to.
    pub to: String,
    /// Its type.
    pub kind: String,
    /// How strong it is, from 0 to 1.
    pub weight: f64,
}

impl NewEdge {
    /// The edge as JSON.
    pub fn to_json(&self) -> String {
        let [from, to, kind] = [&self.from, &self.to, &self.kind].map(|text| quoted(text));
        format!("{{\"from\":{from},\"to\":{to},\"type\":{kind},\"weight\":{:?}}}", self.weight)
    }
}

/// What layers become: nodes without twins, and edges.
#[derive(Debug, Clone, Default)]
pub struct NewGraph {
    /// The nodes, in the order in which they were found.
    pub nodes: Vec<NewNode>,
    /// The edges, in the order in which they were found.
    pub edges: Vec<NewEdge>,
    /// The id of each node, by everything that it says.
    known_nodes: HashMap<Digest, String>,
    /// How many nodes have the same id but for its number.
    twins: HashMap<String, usize>,
    known_edges: HashSet<(String, String, String)>,
}

impl NewGraph {
    /// Adds a node, unless it is there; its id. Two that say the same and differ otherwise are two.
    pub fn node(&mut self, mut node: NewNode) -> String {
        let whole = Digest::of(node.to_json().as_bytes());
        if let Some(id) = self.known_nodes.get(&whole) {
            return id.clone();
        }
        let twins = self.twins.entry(node.id()).or_default();
        *twins += 1;
        if *twins > 1 {
            node.id = Some(format!("{}-{twins}", node.id()));
        }
        let id = node.id();
        self.known_nodes.insert(whole, id.clone());
        self.nodes.push(node);
        id
    }

    /// Adds an edge of full weight, unless it is there.
    pub fn edge(&mut self, from: &str, to: &str, kind: &str) {
        self.weighted_edge(from, to, (kind, 1.0));
    }

    /// Adds an edge of a type and a weight, unless one of the type is there.
    pub fn weighted_edge(&mut self, from: &str, to: &str, (kind, weight): (&str, f64)) {
        if self.known_edges.insert((from.to_owned(), to.to_owned(), kind.to_owned())) {
            self.edges.push(NewEdge { from: from.to_owned(), to: to.to_owned(), kind: kind.to_owned(), weight });
        }
    }

    /// A content that has this graph and nothing else, as JSON.
    pub fn to_content(&self) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(NewNode::to_json).collect();
        let edges: Vec<String> = self.edges.iter().map(NewEdge::to_json).collect();
        format!("{{\"context_graph\":{{\"nodes\":[{}],\"edges\":[{}]}}}}", nodes.join(","), edges.join(","))
    }
}

/// The graph that the layers of a content become.
pub fn to_graph(content: Value<'_>) -> NewGraph {
    let mut graph = NewGraph::default();
    let entries = |layer: &str, list: &str| -> Vec<Value<'_>> {
        content.get(layer).and_then(|layer| layer.get(list)).into_iter().flat_map(Value::items).collect()
    };
    for fact in entries("knowledge", "facts") {
        let node = NewNode::new("fact", text(fact, "value"))
            .with("key", member(fact, "key"))
            .with("category", member(fact, "category"))
            .with("source", member(fact, "source_session"))
            .with("created_at", member(fact, "created_at"))
            .with("confidence", member(fact, "confidence"));
        graph.node(node);
    }
    for pattern in entries("knowledge", "patterns").into_iter().chain(entries("patterns", "patterns")) {
        let node = NewNode::new("pattern", text(pattern, "description"))
            .with("category", member(pattern, "pattern_type"))
            .with("source", member(pattern, "source_session"))
            .with("created_at", member(pattern, "created_at"));
        graph.node(node);
    }
    for insight in entries("knowledge", "insights") {
        graph.node(NewNode::new("insight", text(insight, "summary")).with("created_at", member(insight, "timestamp")));
    }
    for gotcha in entries("gotchas", "gotchas") {
        let content = format!("{}\n---\n{}", text(gotcha, "trigger"), text(gotcha, "resolution"));
        let node = NewNode::new("gotcha", content)
            .with("category", member(gotcha, "category"))
            .with("severity", member(gotcha, "severity"))
            .with("confidence", member(gotcha, "confidence"));
        graph.node(node);
    }
    policies(content, &mut graph);
    code(content, &mut graph);
    session(content, &mut graph);
    graph
}

/// The policies of a content as nodes.
pub(super) fn policies(content: Value<'_>, graph: &mut NewGraph) {
    let policies = content.get(POLICIES).and_then(|layer| layer.get("policies"));
    for policy in policies.into_iter().flat_map(Value::items) {
        let node = NewNode::new("policy", text(policy, "rule"))
            .with("category", member(policy, "kind"))
            .with("severity", member(policy, "severity"))
            .with("applies_to", member(policy, "applies_to"));
        graph.node(node);
    }
}

fn code(content: Value<'_>, graph: &mut NewGraph) {
    let Some(layer) = content.get("graph") else { return };
    let mut ids = HashMap::new();
    for node in layer.get("nodes").into_iter().flat_map(Value::items) {
        let (name, file) = (text(node, "name"), text(node, "file_path"));
        let new = NewNode::new(format!("code_{}", text(node, "kind")), name.clone())
            .with("category", member(node, "kind"))
            .with("file_path", member(node, "file_path"))
            .with("line_start", member(node, "line_start"))
            .with("line_end", member(node, "line_end"));
        ids.insert((file, name), graph.node(new));
    }
    for edge in layer.get("edges").into_iter().flat_map(Value::items) {
        let end = |path: &str, name: &str| ids.get(&(text(edge, path), text(edge, name)));
        if let (Some(from), Some(to)) = (end("source_path", "source_name"), end("target_path", "target_name")) {
            graph.edge(from, to, &text(edge, "kind"));
        }
    }
}

fn session(content: Value<'_>, graph: &mut NewGraph) {
    let Some(layer) = content.get("session").filter(|layer| layer.kind() == Kind::Object) else { return };
    let task = text(layer, "task_description");
    let lists: Vec<(&str, Vec<Cow<'_, str>>)> =
        [("findings", "finding"), ("decisions", "decision"), ("next_steps", "task")]
            .into_iter()
            .map(|(key, kind)| (kind, layer.get(key).into_iter().flat_map(Value::items).filter_map(said).collect()))
            .collect();
    if task.is_empty() && lists.iter().all(|(_, said)| said.is_empty()) {
        return;
    }
    let task = if task.is_empty() { "a session".to_owned() } else { task };
    let session = graph.node(NewNode::new("session", task).with("created_at", member(layer, "exported_at")));
    for (kind, texts) in lists {
        for said in texts {
            let id = graph.node(NewNode::new(kind, said));
            graph.edge(&session, &id, "contains");
        }
    }
}

/// What an entry of a session says: a text, or an object that has one.
fn said(entry: Value<'_>) -> Option<Cow<'_, str>> {
    let known = ["summary", "description", "text", "content", "title"];
    entry.text().or_else(|| known.iter().find_map(|key| entry.get(key).and_then(Value::text)))
}

fn text(value: Value<'_>, key: &str) -> String {
    value.get(key).and_then(Value::text).unwrap_or_default().into_owned()
}

/// A member as JSON, if it is there and not null.
fn member(value: Value<'_>, key: &str) -> Option<String> {
    value.get(key).filter(|member| !member.is_null()).map(|member| member.raw().to_owned())
}
