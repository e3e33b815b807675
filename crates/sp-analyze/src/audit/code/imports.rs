//! Resolves names to the modules that they come from.

use tree_sitter::Node;

use super::CodeScanner;
use crate::audit::finding::{AuditClass, Confidence, Detection, Risk};
use crate::audit::syntax::{MAX_TREE_DEPTH, children};

impl CodeScanner<'_, '_> {
    /// Records what an import statement binds.
    pub(super) fn import(&mut self, node: Node<'_>) {
        if node.kind() == "import_from_statement" {
            let module = node
                .child_by_field_name("module_name")
                .map(|name| self.written(name))
                .unwrap_or_default();
            let mut cursor = node.walk();
            let names: Vec<Node<'_>> = node.children_by_field_name("name", &mut cursor).collect();
            for name in names {
                let (original, local) = self.imported_name(name);
                self.aliases.insert(local, format!("{module}.{original}"));
            }
            return;
        }
        if let Some(source) = node.child_by_field_name("source") {
            let module = module_name(self.written(source));
            for clause in children(node).into_iter().filter(|child| child.kind() == "import_clause")
            {
                self.import_clause(clause, &module);
            }
            return;
        }
        let mut cursor = node.walk();
        let names: Vec<Node<'_>> = node.children_by_field_name("name", &mut cursor).collect();
        for name in names {
            let (original, local) = self.imported_name(name);
            if local != original {
                self.aliases.insert(local, original);
            }
        }
    }

    /// The original and the local name of an imported item.
    fn imported_name(&self, node: Node<'_>) -> (String, String) {
        let field =
            |name: &str| node.child_by_field_name(name).map(|child| self.written(child).to_owned());
        let original = field("name").unwrap_or_else(|| self.written(node).to_owned());
        let local = field("alias").unwrap_or_else(|| original.clone());
        (original, local)
    }

    /// `fs, * as path, { exec as run }`.
    fn import_clause(&mut self, clause: Node<'_>, module: &str) {
        for part in children(clause) {
            match part.kind() {
                "named_imports" => {
                    for specifier in children(part) {
                        let (original, local) = self.imported_name(specifier);
                        self.aliases.insert(local, format!("{module}.{original}"));
                    }
                }
                "namespace_import" => {
                    if let Some(name) = children(part).first() {
                        self.aliases.insert(self.written(*name).to_owned(), module.to_owned());
                    }
                }
                _ => {
                    self.aliases.insert(self.written(part).to_owned(), module.to_owned());
                }
            }
        }
    }

    /// The module that an expression loads: `require("x")`, `__import__("x")`.
    pub(super) fn module_of(&mut self, node: Node<'_>, depth: usize) -> Option<String> {
        if node.kind() == "await_expression" || node.kind() == "await" {
            return children(node).first().and_then(|inner| self.module_of(*inner, depth + 1));
        }
        if matches!(node.kind(), "member_expression" | "attribute") {
            let object = node.child_by_field_name("object")?;
            let module = self.module_of(object, depth + 1)?;
            let name = node
                .child_by_field_name("property")
                .or_else(|| node.child_by_field_name("attribute"))?;
            return Some(format!("{module}.{}", self.written(name)));
        }
        if !matches!(node.kind(), "call" | "call_expression") || depth > MAX_TREE_DEPTH {
            return None;
        }
        let function = node.child_by_field_name("function")?;
        let name = self.written(function);
        let is_promisify = name.ends_with("promisify");
        if is_promisify {
            let argument = children(node.child_by_field_name("arguments")?).into_iter().next()?;
            return self.path_of(argument, depth + 1);
        }
        if !matches!(name, "require" | "import" | "__import__" | "importlib.import_module") {
            return None;
        }
        let argument = children(node.child_by_field_name("arguments")?).into_iter().next()?;
        let value = self.evaluate(argument, depth + 1);
        self.report_built_name(argument);
        (value.is_constant && !value.text.is_empty()).then(|| module_name(&value.text))
    }

    /// Reports a name that is put together from short literals.
    fn report_built_name(&mut self, node: Node<'_>) {
        let is_sum = matches!(node.kind(), "binary_operator" | "binary_expression");
        let is_literal = |node: Node<'_>| {
            matches!(node.kind(), "string" | "binary_operator" | "binary_expression")
        };
        if is_sum && children(node).into_iter().all(is_literal) {
            let detection = Detection::new(
                AuditClass::Obfuscation,
                Risk::High,
                Confidence::Likely,
                "hides the name of a function or a module",
            );
            self.flow.report(&Self::span(node), detection);
        }
    }

    /// The path of a name, such as `os.system`, with modules resolved.
    pub(super) fn path_of(&mut self, node: Node<'_>, depth: usize) -> Option<String> {
        if depth > MAX_TREE_DEPTH {
            return None;
        }
        match node.kind() {
            "identifier" | "this" | "import" | "meta_property" => {
                let name = self.written(node);
                Some(self.aliases.get(name).cloned().unwrap_or_else(|| name.to_owned()))
            }
            "attribute" | "member_expression" => {
                let object = node.child_by_field_name("object")?;
                let name = node
                    .child_by_field_name("attribute")
                    .or_else(|| node.child_by_field_name("property"))?;
                let object = self.path_of(object, depth + 1)?;
                Some(format!("{object}.{}", self.written(name)))
            }
            // `global["ev" + "al"]`.
            "subscript_expression" | "subscript" => {
                let object = node
                    .child_by_field_name("object")
                    .or_else(|| node.child_by_field_name("value"))?;
                let index = node
                    .child_by_field_name("index")
                    .or_else(|| node.child_by_field_name("subscript"))?;
                let key = self.evaluate(index, depth + 1);
                self.report_built_name(index);
                let object = self.path_of(object, depth + 1)?;
                let is_global =
                    matches!(object.as_str(), "globalThis" | "global" | "window" | "self");
                let is_name =
                    key.is_constant && key.text.starts_with(|c: char| c.is_ascii_alphabetic());
                is_name.then(|| if is_global { key.text } else { format!("{object}.{}", key.text) })
            }
            "parenthesized_expression" => {
                children(node).first().and_then(|inner| self.path_of(*inner, depth + 1))
            }
            "call" | "call_expression" | "new_expression" => self.path_of_call(node, depth),
            _ => None,
        }
    }

    /// The path of a call's result: a module, an attribute by name, or the function with `()`.
    fn path_of_call(&mut self, node: Node<'_>, depth: usize) -> Option<String> {
        if let Some(module) = self.module_of(node, depth + 1) {
            return Some(module);
        }
        let function = node
            .child_by_field_name("function")
            .or_else(|| node.child_by_field_name("constructor"))?;
        let path = self.path_of(function, depth + 1)?;
        if path == "getattr" {
            let arguments = children(node.child_by_field_name("arguments")?);
            let object = self.path_of(*arguments.first()?, depth + 1)?;
            let argument = *arguments.get(1)?;
            let name = self.evaluate(argument, depth + 1);
            self.report_built_name(argument);
            return name.is_constant.then(|| match object.as_str() {
                "__builtins__" | "builtins" => name.text.clone(),
                _ => format!("{object}.{}", name.text),
            });
        }
        Some(format!("{path}()"))
    }
}

/// The name of a module without quotes and without the prefix of built-in ones.
fn module_name(written: &str) -> String {
    let name = written.trim_matches(['"', '\'', '`']);
    let name = name.strip_prefix("node:").unwrap_or(name);
    name.strip_suffix("/promises").unwrap_or(name).to_owned()
}
