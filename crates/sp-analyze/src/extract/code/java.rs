//! Java: types, methods, packages and imports.

use tree_sitter::Node;

use super::{CodeDefinition, LanguageRules, field_text, last_name, node_text};
use crate::extract::parsed_code::{CallReceiver, CodeImport, SymbolKind};
use crate::extract::source_text::SourceText;

pub(super) struct JavaRules;

impl LanguageRules for JavaRules {
    fn definition<'t>(&self, node: Node<'t>, source: SourceText<'_>) -> Option<CodeDefinition<'t>> {
        let kind = match node.kind() {
            "class_declaration" => SymbolKind::Class,
            "interface_declaration" => SymbolKind::Interface,
            "enum_declaration" => SymbolKind::Enum,
            "record_declaration" => SymbolKind::Record,
            "annotation_type_declaration" => SymbolKind::Annotation,
            "method_declaration" | "constructor_declaration" => SymbolKind::Method,
            _ => return None,
        };
        let modifiers = modifiers(node, source);
        let is_in_interface = node.parent().is_some_and(|parent| parent.kind() == "interface_body");
        let is_test = kind == SymbolKind::Method
            && ["@Test", "@ParameterizedTest", "@RepeatedTest", "@TestFactory"]
                .iter()
                .any(|mark| modifiers.contains(mark));
        let is_override = modifiers.contains("@Override");
        Some(CodeDefinition {
            kind,
            name: field_text(node, "name", source)?.to_owned(),
            owner: None,
            body: node.child_by_field_name("body"),
            outer: node,
            // An overriding method is documented by the method it overrides.
            is_visible: (modifiers
                .split_whitespace()
                .any(|word| word == "public" || word == "protected")
                || is_in_interface)
                && !is_override,
            is_test,
            doc: None,
        })
    }

    fn call(&self, node: Node<'_>, source: SourceText<'_>) -> Option<(CallReceiver, String)> {
        match node.kind() {
            "method_invocation" => {
                let name = field_text(node, "name", source)?.to_owned();
                let through = match node.child_by_field_name("object") {
                    None => CallReceiver::SelfRef,
                    Some(object) if matches!(object.kind(), "this" | "super") => {
                        CallReceiver::SelfRef
                    }
                    Some(object) if object.kind() == "identifier" => {
                        CallReceiver::Name(node_text(object, source).to_owned())
                    }
                    Some(_) => CallReceiver::Expression,
                };
                Some((through, name))
            }
            "object_creation_expression" => {
                let name = last_name(field_text(node, "type", source)?).to_owned();
                Some((CallReceiver::Name(name.clone()), name))
            }
            _ => None,
        }
    }

    fn imports(&self, node: Node<'_>, source: SourceText<'_>) -> Vec<CodeImport> {
        if node.kind() != "import_declaration" {
            return Vec::new();
        }
        let text =
            node_text(node, source).trim_start_matches("import").trim_end_matches(';').trim();
        match text.strip_prefix("static ") {
            Some(text) => {
                let (class, member) = text.trim().rsplit_once('.').unwrap_or((text, ""));
                vec![CodeImport { names: vec![member.to_owned()], ..CodeImport::new(class) }]
            }
            None => vec![CodeImport::new(text)],
        }
    }

    fn package(&self, node: Node<'_>, source: SourceText<'_>) -> Option<String> {
        (node.kind() == "package_declaration").then(|| {
            node_text(node, source)
                .trim_start_matches("package")
                .trim_end_matches(';')
                .trim()
                .to_owned()
        })
    }

    fn is_member(&self, kind: &str) -> bool {
        kind == "enum_constant"
    }

    fn is_doc(&self, comment: &str) -> bool {
        comment.starts_with("/**")
    }

    fn file_doc(&self, _root: Node<'_>, _source: SourceText<'_>) -> String {
        String::new()
    }

    fn is_test_file(&self, path: &str) -> bool {
        path.contains("src/test/")
            || path.ends_with("Test.java")
            || path.ends_with("Tests.java")
            || path.ends_with("IT.java")
    }
}

fn modifiers<'s>(node: Node<'_>, source: SourceText<'s>) -> &'s str {
    let mut cursor = node.walk();
    let found = node.children(&mut cursor).find(|child| child.kind() == "modifiers");
    found.map_or("", |modifiers| node_text(modifiers, source))
}
