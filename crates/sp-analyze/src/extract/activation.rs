//! How active a node is when it is extracted, and how fast it fades, by its kind and history.

use crate::extract::history::CommitHistory;
use crate::extract::node_content::node_kind;
use crate::extract::parsed_code::Symbol;

/// Where the nodes of a kind start.
#[derive(Debug, Clone, Copy)]
pub(super) struct KindDefaults {
    kind: &'static str,
    /// Activation without any activity.
    pub activation: f64,
    pub half_life_days: u32,
}

const fn defaults(kind: &'static str, activation: f64, half_life_days: u32) -> KindDefaults {
    KindDefaults { kind, activation, half_life_days }
}

const KIND_DEFAULTS: &[KindDefaults] = &[
    defaults("fact", 0.70, 180),
    defaults("convention", 0.75, 365),
    defaults("policy", 0.70, 365),
    defaults("decision", 0.65, 730),
    defaults("gotcha", 0.75, 180),
    defaults("document", 0.40, 180),
    defaults("code_file", 0.45, 90),
    defaults("code_test", 0.25, 90),
    defaults("code_function", 0.45, 90),
    defaults("code_method", 0.40, 90),
];
const FALLBACK_DEFAULTS: KindDefaults = defaults("", 0.50, 90);
/// Activation added for the most active file.
const ACTIVITY_BONUS: f64 = 0.25;
/// Activation subtracted from symbols that are not visible.
pub(super) const HIDDEN_PENALTY: f64 = 0.10;

pub(super) fn kind_defaults(kind: &str) -> KindDefaults {
    KIND_DEFAULTS.iter().copied().find(|known| known.kind == kind).unwrap_or(FALLBACK_DEFAULTS)
}

/// The activation of a node of this kind from this file.
pub(super) fn file_activation(history: &CommitHistory, kind: &str, path: &str) -> f64 {
    kind_defaults(kind).activation + ACTIVITY_BONUS * history.activity(path) - example_penalty(path)
}

pub(super) fn symbol_activation(history: &CommitHistory, path: &str, symbol: &Symbol) -> f64 {
    let hidden = if symbol.is_visible || symbol.is_test { 0.0 } else { HIDDEN_PENALTY };
    let silent = if symbol.doc.is_empty() { HIDDEN_PENALTY / 2.0 } else { 0.0 };
    kind_defaults(&node_kind(symbol)).activation + ACTIVITY_BONUS * history.activity(path)
        - hidden
        - silent
        - example_penalty(path)
}

/// Examples rank below the code they illustrate.
fn example_penalty(path: &str) -> f64 {
    let is_example = path
        .split('/')
        .any(|part| matches!(part, "examples" | "example" | "samples" | "demo" | "demos"));
    if is_example { 2.0 * HIDDEN_PENALTY } else { 0.0 }
}

pub(super) fn round_activation(number: f64) -> f64 {
    (number.clamp(0.0, 1.0) * 100.0).round() / 100.0
}
