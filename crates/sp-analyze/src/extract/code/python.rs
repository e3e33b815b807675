//! Python: functions, classes, docstrings and imports.

use tree_sitter::Node;

use super::{CodeDefinition, LanguageRules, field_text, last_name, node_text};
use crate::extract::comment::is_boilerplate;
use crate::extract::parsed_code::{CallReceiver, CodeImport, SymbolKind};
use crate::extract::source_text::SourceText;

pub(super) struct PythonRules;

impl LanguageRules for PythonRules {
    fn definition<'t>(&self, node: Node<'t>, source: SourceText<'_>) -> Option<CodeDefinition<'t>> {
        let kind = match node.kind() {
            "function_definition" => SymbolKind::Function,
            "class_definition" => SymbolKind::Class,
            _ => return None,
        };
        let outer =
            node.parent().filter(|parent| parent.kind() == "decorated_definition").unwrap_or(node);
        let owner = outer
            .parent()
            .and_then(|block| block.parent())
            .filter(|class| class.kind() == "class_definition");
        let kind =
            if owner.is_some() && kind == SymbolKind::Function { SymbolKind::Method } else { kind };
        let name = field_text(node, "name", source)?.to_owned();
        let body = node.child_by_field_name("body");
        let is_test = kind != SymbolKind::Class && name.starts_with("test_");
        Some(CodeDefinition {
            kind,
            owner: owner.and_then(|class| field_text(class, "name", source)).map(Into::into),
            is_visible: !name.starts_with('_') || name == "__init__",
            is_test,
            name,
            body,
            outer,
            doc: Some(body.map(|body| docstring(body, source)).unwrap_or_default()),
        })
    }

    fn call(&self, node: Node<'_>, source: SourceText<'_>) -> Option<(CallReceiver, String)> {
        let function =
            (node.kind() == "call").then(|| node.child_by_field_name("function")).flatten()?;
        match function.kind() {
            "identifier" => Some((CallReceiver::Bare, node_text(function, source).to_owned())),
            "attribute" => {
                let object = function.child_by_field_name("object")?;
                let through = match (object.kind(), node_text(object, source)) {
                    (_, "self" | "cls") => CallReceiver::SelfRef,
                    ("identifier" | "attribute", text) => {
                        CallReceiver::Name(last_name(text).to_owned())
                    }
                    _ => CallReceiver::Expression,
                };
                Some((through, field_text(function, "attribute", source)?.to_owned()))
            }
            _ => None,
        }
    }

    fn imports(&self, node: Node<'_>, source: SourceText<'_>) -> Vec<CodeImport> {
        let mut cursor = node.walk();
        match node.kind() {
            "import_statement" => {
                let names = node.children_by_field_name("name", &mut cursor);
                let of = |name| {
                    let aliases = import_alias(name, source)
                        .map(|here| (here, "*".to_owned()))
                        .into_iter()
                        .collect();
                    CodeImport { aliases, ..CodeImport::new(imported_name(name, source)) }
                };
                names.map(of).collect()
            }
            "import_from_statement" => {
                let Some(path) = field_text(node, "module_name", source) else { return Vec::new() };
                let all: Vec<Node<'_>> = node.children_by_field_name("name", &mut cursor).collect();
                let names = all.iter().map(|name| imported_name(*name, source)).collect();
                let aliases = all
                    .iter()
                    .filter_map(|name| {
                        Some((import_alias(*name, source)?, imported_name(*name, source)))
                    })
                    .collect();
                vec![CodeImport { names, aliases, ..CodeImport::new(path) }]
            }
            _ => Vec::new(),
        }
    }

    fn is_member(&self, _kind: &str) -> bool {
        false
    }

    fn is_doc(&self, _comment: &str) -> bool {
        false
    }

    fn file_doc(&self, root: Node<'_>, source: SourceText<'_>) -> String {
        let doc = docstring(root, source);
        if is_boilerplate(&doc) { String::new() } else { doc }
    }

    fn is_test_file(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.starts_with("test_")
            || name.ends_with("_test.py")
            || name == "conftest.py"
            || path.split('/').any(|folder| folder == "tests")
    }
}

/// The local name of an aliased import.
fn import_alias(node: Node<'_>, source: SourceText<'_>) -> Option<String> {
    (node.kind() == "aliased_import")
        .then(|| field_text(node, "alias", source))
        .flatten()
        .map(Into::into)
}

/// The imported name, without its alias.
fn imported_name(node: Node<'_>, source: SourceText<'_>) -> String {
    let node = if node.kind() == "aliased_import" {
        node.child_by_field_name("name").unwrap_or(node)
    } else {
        node
    };
    node_text(node, source).to_owned()
}

/// The docstring of a body; empty if there is none.
fn docstring(body: Node<'_>, source: SourceText<'_>) -> String {
    let mut cursor = body.walk();
    let first = body.named_children(&mut cursor).find(|child| !child.kind().contains("comment"));
    let Some(text) = first
        .filter(|first| first.kind() == "expression_statement")
        .and_then(|first| first.named_child(0))
    else {
        return String::new();
    };
    if text.kind() != "string" {
        return String::new();
    }
    let text = node_text(text, source).trim_start_matches(['r', 'u', 'R', 'U', 'b', 'f']);
    let text = text.trim_matches(['"', '\'']);
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n").trim().to_owned()
}
