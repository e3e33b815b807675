//! Extraction of code, documents and manifests from projects, without secrets.

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

/// Options with which every project of these tests fits.
const OPTIONS: AssembleOptions = AssembleOptions { level: 2, max_bytes: 8 * 1024 * 1024 };

/// Splits a project in one text. Each file starts with a line of `== ` and its path.
fn files(project: &str) -> Vec<(&str, &str)> {
    let parts = project.split("\n== ").skip(1);
    parts.map(|part| part.split_once('\n').expect("a path on a line of its own")).collect()
}

fn extract(path: &str, text: impl AsRef<[u8]>) -> FileExtract {
    extract_file(ExtractInput { path, bytes: text.as_ref() })
}

fn extract_all(files: &[(&str, &str)]) -> Vec<FileExtract> {
    files.iter().map(|(path, text)| extract(path, text)).collect()
}

/// The graph of a project, without a history.
fn graph(files: &[(&str, &str)]) -> ExtractedGraph {
    assemble(extract_all(files), &CommitHistory::default(), OPTIONS)
}

/// Extracts the notes of a file, one per line: kind, category, lines and content.
fn notes(path: &str, text: &str) -> String {
    extract(path, text).notes.iter().map(format_note).collect::<Vec<_>>().join("\n")
}

fn format_note(note: &ExtractedNote) -> String {
    let confidence =
        if note.confidence < 1.0 { format!(" ~{}", note.confidence) } else { String::new() };
    let date = note.date.as_ref().map(|date| format!(" on {date}")).unwrap_or_default();
    let (kind, category, lines) = (note.kind, note.category, note.lines);
    format!(
        "{kind}/{category} {}-{}{confidence}{date}: {}",
        lines.first,
        lines.last,
        on_one_line(&note.content)
    )
}

/// Replaces line breaks by `⏎`.
fn on_one_line(text: &str) -> String {
    text.replace('\n', "⏎")
}

fn nodes_as_json(extracted: &ExtractedGraph) -> Vec<Value> {
    extracted
        .graph
        .nodes
        .iter()
        .map(|node| serde_json::from_str(&node.to_json()).unwrap())
        .collect()
}

/// Returns a short name for a node: the path of a file, the file and name of a symbol, or the file,
/// line and kind of a note.
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

/// Lists the code nodes: kind, name, lines and content.
fn code(extracted: &ExtractedGraph) -> String {
    let nodes = nodes_as_json(extracted);
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

/// Lists the edges as `from -type-> to`, sorted.
fn edges(extracted: &ExtractedGraph) -> String {
    let names: HashMap<String, String> = nodes_as_json(extracted)
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

/// Returns the content of a package with this graph.
fn json(extracted: &ExtractedGraph) -> String {
    extracted.graph.to_content_json()
}
