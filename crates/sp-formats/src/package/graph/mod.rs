//! The knowledge graph of a package: nodes and edges as they stand in its text.

mod level;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use foldhash::fast::RandomState;

use crate::checks::{PK_02, PK_15};
use crate::json::{Kind, Value};
use crate::printable::printable;
use crate::report::{Report, Severity};

use super::manifest::{cut, described, start};

pub use level::{Level, check_level};

/// The format that a graph states.
pub const GRAPH_FORMAT: &str = "ctxpkg-graph-v2";
/// More findings of one sort than this say nothing new.
const SHOWN: usize = 20;

/// A node that has what a node must have. What else it has stands in its value.
#[derive(Debug, Clone)]
pub struct Node<'j> {
    /// By which edges name it.
    pub id: Cow<'j, str>,
    /// What it is: `fact`, `gotcha`, `decision` and so on.
    pub kind: Cow<'j, str>,
    /// What it says.
    pub content: Cow<'j, str>,
    /// All of it.
    pub value: Value<'j>,
}

/// An edge that has what an edge must have.
#[derive(Debug, Clone)]
pub struct Edge<'j> {
    /// From which node.
    pub from: Cow<'j, str>,
    /// To which node.
    pub to: Cow<'j, str>,
    /// What it says: `supports`, `contradicts`, `depends_on` and so on.
    pub kind: Cow<'j, str>,
    /// All of it.
    pub value: Value<'j>,
}

/// A graph that is written already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CanonicalGraph {
    /// Canonical JSON.
    pub text: String,
    /// The number of nodes in it.
    pub nodes: usize,
    /// The number of edges in it.
    pub edges: usize,
    /// The types of its nodes.
    pub types: BTreeSet<String>,
}

/// A graph.
#[derive(Debug, Clone, Default)]
pub struct Graph<'j> {
    /// The nodes, in the order in which they stand.
    pub nodes: Vec<Node<'j>>,
    /// The edges, in the order in which they stand.
    pub edges: Vec<Edge<'j>>,
}

impl<'j> Graph<'j> {
    /// The graph of a content; an empty one if it has none. What is no node and no edge is passed over.
    pub fn of(content: Value<'j>) -> Self {
        content.get("context_graph").map_or_else(Self::default, Self::in_graph)
    }

    /// The nodes and edges of a graph that stands by itself.
    pub fn in_graph(graph: Value<'j>) -> Self {
        let list = |key: &str| graph.get(key).into_iter().flat_map(Value::items);
        Self { nodes: list("nodes").filter_map(node).collect(), edges: list("edges").filter_map(edge).collect() }
    }

    /// Whether the graph of a content has an edge.
    pub(in crate::package) fn has_edge(content: Value<'j>) -> bool {
        let edges = content.get("context_graph").and_then(|graph| graph.get("edges"));
        edges.into_iter().flat_map(Value::items).any(|value| edge(value).is_some())
    }

    /// The types of the nodes, sorted.
    pub fn node_types(&self) -> BTreeSet<&str> {
        self.nodes.iter().map(|node| &*node.kind).collect()
    }
}

fn node(value: Value<'_>) -> Option<Node<'_>> {
    let [id, kind, content] = value.pick(["id", "type", "content"]);
    node_of(value, [id, kind, content])
}

fn node_of<'j>(value: Value<'j>, [id, kind, content]: [Option<Value<'j>>; 3]) -> Option<Node<'j>> {
    let id = id?.text().filter(|id| !id.is_empty())?;
    Some(Node { id, kind: kind?.text()?, content: content?.text()?, value })
}

fn edge(value: Value<'_>) -> Option<Edge<'_>> {
    let [from, to, kind] = value.pick(["from", "to", "type"]);
    edge_of(value, [from, to, kind])
}

fn edge_of<'j>(value: Value<'j>, [from, to, kind]: [Option<Value<'j>>; 3]) -> Option<Edge<'j>> {
    Some(Edge { from: from?.text()?, to: to?.text()?, kind: kind?.text()?, value })
}

/// Whether what a graph must be is an error: it is for whoever writes one, and not for whoever reads one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// A package that we write.
    Writing,
    /// A package that somebody wrote.
    Reading,
}

impl Strictness {
    pub(in crate::package) fn severity(self) -> Severity {
        match self {
            Self::Writing => Severity::Error,
            Self::Reading => Severity::Warning,
        }
    }
}

/// Findings of one sort, the first few told and the rest counted.
pub(in crate::package) struct Few<'a> {
    pub report: &'a mut Report,
    pub severity: Severity,
    told: HashMap<&'static str, usize>,
}

impl<'a> Few<'a> {
    pub(in crate::package) fn new(report: &'a mut Report, severity: Severity) -> Self {
        Self { report, severity, told: HashMap::new() }
    }

    pub(in crate::package) fn tell(
        &mut self,
        sort: &'static str,
        check: &'static crate::checks::Check,
        at: Value<'_>,
        message: impl FnOnce() -> String,
    ) {
        let told = self.told.entry(sort).or_default();
        *told += 1;
        if *told <= SHOWN {
            match self.severity {
                Severity::Error => self.report.error(check, at.span(), message()).help(sort),
                _ => self.report.warning(check, at.span(), message()).help(sort),
            };
        }
    }

    /// Says how many were not told.
    pub(in crate::package) fn finish(self, check: &'static crate::checks::Check) {
        let more: usize = self.told.values().map(|told| told.saturating_sub(SHOWN)).sum();
        if more > 0 {
            self.report
                .whole(Severity::Note, check, format!("{more} more findings of these sorts are not shown"))
                .help("mend those that are");
        }
    }
}

/// How much there is in a graph.
#[derive(Debug, Default)]
pub(in crate::package) struct Figures<'j> {
    pub nodes: usize,
    pub edges: usize,
    /// The types of the nodes, sorted.
    pub types: BTreeSet<Cow<'j, str>>,
}

/// Reports everything about the graph of a content, and tells how much there is in it.
pub(in crate::package) fn check<'j>(content: Value<'j>, strictness: Strictness, report: &mut Report) -> Figures<'j> {
    let mut figures = Figures::default();
    let Some(graph) = content.get("context_graph").filter(|graph| !graph.is_null()) else { return figures };
    if graph.kind() != Kind::Object {
        let message = format!("`context_graph` must be an object, not {}", graph.kind().word());
        report.error(&PK_15, graph.span(), message).help("write `{\"format\": …, \"nodes\": […], \"edges\": […]}`");
        return figures;
    }
    match graph.get("format") {
        None => {
            let message = format!("`context_graph.format` is missing, and was read as `{GRAPH_FORMAT}`");
            report.warning(&PK_02, start(graph), message).help(format!("add `\"format\": \"{GRAPH_FORMAT}\"`"));
        }
        Some(format) if !format.is(GRAPH_FORMAT) => {
            let message = format!("there is no graph format called {}", described(format));
            report
                .error(&PK_15, format.span(), message)
                .help(format!("the format is `{GRAPH_FORMAT}`; a newer `sp` may know more"));
        }
        Some(_) => {}
    }
    for key in ["nodes", "edges"] {
        match graph.get(key) {
            Some(list) if list.kind() == Kind::Array => {}
            Some(list) => {
                let message = format!("`{key}` must be a list, not {}", list.kind().word());
                report.error(&PK_15, list.span(), message).help(format!("write `\"{key}\": []`"));
            }
            None => {
                let help = format!("write `\"{key}\": []`: other tools do not read a graph without it");
                report.warning(&PK_15, start(graph), format!("`context_graph` has no `{key}`")).help(help);
            }
        }
    }
    let mut few = Few::new(report, strictness.severity());
    let ids = check_nodes(graph, &mut figures, &mut few);
    check_edges(graph, &ids, &mut figures, &mut few);
    few.finish(&PK_15);
    figures
}

/// Numbers of a node, and the most that each may be; the least is 0.
const RANGES: [(&str, f64); 3] = [("activation", 1.0), ("confidence", 1.0), ("decay_half_life_days", f64::MAX)];

/// The members of a node that are looked at.
const CHECKED: [&str; 6] = ["id", "type", "content", RANGES[0].0, RANGES[1].0, RANGES[2].0];

/// Hashed with a seed of this process: nobody can write a file whose IDs collide.
type NodeIds<'j> = HashSet<Cow<'j, str>, RandomState>;

fn check_nodes<'j>(graph: Value<'j>, figures: &mut Figures<'j>, few: &mut Few<'_>) -> NodeIds<'j> {
    let count = graph.get("nodes").into_iter().flat_map(Value::items).count();
    let mut ids = NodeIds::with_capacity_and_hasher(count, RandomState::default());
    for value in graph.get("nodes").into_iter().flat_map(Value::items) {
        let [id, kind, content, found @ ..] = value.pick(CHECKED);
        let Some(node) = node_of(value, [id, kind, content]) else {
            few.tell("a node has `id`, `type` and `content`, each a text", &PK_15, value, || {
                missing("node", value, &["id", "type", "content"])
            });
            continue;
        };
        figures.nodes += 1;
        if !figures.types.contains(&node.kind) {
            figures.types.insert(node.kind.clone());
        }
        for ((key, most), member) in RANGES.iter().zip(found) {
            let Some(member) = member.filter(|member| !member.is_null()) else { continue };
            if !member.number().is_some_and(|number| (0.0..=*most).contains(&number)) {
                let sort = "activation and confidence lie between 0 and 1, and a half-life is no less than 0";
                let message = || format!("`{key}` of the node `{}` is {}", short(&node.id), described(member));
                few.tell(sort, &PK_15, member, message);
            }
        }
        if ids.contains(&node.id) {
            let at = value.get("id").unwrap_or(value);
            few.tell("every id belongs to one node", &PK_15, at, || {
                format!("the id `{}` belongs to two nodes", short(&node.id))
            });
        } else {
            ids.insert(node.id);
        }
    }
    ids
}

fn check_edges(graph: Value<'_>, ids: &NodeIds<'_>, figures: &mut Figures<'_>, few: &mut Few<'_>) {
    for value in graph.get("edges").into_iter().flat_map(Value::items) {
        let [from, to, kind, weight] = value.pick(["from", "to", "type", "weight"]);
        let Some(edge) = edge_of(value, [from, to, kind]) else {
            few.tell("an edge has `from`, `to` and `type`, each a text", &PK_15, value, || {
                missing("edge", value, &["from", "to", "type"])
            });
            continue;
        };
        figures.edges += 1;
        for (key, end) in [("from", &edge.from), ("to", &edge.to)] {
            if !ids.contains(end.as_ref()) {
                let at = value.get(key).unwrap_or(value);
                few.tell("an edge leads from a node to a node", &PK_15, at, || {
                    format!("an edge names the node `{}`, which is not there", short(end))
                });
            }
        }
        if let Some(weight) = weight.filter(|weight| !weight.is_null())
            && !weight.number().is_some_and(f64::is_finite)
        {
            few.tell("a weight is a number", &PK_15, weight, || {
                let (from, to) = (short(&edge.from), short(&edge.to));
                format!("the weight of the edge from `{from}` to `{to}` is {}", described(weight))
            });
        }
    }
}

/// What a node or an edge lacks, or has in another form.
fn missing(what: &str, value: Value<'_>, keys: &[&str]) -> String {
    let article = if what == "edge" { "an" } else { "a" };
    if value.kind() != Kind::Object {
        return format!("{article} {what} must be an object, not {}", value.kind().word());
    }
    let wrong = keys
        .iter()
        .filter(|key| value.get(key).and_then(Value::text).is_none_or(|text| text.is_empty() && **key == "id"));
    let told: Vec<String> = wrong
        .map(|key| match value.get(key) {
            None => format!("has no `{key}`"),
            Some(member) if member.kind() == Kind::Text => format!("has an empty `{key}`"),
            Some(member) => format!("has {} for its `{key}`", member.kind().word()),
        })
        .collect();
    format!("{article} {what} {}", told.join(" and "))
}

fn short(id: &str) -> String {
    printable(&cut(id)).into_owned()
}
