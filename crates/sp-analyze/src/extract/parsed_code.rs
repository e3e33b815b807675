//! What a source file defines, calls and imports, independent of its language.

use std::collections::BTreeSet;

use crate::extract::line_range::LineRange;

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
