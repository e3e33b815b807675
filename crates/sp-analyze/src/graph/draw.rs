//! A graph for programs that draw graphs: DOT and Mermaid.

use std::collections::HashMap;
use std::fmt::Write;

use sp_formats::package::Graph;
use sp_formats::printable::printable;

/// Longer texts are cut where they are drawn.
const LABEL: usize = 60;

/// The graph for Graphviz.
pub fn dot(graph: &Graph<'_>) -> String {
    let mut text = String::from("digraph context {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n");
    for node in &graph.nodes {
        let _ = writeln!(
            text,
            "  {} [label={}];",
            in_dot(&node.id),
            in_dot(&format!("{}: {}", node.kind, short(&node.content)))
        );
    }
    for edge in &graph.edges {
        let colour = if edge.kind == "contradicts" { ", color=red" } else { "" };
        let _ =
            writeln!(text, "  {} -> {} [label={}{colour}];", in_dot(&edge.from), in_dot(&edge.to), in_dot(&edge.kind));
    }
    text + "}\n"
}

/// The graph for Mermaid. Its nodes are counted, since an id may hold what Mermaid takes for a sign.
pub fn mermaid(graph: &Graph<'_>) -> String {
    let places: HashMap<&str, usize> = graph.nodes.iter().enumerate().map(|(at, node)| (&*node.id, at)).collect();
    let mut text = String::from("graph LR\n");
    for (at, node) in graph.nodes.iter().enumerate() {
        let _ = writeln!(text, "  n{at}[\"{}\"]", in_mermaid(&format!("{}: {}", node.kind, short(&node.content))));
    }
    for edge in &graph.edges {
        if let (Some(from), Some(to)) = (places.get(&*edge.from), places.get(&*edge.to)) {
            let _ = writeln!(text, "  n{from} -->|\"{}\"| n{to}", in_mermaid(&edge.kind));
        }
    }
    text
}

fn short(content: &str) -> String {
    let line = content.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(LABEL).collect();
    if cut.len() < content.len() { cut + "…" } else { cut }
}

fn in_dot(text: &str) -> String {
    format!("\"{}\"", printable(text).replace('\\', "\\\\").replace('"', "\\\""))
}

fn in_mermaid(text: &str) -> String {
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
