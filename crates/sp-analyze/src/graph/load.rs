//! Renders the best nodes of a graph within a token budget.

use super::ContextFormat;
use super::select::{NodeSelection, OmitReason, SelectionQuery, select};
use crate::tokens;
use sp_formats::package::Graph;

/// The rendered context for an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedContext {
    pub text: String,
    /// Token count of the whole text.
    pub tokens: usize,
    pub selection: NodeSelection,
}

/// Selects and renders the best nodes within the budget, as counted by the tokenizer.
pub fn load_context(
    graph: &Graph<'_>,
    query: &SelectionQuery<'_>,
    shape: ContextFormat,
) -> LoadedContext {
    let mut cost = |at: usize| tokens::count(&shape.render_node(&graph.nodes[at]));
    let mut selection = select(graph, query, &mut cost);
    let (text, tokens) = fit_to_budget(graph, shape, query.budget, &mut selection);
    LoadedContext { text, tokens, selection }
}

/// Renders the selection, and drops its last groups until the text with headings fits the budget.
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
        // Headings cost a few tokens each: drop one node per 64 tokens over budget.
        for _ in 0..(count - budget).div_ceil(64) {
            drop_last_group(selection);
        }
    }
}

/// Drops the last selected node, with all nodes that contradict it.
fn drop_last_group(selection: &mut NodeSelection) {
    let Some(group) = selection.selected.last().map(|last| last.group) else { return };
    let (dropped, kept): (Vec<_>, Vec<_>) =
        selection.selected.iter().partition(|node| node.group == group);
    selection.selected = kept;
    selection.omitted.extend(dropped.into_iter().map(|node| (node, OmitReason::OverBudget)));
}
