//! The content of a source file, independent of its language.
//!
//! [`ParsedCode`] is what the language parsers produce and what link resolution consumes. Symbols
//! refer to each other by their index in [`ParsedCode::symbols`].

use std::collections::BTreeSet;

use crate::extract::line_range::LineRange;

/// What a source file defines, calls and imports.
#[derive(Debug, Clone, Default)]
pub(crate) struct ParsedCode {
    pub language: &'static str,
    /// The module documentation at the top of the file.
    pub doc: String,
    pub symbols: Vec<Symbol>,
    pub calls: Vec<CodeCall>,
    pub imports: Vec<CodeImport>,
    /// Names of the types that the file mentions.
    pub types: BTreeSet<String>,
    /// The package that the file declares, in languages that have such a declaration.
    pub package: Option<String>,
    /// Whether the file contains only tests.
    pub is_test: bool,
}

/// A definition: a function, a type, a method.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Symbol {
    pub kind: SymbolKind,
    pub name: String,
    /// Name of the type it belongs to. The type may be defined in another file.
    pub owner: Option<String>,
    /// Index of the enclosing symbol in the same file.
    pub parent: Option<usize>,
    pub signature: String,
    pub doc: String,
    /// Names of fields, variants and the like.
    pub members: Vec<String>,
    pub lines: LineRange,
    /// Whether it is visible outside its file or module.
    pub is_visible: bool,
    pub is_test: bool,
    pub lines_hash: String,
}

impl Symbol {
    /// `Owner.name` for members of a type, otherwise the name.
    pub(crate) fn full_name(&self) -> String {
        match &self.owner {
            Some(owner) => format!("{owner}.{}", self.name),
            None => self.name.clone(),
        }
    }

    pub(crate) fn is_callable(&self) -> bool {
        matches!(self.kind, SymbolKind::Function | SymbolKind::Method | SymbolKind::Macro)
    }
}

/// What a symbol is, in the words of its language.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SymbolKind {
    Annotation,
    Class,
    Constant,
    Enum,
    #[default]
    Function,
    Interface,
    Macro,
    Method,
    Record,
    Struct,
    Trait,
    Type,
    Union,
}

impl SymbolKind {
    /// The name in the kind of a node, `code_<name>`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Annotation => "annotation",
            Self::Class => "class",
            Self::Constant => "constant",
            Self::Enum => "enum",
            Self::Function => "function",
            Self::Interface => "interface",
            Self::Macro => "macro",
            Self::Method => "method",
            Self::Record => "record",
            Self::Struct => "struct",
            Self::Trait => "trait",
            Self::Type => "type",
            Self::Union => "union",
        }
    }

    /// Whether it can own members.
    pub(crate) fn is_type(self) -> bool {
        !matches!(self, Self::Function | Self::Method | Self::Macro | Self::Constant)
    }
}

/// A call expression.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CodeCall {
    /// Index of the calling symbol; `None` for code at the top level of the file.
    pub from: Option<usize>,
    pub name: String,
    pub receiver: CallReceiver,
}

/// The expression in front of the called name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CallReceiver {
    /// No receiver: `f()`.
    Bare,
    /// `self` or `this`.
    SelfRef,
    /// An identifier: a type, a module, a package or a variable.
    Name(String),
    /// Any other expression.
    Expression,
}

/// An import statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeImport {
    /// The path in the syntax of the language.
    pub path: String,
    /// The imported names.
    pub names: Vec<String>,
    /// Renamed imports as `(local name, original name)`. The original is `*` for the whole module.
    pub aliases: Vec<(String, String)>,
    /// Whether the import declares a child module (`mod x;`), not a sibling.
    pub is_submodule: bool,
}

impl CodeImport {
    pub(crate) fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), names: Vec::new(), aliases: Vec::new(), is_submodule: false }
    }

    /// The local name of an imported item.
    pub(crate) fn local_name<'n>(&'n self, name: &'n str) -> &'n str {
        self.aliases.iter().find(|(_, original)| original == name).map_or(name, |(here, _)| here)
    }

    /// The local name of the module itself, if it is renamed.
    pub(crate) fn module_alias(&self) -> Option<&str> {
        self.aliases.iter().find(|(_, original)| original == "*").map(|(here, _)| here.as_str())
    }
}
