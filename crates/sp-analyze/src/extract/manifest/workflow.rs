//! What runs on every change: the commands of a workflow are what must pass.

use sp_formats::yaml::{self, Node};
use sp_tree::Limits;

use crate::extract::note::{Found, Note, Source, shortened};

const MOST_COMMANDS: usize = 24;

pub(super) fn read(source: Source<'_>, found: &mut Found) {
    let Ok(root) = yaml::parse(source.text, &Limits::default()) else { return };
    let name = root.get("name").and_then(Node::text);
    let title = name.map_or_else(|| format!("`{}`", source.path), |name| format!("{name} (`{}`)", source.path));
    let mut list: Vec<String> = Vec::new();
    commands(&root, 0, &mut list);
    list.dedup();
    if !list.is_empty() {
        let content = format!("{title} runs:\n{}", list.join("\n"));
        found.add(Note::fact("command", content, source.whole()));
    }
}

/// Every `run` and `script`, wherever it stands.
fn commands(node: &Node, depth: usize, list: &mut Vec<String>) {
    if depth > 8 || list.len() >= MOST_COMMANDS {
        return;
    }
    for (key, value) in node.members() {
        match (key, value.text()) {
            ("run" | "script", Some(text)) => list.extend(shown(text)),
            ("script", _) => value.items().filter_map(Node::text).for_each(|text| list.extend(shown(text))),
            _ => commands(value, depth + 1, list),
        }
    }
    node.items().for_each(|item| commands(item, depth + 1, list));
}

/// The lines of a step that do something.
fn shown(text: &str) -> Option<String> {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("echo "))
        .collect();
    (!lines.is_empty()).then(|| format!("- `{}`", shortened(&lines.join("; "), 240)))
}
