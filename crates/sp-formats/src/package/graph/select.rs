//! The best of a graph within a number of tokens.
//!
//! A node is worth what it is active now, times how certain it is, times how near it is to what is
//! asked for; some of that worth flows along edges to its neighbours. Nodes that contradict each other
//! are shown together or not at all, what was superseded is left out, and a node is whole or absent.
//! What is left out is told, and why.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;

use super::relevance::relevance;
use super::{Graph, activation_at};
use crate::json::Value;

/// How much of a neighbour's worth a full edge carries over.
const FLOW: f64 = 0.4;
/// Over how many edges worth flows.
const STEPS: usize = 2;
/// How much less is chosen first for each tenfold of its length: much that is short is better than little
/// that is long.
const THRIFT: f64 = 0.3;
/// What is written around a node, in bytes.
const FRAME: usize = 40;
/// So many that do not fit, one after the other, and the rest is not tried.
const PATIENCE: usize = 400;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// The most tokens.
    pub budget: usize,
    /// Words that what is chosen should be about; none means everything.
    pub focus: &'a str,
    /// When it is asked: what is known fades.
    pub at: Timestamp,
}

/// Why a node is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Another took its place.
    Superseded,
    /// It is worth nothing any more, or nothing to what is asked for.
    Worthless,
    /// It does not fit into what is left.
    Full,
}

impl Reason {
    /// The reason in words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Superseded => "superseded",
            Self::Worthless => "faded",
            Self::Full => "no room",
        }
    }
}

/// A node that was chosen, by its place in the graph, and what it is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chosen {
    /// Its place among the nodes of the graph.
    pub node: usize,
    /// What it is worth.
    pub worth: f64,
    /// Nodes that contradict each other have one number, and every other has its own.
    pub group: usize,
}

/// What was chosen, and what was not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// The best first; those that contradict each other stand together.
    pub chosen: Vec<Chosen>,
    /// The others, the best first, each with the reason.
    pub left: Vec<(Chosen, Reason)>,
}

/// Chooses nodes. `tokens` counts what a node costs where it is shown.
pub fn select(graph: &Graph<'_>, question: &Question<'_>, tokens: &mut dyn FnMut(usize) -> usize) -> Selection {
    let places: HashMap<&str, usize> = graph.nodes.iter().enumerate().map(|(at, node)| (&*node.id, at)).collect();
    let superseded = superseded(graph, &places);
    let worth = worth(graph, &places, question);
    let groups = groups(graph, &places, &superseded);
    let mut selection = Selection::default();
    let chosen = |node: usize, group: usize| Chosen { node, worth: worth[node], group };
    selection.left.extend(superseded.iter().map(|at| (chosen(*at, *at), Reason::Superseded)));
    let rank = |group: Vec<usize>| {
        let best = group.iter().map(|at| worth[*at]).fold(0.0, f64::max);
        let bytes: usize = group.iter().map(|at| graph.nodes[*at].content.len() + FRAME).sum();
        (best / as_number(bytes).powf(THRIFT), group)
    };
    let mut ranked: Vec<(f64, Vec<usize>)> = groups.into_iter().map(rank).collect();
    // Of equals, the one that stands first in the graph comes first.
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut room, mut misses) = (question.budget, 0);
    for (best, group) in ranked {
        let chosen = |at: usize| chosen(at, group[0]);
        let mut refuse = |reason: Reason| selection.left.extend(group.iter().map(|at| (chosen(*at), reason)));
        if best <= 0.0 {
            refuse(Reason::Worthless);
            continue;
        }
        if misses >= PATIENCE || room == 0 {
            refuse(Reason::Full);
            continue;
        }
        let cost: usize = group.iter().map(|at| tokens(*at)).sum();
        if cost > room {
            misses += 1;
            refuse(Reason::Full);
            continue;
        }
        room -= cost;
        misses = 0;
        selection.chosen.extend(group.iter().map(|at| chosen(*at)));
    }
    selection.left.sort_by(|a, b| (a.1, b.0.worth).partial_cmp(&(b.1, a.0.worth)).unwrap_or(std::cmp::Ordering::Equal));
    selection
}

/// The nodes that another took the place of.
pub(super) fn superseded(graph: &Graph<'_>, places: &HashMap<&str, usize>) -> Vec<usize> {
    let mut old: HashSet<usize> = HashSet::new();
    for (at, node) in graph.nodes.iter().enumerate() {
        let Some(value) = node.value.get("supersedes") else { continue };
        let ids = value.text().into_iter().chain(value.items().filter_map(Value::text));
        old.extend(ids.filter_map(|id| places.get(&*id).copied()).filter(|old| *old != at));
    }
    let edges = graph.edges.iter().filter(|edge| edge.kind == "supersedes" && edge.from != edge.to);
    old.extend(edges.filter_map(|edge| places.get(&*edge.to).copied()));
    let mut old: Vec<usize> = old.into_iter().collect();
    old.sort_unstable();
    old
}

/// What each node is worth to the question.
fn worth(graph: &Graph<'_>, places: &HashMap<&str, usize>, question: &Question<'_>) -> Vec<f64> {
    let near = relevance(graph, question.focus);
    let certain = |value: Value<'_>| value.get("confidence").and_then(Value::number).unwrap_or(1.0).clamp(0.0, 1.0);
    let active: Vec<f64> =
        graph.nodes.iter().map(|node| activation_at(node.value, question.at) * certain(node.value)).collect();
    let own = active.iter().zip(&near).map(|(active, near)| active * near);
    let ties: Vec<(usize, usize, f64)> = graph
        .edges
        .iter()
        .filter(|edge| edge.kind != "contradicts" && edge.kind != "supersedes")
        .filter_map(|edge| {
            let weight = edge.value.get("weight").and_then(Value::number).unwrap_or(1.0).clamp(0.0, 1.0);
            Some((*places.get(&*edge.from)?, *places.get(&*edge.to)?, weight))
        })
        .collect();
    let mut worth: Vec<f64> = own.collect();
    for _ in 0..STEPS {
        let before = worth.clone();
        for (from, to, weight) in &ties {
            // What flows to a node is never more than its neighbour has, nor more than it is active itself.
            for (giver, taker) in [(*from, *to), (*to, *from)] {
                worth[taker] = worth[taker].max(before[giver] * weight * FLOW * active[taker]);
            }
        }
    }
    worth
}

#[expect(clippy::cast_precision_loss, reason = "lengths of texts are far below 2^52")]
fn as_number(count: usize) -> f64 {
    count as f64
}

/// Nodes that contradict each other, together; every other one alone. What was superseded is in none.
fn groups(graph: &Graph<'_>, places: &HashMap<&str, usize>, superseded: &[usize]) -> Vec<Vec<usize>> {
    let gone: HashSet<usize> = superseded.iter().copied().collect();
    let mut parent: Vec<usize> = (0..graph.nodes.len()).collect();
    for edge in graph.edges.iter().filter(|edge| edge.kind == "contradicts") {
        if let (Some(&a), Some(&b)) = (places.get(&*edge.from), places.get(&*edge.to))
            && !gone.contains(&a)
            && !gone.contains(&b)
        {
            let (a, b) = (top(&mut parent, a), top(&mut parent, b));
            parent[a.max(b)] = a.min(b);
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in (0..graph.nodes.len()).filter(|at| !gone.contains(at)) {
        groups.entry(top(&mut parent, at)).or_default().push(at);
    }
    groups.into_values().collect()
}

fn top(parent: &mut [usize], mut at: usize) -> usize {
    while parent[at] != at {
        parent[at] = parent[parent[at]];
        at = parent[at];
    }
    at
}
