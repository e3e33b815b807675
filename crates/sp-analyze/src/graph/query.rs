//! Graph queries: nodes by type, file or content, neighborhoods, and shortest paths.

use std::collections::{HashMap, VecDeque};

use sp_formats::json::JsonValue;
use sp_formats::package::Graph;

/// Conditions on a node; all of them must hold.
#[derive(Debug, Clone, Default)]
pub struct NodeFilter {
    pub kind: Option<String>,
    /// A file or directory.
    pub file: Option<String>,
    /// Case-insensitive substring of the content.
    pub contains: Option<String>,
}

/// Returns the indices of the matching nodes.
pub fn find_nodes(graph: &Graph<'_>, filter: &NodeFilter) -> Vec<usize> {
    let says = filter.contains.as_ref().map(|words| words.to_lowercase());
    let fits = |at: &usize| {
        let node = &graph.nodes[*at];
        let file = node.value.get("file_path").and_then(JsonValue::text).unwrap_or_default();
        let inside = |wanted: &String| {
            let folder = wanted.trim_end_matches('/');
            file == *folder || file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        filter.kind.as_ref().is_none_or(|kind| node.kind == *kind)
            && filter.file.as_ref().is_none_or(inside)
            && says.as_ref().is_none_or(|says| node.content.to_lowercase().contains(says))
    };
    (0..graph.nodes.len()).filter(fits).collect()
}

/// Edges in both directions.
struct GraphAdjacency {
    index_by_id: HashMap<String, usize>,
    /// Neighbors of each node, as `(node, edge)`.
    neighbors: Vec<Vec<(usize, usize)>>,
}

impl GraphAdjacency {
    fn of(graph: &Graph<'_>) -> Self {
        let index_by_id: HashMap<String, usize> = graph
            .nodes
            .iter()
            .enumerate()
            .map(|(at, node)| (node.id.clone().into_owned(), at))
            .collect();
        let mut neighbors = vec![Vec::new(); graph.nodes.len()];
        for (number, edge) in graph.edges.iter().enumerate() {
            if let (Some(&from), Some(&to)) =
                (index_by_id.get(&*edge.from), index_by_id.get(&*edge.to))
            {
                neighbors[from].push((to, number));
                neighbors[to].push((from, number));
            }
        }
        Self { index_by_id, neighbors }
    }
}

/// Returns the nodes within `steps` edges of a node, itself first; `None` if the ID is unknown.
pub fn neighborhood(graph: &Graph<'_>, id: &str, steps: usize) -> Option<Vec<usize>> {
    let ways = GraphAdjacency::of(graph);
    let start = *ways.index_by_id.get(id)?;
    let mut distance: HashMap<usize, usize> = HashMap::from([(start, 0)]);
    let (mut found, mut open) = (vec![start], VecDeque::from([start]));
    while let Some(at) = open.pop_front() {
        let far = distance[&at];
        for (next, _) in ways.neighbors[at].iter().filter(|_| far < steps) {
            if !distance.contains_key(next) {
                distance.insert(*next, far + 1);
                found.push(*next);
                open.push_back(*next);
            }
        }
    }
    Some(found)
}

/// Returns the shortest path between two nodes, as node indices and edge indices.
pub fn shortest_path(graph: &Graph<'_>, from: &str, to: &str) -> Option<(Vec<usize>, Vec<usize>)> {
    let ways = GraphAdjacency::of(graph);
    let (start, end) = (*ways.index_by_id.get(from)?, *ways.index_by_id.get(to)?);
    let mut came: HashMap<usize, Option<(usize, usize)>> = HashMap::from([(start, None)]);
    let mut open = VecDeque::from([start]);
    while let Some(at) = open.pop_front() {
        if at == end {
            break;
        }
        for (next, edge) in &ways.neighbors[at] {
            if !came.contains_key(next) {
                came.insert(*next, Some((at, *edge)));
                open.push_back(*next);
            }
        }
    }
    let (mut nodes, mut edges, mut at) = (vec![end], Vec::new(), end);
    while let Some((before, edge)) = *came.get(&at)? {
        nodes.push(before);
        edges.push(edge);
        at = before;
    }
    nodes.reverse();
    edges.reverse();
    Some((nodes, edges))
}
