//! Which code gets nodes: what is visible, documented, or called from elsewhere, as far as it fits.

use std::collections::HashSet;

use crate::extract::activation::symbol_activation;
use crate::extract::file_extract::FileExtract;
use crate::extract::history::CommitHistory;
use crate::extract::node_content::{file_content, symbol_content};
use crate::extract::parsed_code::{Symbol, SymbolKind};
use crate::extract::resolve::{CodeItem, CodeLink, LinkKind};

/// Approximate size of a node without its content.
const NODE_OVERHEAD_BYTES: usize = 420;
/// Approximate size of an edge.
const EDGE_BYTES: usize = 130;

/// The code that gets nodes.
pub(super) struct SelectedCode {
    pub items: HashSet<CodeItem>,
    /// Number of items that did not fit into the size limit.
    pub omitted: usize,
}

/// An item with its sort key and its approximate size.
struct RankedItem {
    item: CodeItem,
    activation: f64,
    bytes: usize,
}

/// Selects the code that gets nodes, up to `max_bytes` together with the notes.
pub(super) fn select_code(
    files: &[FileExtract],
    links: &[CodeLink],
    history: &CommitHistory,
    max_bytes: usize,
) -> SelectedCode {
    let mut candidates: HashSet<CodeItem> =
        (0..files.len()).flat_map(|file| file_candidates(files, file)).collect();
    candidates.extend(called_from_elsewhere(files, links));
    // A test gets a node if it tests something that has one.
    let tests: Vec<CodeItem> = links
        .iter()
        .filter(|link| link.kind == LinkKind::TestedBy && candidates.contains(&link.from))
        .map(|link| link.to)
        .collect();
    candidates.extend(tests);
    let ranked = rank_items(files, candidates, history);
    fit_budget(ranked, max_bytes.saturating_sub(notes_size(files)))
}

/// A file with code, and its symbols that are visible or documented.
fn file_candidates(files: &[FileExtract], file: usize) -> Vec<CodeItem> {
    let Some(code) = &files[file].code else { return Vec::new() };
    let is_documented_or_visible = |symbol: &Symbol| {
        symbol.is_visible || (!symbol.doc.is_empty() && symbol.kind != SymbolKind::Constant)
    };
    let is_candidate =
        |symbol: &Symbol| !symbol.is_test && !code.is_test && is_documented_or_visible(symbol);
    let symbols = code.symbols.iter().enumerate().filter(|(_, symbol)| is_candidate(symbol));
    let symbols = symbols.map(|(index, _)| CodeItem::Symbol(file, index));
    std::iter::once(CodeItem::File(file)).chain(symbols).collect()
}

/// Symbols that another file calls, except for tests.
fn called_from_elsewhere<'l>(
    files: &'l [FileExtract],
    links: &'l [CodeLink],
) -> impl Iterator<Item = CodeItem> + 'l {
    let is_test = |file: usize, symbol: usize| {
        let code = files[file].code.as_ref();
        code.is_some_and(|code| code.is_test || code.symbols[symbol].is_test)
    };
    links.iter().filter(|link| link.kind == LinkKind::Calls).filter_map(move |link| {
        let CodeItem::Symbol(to_file, symbol) = link.to else { return None };
        let from_file = match link.from {
            CodeItem::File(file) | CodeItem::Symbol(file, _) => file,
        };
        (from_file != to_file && !is_test(to_file, symbol)).then_some(link.to)
    })
}

fn notes_size(files: &[FileExtract]) -> usize {
    let notes = files.iter().flat_map(|file| &file.notes);
    notes.map(|note| note.content.len() + NODE_OVERHEAD_BYTES + EDGE_BYTES).sum()
}

/// The items, most active first.
fn rank_items(
    files: &[FileExtract],
    items: HashSet<CodeItem>,
    history: &CommitHistory,
) -> Vec<RankedItem> {
    let rank = |item: CodeItem| {
        let (activation, content_len) = match item {
            // A symbol without its file would have no parent.
            CodeItem::File(file) => {
                let file = &files[file];
                (f64::MAX, file_content(file, file.code.as_ref()?).len())
            }
            CodeItem::Symbol(file, symbol) => {
                let file = &files[file];
                let symbol = &file.code.as_ref()?.symbols[symbol];
                (symbol_activation(history, &file.path, symbol), symbol_content(symbol).len())
            }
        };
        // A symbol has about three edges.
        let bytes = content_len + NODE_OVERHEAD_BYTES + 3 * EDGE_BYTES;
        Some(RankedItem { item, activation, bytes })
    };
    let mut ranked: Vec<RankedItem> = items.into_iter().filter_map(rank).collect();
    ranked.sort_by(|a, b| b.activation.total_cmp(&a.activation).then(a.item.cmp(&b.item)));
    ranked
}

/// Keeps the first items that fit into `max_bytes`.
fn fit_budget(ranked: Vec<RankedItem>, max_bytes: usize) -> SelectedCode {
    let mut remaining = max_bytes;
    let total = ranked.len();
    let fitting = ranked.into_iter().take_while(|ranked| {
        let fits = ranked.bytes <= remaining;
        remaining = remaining.saturating_sub(ranked.bytes);
        fits
    });
    let items: HashSet<CodeItem> = fitting.map(|ranked| ranked.item).collect();
    let omitted = total - items.len();
    SelectedCode { items, omitted }
}
