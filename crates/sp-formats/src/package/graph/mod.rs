//! The knowledge graph of a package, borrowed from its text.
//!
//! [`Graph`] reads what is valid and skips the rest; `check` reports the rest. [`CanonicalGraph`]
//! is a graph that is rendered already. Merging, decay and selection are in `sp-analyze`.

mod level;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use foldhash::fast::RandomState;

use crate::json::{JsonKind, JsonValue};
use crate::package::rules::{PK_02, PK_15};
use crate::report::{Report, Severity};
use crate::text::{plural, pluralize};

use super::manifest_fields::{describe_value, start_span, truncate_for_message};

pub use level::{ConformanceLevel, check_level};

/// The value of `context_graph.format`.
pub const GRAPH_FORMAT: &str = "ctxpkg-graph-v2";
/// The maximum number of findings with the same help; the rest is counted.
const MAX_FINDINGS_PER_HELP: usize = 20;

/// A node with the required members; `value` has the others.
#[derive(Debug, Clone)]
pub struct GraphNode<'j> {
    /// The ID that edges refer to.
    pub id: Cow<'j, str>,
    /// The node type, such as `fact`, `gotcha` or `decision`.
    pub kind: Cow<'j, str>,
    pub content: Cow<'j, str>,
    pub value: JsonValue<'j>,
}

/// An edge with the required members; `value` has the others.
#[derive(Debug, Clone)]
pub struct GraphEdge<'j> {
    /// The source node ID.
    pub from: Cow<'j, str>,
    /// The target node ID.
    pub to: Cow<'j, str>,
    /// The edge type, such as `supports`, `contradicts` or `depends_on`.
    pub kind: Cow<'j, str>,
    pub value: JsonValue<'j>,
}

/// A graph that is rendered already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CanonicalGraph {
    /// Canonical JSON.
    pub json: String,
    pub node_count: usize,
    pub edge_count: usize,
    pub node_types: BTreeSet<String>,
}

#[derive(Debug, Clone, Default)]
pub struct Graph<'j> {
    /// In document order.
    pub nodes: Vec<GraphNode<'j>>,
    /// In document order.
    pub edges: Vec<GraphEdge<'j>>,
}

impl<'j> Graph<'j> {
    /// Reads the graph of a content; empty if there is none. Invalid nodes and edges are skipped.
    pub fn from_content(content: JsonValue<'j>) -> Self {
        content.get("context_graph").map_or_else(Self::default, Self::from_graph_json)
    }

    /// Reads a graph that is not part of a content.
    pub fn from_graph_json(graph: JsonValue<'j>) -> Self {
        let list = |key: &str| graph.get(key).into_iter().flat_map(JsonValue::items);
        Self {
            nodes: list("nodes").filter_map(parse_node).collect(),
            edges: list("edges").filter_map(parse_edge).collect(),
        }
    }

    pub(in crate::package) fn has_edge(content: JsonValue<'j>) -> bool {
        let edges = content.get("context_graph").and_then(|graph| graph.get("edges"));
        edges.into_iter().flat_map(JsonValue::items).any(|value| parse_edge(value).is_some())
    }

    pub fn node_types(&self) -> BTreeSet<&str> {
        self.nodes.iter().map(|node| &*node.kind).collect()
    }
}

fn parse_node(value: JsonValue<'_>) -> Option<GraphNode<'_>> {
    let [id, kind, content] = value.get_many(["id", "type", "content"]);
    node_from_members(value, [id, kind, content])
}

fn node_from_members<'j>(
    value: JsonValue<'j>,
    [id, kind, content]: [Option<JsonValue<'j>>; 3],
) -> Option<GraphNode<'j>> {
    let id = id?.text().filter(|id| !id.is_empty())?;
    Some(GraphNode { id, kind: kind?.text()?, content: content?.text()?, value })
}

fn parse_edge(value: JsonValue<'_>) -> Option<GraphEdge<'_>> {
    let [from, to, kind] = value.get_many(["from", "to", "type"]);
    edge_from_members(value, [from, to, kind])
}

fn edge_from_members<'j>(
    value: JsonValue<'j>,
    [from, to, kind]: [Option<JsonValue<'j>>; 3],
) -> Option<GraphEdge<'j>> {
    Some(GraphEdge { from: from?.text()?, to: to?.text()?, kind: kind?.text()?, value })
}

/// Whether deviations from the format are errors: they are when writing, but not when reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageStrictness {
    /// A package that `sp` writes.
    Writing,
    /// A package written by any tool.
    Reading,
}

impl PackageStrictness {
    pub(in crate::package) fn severity(self) -> Severity {
        match self {
            Self::Writing => Severity::Error,
            Self::Reading => Severity::Warning,
        }
    }
}

/// Reports the first few findings of a kind and counts the rest.
pub(in crate::package) struct CappedFindings<'a> {
    pub report: &'a mut Report,
    pub severity: Severity,
    counts: HashMap<&'static str, usize>,
}

impl<'a> CappedFindings<'a> {
    pub(in crate::package) fn new(report: &'a mut Report, severity: Severity) -> Self {
        Self { report, severity, counts: HashMap::new() }
    }

    pub(in crate::package) fn add_at_value(
        &mut self,
        help: &'static str,
        check: &'static crate::rules::CheckRule,
        value: JsonValue<'_>,
        message: impl FnOnce() -> String,
    ) {
        let count = self.counts.entry(help).or_default();
        *count += 1;
        if *count <= MAX_FINDINGS_PER_HELP {
            match self.severity {
                Severity::Error => self.report.error(check, value.span(), message()).help(help),
                _ => self.report.warning(check, value.span(), message()).help(help),
            };
        }
    }

    /// Reports how many findings were left out.
    pub(in crate::package) fn finish(self, check: &'static crate::rules::CheckRule) {
        let more: usize =
            self.counts.values().map(|count| count.saturating_sub(MAX_FINDINGS_PER_HELP)).sum();
        if more > 0 {
            self.report
                .whole_file(
                    Severity::Note,
                    check,
                    format!(
                        "{} of these kinds {} not shown",
                        pluralize(more, "more finding"),
                        plural(more, "is", "are")
                    ),
                )
                .help("fix the reported findings first");
        }
    }
}

/// The size of a graph.
#[derive(Debug, Default)]
pub(in crate::package) struct GraphCounts<'j> {
    pub node_count: usize,
    pub edge_count: usize,
    pub node_types: BTreeSet<Cow<'j, str>>,
}

/// Reports every problem of the graph of a content and returns its size.
pub(in crate::package) fn check<'j>(
    content: JsonValue<'j>,
    strictness: PackageStrictness,
    report: &mut Report,
) -> GraphCounts<'j> {
    let mut counts = GraphCounts::default();
    let Some(graph) = content.get("context_graph").filter(|graph| !graph.is_null()) else {
        return counts;
    };
    if graph.kind() != JsonKind::Object {
        let message = format!("`context_graph` must be an object, not {}", graph.kind().describe());
        report
            .error(&PK_15, graph.span(), message)
            .help("write `{\"format\": …, \"nodes\": […], \"edges\": […]}`");
        return counts;
    }
    check_format(graph, report);
    for key in ["nodes", "edges"] {
        check_list(graph, key, report);
    }
    let mut findings = CappedFindings::new(report, strictness.severity());
    let ids = check_nodes(graph, &mut counts, &mut findings);
    check_edges(graph, &ids, &mut counts, &mut findings);
    findings.finish(&PK_15);
    counts
}

fn check_format(graph: JsonValue<'_>, report: &mut Report) {
    match graph.get("format") {
        None => {
            let message = format!("`context_graph.format` is missing; assuming `{GRAPH_FORMAT}`");
            report
                .warning(&PK_02, start_span(graph), message)
                .help(format!("add `\"format\": \"{GRAPH_FORMAT}\"`"));
        }
        Some(format) if !format.eq_str(GRAPH_FORMAT) => {
            let message = format!("unknown graph format {}", describe_value(format));
            report.error(&PK_15, format.span(), message).help(format!(
                "use `{GRAPH_FORMAT}`; a newer version of `sp` may support more formats"
            ));
        }
        Some(_) => {}
    }
}

fn check_list(graph: JsonValue<'_>, key: &str, report: &mut Report) {
    match graph.get(key) {
        Some(list) if list.kind() == JsonKind::Array => {}
        Some(list) => {
            let message = format!("`{key}` must be a list, not {}", list.kind().describe());
            report.error(&PK_15, list.span(), message).help(format!("write `\"{key}\": []`"));
        }
        None => {
            let help = format!("add `\"{key}\": []`; other tools require it");
            report
                .warning(&PK_15, start_span(graph), format!("`context_graph` has no `{key}`"))
                .help(help);
        }
    }
}

/// The numbers of a node and their maximum; the minimum is 0.
const MAX_NODE_NUMBERS: [(&str, f64); 3] =
    [("activation", 1.0), ("confidence", 1.0), ("decay_half_life_days", f64::MAX)];

/// The members of a node that are checked.
const CHECKED_NODE_MEMBERS: [&str; 6] =
    ["id", "type", "content", MAX_NODE_NUMBERS[0].0, MAX_NODE_NUMBERS[1].0, MAX_NODE_NUMBERS[2].0];

/// Hashed with a random seed, so that no file can provoke collisions.
type NodeIdSet<'j> = HashSet<Cow<'j, str>, RandomState>;

fn check_nodes<'j>(
    graph: JsonValue<'j>,
    counts: &mut GraphCounts<'j>,
    findings: &mut CappedFindings<'_>,
) -> NodeIdSet<'j> {
    let count = graph.get("nodes").into_iter().flat_map(JsonValue::items).count();
    let mut ids = NodeIdSet::with_capacity_and_hasher(count, RandomState::default());
    for value in graph.get("nodes").into_iter().flat_map(JsonValue::items) {
        let [id, kind, content, numbers @ ..] = value.get_many(CHECKED_NODE_MEMBERS);
        let Some(node) = node_from_members(value, [id, kind, content]) else {
            let help = "a node requires the strings `id`, `type` and `content`";
            findings.add_at_value(help, &PK_15, value, || {
                describe_missing("node", value, &["id", "type", "content"])
            });
            continue;
        };
        counts.node_count += 1;
        if !counts.node_types.contains(&node.kind) {
            counts.node_types.insert(node.kind.clone());
        }
        check_node_numbers(&node, numbers, findings);
        if ids.contains(&node.id) {
            let id_value = value.get("id").unwrap_or(value);
            findings.add_at_value("use a unique ID for each node", &PK_15, id_value, || {
                format!("duplicate node ID `{}`", printable_id(&node.id))
            });
        } else {
            ids.insert(node.id);
        }
    }
    ids
}

/// Checks the values of the members in [`MAX_NODE_NUMBERS`].
fn check_node_numbers(
    node: &GraphNode<'_>,
    numbers: [Option<JsonValue<'_>>; MAX_NODE_NUMBERS.len()],
    findings: &mut CappedFindings<'_>,
) {
    for ((key, max), member) in MAX_NODE_NUMBERS.iter().zip(numbers) {
        let Some(member) = member.filter(|member| !member.is_null()) else { continue };
        if !member.as_f64().is_some_and(|number| (0.0..=*max).contains(&number)) {
            let help =
                "use an activation and confidence between 0 and 1, and a half-life of at least 0";
            findings.add_at_value(help, &PK_15, member, || {
                let id = printable_id(&node.id);
                format!("invalid `{key}` of the node `{id}`: {}", describe_value(member))
            });
        }
    }
}

fn check_edges(
    graph: JsonValue<'_>,
    ids: &NodeIdSet<'_>,
    counts: &mut GraphCounts<'_>,
    findings: &mut CappedFindings<'_>,
) {
    for value in graph.get("edges").into_iter().flat_map(JsonValue::items) {
        let [from, to, kind, weight] = value.get_many(["from", "to", "type", "weight"]);
        let Some(edge) = edge_from_members(value, [from, to, kind]) else {
            let help = "an edge requires the strings `from`, `to` and `type`";
            findings.add_at_value(help, &PK_15, value, || {
                describe_missing("edge", value, &["from", "to", "type"])
            });
            continue;
        };
        counts.edge_count += 1;
        for (key, end) in [("from", &edge.from), ("to", &edge.to)] {
            if !ids.contains(end.as_ref()) {
                let end_value = value.get(key).unwrap_or(value);
                let help = "add the node, or remove the edge";
                findings.add_at_value(help, &PK_15, end_value, || {
                    format!("an edge refers to the missing node `{}`", printable_id(end))
                });
            }
        }
        check_weight(&edge, weight, findings);
    }
}

fn check_weight(
    edge: &GraphEdge<'_>,
    weight: Option<JsonValue<'_>>,
    findings: &mut CappedFindings<'_>,
) {
    if let Some(weight) = weight.filter(|weight| !weight.is_null())
        && !weight.as_f64().is_some_and(f64::is_finite)
    {
        findings.add_at_value("use a number as the weight", &PK_15, weight, || {
            let (from, to) = (printable_id(&edge.from), printable_id(&edge.to));
            format!(
                "invalid weight of the edge from `{from}` to `{to}`: {}",
                describe_value(weight)
            )
        });
    }
}

/// Describes the required members that a node or edge lacks or that have the wrong type.
fn describe_missing(what: &str, value: JsonValue<'_>, keys: &[&str]) -> String {
    let article = if what == "edge" { "an" } else { "a" };
    if value.kind() != JsonKind::Object {
        return format!("{article} {what} must be an object, not {}", value.kind().describe());
    }
    let wrong = keys.iter().filter(|key| {
        value.get(key).and_then(JsonValue::text).is_none_or(|text| text.is_empty() && **key == "id")
    });
    let problems: Vec<String> = wrong
        .map(|key| match value.get(key) {
            None => format!("has no `{key}`"),
            Some(member) if member.kind() == JsonKind::Text => format!("has an empty `{key}`"),
            Some(member) => format!("has {} as its `{key}`", member.kind().describe()),
        })
        .collect();
    format!("{article} {what} {}", problems.join(" and "))
}

fn printable_id(id: &str) -> String {
    truncate_for_message(id)
}
