//! Parses scripts with a limit on steps, so that the result is the same on every machine.

use std::cell::RefCell;
use std::ops::ControlFlow;

use tree_sitter::{Language, Node, ParseOptions, ParseState, Parser, Tree};

use super::flow::ScriptLanguage;

/// The parser may report an error state for this many consecutive callbacks.
const MAX_ERROR_CALLBACKS: usize = 8;
/// Deeper trees are not read: evaluation is recursive.
pub(super) const MAX_TREE_DEPTH: usize = 120;

thread_local! {
    // Creating a parser costs more than parsing a code block.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

fn grammar(language: ScriptLanguage) -> Language {
    match language {
        ScriptLanguage::Shell => tree_sitter_bash::LANGUAGE.into(),
        ScriptLanguage::Python => tree_sitter_python::LANGUAGE.into(),
        ScriptLanguage::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
        ScriptLanguage::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    }
}

/// Parses a script; `None` if the parser needs more steps than handwritten code takes.
///
/// In an error state the parser keeps every possible interpretation, so adversarial input could
/// otherwise take gigabytes.
pub(super) fn parse_script(language: ScriptLanguage, text: &str) -> Option<Tree> {
    let (mut left, mut lost) = (50 + text.len() / 20, 0);
    let mut watch = |state: &ParseState| {
        left = left.saturating_sub(1);
        lost = if state.has_error() { lost + 1 } else { 0 };
        if left == 0 || lost > MAX_ERROR_CALLBACKS {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut watch);
    let bytes = text.as_bytes();
    PARSER.with_borrow_mut(|parser| {
        parser.reset();
        parser.set_language(&grammar(language)).ok()?;
        parser.parse_with_options(
            &mut |at, _| bytes.get(at..).unwrap_or_default(),
            None,
            Some(options),
        )
    })
}

/// The named children of a node.
pub(super) fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}
