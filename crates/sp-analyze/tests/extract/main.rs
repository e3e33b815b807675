//! What is read from a project: its code, its documents, its manifests; and what never is.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends at the first surprise"
)]

mod comments;
mod decisions;
mod documents;
mod hostile;
mod languages;
mod manifests;
mod properties;
mod secrets;

use std::collections::HashMap;

use serde_json::Value;
use sp_analyze::extract::{
    AssembleOptions, CommitHistory, ExtractInput, ExtractedGraph, ExtractedNote, FileExtract,
    assemble, extract_file,
};

/// Room for every project of these tests.
const ROOMY: AssembleOptions = AssembleOptions { level: 2, max_bytes: 8 * 1024 * 1024 };

/// The files of a project that is written as one text: each begins with a line of `== ` and its
/// path.
fn files(project: &str) -> Vec<(&str, &str)> {
    let parts = project.split("\n== ").skip(1);
    parts.map(|part| part.split_once('\n').expect("a path on a line of its own")).collect()
}

fn one(path: &str, text: impl AsRef<[u8]>) -> FileExtract {
    extract_file(ExtractInput { path, bytes: text.as_ref() })
}

fn all(files: &[(&str, &str)]) -> Vec<FileExtract> {
    files.iter().map(|(path, text)| one(path, text)).collect()
}

/// The graph of a project, without a history.
fn graph(files: &[(&str, &str)]) -> ExtractedGraph {
    assemble(all(files), &CommitHistory::default(), ROOMY)
}

/// What a file says, a line for each note: kind, category, lines, and what it says, with `⏎` for
/// the end of a line.
fn notes(path: &str, text: &str) -> String {
    one(path, text).notes.iter().map(shown).collect::<Vec<_>>().join("\n")
}

fn shown(note: &ExtractedNote) -> String {
    let sure = if note.confidence < 1.0 { format!(" ~{}", note.confidence) } else { String::new() };
    let date = note.date.as_ref().map(|date| format!(" on {date}")).unwrap_or_default();
    let (kind, category, lines) = (note.kind, note.category, note.lines);
    format!(
        "{kind}/{category} {}-{}{sure}{date}: {}",
        lines.first,
        lines.last,
        on_one_line(&note.content)
    )
}

fn on_one_line(text: &str) -> String {
    text.replace('\n', "⏎")
}

/// A node of a graph as JSON.
fn values(extracted: &ExtractedGraph) -> Vec<Value> {
    extracted
        .graph
        .nodes
        .iter()
        .map(|node| serde_json::from_str(&node.to_json()).unwrap())
        .collect()
}

/// What a node is called in these tests: a file by its path, a symbol by its file and name, a note
/// by its kind and line.
fn label(node: &Value) -> String {
    let text = |key: &str| node[key].as_str().unwrap_or_default();
    match text("type") {
        "code_file" | "document" => text("file_path").to_owned(),
        kind if kind.starts_with("code_") => {
            format!("{}#{}", text("file_path").rsplit('/').next().unwrap_or_default(), text("key"))
        }
        kind => format!("{}:{} {kind}", text("file_path"), node["line_start"]),
    }
}

/// The nodes that are code: kind, name and lines, and what each says.
fn code(extracted: &ExtractedGraph) -> String {
    let nodes = values(extracted);
    let is_code =
        |node: &&Value| node["type"].as_str().is_some_and(|kind| kind.starts_with("code_"));
    let line = |node: &Value| {
        let kind = node["type"].as_str().unwrap_or_default().trim_start_matches("code_");
        let (first, last) = (&node["line_start"], &node["line_end"]);
        format!(
            "{kind} {} {first}-{last}: {}",
            label(node),
            on_one_line(node["content"].as_str().unwrap_or_default())
        )
    };
    nodes.iter().filter(is_code).map(line).collect::<Vec<_>>().join("\n")
}

/// The edges, each as `from -type-> to`, sorted; those that only say that a file contains something
/// are left out.
fn edges(extracted: &ExtractedGraph) -> String {
    let names: HashMap<String, String> = values(extracted)
        .iter()
        .map(|node| (node["id"].as_str().unwrap().to_owned(), label(node)))
        .collect();
    let mut lines: Vec<String> = extracted
        .graph
        .edges
        .iter()
        .map(|edge| format!("{} -{}-> {}", names[&edge.from], edge.kind, names[&edge.to]))
        .collect();
    lines.sort();
    lines.join("\n")
}

/// Everything that goes into a package, as text.
fn json(extracted: &ExtractedGraph) -> String {
    extracted.graph.to_content_json()
}
