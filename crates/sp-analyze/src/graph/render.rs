//! Nodes as an agent reads them: Markdown by type, or XML. What shows nothing of itself is escaped.

use std::collections::{BTreeMap, HashSet};

use super::Chosen;
use sp_formats::json::Value;
use sp_formats::package::{Graph, Node};
use sp_formats::printable::{printable, printable_text};

/// How nodes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Headings and lists.
    Markdown,
    /// Elements with attributes.
    Xml,
}

/// The order in which types stand; others follow by name.
const ORDER: &[(&str, &str)] = &[
    ("policy", "Policies"),
    ("convention", "Conventions"),
    ("decision", "Decisions"),
    ("gotcha", "Gotchas"),
    ("fact", "Facts"),
    ("pattern", "Patterns"),
    ("insight", "Insights"),
    ("task", "Tasks"),
    ("finding", "Findings"),
    ("document", "Documents"),
    ("code_file", "Files"),
    ("code_test", "Tests"),
];
/// Where the symbols of code stand: after all that has a place of its own.
const SYMBOLS: (usize, &str) = (ORDER.len(), "Code");

impl Shape {
    /// One node.
    pub fn node(self, node: &Node<'_>) -> String {
        match self {
            Self::Markdown => format!("- {}{}\n", indented(&node.content), place(node.value)),
            Self::Xml => {
                let file = text(node.value, "file_path").map(|file| format!(" file=\"{}\"", escaped(&file)));
                format!(
                    "  <node id=\"{}\" type=\"{}\"{}>{}</node>\n",
                    escaped(&node.id),
                    escaped(&node.kind),
                    file.unwrap_or_default(),
                    escaped(&node.content)
                )
            }
        }
    }

    /// All that was chosen.
    pub fn write(self, graph: &Graph<'_>, chosen: &[Chosen]) -> String {
        match self {
            Self::Markdown => markdown(graph, chosen),
            Self::Xml if chosen.is_empty() => String::new(),
            Self::Xml => {
                let nodes: String = chosen.iter().map(|one| self.node(&graph.nodes[one.node])).collect();
                format!("<context>\n{nodes}</context>\n")
            }
        }
    }
}

fn markdown(graph: &Graph<'_>, chosen: &[Chosen]) -> String {
    let at_odds = at_odds(graph, chosen);
    let mut sections: BTreeMap<(usize, &str), String> = BTreeMap::new();
    for one in chosen {
        let node = &graph.nodes[one.node];
        let key = match at_odds.contains(&*node.id) {
            true => (usize::MAX, "These contradict each other"),
            false => match ORDER.iter().position(|(kind, _)| *kind == node.kind) {
                Some(at) => (at, ORDER[at].1),
                None if node.kind.starts_with("code_") => SYMBOLS,
                None => (ORDER.len() + 1, &*node.kind),
            },
        };
        *sections.entry(key).or_default() += &Shape::Markdown.node(node);
    }
    let section = |((_, title), nodes): (&(usize, &str), &String)| format!("## {}\n\n{nodes}", printable(title));
    sections.iter().map(section).collect::<Vec<_>>().join("\n")
}

/// The ids of chosen nodes that contradict another chosen one.
fn at_odds<'g>(graph: &'g Graph<'_>, chosen: &[Chosen]) -> HashSet<&'g str> {
    let shown: HashSet<&str> = chosen.iter().map(|one| &*graph.nodes[one.node].id).collect();
    let edges = graph.edges.iter().filter(|edge| edge.kind == "contradicts");
    edges
        .filter(|edge| shown.contains(&*edge.from) && shown.contains(&*edge.to))
        .flat_map(|edge| [&*edge.from, &*edge.to])
        .collect()
}

/// Text of several lines as one item of a list.
fn indented(content: &str) -> String {
    printable_text(content.trim()).replace('\n', "\n  ")
}

/// Where it stands in the project.
fn place(value: Value<'_>) -> String {
    let line = |key: &str| value.get(key).and_then(Value::whole);
    let Some(file) = text(value, "file_path") else { return String::new() };
    let lines = match (line("line_start"), line("line_end")) {
        (Some(start), Some(end)) if end > start => format!(":{start}-{end}"),
        (Some(start), _) => format!(":{start}"),
        _ => String::new(),
    };
    format!(" ({}{lines})", printable(&file))
}

fn text(value: Value<'_>, key: &str) -> Option<String> {
    value.get(key).and_then(Value::text).map(Into::into)
}

fn escaped(text: &str) -> String {
    printable_text(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
