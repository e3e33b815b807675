//! The syntax trees of scripts.

use tree_sitter::{Language, Node, Tree};

use super::flow::ScriptLanguage;
use crate::bounded_parser::{ParseLimits, parse_bounded};

const LIMITS: ParseLimits = ParseLimits { bytes_per_callback: 20, max_error_callbacks: 8 };
/// Deeper trees are not read: evaluation is recursive.
pub(super) const MAX_TREE_DEPTH: usize = 120;

fn grammar(language: ScriptLanguage) -> Language {
    match language {
        ScriptLanguage::Shell => tree_sitter_bash::LANGUAGE.into(),
        ScriptLanguage::Python => tree_sitter_python::LANGUAGE.into(),
        ScriptLanguage::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
        ScriptLanguage::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    }
}

/// Parses a script; `None` if the parser needs more steps than handwritten code takes.
pub(super) fn parse_script(language: ScriptLanguage, text: &str) -> Option<Tree> {
    parse_bounded(&grammar(language), text, LIMITS)
}

/// The named children of a node.
pub(super) fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}
