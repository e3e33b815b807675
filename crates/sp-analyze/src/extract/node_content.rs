//! The kind and text of the nodes that stand for notes, files and symbols.

use sp_formats::json::quoted;
use sp_formats::package::NewNode;
use sp_formats::text::plural;

use crate::extract::file_extract::{ExtractedNote, FileExtract};
use crate::extract::parsed_code::{ParsedCode, Symbol, SymbolKind};
use crate::extract::text::truncate_text;

const MAX_LISTED_SYMBOLS: usize = 24;

pub(super) fn node_kind(symbol: &Symbol) -> String {
    if symbol.is_test { "code_test".into() } else { format!("code_{}", symbol.kind.as_str()) }
}

pub(super) fn note_node(note: &ExtractedNote) -> NewNode {
    let confidence = (note.confidence < 1.0).then(|| format!("{:?}", note.confidence));
    NewNode::new(note.kind, note.content.clone())
        .with_member("category", Some(quoted(note.category)))
        .with_member("key", note.key.as_deref().map(quoted))
        .with_member("confidence", confidence)
}

pub(super) fn file_content(file: &FileExtract, code: &ParsedCode) -> String {
    let lines = plural(file.line_count, "line", "lines");
    let mut content = format!("`{}` ({}, {} {lines})", file.path, code.language, file.line_count);
    if !code.doc.is_empty() {
        content += &format!(": {}", code.doc);
    }
    let own = |symbol: &&Symbol| symbol.owner.is_none() && !symbol.is_test && symbol.is_visible;
    content += &list_names("Defines", code.symbols.iter().filter(own));
    content += &list_names("Tests", code.symbols.iter().filter(|symbol| symbol.is_test));
    content
}

/// Formats the distinct names of symbols after a label; empty if there are none.
fn list_names<'s>(word: &str, symbols: impl Iterator<Item = &'s Symbol>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for symbol in symbols {
        if !names.contains(&symbol.name.as_str()) && names.len() <= MAX_LISTED_SYMBOLS {
            names.push(&symbol.name);
        }
    }
    let more = if names.len() > MAX_LISTED_SYMBOLS { ", …" } else { "." };
    names.truncate(MAX_LISTED_SYMBOLS);
    if names.is_empty() { String::new() } else { format!("\n{word} {}{more}", names.join(", ")) }
}

pub(super) fn symbol_content(symbol: &Symbol) -> String {
    let name = symbol.full_name();
    let mut content = match (&symbol.owner, symbol.is_test) {
        (_, true) => format!("test `{}`", symbol.name),
        (Some(_), _) => format!("`{name}`: `{}`", symbol.signature),
        (None, _) => format!("`{}`", symbol.signature),
    };
    if !symbol.doc.is_empty() {
        content += &format!("\n{}", symbol.doc);
    }
    if !symbol.members.is_empty() {
        let word = match symbol.kind {
            SymbolKind::Enum => "Variants",
            SymbolKind::Interface | SymbolKind::Trait => "Members",
            _ => "Fields",
        };
        content += &format!("\n{word}: {}.", symbol.members.join(", "));
    }
    content
}

pub(super) fn is_prose(path: &str) -> bool {
    [".md", ".mdx", ".mdc", ".rst"].iter().any(|ending| path.ends_with(ending))
}

/// The section titles of a document, as its summary.
pub(super) fn section_titles(notes: &[ExtractedNote]) -> String {
    let mut titles: Vec<&str> = Vec::new();
    for note in notes {
        let first =
            note.content.lines().next().unwrap_or_default().trim_end_matches(" (continued)");
        let is_title = note.content.contains("\n\n") && first.len() < 100;
        if is_title && !titles.contains(&first) {
            titles.push(first);
        }
    }
    truncate_text(&titles.join("; "), 500)
}
