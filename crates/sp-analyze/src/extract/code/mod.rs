//! Parses source code into definitions, calls and imports.
//!
//! Each language is a row of [`GRAMMARS`] with its [`LanguageRules`], which decide which syntax
//! nodes define, call or import something. [`walk`] traverses the tree, the same for every
//! language.
//!
//! Files with syntax errors yield what can be parsed.

mod go;
mod java;
mod python;
mod rust;
mod typescript;
mod walk;

use std::collections::HashSet;

use tree_sitter::{Language, Node};

use crate::bounded_parser::{ParseLimits, parse_bounded};
use crate::extract::file_extract::FileExtract;
use crate::extract::parsed_code::{CallReceiver, CodeImport, SymbolKind};
use crate::extract::source_text::SourceText;
use crate::extract::warning;

/// A supported language.
pub(crate) struct Grammar {
    /// Display name.
    pub name: &'static str,
    /// File extensions, without the dot.
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

/// Returns the grammar for a file name.
pub(crate) fn grammar_of(path: &str) -> Option<&'static Grammar> {
    let (stem, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
    // Declaration files are generated from the code they declare.
    if stem.ends_with(".d") {
        return None;
    }
    GRAMMARS.iter().find(|grammar| grammar.extensions.contains(&ending))
}

/// What a syntax node defines.
pub(crate) struct CodeDefinition<'t> {
    pub kind: SymbolKind,
    pub name: String,
    pub owner: Option<String>,
    /// The part of the node that does not belong to the signature.
    pub body: Option<Node<'t>>,
    /// The definition or the node that wraps it: the definition starts here, and its doc comment
    /// precedes it.
    pub outer: Node<'t>,
    pub is_visible: bool,
    pub is_test: bool,
    /// Documentation inside the definition, such as a docstring.
    pub doc: Option<String>,
}

/// Maps the syntax nodes of one language to definitions, calls and imports.
pub(crate) trait LanguageRules: Sync {
    fn definition<'t>(&self, node: Node<'t>, source: SourceText<'_>) -> Option<CodeDefinition<'t>>;
    /// A node whose contents belong to a type without being inside its definition, such as `impl`.
    fn block(&self, _node: Node<'_>, _source: SourceText<'_>) -> Option<OwnerBlock> {
        None
    }
    fn call(&self, node: Node<'_>, source: SourceText<'_>) -> Option<(CallReceiver, String)>;
    fn imports(&self, node: Node<'_>, source: SourceText<'_>) -> Vec<CodeImport>;
    /// The package that a node declares.
    fn package(&self, _node: Node<'_>, _source: SourceText<'_>) -> Option<String> {
        None
    }
    /// Whether a node of this kind names a field, variant or similar member.
    fn is_member(&self, kind: &str) -> bool;
    /// Whether a comment documents the definition that follows it.
    fn is_doc(&self, comment: &str) -> bool;
    /// The documentation of the file itself.
    fn file_doc(&self, root: Node<'_>, source: SourceText<'_>) -> String;
    /// Names that are exported separately from their definition.
    fn exported_names<'s>(&self, _source: SourceText<'s>) -> HashSet<&'s str> {
        HashSet::new()
    }
    fn is_test_file(&self, path: &str) -> bool;
}

/// A block whose contents belong to a type.
pub(crate) struct OwnerBlock {
    pub owner: Option<String>,
    /// Whether the contents are documented elsewhere, like the methods of a trait implementation.
    pub is_hidden: bool,
    pub is_test: bool,
}

/// None of ten thousand source files needed more than one callback per forty bytes.
const LIMITS: ParseLimits = ParseLimits { bytes_per_callback: 25, max_error_callbacks: 6 };

/// Parses a source file and adds its code and the warnings in its comments.
pub(crate) fn read(grammar: &'static Grammar, source: SourceText<'_>, found: &mut FileExtract) {
    let language = (grammar.language)();
    let Some(tree) = parse_bounded(&language, source.text, LIMITS) else { return };
    let (mut code, comments) = walk::walk(grammar.rules, &tree, source);
    code.language = grammar.name;
    warning::add_code_warnings(&comments, &code, found);
    found.code = Some(code);
}

pub(crate) fn node_text<'s>(node: Node<'_>, source: SourceText<'s>) -> &'s str {
    source.text.get(node.byte_range()).unwrap_or_default()
}

/// The text of a named field; `None` if it is missing or empty.
pub(crate) fn field_text<'s>(
    node: Node<'_>,
    name: &str,
    source: SourceText<'s>,
) -> Option<&'s str> {
    node.child_by_field_name(name)
        .map(|child| node_text(child, source))
        .filter(|text| !text.is_empty())
}

/// The last segment of a path without generics: `Vec` for `std::vec::Vec<T>`.
pub(crate) fn last_name(path: &str) -> &str {
    let path = path
        .split(['<', '[', '('])
        .next()
        .unwrap_or(path)
        .trim_start_matches(['&', '*', ' '])
        .trim();
    path.trim_end_matches(':').rsplit(['.', ':', '/', ' ']).next().unwrap_or(path)
}
