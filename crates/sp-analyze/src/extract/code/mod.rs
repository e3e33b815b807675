//! Source code: what is defined, what calls what, and what is imported. Six grammars, one walk.
//!
//! A grammar is a row of [`GRAMMARS`] with its [`Rules`]: which nodes of its trees define, call and
//! import something. Files with syntax errors give what can be read; a file on which the parser works
//! too long is left alone, by counting its steps and not by a clock, so that the outcome is the same
//! everywhere.

mod go;
mod java;
mod python;
mod rust;
mod typescript;
mod walk;

use std::collections::HashSet;
use std::ops::ControlFlow;

use tree_sitter::{Language, Node, ParseOptions, Parser, Tree};

use crate::extract::file_extract::FileExtract;
use crate::extract::parsed_code::{CallReceiver, CodeImport};
use crate::extract::source_text::SourceText;
use crate::extract::warning;

/// A language that can be read.
pub(crate) struct Grammar {
    /// What people call it.
    pub name: &'static str,
    /// How its files end.
    extensions: &'static [&'static str],
    language: fn() -> Language,
    rules: &'static dyn LanguageRules,
}

const GRAMMARS: &[Grammar] = &[
    Grammar {
        name: "Rust",
        extensions: &["rs"],
        language: || tree_sitter_rust::LANGUAGE.into(),
        rules: &rust::RustRules,
    },
    Grammar {
        name: "Python",
        extensions: &["py", "pyi"],
        language: || tree_sitter_python::LANGUAGE.into(),
        rules: &python::PythonRules,
    },
    Grammar {
        name: "TypeScript",
        extensions: &["ts", "mts", "cts"],
        language: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        rules: &typescript::TypeScriptRules,
    },
    Grammar {
        name: "TypeScript",
        extensions: &["tsx"],
        language: || tree_sitter_typescript::LANGUAGE_TSX.into(),
        rules: &typescript::TypeScriptRules,
    },
    Grammar {
        name: "JavaScript",
        extensions: &["js", "mjs", "cjs", "jsx"],
        language: || tree_sitter_javascript::LANGUAGE.into(),
        rules: &typescript::TypeScriptRules,
    },
    Grammar {
        name: "Go",
        extensions: &["go"],
        language: || tree_sitter_go::LANGUAGE.into(),
        rules: &go::GoRules,
    },
    Grammar {
        name: "Java",
        extensions: &["java"],
        language: || tree_sitter_java::LANGUAGE.into(),
        rules: &java::JavaRules,
    },
];

/// The grammar of a file, by its name.
pub(crate) fn grammar_of(path: &str) -> Option<&'static Grammar> {
    let (stem, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
    // Declarations are made from what they declare.
    if stem.ends_with(".d") {
        return None;
    }
    GRAMMARS.iter().find(|grammar| grammar.extensions.contains(&ending))
}

/// What a node of a tree defines.
pub(crate) struct CodeDefinition<'t> {
    pub kind: &'static str,
    pub name: String,
    pub owner: Option<String>,
    /// What of the node is no longer its signature.
    pub body: Option<Node<'t>>,
    /// The definition itself, or what it is wrapped in: there it begins, and before it stands what documents it.
    pub outer: Node<'t>,
    pub is_visible: bool,
    pub is_test: bool,
    /// Documentation that stands inside.
    pub doc: Option<String>,
}

/// How a language says what.
pub(crate) trait LanguageRules: Sync {
    /// What a node defines.
    fn definition<'t>(&self, node: Node<'t>, source: SourceText<'_>) -> Option<CodeDefinition<'t>>;
    /// A node in which everything belongs to a type without being inside its definition.
    fn block(&self, _node: Node<'_>, _source: SourceText<'_>) -> Option<OwnerBlock> {
        None
    }
    /// What a node calls.
    fn call(&self, node: Node<'_>, source: SourceText<'_>) -> Option<(CallReceiver, String)>;
    /// What a node imports.
    fn imports(&self, node: Node<'_>, source: SourceText<'_>) -> Vec<CodeImport>;
    /// The package that a node says the file belongs to.
    fn package(&self, _node: Node<'_>, _source: SourceText<'_>) -> Option<String> {
        None
    }
    /// Whether a node names a field, a variant or the like of the type that it stands in.
    fn is_member(&self, kind: &str) -> bool;
    /// Whether a comment belongs to the definition that follows it.
    fn is_doc(&self, comment: &str) -> bool;
    /// What the file says of itself.
    fn file_doc(&self, root: Node<'_>, source: SourceText<'_>) -> String;
    /// The names that a file gives to others apart from where it defines them.
    fn exported_names<'s>(&self, _source: SourceText<'s>) -> HashSet<&'s str> {
        HashSet::new()
    }
    /// Whether a file is there to test others.
    fn is_test_file(&self, path: &str) -> bool;
}

/// Something in which everything belongs to a type.
pub(crate) struct OwnerBlock {
    pub owner: Option<String>,
    /// Whether what is defined in it is known without it: a trait's methods.
    pub is_hidden: bool,
    pub is_test: bool,
}

/// For so many calls of the parser it may find no way to go on.
const MAX_ERROR_CALLBACKS: usize = 6;

/// Reads a file of code.
pub(crate) fn read(grammar: &'static Grammar, source: SourceText<'_>, found: &mut FileExtract) {
    let Some(tree) = parse(grammar, source.text) else { return };
    let (mut code, comments) = walk::walk(grammar.rules, &tree, source);
    code.language = grammar.name;
    warning::add_code_warnings(&comments, &code, found);
    found.code = Some(code);
}

/// The tree of a text; none if the parser works on it as on no code that people write.
///
/// It calls back about every hundred of its steps. Of ten thousand files of code none needed more than one
/// call for forty bytes. Where it finds no way to go on for long it keeps every way that there might be, and
/// what is made to confuse it takes gigabytes so.
fn parse(grammar: &Grammar, text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&(grammar.language)()).ok()?;
    let (mut left, mut lost) = (50 + text.len() / 25, 0);
    let mut watch = |state: &tree_sitter::ParseState| {
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
    parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))
}

/// The text of a node.
pub(crate) fn node_text<'s>(node: Node<'_>, source: SourceText<'s>) -> &'s str {
    source.text.get(node.byte_range()).unwrap_or_default()
}

/// The text of a field of a node.
pub(crate) fn field_text<'s>(
    node: Node<'_>,
    name: &str,
    source: SourceText<'s>,
) -> Option<&'s str> {
    node.child_by_field_name(name)
        .map(|child| node_text(child, source))
        .filter(|text| !text.is_empty())
}

/// The last name of a path, without what it is made for: `Vec` of `std::vec::Vec<T>`.
pub(crate) fn last_name(path: &str) -> &str {
    let path = path
        .split(['<', '[', '('])
        .next()
        .unwrap_or(path)
        .trim_start_matches(['&', '*', ' '])
        .trim();
    path.trim_end_matches(':').rsplit(['.', ':', '/', ' ']).next().unwrap_or(path)
}
