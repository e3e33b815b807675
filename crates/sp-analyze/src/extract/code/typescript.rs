//! TypeScript and JavaScript: declarations, named arrow functions, both kinds of imports, and
//! tests.

use std::collections::HashSet;

use tree_sitter::Node;

use super::{CodeDefinition, LanguageRules, field_text, last_name, node_text};
use crate::extract::comment::is_boilerplate;
use crate::extract::comment::strip_comment_markers;
use crate::extract::parsed_code::{CallReceiver, CodeImport, SymbolKind};
use crate::extract::source_text::SourceText;
use crate::extract::text::truncate_text;

pub(super) struct TypeScriptRules;

impl LanguageRules for TypeScriptRules {
    fn definition<'t>(&self, node: Node<'t>, source: SourceText<'_>) -> Option<CodeDefinition<'t>> {
        if node.kind() == "call_expression" {
            return test_definition(node, source);
        }
        let (kind, body) = match node.kind() {
            "function_declaration" | "generator_function_declaration" => {
                (SymbolKind::Function, node.child_by_field_name("body"))
            }
            "class_declaration" | "abstract_class_declaration" => {
                (SymbolKind::Class, node.child_by_field_name("body"))
            }
            "interface_declaration" => (SymbolKind::Interface, node.child_by_field_name("body")),
            "enum_declaration" => (SymbolKind::Enum, node.child_by_field_name("body")),
            "type_alias_declaration" => (SymbolKind::Type, None),
            "method_definition" | "abstract_method_signature" => {
                (SymbolKind::Method, node.child_by_field_name("body"))
            }
            "variable_declarator" => {
                (SymbolKind::Function, function_value(node)?.child_by_field_name("body"))
            }
            _ => return None,
        };
        // The doc comment precedes the declaration of a variable, or the `export` around it.
        let inner = if node.kind() == "variable_declarator" { node.parent()? } else { node };
        let export = inner.parent().filter(|parent| parent.kind() == "export_statement");
        let is_method = kind == SymbolKind::Method;
        let name = field_text(node, "name", source)?.to_owned();
        let is_private =
            name.starts_with(['#', '_']) || node_text(node, source).starts_with("private ");
        Some(CodeDefinition {
            kind,
            name,
            owner: None,
            body,
            outer: export.unwrap_or(inner),
            is_visible: export.is_some() || (is_method && !is_private),
            is_test: false,
            doc: None,
        })
    }

    fn call(&self, node: Node<'_>, source: SourceText<'_>) -> Option<(CallReceiver, String)> {
        let function = match node.kind() {
            "call_expression" => node.child_by_field_name("function")?,
            "new_expression" => node.child_by_field_name("constructor")?,
            // Rendering a component is a call.
            "jsx_self_closing_element" | "jsx_opening_element" => {
                let name = node.child_by_field_name("name")?;
                return node_text(name, source)
                    .starts_with(char::is_uppercase)
                    .then(|| (CallReceiver::Bare, node_text(name, source).to_owned()));
            }
            _ => return None,
        };
        match function.kind() {
            "identifier" => Some((CallReceiver::Bare, node_text(function, source).to_owned())),
            "member_expression" => {
                let object = function.child_by_field_name("object")?;
                let through = match object.kind() {
                    "this" | "super" => CallReceiver::SelfRef,
                    "identifier" => CallReceiver::Name(node_text(object, source).to_owned()),
                    _ => CallReceiver::Expression,
                };
                Some((through, field_text(function, "property", source)?.to_owned()))
            }
            _ => None,
        }
    }

    fn imports(&self, node: Node<'_>, source: SourceText<'_>) -> Vec<CodeImport> {
        let unquoted = |text: &str| text.trim_matches(['"', '\'', '`']).to_owned();
        match node.kind() {
            "import_statement" | "export_statement" => match field_text(node, "source", source) {
                Some(path) => {
                    let text = node_text(node, source);
                    vec![CodeImport {
                        names: import_names(text),
                        aliases: import_aliases(text),
                        ..CodeImport::new(unquoted(path))
                    }]
                }
                None => Vec::new(),
            },
            "call_expression"
                if matches!(field_text(node, "function", source), Some("require" | "import")) =>
            {
                let path = node
                    .child_by_field_name("arguments")
                    .and_then(|arguments| arguments.named_child(0));
                match path.filter(|path| path.kind() == "string") {
                    Some(path) => {
                        let declaration =
                            node.parent().and_then(|parent| field_text(parent, "name", source));
                        let names = declaration.map(import_names).unwrap_or_default();
                        vec![CodeImport {
                            names,
                            ..CodeImport::new(unquoted(node_text(path, source)))
                        }]
                    }
                    None => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    fn is_member(&self, kind: &str) -> bool {
        matches!(
            kind,
            "property_signature"
                | "public_field_definition"
                | "field_definition"
                | "enum_assignment"
                | "method_signature"
        )
    }

    fn is_doc(&self, comment: &str) -> bool {
        comment.starts_with("/**") || comment.starts_with("//")
    }

    fn file_doc(&self, root: Node<'_>, source: SourceText<'_>) -> String {
        let first = root.named_child(0).filter(|first| first.kind() == "comment");
        let Some(text) =
            first.map(|first| node_text(first, source)).filter(|text| text.starts_with("/**"))
        else {
            return String::new();
        };
        // The first comment documents the file only if an import follows; otherwise it documents
        // the first declaration.
        let next = root.named_child(1).map_or("", |next| next.kind());
        let doc = strip_comment_markers(text);
        let speaks_of_file = ["@file", "@module", "@packageDocumentation", "@overview"]
            .iter()
            .any(|tag| doc.contains(tag));
        if is_boilerplate(&doc) || !(speaks_of_file || next == "import_statement") {
            return String::new();
        }
        doc.lines()
            .map(|line| line.trim_start_matches("@fileoverview").trim_start_matches("@file"))
            .filter(|line| !line.starts_with('@'))
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn exported_names<'s>(&self, source: SourceText<'s>) -> HashSet<&'s str> {
        exported_names(source.text)
    }

    fn is_test_file(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.contains(".test.")
            || name.contains(".spec.")
            || path
                .split('/')
                .any(|folder| matches!(folder, "__tests__" | "test" | "tests" | "e2e"))
    }
}

/// The function assigned to a variable.
fn function_value(node: Node<'_>) -> Option<Node<'_>> {
    let value = node.child_by_field_name("value")?;
    let is_top = node
        .parent()?
        .parent()
        .is_some_and(|parent| matches!(parent.kind(), "program" | "export_statement"));
    let is_function = matches!(
        value.kind(),
        "arrow_function" | "function_expression" | "function" | "generator_function"
    );
    (is_top && is_function).then_some(value)
}

/// `it("does something", …)`: a test whose name is a sentence.
fn test_definition<'t>(node: Node<'t>, source: SourceText<'_>) -> Option<CodeDefinition<'t>> {
    let function = node.child_by_field_name("function")?;
    let name = node_text(function, source);
    if !matches!(name, "it" | "test" | "it.only" | "test.only" | "Deno.test") {
        return None;
    }
    let arguments = node.child_by_field_name("arguments")?;
    let (title, body) = (arguments.named_child(0)?, arguments.named_child(1)?);
    let is_test = matches!(title.kind(), "string" | "template_string")
        && matches!(body.kind(), "arrow_function" | "function_expression" | "function");
    is_test.then(|| CodeDefinition {
        kind: SymbolKind::Function,
        name: truncate_text(node_text(title, source).trim_matches(['"', '\'', '`']), 120),
        owner: None,
        body: Some(body),
        outer: node,
        is_visible: false,
        is_test: true,
        doc: Some(String::new()),
    })
}

/// Names that are exported separately from their definition, as in CommonJS.
fn exported_names(text: &str) -> HashSet<&str> {
    const MAX_EXPORT_LINES: usize = 40;
    let mut names = HashSet::new();
    let mut left = 0;
    for line in text.lines() {
        let rest =
            line.split_once("module.exports").map(|(_, rest)| rest).or_else(|| export_list(line));
        if let Some(rest) = rest {
            names.extend(identifiers(rest));
            left = if rest.contains('{') && !rest.contains('}') { MAX_EXPORT_LINES } else { 0 };
        } else if left > 0 {
            names.extend(identifiers(line));
            left = if line.contains('}') { 0 } else { left - 1 };
        }
    }
    names
}

fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$')
        .filter(|word| !word.is_empty())
}

/// The part of a line after `export {`, `export default` or `exports.`.
fn export_list(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let list = line
        .strip_prefix("export ")
        .filter(|rest| rest.starts_with('{') && !rest.contains(" from "));
    list.or_else(|| line.strip_prefix("export default ")).or_else(|| line.strip_prefix("exports."))
}

/// Renamed imports: `a as b` in braces, and `* as b`.
fn import_aliases(text: &str) -> Vec<(String, String)> {
    let head = text.split(['"', '\'']).next().unwrap_or(text);
    let pair = |part: &str| {
        let (original, local) = part.split_once(" as ")?;
        let local = local.split_whitespace().next()?;
        Some((local.to_owned(), original.split_whitespace().last()?.to_owned()))
    };
    head.split(['{', '}', ',']).filter_map(pair).collect()
}

/// The names in the braces of an import, as the exporting module calls them.
fn import_names(text: &str) -> Vec<String> {
    let inside = text
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'))
        .map_or("", |(inside, _)| inside);
    let name = |part: &str| {
        last_name(
            part.trim()
                .trim_start_matches("type ")
                .split(" as ")
                .next()
                .unwrap_or_default()
                .split(':')
                .next()
                .unwrap_or_default(),
        )
        .to_owned()
    };
    inside.split(',').map(name).filter(|name| !name.is_empty()).collect()
}
