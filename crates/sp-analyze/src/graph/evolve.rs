//! Changes to a graph through use: touched nodes regain activation, edges between nodes that are
//! used together gain weight, and faded nodes are pruned.
//!
//! Each operation returns a new graph as JSON.

use std::collections::HashSet;

use jiff::Timestamp;

use super::activation_at;
use sp_formats::json::{JsonKind, JsonValue, quoted};
use sp_formats::package::{Graph, GraphEdge, GraphNode};
use sp_formats::time::format_seconds;

/// The fraction of the distance to 1 that a weight gains each time its ends are used together.
const LEARNING_RATE: f64 = 0.1;
/// Type of the edges created between nodes that are used together.
const RELATED_EDGE_KIND: &str = "related_to";

/// An operation on a graph.
#[derive(Debug, Clone)]
pub enum GraphEvolution {
    /// Marks these nodes as used.
    Touch(Vec<String>),
    /// Marks these nodes as used together.
    Reinforce(Vec<String>),
    /// Removes nodes below this activation, with their edges.
    Prune(f64),
}

/// Applies an operation. Returns the new graph as JSON and the number of affected nodes.
pub fn evolve(
    content: JsonValue<'_>,
    evolution: &GraphEvolution,
    at: Timestamp,
) -> (String, usize) {
    let graph = Graph::from_content(content);
    let pruned = pruned_ids(&graph, evolution, at);
    let used: &[String] = match evolution {
        GraphEvolution::Touch(ids) | GraphEvolution::Reinforce(ids) => ids,
        GraphEvolution::Prune(_) => &[],
    };
    let is_used = |id: &str| used.iter().any(|used_id| used_id == id);
    let created_at = quoted(&format_seconds(at));
    let evolve_node = |node: &GraphNode<'_>| {
        if is_used(&node.id) {
            with_members(node.value, &[("activation", "1.0"), ("created_at", &created_at)])
        } else {
            node.value.raw().to_owned()
        }
    };
    let is_kept = |node: &&GraphNode<'_>| !pruned.contains(&*node.id);
    let nodes: Vec<String> = graph.nodes.iter().filter(is_kept).map(evolve_node).collect();
    let edges: Vec<String> = match evolution {
        GraphEvolution::Reinforce(_) => reinforce_edges(&graph, used),
        _ => graph
            .edges
            .iter()
            .filter(|edge| !pruned.contains(&*edge.from) && !pruned.contains(&*edge.to))
            .map(|edge| edge.value.raw().to_owned())
            .collect(),
    };
    let count = if pruned.is_empty() {
        graph.nodes.iter().filter(|node| is_used(&node.id)).count()
    } else {
        pruned.len()
    };
    (replace_graph(content, &nodes, &edges), count)
}

/// The nodes that an operation removes.
fn pruned_ids<'g>(
    graph: &'g Graph<'_>,
    evolution: &GraphEvolution,
    at: Timestamp,
) -> HashSet<&'g str> {
    let GraphEvolution::Prune(min_activation) = evolution else { return HashSet::new() };
    graph
        .nodes
        .iter()
        .filter(|node| activation_at(node.value, at) < *min_activation)
        .map(|node| &*node.id)
        .collect()
}

/// All edges, with those between used nodes reinforced, and new ones between the other used nodes.
fn reinforce_edges(graph: &Graph<'_>, used: &[String]) -> Vec<String> {
    let is_used = |id: &str| used.iter().any(|used_id| used_id == id);
    let reinforce = |edge: &GraphEdge<'_>| {
        if is_used(&edge.from) && is_used(&edge.to) && edge.from != edge.to {
            reinforce_edge(edge.value)
        } else {
            edge.value.raw().to_owned()
        }
    };
    graph.edges.iter().map(reinforce).chain(new_edges(graph, used)).collect()
}

/// The edge with increased weight.
fn reinforce_edge(edge: JsonValue<'_>) -> String {
    let number =
        |key: &str, default: f64| edge.get(key).and_then(JsonValue::as_f64).unwrap_or(default);
    let weight = number("weight", 1.0);
    let weight = weight + LEARNING_RATE * (1.0 - weight).max(0.0);
    let count = number("coactivations", 0.0) + 1.0;
    with_members(
        edge,
        &[("weight", &format!("{weight:?}")), ("coactivations", &format!("{count}"))],
    )
}

/// Edges for pairs of used nodes that have none.
fn new_edges(graph: &Graph<'_>, used: &[String]) -> Vec<String> {
    let connected: HashSet<(&str, &str)> = graph
        .edges
        .iter()
        .flat_map(|edge| [(&*edge.from, &*edge.to), (&*edge.to, &*edge.from)])
        .collect();
    let mut edges = Vec::new();
    for (index, from) in used.iter().enumerate() {
        for to in used[index + 1..].iter().filter(|to| *to != from) {
            if !connected.contains(&(from.as_str(), to.as_str())) {
                edges.push(format!(
                    "{{\"from\":{},\"to\":{},\"type\":{},\"weight\":{LEARNING_RATE:?},\"coactivations\":1}}",
                    quoted(from),
                    quoted(to),
                    quoted(RELATED_EDGE_KIND)
                ));
            }
        }
    }
    edges
}

/// The object with some members replaced or added.
fn with_members(value: JsonValue<'_>, new: &[(&str, &str)]) -> String {
    let is_new = |key: JsonValue<'_>| new.iter().any(|(name, _)| key.eq_str(name));
    let old = value
        .members()
        .filter(|(key, _)| !is_new(*key))
        .map(|(key, value)| format!("{}:{}", key.raw(), value.raw()));
    let new = new.iter().map(|(key, value)| format!("{}:{value}", quoted(key)));
    format!("{{{}}}", old.chain(new).collect::<Vec<_>>().join(","))
}

/// The package content with the nodes and edges of its graph replaced.
fn replace_graph(content: JsonValue<'_>, nodes: &[String], edges: &[String]) -> String {
    let (nodes, edges) = (format!("[{}]", nodes.join(",")), format!("[{}]", edges.join(",")));
    let graph = content.get("context_graph").filter(|graph| graph.kind() == JsonKind::Object);
    let graph = graph.map_or_else(String::new, |graph| {
        with_members(graph, &[("nodes", &nodes), ("edges", &edges)])
    });
    with_members(content, &[("context_graph", &graph)])
}
