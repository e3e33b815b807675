//! What an agent reads of a graph: the best of it, written out, and never more than was allowed.

use super::Shape;
use super::select::{Question, Reason, Selection, select};
use crate::tokens;
use sp_formats::package::Graph;

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
    loop {
        let text = shape.write(graph, &selection.chosen);
        let count = tokens::count(&text);
        if count <= budget || selection.chosen.is_empty() {
            return (text, count);
        }
        // A heading has a few tokens: one node less for each few that are too many.
        for _ in 0..(count - budget).div_ceil(64) {
            drop_last(selection);
        }
    }
}

/// Takes out the least of what was chosen, with all that contradicts it.
fn drop_last(selection: &mut Selection) {
    let Some(group) = selection.chosen.last().map(|last| last.group) else { return };
    let (dropped, kept): (Vec<_>, Vec<_>) = selection.chosen.iter().partition(|one| one.group == group);
    selection.chosen = kept;
    selection.left.extend(dropped.into_iter().map(|one| (one, Reason::Full)));
}
