//! The best of a graph within a number of tokens.
//!
//! A node is worth what it is active now, times how certain it is, times how near it is to what is
//! asked for; some of that worth flows along edges to its neighbours. Nodes that contradict each other
//! are shown together or not at all, what was superseded is left out, and a node is whole or absent.
//! What is left out is told, and why.

use jiff::Timestamp;

use super::activation_at;
use super::relevance::relevance;
use crate::interner::StringInterner;
use sp_formats::json::JsonValue;
use sp_formats::package::Graph;

/// How much of a neighbour's worth a full edge carries over.
const SPREAD_FACTOR: f64 = 0.4;
/// Over how many edges worth flows.
const SPREAD_STEPS: usize = 2;
/// How much less is chosen first for each tenfold of its length: much that is short is better than little
/// that is long.
const LENGTH_PENALTY: f64 = 0.3;
/// What is written around a node, in bytes.
const NODE_OVERHEAD_BYTES: usize = 40;
/// So many that do not fit, one after the other, and the rest is not tried.
const MAX_CONSECUTIVE_MISSES: usize = 400;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct SelectionQuery<'a> {
    /// The most tokens.
    pub budget: usize,
    /// Words that what is chosen should be about; none means everything.
    pub focus: &'a str,
    /// When it is asked: what is known fades.
    pub at: Timestamp,
}

/// Why a node is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OmitReason {
    /// Another took its place.
    Superseded,
    /// It is worth nothing any more, or nothing to what is asked for.
    Irrelevant,
    /// It does not fit into what is left.
    OverBudget,
}

impl OmitReason {
    /// The reason in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Superseded => "superseded",
            Self::Irrelevant => "faded",
            Self::OverBudget => "no room",
        }
    }
}

/// A node that was chosen, by its place in the graph, and what it is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedNode {
    /// Its place among the nodes of the graph.
    pub node_index: usize,
    /// What it is worth.
    pub score: f64,
    /// Nodes that contradict each other have one number, and every other has its own.
    pub group: usize,
}

/// What was chosen, and what was not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeSelection {
    /// The best first; those that contradict each other stand together.
    pub selected: Vec<RankedNode>,
    /// The others, the best first, each with the reason.
    pub omitted: Vec<(RankedNode, OmitReason)>,
}

/// Chooses nodes. `tokens` counts what a node costs where it is shown.
pub fn select(
    graph: &Graph<'_>,
    question: &SelectionQuery<'_>,
    tokens: &mut dyn FnMut(usize) -> usize,
) -> NodeSelection {
    let ties = GraphEdgeIndex::of(graph);
    let gone = find_superseded(graph, &ties);
    let worth = score_nodes(graph, &ties, question);
    let groups = ContradictionGroups::of(graph, &ties, &gone);
    let mut selection = NodeSelection::default();
    let chosen =
        |node: usize, group: usize| RankedNode { node_index: node, score: worth[node], group };
    let old = (0..graph.nodes.len()).filter(|at| gone[*at]);
    selection.omitted.extend(old.map(|at| (chosen(at, at), OmitReason::Superseded)));
    let rank = |group: &'_ [usize]| {
        let best = group.iter().map(|at| worth[*at]).fold(0.0, f64::max);
        let bytes: usize =
            group.iter().map(|at| graph.nodes[*at].content.len() + NODE_OVERHEAD_BYTES).sum();
        best / to_f64(bytes).powf(LENGTH_PENALTY)
    };
    let mut ranked: Vec<(f64, &[usize])> =
        groups.iter().map(|group| (rank(group), group)).collect();
    // Of equals, the one that stands first in the graph comes first.
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut room, mut misses) = (question.budget, 0);
    for (best, group) in ranked {
        let chosen = |at: usize| chosen(at, group[0]);
        let mut refuse = |reason: OmitReason| {
            selection.omitted.extend(group.iter().map(|at| (chosen(*at), reason)))
        };
        if best <= 0.0 {
            refuse(OmitReason::Irrelevant);
            continue;
        }
        if misses >= MAX_CONSECUTIVE_MISSES || room == 0 {
            refuse(OmitReason::OverBudget);
            continue;
        }
        let cost: usize = group.iter().map(|at| tokens(*at)).sum();
        if cost > room {
            misses += 1;
            refuse(OmitReason::OverBudget);
            continue;
        }
        room -= cost;
        misses = 0;
        selection.selected.extend(group.iter().map(|at| chosen(*at)));
    }
    selection.omitted.sort_by(|a, b| {
        (a.1, b.0.score).partial_cmp(&(b.1, a.0.score)).unwrap_or(std::cmp::Ordering::Equal)
    });
    selection
}

/// Which ids are which nodes, and which nodes an edge leads from and to, all by their places in the graph.
struct GraphEdgeIndex {
    ids: StringInterner,
    nodes: Vec<u32>,
    ends: Vec<[Option<u32>; 2]>,
}

impl GraphEdgeIndex {
    fn of(graph: &Graph<'_>) -> Self {
        let mut ids = StringInterner::with_capacity(graph.nodes.len());
        let mut places: Vec<u32> = Vec::with_capacity(graph.nodes.len());
        for (at, node) in graph.nodes.iter().enumerate() {
            // Of two that have one id, the second has it.
            match ids.intern(&node.id) {
                (_, true) => places.push(at as u32),
                (number, false) => places[number as usize] = at as u32,
            }
        }
        let mut ties = Self { ids, nodes: places, ends: Vec::new() };
        ties.ends = graph
            .edges
            .iter()
            .map(|edge| [&edge.from, &edge.to].map(|id| ties.node_index(id)))
            .collect();
        ties
    }

    fn node_index(&self, id: &str) -> Option<u32> {
        self.ids.find(id).map(|number| self.nodes[number as usize])
    }

    /// The edges of some types whose two nodes are there: their numbers, and the two.
    fn edges_of_kinds<'g>(
        &'g self,
        graph: &'g Graph<'_>,
        kinds: impl Fn(&str) -> bool + 'g,
    ) -> impl Iterator<Item = (usize, usize, usize)> + 'g {
        let edges = graph
            .edges
            .iter()
            .zip(&self.ends)
            .enumerate()
            .filter(move |(_, (edge, _))| kinds(&edge.kind));
        edges.filter_map(|(number, (_, ends))| match *ends {
            [Some(from), Some(to)] => Some((number, from as usize, to as usize)),
            _ => None,
        })
    }
}

/// Of each node whether another took its place.
pub(super) fn superseded_nodes(graph: &Graph<'_>) -> Vec<bool> {
    find_superseded(graph, &GraphEdgeIndex::of(graph))
}

fn find_superseded(graph: &Graph<'_>, ties: &GraphEdgeIndex) -> Vec<bool> {
    let mut gone = vec![false; graph.nodes.len()];
    for (at, node) in graph.nodes.iter().enumerate() {
        let Some(value) = node.value.get("supersedes") else { continue };
        let ids = value.text().into_iter().chain(value.items().filter_map(JsonValue::text));
        let old = ids.filter_map(|id| ties.node_index(&id)).map(|old| old as usize);
        old.filter(|old| *old != at).for_each(|old| gone[old] = true);
    }
    for (edge, ends) in graph.edges.iter().zip(&ties.ends) {
        if edge.kind == "supersedes" && edge.from != edge.to {
            ends[1].into_iter().for_each(|old| gone[old as usize] = true);
        }
    }
    gone
}

/// What each node is worth to the question.
fn score_nodes(
    graph: &Graph<'_>,
    ties: &GraphEdgeIndex,
    question: &SelectionQuery<'_>,
) -> Vec<f64> {
    let near = relevance(graph, question.focus);
    let certain = |value: JsonValue<'_>| {
        value.get("confidence").and_then(JsonValue::as_f64).unwrap_or(1.0).clamp(0.0, 1.0)
    };
    let active: Vec<f64> = graph
        .nodes
        .iter()
        .map(|node| activation_at(node.value, question.at) * certain(node.value))
        .collect();
    let own = active.iter().zip(&near).map(|(active, near)| active * near);
    let ties: Vec<(usize, usize, f64)> = ties
        .edges_of_kinds(graph, |kind| kind != "contradicts" && kind != "supersedes")
        .map(|(number, from, to)| {
            let weight = graph.edges[number].value.get("weight").and_then(JsonValue::as_f64);
            (from, to, weight.unwrap_or(1.0).clamp(0.0, 1.0))
        })
        .collect();
    let mut worth: Vec<f64> = own.collect();
    for _ in 0..SPREAD_STEPS {
        let before = worth.clone();
        for (from, to, weight) in &ties {
            // What flows to a node is never more than its neighbour has, nor more than it is active itself.
            for (giver, taker) in [(*from, *to), (*to, *from)] {
                worth[taker] =
                    worth[taker].max(before[giver] * weight * SPREAD_FACTOR * active[taker]);
            }
        }
    }
    worth
}

#[expect(clippy::cast_precision_loss, reason = "lengths of texts are far below 2^52")]
fn to_f64(count: usize) -> f64 {
    count as f64
}

/// Nodes that contradict each other, together; every other one alone. What was superseded is in none.
struct ContradictionGroups {
    /// The nodes, those of a group side by side.
    nodes: Vec<usize>,
    /// Of each node the first of its group.
    root: Vec<usize>,
}

impl ContradictionGroups {
    fn of(graph: &Graph<'_>, ties: &GraphEdgeIndex, gone: &[bool]) -> Self {
        let mut parent: Vec<usize> = (0..graph.nodes.len()).collect();
        for (_, a, b) in ties.edges_of_kinds(graph, |kind| kind == "contradicts") {
            if !gone[a] && !gone[b] {
                let (a, b) = (find_root(&mut parent, a), find_root(&mut parent, b));
                parent[a.max(b)] = a.min(b);
            }
        }
        let root: Vec<usize> =
            (0..graph.nodes.len()).map(|at| find_root(&mut parent, at)).collect();
        let mut nodes: Vec<usize> = (0..graph.nodes.len()).filter(|at| !gone[*at]).collect();
        nodes.sort_by_key(|at| root[*at]);
        Self { nodes, root }
    }

    /// The groups, in the order of their first nodes.
    fn iter(&self) -> impl Iterator<Item = &[usize]> {
        self.nodes.chunk_by(|a, b| self.root[*a] == self.root[*b])
    }
}

fn find_root(parent: &mut [usize], mut at: usize) -> usize {
    while parent[at] != at {
        parent[at] = parent[parent[at]];
        at = parent[at];
    }
    at
}
