//! Questions to a graph: which nodes are of a type or of a file, what is near a node, and how two hang together.

use std::collections::{HashMap, VecDeque};

use sp_formats::json::JsonValue;
use sp_formats::package::Graph;

/// Which nodes are asked for; all that is said must hold.
#[derive(Debug, Clone, Default)]
pub struct NodeFilter {
    /// Of this type.
    pub kind: Option<String>,
    /// Of this file, or of a folder.
    pub file: Option<String>,
    /// That say this, whatever the case.
    pub contains: Option<String>,
}

/// The nodes that a filter lets through, by their places.
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

/// How the edges lead from place to place, both ways.
struct GraphAdjacency {
    index_by_id: HashMap<String, usize>,
    /// The neighbours of each node, each with the edge that leads there.
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

/// The nodes within some steps of a node, itself first; none if there is no such node.
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

/// The shortest way between two nodes: the places of its nodes and the numbers of its edges.
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
