//! What an agent reads of a graph: the best of it, written out, and never more than was allowed.

use super::ContextFormat;
use super::select::{NodeSelection, OmitReason, SelectionQuery, select};
use crate::tokens;
use sp_formats::package::Graph;

/// What an agent reads.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedContext {
    /// The text.
    pub text: String,
    /// How many tokens it has, all of it.
    pub tokens: usize,
    /// What is in it, and what is not.
    pub selection: NodeSelection,
}

/// The best of a graph within the budget of the question, by the tokenizer's own count.
pub fn load_context(
    graph: &Graph<'_>,
    question: &SelectionQuery<'_>,
    shape: ContextFormat,
) -> LoadedContext {
    let mut cost = |at: usize| tokens::count(&shape.render_node(&graph.nodes[at]));
    let mut selection = select(graph, question, &mut cost);
    let (text, tokens) = fit_to_budget(graph, shape, question.budget, &mut selection);
    LoadedContext { text, tokens, selection }
}

/// The text, without the least of what was chosen until the whole is within the budget: headings cost too.
fn fit_to_budget(
    graph: &Graph<'_>,
    shape: ContextFormat,
    budget: usize,
    selection: &mut NodeSelection,
) -> (String, usize) {
    loop {
        let text = shape.render_nodes(graph, &selection.selected);
        let count = tokens::count(&text);
        if count <= budget || selection.selected.is_empty() {
            return (text, count);
        }
        // A heading has a few tokens: one node less for each few that are too many.
        for _ in 0..(count - budget).div_ceil(64) {
            drop_last_group(selection);
        }
    }
}

/// Takes out the least of what was chosen, with all that contradicts it.
fn drop_last_group(selection: &mut NodeSelection) {
    let Some(group) = selection.selected.last().map(|last| last.group) else { return };
    let (dropped, kept): (Vec<_>, Vec<_>) =
        selection.selected.iter().partition(|one| one.group == group);
    selection.selected = kept;
    selection.omitted.extend(dropped.into_iter().map(|one| (one, OmitReason::OverBudget)));
}
