//! Go: functions, methods by their receivers, types and imports.

use tree_sitter::Node;

use super::{CodeDefinition, LanguageRules, field_text, last_name, node_text};
use crate::extract::comment::is_boilerplate;
use crate::extract::comment::strip_comment_markers;
use crate::extract::parsed_code::{CallReceiver, CodeImport, SymbolKind};
use crate::extract::source_text::SourceText;

pub(super) struct GoRules;

impl LanguageRules for GoRules {
    fn definition<'t>(&self, node: Node<'t>, source: SourceText<'_>) -> Option<CodeDefinition<'t>> {
        let kind = match node.kind() {
            "function_declaration" => SymbolKind::Function,
            "method_declaration" => SymbolKind::Method,
            "type_spec" => match node.child_by_field_name("type").map(|kind| kind.kind()) {
                Some("struct_type") => SymbolKind::Struct,
                Some("interface_type") => SymbolKind::Interface,
                _ => SymbolKind::Type,
            },
            "type_alias" => SymbolKind::Type,
            _ => return None,
        };
        let name = field_text(node, "name", source)?.to_owned();
        let receiver = field_text(node, "receiver", source).map(|text| {
            let inside = text.trim_matches(['(', ')']);
            last_name(inside.rsplit(' ').next().unwrap_or(inside).trim_start_matches('*'))
                .to_owned()
        });
        // The doc comment of `type X struct` precedes the `type` keyword.
        let outer = node.parent().filter(|parent| {
            parent.kind() == "type_declaration" && parent.named_child_count() == 1
        });
        let is_test_file = source.path.ends_with("_test.go");
        let body = node.child_by_field_name("body").or_else(|| {
            node.child_by_field_name("type")
                .filter(|kind| matches!(kind.kind(), "struct_type" | "interface_type"))
                .and_then(|kind| kind.named_child(0))
        });
        Some(CodeDefinition {
            kind,
            is_visible: name.starts_with(char::is_uppercase)
                && receiver.as_ref().is_none_or(|owner| owner.starts_with(char::is_uppercase)),
            is_test: is_test_file
                && kind == SymbolKind::Function
                && ["Test", "Benchmark", "Fuzz", "Example"]
                    .iter()
                    .any(|start| name.starts_with(start)),
            name,
            owner: receiver,
            body,
            outer: outer.unwrap_or(node),
            doc: None,
        })
    }

    fn call(&self, node: Node<'_>, source: SourceText<'_>) -> Option<(CallReceiver, String)> {
        let function = (node.kind() == "call_expression")
            .then(|| node.child_by_field_name("function"))
            .flatten()?;
        match function.kind() {
            "identifier" => Some((CallReceiver::Bare, node_text(function, source).to_owned())),
            "selector_expression" => {
                let operand = function.child_by_field_name("operand")?;
                let through = match operand.kind() {
                    "identifier" => CallReceiver::Name(node_text(operand, source).to_owned()),
                    _ => CallReceiver::Expression,
                };
                Some((through, field_text(function, "field", source)?.to_owned()))
            }
            _ => None,
        }
    }

    fn imports(&self, node: Node<'_>, source: SourceText<'_>) -> Vec<CodeImport> {
        if node.kind() != "import_spec" {
            return Vec::new();
        }
        let path = field_text(node, "path", source).unwrap_or_default().trim_matches(['"', '`']);
        // The only name that a Go import introduces is that of the package.
        let name = field_text(node, "name", source)
            .unwrap_or_else(|| path.rsplit('/').next().unwrap_or(path));
        vec![CodeImport { names: vec![name.to_owned()], ..CodeImport::new(path) }]
    }

    fn package(&self, node: Node<'_>, source: SourceText<'_>) -> Option<String> {
        (node.kind() == "package_clause")
            .then(|| node.named_child(0))
            .flatten()
            .map(|name| node_text(name, source).to_owned())
    }

    fn is_member(&self, kind: &str) -> bool {
        matches!(kind, "field_declaration" | "method_elem")
    }

    fn is_doc(&self, comment: &str) -> bool {
        !comment.starts_with("//go:") && !comment.starts_with("//nolint")
    }

    fn file_doc(&self, root: Node<'_>, source: SourceText<'_>) -> String {
        let mut cursor = root.walk();
        let mut texts: Vec<&str> = Vec::new();
        let mut last = 0;
        for child in root.children(&mut cursor) {
            let row = child.start_position().row;
            match child.kind() {
                "comment" => {
                    if row > last + 1 {
                        texts.clear();
                    }
                    texts.push(node_text(child, source));
                    last = child.end_position().row;
                }
                // A package comment directly precedes the package clause.
                "package_clause" if row > last + 1 => return String::new(),
                _ => break,
            }
        }
        let doc = texts
            .into_iter()
            .filter(|text| !text.starts_with("//go:"))
            .map(strip_comment_markers)
            .collect::<Vec<_>>()
            .join("\n");
        if is_boilerplate(&doc) { String::new() } else { doc }
    }

    fn is_test_file(&self, path: &str) -> bool {
        path.ends_with("_test.go")
    }
}
