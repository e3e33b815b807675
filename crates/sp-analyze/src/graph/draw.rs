//! Exports a graph as DOT and Mermaid.

use std::collections::HashMap;
use std::fmt::Write;

use sp_formats::package::Graph;
use sp_formats::printable::printable;
use sp_formats::text::truncate_line;

/// Longer labels are truncated.
const MAX_LABEL_CHARS: usize = 60;

/// Renders a graph in the DOT language.
pub fn to_dot(graph: &Graph<'_>) -> String {
    let mut text =
        String::from("digraph context {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n");
    for node in &graph.nodes {
        let _ = writeln!(
            text,
            "  {} [label={}];",
            quote_dot(&node.id),
            quote_dot(&format!("{}: {}", node.kind, truncate_line(&node.content, MAX_LABEL_CHARS)))
        );
    }
    for edge in &graph.edges {
        let colour = if edge.kind == "contradicts" { ", color=red" } else { "" };
        let _ = writeln!(
            text,
            "  {} -> {} [label={}{colour}];",
            quote_dot(&edge.from),
            quote_dot(&edge.to),
            quote_dot(&edge.kind)
        );
    }
    text + "}\n"
}

/// Renders a graph in Mermaid. Nodes are numbered, because IDs may contain Mermaid syntax.
pub fn to_mermaid(graph: &Graph<'_>) -> String {
    let places: HashMap<&str, usize> =
        graph.nodes.iter().enumerate().map(|(index, node)| (&*node.id, index)).collect();
    let mut text = String::from("graph LR\n");
    for (index, node) in graph.nodes.iter().enumerate() {
        let _ = writeln!(
            text,
            "  n{index}[\"{}\"]",
            escape_mermaid(&format!(
                "{}: {}",
                node.kind,
                truncate_line(&node.content, MAX_LABEL_CHARS)
            ))
        );
    }
    for edge in &graph.edges {
        if let (Some(from), Some(to)) = (places.get(&*edge.from), places.get(&*edge.to)) {
            let _ = writeln!(text, "  n{from} -->|\"{}\"| n{to}", escape_mermaid(&edge.kind));
        }
    }
    text
}

fn quote_dot(text: &str) -> String {
    format!("\"{}\"", printable(text).replace('\\', "\\\\").replace('"', "\\\""))
}

fn escape_mermaid(text: &str) -> String {
    printable(text).chars().fold(String::new(), |mut safe, c| {
        match c {
            '"' | '#' | ';' | '<' | '>' | '&' | '`' | '|' | '{' | '}' | '[' | ']' | '(' | ')' => {
                let _ = write!(safe, "#{};", u32::from(c));
            }
            c => safe.push(c),
        }
        safe
    })
}
