//! Selects the best nodes of a graph within a token budget.
//!
//! A node's score is its current activation × confidence × relevance to the query. Part of the
//! score spreads along edges to neighbors. Nodes that contradict each other are selected together
//! or not at all, superseded nodes are omitted, and a node is never truncated. Omitted nodes are
//! returned with a reason.

use jiff::Timestamp;

use super::activation_at;
use super::relevance::relevance;
use crate::interner::StringInterner;
use sp_formats::json::JsonValue;
use sp_formats::package::Graph;

/// The fraction of a neighbor's score that an edge of weight 1 carries over.
const SPREAD_FACTOR: f64 = 0.4;
/// Number of edges over which scores spread.
const SPREAD_STEPS: usize = 2;
/// Penalty per factor of ten in length: many short nodes are better than a few long ones.
const LENGTH_PENALTY: f64 = 0.3;
/// Bytes that rendering adds to a node.
const NODE_OVERHEAD_BYTES: usize = 40;
/// After this many consecutive nodes that do not fit, the rest is not tried.
const MAX_CONSECUTIVE_MISSES: usize = 400;

#[derive(Debug, Clone)]
pub struct SelectionQuery<'a> {
    /// Maximum number of tokens.
    pub budget: usize,
    /// Words that the selection should be about; empty for everything.
    pub focus: &'a str,
    /// The time at which activations are computed.
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OmitReason {
    /// Another node supersedes it.
    Superseded,
    /// Its score is zero.
    Irrelevant,
    /// It does not fit into the remaining budget.
    OverBudget,
}

impl OmitReason {
    /// A short explanation for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Superseded => "superseded",
            Self::Irrelevant => "faded",
            Self::OverBudget => "no room",
        }
    }
}

/// A node with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedNode {
    /// Index in the graph.
    pub node_index: usize,
    pub score: f64,
    /// Nodes that contradict each other share a group; every other node has its own.
    pub group: usize,
}

/// Selected and omitted nodes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeSelection {
    /// Best first; contradicting nodes are adjacent.
    pub selected: Vec<RankedNode>,
    /// Best first, with reasons.
    pub omitted: Vec<(RankedNode, OmitReason)>,
}

/// Selects nodes. `tokens` returns the cost of a node as rendered.
pub fn select(
    graph: &Graph<'_>,
    query: &SelectionQuery<'_>,
    tokens: &mut dyn FnMut(usize) -> usize,
) -> NodeSelection {
    let edges = GraphEdgeIndex::of(graph);
    let superseded = find_superseded(graph, &edges);
    let scores = score_nodes(graph, &edges, query);
    let groups = ContradictionGroups::of(graph, &edges, &superseded);
    let mut selection = NodeSelection::default();
    let old = (0..graph.nodes.len()).filter(|node| superseded[*node]).map(|node| {
        let ranked = RankedNode { node_index: node, score: scores[node], group: node };
        (ranked, OmitReason::Superseded)
    });
    selection.omitted.extend(old);
    let mut filler = BudgetFiller { room: query.budget, misses: 0, tokens };
    for group in rank_groups(graph, &scores, groups.iter()) {
        let nodes = group.nodes.iter().map(|&node| RankedNode {
            node_index: node,
            score: scores[node],
            group: group.nodes[0],
        });
        match filler.admit(&group) {
            Ok(()) => selection.selected.extend(nodes),
            Err(reason) => selection.omitted.extend(nodes.map(|node| (node, reason))),
        }
    }
    selection.omitted.sort_by(|a, b| {
        (a.1, b.0.score).partial_cmp(&(b.1, a.0.score)).unwrap_or(std::cmp::Ordering::Equal)
    });
    selection
}

/// Nodes that are selected together or not at all.
struct RankedGroup<'g> {
    nodes: &'g [usize],
    rank: f64,
}

/// The groups, best first. Long ones rank lower than short ones with the same score.
fn rank_groups<'g>(
    graph: &Graph<'_>,
    scores: &[f64],
    groups: impl Iterator<Item = &'g [usize]>,
) -> Vec<RankedGroup<'g>> {
    let rank = |nodes: &[usize]| {
        let best = nodes.iter().map(|node| scores[*node]).fold(0.0, f64::max);
        let bytes: usize =
            nodes.iter().map(|node| graph.nodes[*node].content.len() + NODE_OVERHEAD_BYTES).sum();
        best / to_f64(bytes).powf(LENGTH_PENALTY)
    };
    let mut ranked: Vec<RankedGroup<'_>> =
        groups.map(|nodes| RankedGroup { nodes, rank: rank(nodes) }).collect();
    // Stable: ties keep the order of the graph.
    ranked.sort_by(|a, b| b.rank.total_cmp(&a.rank));
    ranked
}

/// Fills the budget with groups, best first.
struct BudgetFiller<'t> {
    /// Remaining tokens.
    room: usize,
    /// Consecutive groups that did not fit.
    misses: usize,
    tokens: &'t mut dyn FnMut(usize) -> usize,
}

impl BudgetFiller<'_> {
    fn admit(&mut self, group: &RankedGroup<'_>) -> Result<(), OmitReason> {
        if group.rank <= 0.0 {
            return Err(OmitReason::Irrelevant);
        }
        if self.misses >= MAX_CONSECUTIVE_MISSES || self.room == 0 {
            return Err(OmitReason::OverBudget);
        }
        let cost: usize = group.nodes.iter().map(|node| (self.tokens)(*node)).sum();
        if cost > self.room {
            self.misses += 1;
            return Err(OmitReason::OverBudget);
        }
        self.room -= cost;
        self.misses = 0;
        Ok(())
    }
}

/// Edges with their nodes, by index.
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
            // If two nodes have the same ID, the second one gets it.
            match ids.intern(&node.id) {
                (_, true) => places.push(at as u32),
                (number, false) => places[number as usize] = at as u32,
            }
        }
        let mut index = Self { ids, nodes: places, ends: Vec::new() };
        index.ends = graph
            .edges
            .iter()
            .map(|edge| [&edge.from, &edge.to].map(|id| index.node_index(id)))
            .collect();
        index
    }

    fn node_index(&self, id: &str) -> Option<u32> {
        self.ids.find(id).map(|number| self.nodes[number as usize])
    }

    /// Edges of some types whose ends both exist.
    fn edges_of_kinds<'g>(
        &'g self,
        graph: &'g Graph<'_>,
        kinds: impl Fn(&str) -> bool + 'g,
    ) -> impl Iterator<Item = IndexedEdge> + 'g {
        let edges = graph
            .edges
            .iter()
            .zip(&self.ends)
            .enumerate()
            .filter(move |(_, (edge, _))| kinds(&edge.kind));
        edges.filter_map(|(index, (_, ends))| match *ends {
            [Some(from), Some(to)] => {
                Some(IndexedEdge { index, from: from as usize, to: to as usize })
            }
            _ => None,
        })
    }
}

/// An edge with its nodes, all by index.
#[derive(Debug, Clone, Copy)]
struct IndexedEdge {
    index: usize,
    from: usize,
    to: usize,
}

/// Whether each node is superseded by another.
pub(super) fn superseded_nodes(graph: &Graph<'_>) -> Vec<bool> {
    find_superseded(graph, &GraphEdgeIndex::of(graph))
}

fn find_superseded(graph: &Graph<'_>, edges: &GraphEdgeIndex) -> Vec<bool> {
    let mut superseded = vec![false; graph.nodes.len()];
    for (at, node) in graph.nodes.iter().enumerate() {
        let Some(value) = node.value.get("supersedes") else { continue };
        let ids = value.text().into_iter().chain(value.items().filter_map(JsonValue::text));
        let old = ids.filter_map(|id| edges.node_index(&id)).map(|old| old as usize);
        old.filter(|old| *old != at).for_each(|old| superseded[old] = true);
    }
    for (edge, ends) in graph.edges.iter().zip(&edges.ends) {
        if edge.kind == "supersedes" && edge.from != edge.to {
            ends[1].into_iter().for_each(|old| superseded[old as usize] = true);
        }
    }
    superseded
}

/// Scores each node for a query.
fn score_nodes(graph: &Graph<'_>, edges: &GraphEdgeIndex, query: &SelectionQuery<'_>) -> Vec<f64> {
    let relevance_scores = relevance(graph, query.focus);
    let certain = |value: JsonValue<'_>| {
        value.get("confidence").and_then(JsonValue::as_f64).unwrap_or(1.0).clamp(0.0, 1.0)
    };
    let active: Vec<f64> = graph
        .nodes
        .iter()
        .map(|node| activation_at(node.value, query.at) * certain(node.value))
        .collect();
    let own = active.iter().zip(&relevance_scores).map(|(active, relevance)| active * relevance);
    let weight_of = |edge: IndexedEdge| {
        let weight = graph.edges[edge.index].value.get("weight").and_then(JsonValue::as_f64);
        weight.unwrap_or(1.0).clamp(0.0, 1.0)
    };
    let weighted: Vec<(IndexedEdge, f64)> = edges
        .edges_of_kinds(graph, |kind| kind != "contradicts" && kind != "supersedes")
        .map(|edge| (edge, weight_of(edge)))
        .collect();
    let mut scores: Vec<f64> = own.collect();
    for _ in 0..SPREAD_STEPS {
        let before = scores.clone();
        for (edge, weight) in &weighted {
            // A node never receives more than its neighbor's score, or more than its own
            // activation.
            for (giver, taker) in [(edge.from, edge.to), (edge.to, edge.from)] {
                scores[taker] =
                    scores[taker].max(before[giver] * weight * SPREAD_FACTOR * active[taker]);
            }
        }
    }
    scores
}

#[expect(clippy::cast_precision_loss, reason = "lengths of texts are far below 2^52")]
fn to_f64(count: usize) -> f64 {
    count as f64
}

/// Groups of contradicting nodes; every other node is a group of its own. Superseded nodes are in
/// none.
struct ContradictionGroups {
    /// Nodes, adjacent within a group.
    nodes: Vec<usize>,
    /// First node of each node's group.
    root: Vec<usize>,
}

impl ContradictionGroups {
    fn of(graph: &Graph<'_>, edges: &GraphEdgeIndex, superseded: &[bool]) -> Self {
        let mut parent: Vec<usize> = (0..graph.nodes.len()).collect();
        for IndexedEdge { from, to, .. } in
            edges.edges_of_kinds(graph, |kind| kind == "contradicts")
        {
            if !superseded[from] && !superseded[to] {
                let (a, b) = (find_root(&mut parent, from), find_root(&mut parent, to));
                parent[a.max(b)] = a.min(b);
            }
        }
        let root: Vec<usize> =
            (0..graph.nodes.len()).map(|at| find_root(&mut parent, at)).collect();
        let mut nodes: Vec<usize> = (0..graph.nodes.len()).filter(|at| !superseded[*at]).collect();
        nodes.sort_by_key(|at| root[*at]);
        Self { nodes, root }
    }

    /// The groups, ordered by their first node.
    fn iter(&self) -> impl Iterator<Item = &[usize]> {
        self.nodes.chunk_by(|a, b| self.root[*a] == self.root[*b])
    }
}

fn find_root(parent: &mut [usize], mut index: usize) -> usize {
    while parent[index] != index {
        parent[index] = parent[parent[index]];
        index = parent[index];
    }
    index
}
