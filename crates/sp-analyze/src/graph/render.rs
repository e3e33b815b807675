//! Renders nodes for an agent, as Markdown by type or as XML. Hidden characters are escaped.

use std::collections::{BTreeMap, HashSet};

use super::RankedNode;
use sp_formats::json::JsonValue;
use sp_formats::package::{Graph, GraphNode};
use sp_formats::printable::{printable, printable_text};
use sp_formats::text::escape_markup;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextFormat {
    /// Headings and lists.
    Markdown,
    /// Elements with attributes.
    Xml,
}

/// Order and titles of node types; other types follow by name.
const SECTION_ORDER: &[(&str, &str)] = &[
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
/// Code symbols follow all listed types.
const CODE_SECTION: (usize, &str) = (SECTION_ORDER.len(), "Code");

impl ContextFormat {
    pub fn render_node(self, node: &GraphNode<'_>) -> String {
        match self {
            Self::Markdown => {
                format!("- {}{}\n", indent_list_item(&node.content), format_location(node.value))
            }
            Self::Xml => {
                let file = text_member(node.value, "file_path")
                    .map(|file| format!(" file=\"{}\"", escape_xml(&file)));
                format!(
                    "  <node id=\"{}\" type=\"{}\"{}>{}</node>\n",
                    escape_xml(&node.id),
                    escape_xml(&node.kind),
                    file.unwrap_or_default(),
                    escape_xml(&node.content)
                )
            }
        }
    }

    /// Renders the selected nodes.
    pub fn render_nodes(self, graph: &Graph<'_>, chosen: &[RankedNode]) -> String {
        match self {
            Self::Markdown => render_markdown(graph, chosen),
            Self::Xml if chosen.is_empty() => String::new(),
            Self::Xml => {
                let nodes: String = chosen
                    .iter()
                    .map(|one| self.render_node(&graph.nodes[one.node_index]))
                    .collect();
                format!("<context>\n{nodes}</context>\n")
            }
        }
    }
}

fn render_markdown(graph: &Graph<'_>, chosen: &[RankedNode]) -> String {
    let contradicting = contradicting_ids(graph, chosen);
    let mut sections: BTreeMap<(usize, &str), String> = BTreeMap::new();
    for ranked in chosen {
        let node = &graph.nodes[ranked.node_index];
        let key = if contradicting.contains(&*node.id) {
            (usize::MAX, "Contradictions")
        } else {
            section_of(node)
        };
        *sections.entry(key).or_default() += &ContextFormat::Markdown.render_node(node);
    }
    let section = |((_, title), nodes): (&(usize, &str), &String)| {
        format!("## {}\n\n{nodes}", printable(title))
    };
    sections.iter().map(section).collect::<Vec<_>>().join("\n")
}

/// Position and title of the section that a node belongs to.
fn section_of<'n>(node: &'n GraphNode<'_>) -> (usize, &'n str) {
    match SECTION_ORDER.iter().position(|(kind, _)| *kind == node.kind) {
        Some(index) => (index, SECTION_ORDER[index].1),
        None if node.kind.starts_with("code_") => CODE_SECTION,
        None => (SECTION_ORDER.len() + 1, &*node.kind),
    }
}

/// IDs of selected nodes that contradict another selected node.
fn contradicting_ids<'g>(graph: &'g Graph<'_>, chosen: &[RankedNode]) -> HashSet<&'g str> {
    let shown: HashSet<&str> = chosen.iter().map(|one| &*graph.nodes[one.node_index].id).collect();
    let edges = graph.edges.iter().filter(|edge| edge.kind == "contradicts");
    edges
        .filter(|edge| shown.contains(&*edge.from) && shown.contains(&*edge.to))
        .flat_map(|edge| [&*edge.from, &*edge.to])
        .collect()
}

/// Indents a multi-line text as one list item.
fn indent_list_item(content: &str) -> String {
    printable_text(content.trim()).replace('\n', "\n  ")
}

/// File and lines of a node.
fn format_location(value: JsonValue<'_>) -> String {
    let line = |key: &str| value.get(key).and_then(JsonValue::as_u64);
    let Some(file) = text_member(value, "file_path") else { return String::new() };
    let lines = match (line("line_start"), line("line_end")) {
        (Some(start), Some(end)) if end > start => format!(":{start}-{end}"),
        (Some(start), _) => format!(":{start}"),
        _ => String::new(),
    };
    format!(" ({}{lines})", printable(&file))
}

fn text_member(value: JsonValue<'_>, key: &str) -> Option<String> {
    value.get(key).and_then(JsonValue::text).map(Into::into)
}

fn escape_xml(text: &str) -> String {
    escape_markup(&printable_text(text)).into_owned()
}
