//! CI workflows: their commands are what must pass on every change.

use sp_formats::yaml::{self, YamlNode};
use sp_tree::Limits;

use crate::extract::file_extract::{ExtractedNote, FileExtract};
use crate::extract::source_text::SourceText;
use crate::extract::text::truncate_text;

const MAX_COMMANDS: usize = 24;

pub(super) fn read(source: SourceText<'_>, found: &mut FileExtract) {
    let Ok(root) = yaml::parse(source.text, &Limits::default()) else { return };
    let name = root.get("name").and_then(YamlNode::text);
    let title = name
        .map_or_else(|| format!("`{}`", source.path), |name| format!("{name} (`{}`)", source.path));
    let mut list: Vec<String> = Vec::new();
    collect_commands(&root, 0, &mut list);
    list.dedup();
    if !list.is_empty() {
        let content = format!("{title} runs:\n{}", list.join("\n"));
        found.add_note(ExtractedNote::fact("command", content, source.all_lines()));
    }
}

/// Collects every `run` and `script` value, at any depth.
fn collect_commands(node: &YamlNode, depth: usize, list: &mut Vec<String>) {
    if depth > 8 || list.len() >= MAX_COMMANDS {
        return;
    }
    for (key, value) in node.members() {
        match (key, value.text()) {
            ("run" | "script", Some(text)) => list.extend(format_step(text)),
            ("script", _) => value
                .items()
                .filter_map(YamlNode::text)
                .for_each(|text| list.extend(format_step(text))),
            _ => collect_commands(value, depth + 1, list),
        }
    }
    node.items().for_each(|item| collect_commands(item, depth + 1, list));
}

/// The lines of a step that run something.
fn format_step(text: &str) -> Option<String> {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("echo "))
        .collect();
    (!lines.is_empty()).then(|| format!("- `{}`", truncate_text(&lines.join("; "), 240)))
}
