//! The conformance level that a graph actually reaches.
//!
//! Level 1 has nodes. Level 2 has typed edges between them. Level 3 has the complete state:
//! activation on every node, a weight on every edge, and decay.

use super::{Graph, GraphNode};
use crate::json::JsonValue;
use crate::package::rules::PK_16;
use crate::report::Report;
use crate::text::{plural, pluralize};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConformanceLevel {
    /// 1, 2 or 3. A list of nodes, even an empty one, is level 1.
    pub reached: u64,
    /// What is missing for the next level; empty at level 3.
    pub missing: Vec<String>,
}

impl ConformanceLevel {
    pub fn of(graph: &Graph<'_>) -> Self {
        let (second, third) = (missing_for_level_2(graph), missing_for_level_3(graph));
        match (second.is_empty(), third.is_empty()) {
            (false, _) => Self { reached: 1, missing: second },
            (true, false) => Self { reached: 2, missing: third },
            (true, true) => Self { reached: 3, missing: Vec::new() },
        }
    }
}

fn missing_for_level_2(graph: &Graph<'_>) -> Vec<String> {
    if graph.edges.is_empty() { vec!["there are no edges".into()] } else { Vec::new() }
}

fn missing_for_level_3(graph: &Graph<'_>) -> Vec<String> {
    let has =
        |value: JsonValue<'_>, key: &str| value.get(key).and_then(JsonValue::as_f64).is_some();
    let silent = graph.nodes.iter().filter(|node| !has(node.value, "activation")).count();
    let light = graph.edges.iter().filter(|edge| !has(edge.value, "weight")).count();
    let fades = |node: &GraphNode<'_>| {
        has(node.value, "decay_half_life_days")
            && node.value.get("created_at").and_then(JsonValue::text).is_some()
    };
    let mut missing = Vec::new();
    if silent > 0 {
        missing.push(format!("{} no `activation`", count_with_verb(silent, "node")));
    }
    if light > 0 {
        missing.push(format!("{} no `weight`", count_with_verb(light, "edge")));
    }
    if !graph.nodes.iter().any(fades) {
        missing.push("no node has both `created_at` and `decay_half_life_days`".into());
    }
    missing
}

fn count_with_verb(count: usize, what: &str) -> String {
    format!("{} {}", pluralize(count, what), plural(count, "has", "have"))
}

/// Reports a claimed level that is higher than the actual one.
pub fn check_level(manifest: JsonValue<'_>, content: JsonValue<'_>, report: &mut Report) {
    let Some(value) = manifest.get("conformance_level") else { return };
    let Some(claimed) = value.as_u64().filter(|claimed| *claimed > 1) else { return };
    if claimed == 2 && Graph::has_edge(content) {
        return;
    }
    let level = ConformanceLevel::of(&Graph::from_content(content));
    if claimed > level.reached {
        let message = format!(
            "the package declares level {claimed}, but only meets level {}: {}",
            level.reached,
            level.missing.join(", ")
        );
        report.error(&PK_16, value.span(), message).help(format!(
            "write `\"conformance_level\": {}`, or add the missing members",
            level.reached
        ));
    }
}
