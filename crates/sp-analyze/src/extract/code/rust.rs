//! Rust: items, `impl` blocks, `use` trees and `mod` files.

use tree_sitter::Node;

use super::{CodeDefinition, LanguageRules, OwnerBlock, field_text, last_name, node_text};
use crate::extract::comment::is_boilerplate;
use crate::extract::comment::strip_comment_markers;
use crate::extract::parsed_code::{CallReceiver, CodeImport, SymbolKind};
use crate::extract::source_text::SourceText;

pub(super) struct RustRules;

/// Maximum nesting of `use` trees; deeper ones are ignored.
const MAX_USE_DEPTH: usize = 12;

impl LanguageRules for RustRules {
    fn definition<'t>(&self, node: Node<'t>, source: SourceText<'_>) -> Option<CodeDefinition<'t>> {
        let kind = match node.kind() {
            "function_item" | "function_signature_item" => SymbolKind::Function,
            "struct_item" => SymbolKind::Struct,
            "enum_item" => SymbolKind::Enum,
            "union_item" => SymbolKind::Union,
            "trait_item" => SymbolKind::Trait,
            "type_item" => SymbolKind::Type,
            "macro_definition" => SymbolKind::Macro,
            "const_item" | "static_item" => SymbolKind::Constant,
            _ => return None,
        };
        let is_in_type = node
            .parent()
            .and_then(|list| list.parent())
            .is_some_and(|owner| matches!(owner.kind(), "impl_item" | "trait_item"));
        let kind =
            if kind == SymbolKind::Function && is_in_type { SymbolKind::Method } else { kind };
        if is_in_type && kind != SymbolKind::Method {
            return None;
        }
        let is_in_trait = node
            .parent()
            .and_then(|list| list.parent())
            .is_some_and(|owner| owner.kind() == "trait_item");
        let is_visible = is_in_trait
            || kind == SymbolKind::Macro
            || visibility(node, source).is_some_and(|text| text != "pub(self)");
        let body = node.child_by_field_name("body").or_else(|| node.child_by_field_name("value"));
        Some(CodeDefinition {
            kind,
            name: field_text(node, "name", source)?.to_owned(),
            owner: None,
            body: if kind == SymbolKind::Macro { node.named_child(1) } else { body },
            outer: node,
            is_visible,
            is_test: kind == SymbolKind::Function && has_attribute(node, source, is_test_attribute),
            doc: None,
        })
    }

    fn block(&self, node: Node<'_>, source: SourceText<'_>) -> Option<OwnerBlock> {
        match node.kind() {
            "impl_item" => {
                let owner = field_text(node, "type", source).map(|text| last_name(text).to_owned());
                // The methods of a trait implementation are documented by the trait.
                let is_hidden = node.child_by_field_name("trait").is_some();
                Some(OwnerBlock { owner, is_hidden, is_test: false })
            }
            "mod_item" => {
                let is_test = has_attribute(node, source, |text| text.contains("cfg(test)"));
                node.child_by_field_name("body").map(|_| OwnerBlock {
                    owner: None,
                    is_hidden: false,
                    is_test,
                })
            }
            _ => None,
        }
    }

    fn call(&self, node: Node<'_>, source: SourceText<'_>) -> Option<(CallReceiver, String)> {
        match node.kind() {
            "call_expression" => {
                let function = node.child_by_field_name("function")?;
                let function = if function.kind() == "generic_function" {
                    function.child_by_field_name("function")?
                } else {
                    function
                };
                match function.kind() {
                    "identifier" => {
                        Some((CallReceiver::Bare, node_text(function, source).to_owned()))
                    }
                    "scoped_identifier" => {
                        let path = field_text(function, "path", source).map_or("", last_name);
                        let through = if path == "Self" || path == "self" {
                            CallReceiver::SelfRef
                        } else {
                            CallReceiver::Name(path.to_owned())
                        };
                        Some((through, field_text(function, "name", source)?.to_owned()))
                    }
                    "field_expression" => {
                        let name = field_text(function, "field", source)?.to_owned();
                        Some((receiver(function.child_by_field_name("value")?, source), name))
                    }
                    _ => None,
                }
            }
            "token_tree" => call_in_macro(node, source),
            "macro_invocation" => {
                Some((CallReceiver::Bare, last_name(field_text(node, "macro", source)?).to_owned()))
            }
            _ => None,
        }
    }

    fn imports(&self, node: Node<'_>, source: SourceText<'_>) -> Vec<CodeImport> {
        match node.kind() {
            "use_declaration" => {
                let mut paths = Vec::new();
                if let Some(tree) = field_text(node, "argument", source) {
                    flatten_use_tree("", tree, 0, &mut paths);
                }
                let import = |(path, local): (String, Option<String>)| {
                    let last = path.rsplit("::").next().unwrap_or_default().to_owned();
                    CodeImport {
                        aliases: local.map(|local| (local, last)).into_iter().collect(),
                        ..CodeImport::new(path)
                    }
                };
                paths.into_iter().map(import).collect()
            }
            "mod_item" if node.child_by_field_name("body").is_none() => {
                match field_text(node, "name", source) {
                    Some(name) => vec![CodeImport { is_submodule: true, ..CodeImport::new(name) }],
                    None => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    fn is_member(&self, kind: &str) -> bool {
        matches!(kind, "field_declaration" | "enum_variant")
    }

    fn is_doc(&self, comment: &str) -> bool {
        (comment.starts_with("///") && !comment.starts_with("////")) || comment.starts_with("/**")
    }

    fn file_doc(&self, root: Node<'_>, source: SourceText<'_>) -> String {
        let mut cursor = root.walk();
        let lines = root
            .children(&mut cursor)
            .map(|child| node_text(child, source))
            .filter(|text| text.starts_with("//!") || text.starts_with("/*!"));
        let doc = lines.map(strip_comment_markers).collect::<Vec<_>>().join("\n");
        if is_boilerplate(&doc) { String::new() } else { doc }
    }

    fn is_test_file(&self, path: &str) -> bool {
        path.split('/').rev().skip(1).any(|folder| folder == "tests" || folder == "benches")
            || path.ends_with("/tests.rs")
    }
}

/// Macro arguments are plain tokens: an identifier directly before parentheses is a call.
fn call_in_macro(arguments: Node<'_>, source: SourceText<'_>) -> Option<(CallReceiver, String)> {
    if !node_text(arguments, source).starts_with('(') {
        return None;
    }
    let name = arguments.prev_sibling().filter(|before| before.kind() == "identifier")?;
    let mark = name.prev_sibling().filter(|before| matches!(before.kind(), "." | "::"));
    let through = match mark {
        None => CallReceiver::Bare,
        Some(mark) => match mark
            .prev_sibling()
            .map(|before| (before.kind(), node_text(before, source)))
        {
            Some(("self", _) | (_, "Self")) => CallReceiver::SelfRef,
            Some(("identifier", text)) => CallReceiver::Name(text.to_owned()),
            Some((">", _)) => CallReceiver::Name(name_before_generics(mark, source)?.to_owned()),
            _ => CallReceiver::Expression,
        },
    };
    Some((through, node_text(name, source).to_owned()))
}

/// `Store` in `Store::<u8>::new`.
fn name_before_generics<'s>(mark: Node<'_>, source: SourceText<'s>) -> Option<&'s str> {
    const MAX_GENERIC_TOKENS: usize = 12;
    let open = std::iter::successors(mark.prev_sibling(), Node::prev_sibling)
        .take(MAX_GENERIC_TOKENS)
        .find(|before| before.kind() == "<")?;
    let name = open.prev_sibling().filter(|before| before.kind() == "::")?.prev_sibling()?;
    (name.kind() == "identifier").then(|| node_text(name, source))
}

fn receiver(value: Node<'_>, source: SourceText<'_>) -> CallReceiver {
    match value.kind() {
        "self" => CallReceiver::SelfRef,
        "identifier" => CallReceiver::Name(node_text(value, source).to_owned()),
        _ => CallReceiver::Expression,
    }
}

fn visibility<'s>(node: Node<'_>, source: SourceText<'s>) -> Option<&'s str> {
    let mut cursor = node.walk();
    let found = node.children(&mut cursor).find(|child| child.kind() == "visibility_modifier");
    found.map(|child| node_text(child, source))
}

fn is_test_attribute(text: &str) -> bool {
    let name =
        text.trim_start_matches(['#', '[', ' ']).split([']', '(', ' ']).next().unwrap_or_default();
    matches!(last_name(name), "test" | "rstest" | "test_case" | "quickcheck" | "bench")
}

fn has_attribute(node: Node<'_>, source: SourceText<'_>, wanted: impl Fn(&str) -> bool) -> bool {
    let mut before = node.prev_sibling();
    while let Some(sibling) = before {
        match sibling.kind() {
            "attribute_item" if wanted(node_text(sibling, source)) => return true,
            "attribute_item" | "line_comment" | "block_comment" => before = sibling.prev_sibling(),
            _ => return false,
        }
    }
    false
}

/// Flattens a `use` tree: `a::{b, c::d}` becomes `a::b` and `a::c::d`.
fn flatten_use_tree(
    prefix: &str,
    tree: &str,
    depth: usize,
    paths: &mut Vec<(String, Option<String>)>,
) {
    let tree = tree.trim();
    if depth > MAX_USE_DEPTH || tree.is_empty() {
        return;
    }
    match tree.find('{') {
        Some(open) => {
            let prefix = format!("{prefix}{}", tree[..open].trim());
            let inside = tree[open + 1..].trim_end().trim_end_matches('}');
            for part in split_top_level(inside) {
                flatten_use_tree(&prefix, part, depth + 1, paths);
            }
        }
        None => {
            let (path, here) = tree
                .split_once(" as ")
                .map_or((tree, None), |(path, here)| (path, Some(here.trim())));
            let full = format!("{prefix}{}", path.trim());
            let full = full.strip_suffix("::self").map_or(full.clone(), Into::into);
            paths.push((full, here.filter(|here| *here != "_").map(Into::into)));
        }
    }
}

/// Splits a list at the commas that are not inside braces.
fn split_top_level(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}
