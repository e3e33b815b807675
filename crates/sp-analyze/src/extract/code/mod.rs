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

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;

use tree_sitter::{Language, Node, ParseOptions, Parser, Tree};

use crate::extract::comment;
use crate::extract::file_extract::{FileExtract, LineRange, SourceText};

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

/// What a file of code says.
#[derive(Debug, Clone, Default)]
pub(crate) struct ParsedCode {
    pub language: &'static str,
    /// What it says of itself at its top.
    pub doc: String,
    pub symbols: Vec<Symbol>,
    pub calls: Vec<CodeCall>,
    pub imports: Vec<CodeImport>,
    /// The types that it speaks of.
    pub types: BTreeSet<String>,
    /// The package that it says it belongs to.
    pub package: Option<String>,
    /// Whether it is there to test others.
    pub is_test: bool,
}

/// Something that is defined.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Symbol {
    /// `function`, `method`, `struct` and so on.
    pub kind: &'static str,
    pub name: String,
    /// The type that it belongs to, by name: it need not be defined in this file.
    pub owner: Option<String>,
    /// The symbol of this file that it stands in.
    pub parent: Option<usize>,
    pub signature: String,
    pub doc: String,
    /// Fields, variants and the like, by name.
    pub members: Vec<String>,
    pub lines: LineRange,
    /// Whether it is meant for others.
    pub is_visible: bool,
    pub is_test: bool,
    pub lines_hash: String,
}

impl Symbol {
    /// Its name with the type that it belongs to.
    pub(crate) fn full_name(&self) -> String {
        match &self.owner {
            Some(owner) => format!("{owner}.{}", self.name),
            None => self.name.clone(),
        }
    }

    pub(crate) fn is_callable(&self) -> bool {
        matches!(self.kind, "function" | "method" | "macro")
    }
}

/// Something is called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CodeCall {
    /// The symbol that calls; none is the file itself.
    pub from: Option<usize>,
    pub name: String,
    pub receiver: CallReceiver,
}

/// What stands before the name of what is called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CallReceiver {
    /// Nothing.
    Bare,
    /// The object itself: `self`, `this`.
    SelfRef,
    /// A name: of a type, a module, a package, or of a variable.
    Name(String),
    /// Something that is worked out.
    Expression,
}

/// Something is imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeImport {
    /// The path as its language writes it.
    pub path: String,
    /// The names that are taken from it.
    pub names: Vec<String>,
    /// Names that are called otherwise here: as they are called here, and where they come from. All of it is `*`.
    pub aliases: Vec<(String, String)>,
    /// Whether the path is a part of this file, and not a neighbour.
    pub is_submodule: bool,
}

impl CodeImport {
    pub(crate) fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), names: Vec::new(), aliases: Vec::new(), is_submodule: false }
    }

    /// How something that is imported is called here.
    pub(crate) fn local_name<'n>(&'n self, name: &'n str) -> &'n str {
        self.aliases.iter().find(|(_, original)| original == name).map_or(name, |(here, _)| here)
    }

    /// How all that is imported is called here, if it has another name than usual.
    pub(crate) fn module_alias(&self) -> Option<&str> {
        self.aliases.iter().find(|(_, original)| original == "*").map(|(here, _)| here.as_str())
    }
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
    comment::add_code_warnings(&comments, &code, found);
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

/// Whether a comment says whose the file is, or speaks to a tool, and nothing of what is in it.
pub(crate) fn is_boilerplate(text: &str) -> bool {
    const BOILERPLATE_MARKERS: &[&str] = &[
        "copyright",
        "spdx-license",
        "licensed under",
        "all rights reserved",
        "eslint",
        "prettier-ignore",
        "@ts-",
        "#!/",
        "go:build",
        "+build",
        "pylint:",
        "istanbul",
    ];
    let lower = text.to_lowercase();
    BOILERPLATE_MARKERS.iter().any(|mark| lower.contains(mark))
}
