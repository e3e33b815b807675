//! What an agent reads of a graph: the best of it, written out, and never more than was allowed.

use std::collections::{HashMap, HashSet};

use super::select::{Question, Reason, Selection, select};
use super::{Graph, Shape};
use crate::tokens;

/// What an agent reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The text.
    pub text: String,
    /// How many tokens it has, all of it.
    pub tokens: usize,
    /// What is in it, and what is not.
    pub selection: Selection,
}

/// The best of a graph within the budget of the question, by the tokenizer's own count.
pub fn reading(graph: &Graph<'_>, question: &Question<'_>, shape: Shape) -> Reading {
    let mut cost = |at: usize| tokens::count(&shape.node(&graph.nodes[at]));
    let mut selection = select(graph, question, &mut cost);
    let (text, tokens) = fit(graph, shape, question.budget, &mut selection);
    Reading { text, tokens, selection }
}

/// The text, without the least of what was chosen until the whole is within the budget: headings cost too.
fn fit(graph: &Graph<'_>, shape: Shape, budget: usize, selection: &mut Selection) -> (String, usize) {
    let odds = odds(graph);
    loop {
        let text = shape.write(graph, &selection.chosen);
        let count = tokens::count(&text);
        if count <= budget || selection.chosen.is_empty() {
            return (text, count);
        }
        // A heading has a few tokens: one node less for each few that are too many.
        for _ in 0..(count - budget).div_ceil(64) {
            drop_last(&odds, selection);
        }
    }
}

/// Which nodes contradict which.
fn odds(graph: &Graph<'_>) -> HashMap<usize, Vec<usize>> {
    let mut odds: HashMap<usize, Vec<usize>> = HashMap::new();
    let ties: Vec<_> = graph.edges.iter().filter(|edge| edge.kind == "contradicts").collect();
    if ties.is_empty() {
        return odds;
    }
    let places: HashMap<&str, usize> = graph.nodes.iter().enumerate().map(|(at, node)| (&*node.id, at)).collect();
    for edge in ties {
        if let (Some(&from), Some(&to)) = (places.get(&*edge.from), places.get(&*edge.to)) {
            odds.entry(from).or_default().push(to);
            odds.entry(to).or_default().push(from);
        }
    }
    odds
}

/// Takes out the least of what was chosen, with all that contradicts it.
fn drop_last(odds: &HashMap<usize, Vec<usize>>, selection: &mut Selection) {
    let Some(last) = selection.chosen.last() else { return };
    let (mut gone, mut open) = (HashSet::new(), vec![last.node]);
    while let Some(node) = open.pop() {
        if gone.insert(node) {
            open.extend(odds.get(&node).into_iter().flatten());
        }
    }
    let (dropped, kept): (Vec<_>, Vec<_>) = selection.chosen.iter().partition(|one| gone.contains(&one.node));
    selection.chosen = kept;
    selection.left.extend(dropped.into_iter().map(|one| (one, Reason::Full)));
}
