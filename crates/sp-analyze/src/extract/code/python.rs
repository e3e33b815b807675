//! Python: functions, classes, docstrings and imports.

use tree_sitter::Node;

use super::{Definition, Import, Rules, Through, field, is_boilerplate, last_name, text_of};
use crate::extract::note::Source;

pub(super) struct Python;

impl Rules for Python {
    fn definition<'t>(&self, node: Node<'t>, source: Source<'_>) -> Option<Definition<'t>> {
        let kind = match node.kind() {
            "function_definition" => "function",
            "class_definition" => "class",
            _ => return None,
        };
        let outer = node.parent().filter(|parent| parent.kind() == "decorated_definition").unwrap_or(node);
        let owner = outer.parent().and_then(|block| block.parent()).filter(|class| class.kind() == "class_definition");
        let kind = if owner.is_some() && kind == "function" { "method" } else { kind };
        let name = field(node, "name", source)?.to_owned();
        let body = node.child_by_field_name("body");
        let is_test = kind != "class" && name.starts_with("test_");
        Some(Definition {
            kind,
            owner: owner.and_then(|class| field(class, "name", source)).map(Into::into),
            is_visible: !name.starts_with('_') || name == "__init__",
            is_test,
            name,
            body,
            outer,
            doc: Some(body.map(|body| docstring(body, source)).unwrap_or_default()),
        })
    }

    fn call(&self, node: Node<'_>, source: Source<'_>) -> Option<(Through, String)> {
        let function = (node.kind() == "call").then(|| node.child_by_field_name("function")).flatten()?;
        match function.kind() {
            "identifier" => Some((Through::Nothing, text_of(function, source).to_owned())),
            "attribute" => {
                let object = function.child_by_field_name("object")?;
                let through = match (object.kind(), text_of(object, source)) {
                    (_, "self" | "cls") => Through::Itself,
                    ("identifier" | "attribute", text) => Through::Name(last_name(text).to_owned()),
                    _ => Through::Value,
                };
                Some((through, field(function, "attribute", source)?.to_owned()))
            }
            _ => None,
        }
    }

    fn imports(&self, node: Node<'_>, source: Source<'_>) -> Vec<Import> {
        let mut cursor = node.walk();
        match node.kind() {
            "import_statement" => {
                let names = node.children_by_field_name("name", &mut cursor);
                let of = |name| {
                    let aliases = alias(name, source).map(|here| (here, "*".to_owned())).into_iter().collect();
                    Import { aliases, ..Import::of(imported(name, source)) }
                };
                names.map(of).collect()
            }
            "import_from_statement" => {
                let Some(path) = field(node, "module_name", source) else { return Vec::new() };
                let all: Vec<Node<'_>> = node.children_by_field_name("name", &mut cursor).collect();
                let names = all.iter().map(|name| imported(*name, source)).collect();
                let aliases =
                    all.iter().filter_map(|name| Some((alias(*name, source)?, imported(*name, source)))).collect();
                vec![Import { names, aliases, ..Import::of(path) }]
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

    fn file_doc(&self, root: Node<'_>, source: Source<'_>) -> String {
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

/// The name that something gets here.
fn alias(node: Node<'_>, source: Source<'_>) -> Option<String> {
    (node.kind() == "aliased_import").then(|| field(node, "alias", source)).flatten().map(Into::into)
}

/// What is imported, without the name that it gets here.
fn imported(node: Node<'_>, source: Source<'_>) -> String {
    let node = if node.kind() == "aliased_import" { node.child_by_field_name("name").unwrap_or(node) } else { node };
    text_of(node, source).to_owned()
}

/// The text with which a body begins, if it does.
fn docstring(body: Node<'_>, source: Source<'_>) -> String {
    let mut cursor = body.walk();
    let first = body.named_children(&mut cursor).find(|child| !child.kind().contains("comment"));
    let Some(text) =
        first.filter(|first| first.kind() == "expression_statement").and_then(|first| first.named_child(0))
    else {
        return String::new();
    };
    if text.kind() != "string" {
        return String::new();
    }
    let text = text_of(text, source).trim_start_matches(['r', 'u', 'R', 'U', 'b', 'f']);
    let text = text.trim_matches(['"', '\'']);
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n").trim().to_owned()
}
