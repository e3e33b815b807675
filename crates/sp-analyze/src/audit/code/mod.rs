//! Evaluates Python, JavaScript and TypeScript: constants, one level of variables, and what calls
//! do, without running anything.
//!
//! The grammars use different names for the same syntax, so one evaluator handles all of them.
//! [`calls`] gives meaning to the functions that are called, by their path, such as `os.system`.

mod calls;
mod decoding;
mod files;
mod imports;
mod network;

use std::collections::HashMap;
use std::ops::Range;

use tree_sitter::Node;

use super::flow::{ScriptFlow, ScriptLanguage};
use super::syntax::{MAX_TREE_DEPTH, children, parse_script};
use super::value::{ScriptValue, Taint, unescape};

/// Evaluates one script.
struct CodeScanner<'a, 'e> {
    text: &'a str,
    language: ScriptLanguage,
    flow: &'a mut ScriptFlow<'e>,
    variables: HashMap<String, ScriptValue>,
    lists: HashMap<String, Vec<ScriptValue>>,
    /// Local names of modules and their functions.
    aliases: HashMap<String, String>,
    /// Variables with an open file, and its path.
    handles: HashMap<String, String>,
    is_too_deep: bool,
    remote_shell: RemoteShell,
}

/// The parts of a shell for a remote machine.
#[derive(Default)]
struct RemoteShell {
    has_connection: bool,
    has_redirection: bool,
    shell: Option<Range<usize>>,
}

/// An argument of a call.
#[derive(Debug, Clone, Default)]
struct CallArgument {
    name: Option<String>,
    value: ScriptValue,
    /// The elements, if it is a list.
    items: Option<Vec<ScriptValue>>,
    span: Range<usize>,
}

/// Scans a script. Returns whether all of it could be parsed.
pub(super) fn scan_code(language: ScriptLanguage, text: &str, flow: &mut ScriptFlow<'_>) -> bool {
    let Some(tree) = parse_script(language, text) else { return false };
    let mut scanner = CodeScanner {
        text,
        language,
        flow,
        variables: HashMap::new(),
        lists: HashMap::new(),
        aliases: HashMap::new(),
        handles: HashMap::new(),
        is_too_deep: false,
        remote_shell: RemoteShell::default(),
    };
    scanner.visit(tree.root_node(), 0);
    scanner.report_remote_shell();
    !scanner.is_too_deep
}

impl<'a> CodeScanner<'a, '_> {
    fn span(node: Node<'_>) -> Range<usize> {
        node.start_byte()..node.end_byte()
    }

    fn written(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Visits a statement, or evaluates an expression for its effects.
    fn visit(&mut self, node: Node<'_>, depth: usize) {
        if depth > MAX_TREE_DEPTH {
            self.is_too_deep = true;
            return;
        }
        match node.kind() {
            "comment" => {}
            "import_statement" | "import_from_statement" => self.import(node),
            "assignment"
            | "variable_declarator"
            | "assignment_expression"
            | "augmented_assignment"
            | "augmented_assignment_expression" => {
                self.assign(node, depth);
            }
            "for_statement" | "for_in_statement" => self.visit_loop(node, depth),
            "as_pattern" => self.bind_pattern(node, depth),
            "call"
            | "call_expression"
            | "new_expression"
            | "binary_operator"
            | "binary_expression"
            | "attribute"
            | "member_expression"
            | "subscript"
            | "subscript_expression"
            | "string"
            | "template_string" => {
                self.evaluate(node, depth + 1);
            }
            _ => children(node).into_iter().for_each(|child| self.visit(child, depth + 1)),
        }
    }

    fn assign(&mut self, node: Node<'_>, depth: usize) -> ScriptValue {
        let field = |names: [&str; 2]| names.iter().find_map(|name| node.child_by_field_name(name));
        let (left, right) = (field(["left", "name"]), field(["right", "value"]));
        let Some(right) = right else { return ScriptValue::default() };
        let items = self.evaluate_items(right, depth + 1);
        let value = match &items {
            Some(items) => list_value(items),
            None => self.evaluate(right, depth + 1),
        };
        let Some(left) = left else { return value };
        if matches!(
            left.kind(),
            "object_pattern" | "array_pattern" | "pattern_list" | "tuple_pattern"
        ) {
            self.bind_names(left, right, &value);
            return value;
        }
        let name = self.written(left).to_owned();
        if left.kind() == "subscript" || left.kind() == "member_expression" {
            self.evaluate(left, depth + 1);
        }
        if let Some(path) = self.module_of(right, depth) {
            self.aliases.insert(name, path);
            return value;
        }
        if let Some(path) = self.opened_path(right, depth) {
            self.handles.insert(name.clone(), path);
        }
        if node.kind().starts_with("augmented") {
            self.variables.entry(name).or_default().append(&value);
        } else {
            items.map(|items| self.lists.insert(name.clone(), items));
            self.variables.insert(name, value.clone());
        }
        value
    }

    /// `const { exec, spawn: run } = require("child_process")`, `a, b = f()`.
    fn bind_names(&mut self, left: Node<'_>, right: Node<'_>, value: &ScriptValue) {
        let module = self.module_of(right, 0);
        for child in children(left) {
            let (original, local) =
                match (child.child_by_field_name("key"), child.child_by_field_name("value")) {
                    (Some(key), Some(local)) => (self.written(key), self.written(local)),
                    _ => (self.written(child), self.written(child)),
                };
            match &module {
                Some(module) => {
                    self.aliases.insert(local.to_owned(), format!("{module}.{original}"));
                }
                None => {
                    self.variables.insert(
                        local.to_owned(),
                        ScriptValue { is_constant: false, ..value.clone() },
                    );
                }
            }
        }
    }

    fn visit_loop(&mut self, node: Node<'_>, depth: usize) {
        if let (Some(left), Some(right)) =
            (node.child_by_field_name("left"), node.child_by_field_name("right"))
        {
            let items = self.evaluate_items(right, depth + 1);
            let value = match &items {
                Some(items) => list_value(items),
                None => self.evaluate(right, depth + 1),
            };
            let name = self
                .written(left)
                .trim_start_matches("const ")
                .trim_start_matches("let ")
                .to_owned();
            self.variables.insert(name, ScriptValue { is_constant: false, ..value });
        }
        if let Some(body) = node.child_by_field_name("body") {
            self.visit(body, depth + 1);
        }
    }

    /// `with open(path) as f`.
    fn bind_pattern(&mut self, node: Node<'_>, depth: usize) {
        let parts = children(node);
        let (Some(value), Some(target)) = (parts.first(), parts.get(1)) else { return };
        let name = self.written(*target).to_owned();
        if let Some(path) = self.opened_path(*value, depth) {
            self.handles.insert(name.clone(), path);
        }
        let value = self.evaluate(*value, depth + 1);
        self.variables.insert(name, value);
    }

    /// Evaluates an expression.
    fn evaluate(&mut self, node: Node<'_>, depth: usize) -> ScriptValue {
        if depth > MAX_TREE_DEPTH {
            self.is_too_deep = true;
            return ScriptValue::default();
        }
        match node.kind() {
            "comment" => ScriptValue::default(),
            "string" | "template_string" => self.evaluate_string(node, depth),
            "concatenated_string" => self.concatenate(node, depth),
            "integer" | "number" => ScriptValue::constant(self.written(node)),
            "identifier" | "shorthand_property_identifier" => self.variable(node),
            "call" | "call_expression" | "new_expression" => self.call(node, depth),
            "attribute" | "member_expression" => self.member(node, depth),
            "subscript" | "subscript_expression" => self.subscript(node, depth),
            "binary_operator" | "binary_expression" => self.binary(node, depth),
            "assignment_expression" | "augmented_assignment_expression" => self.assign(node, depth),
            "list_comprehension" | "generator_expression" | "set_comprehension" => {
                self.comprehension(node, depth)
            }
            "list" | "tuple" | "array" | "set" => {
                let items = self.evaluate_items(node, depth).unwrap_or_default();
                list_value(&items)
            }
            "dictionary" | "object" => self.evaluate_object(node, depth),
            "lambda" | "arrow_function" | "function_expression" | "function" => {
                children(node).into_iter().for_each(|child| self.visit(child, depth + 1));
                ScriptValue::default()
            }
            _ => {
                let mut all = ScriptValue { is_constant: true, ..ScriptValue::default() };
                let parts = children(node);
                for child in &parts {
                    let value = if is_expression(child.kind()) {
                        self.evaluate(*child, depth + 1)
                    } else {
                        self.visit(*child, depth + 1);
                        ScriptValue::default()
                    };
                    all.append(&value);
                }
                all.is_constant &= parts.len() == 1;
                all
            }
        }
    }

    fn evaluate_string(&mut self, node: Node<'_>, depth: usize) -> ScriptValue {
        let mut all = ScriptValue { is_constant: true, ..ScriptValue::default() };
        let is_raw = self
            .written(node)
            .split(['"', '\''])
            .next()
            .is_some_and(|prefix| prefix.contains(['r', 'R']));
        let mut escapes = 0;
        for child in children(node) {
            let written = self.written(child);
            let value = match child.kind() {
                "string_content" if is_raw => ScriptValue::constant(written),
                "string_content" | "string_fragment" | "escape_sequence" => {
                    escapes += written.matches("\\x").count() + written.matches("\\u00").count();
                    ScriptValue::constant(unescape(written))
                }
                "interpolation" | "template_substitution" => {
                    let value = self.concatenate(child, depth);
                    if value.text.is_empty() {
                        ScriptValue {
                            text: format!("…{}", written.trim_matches(['{', '}', '$'])),
                            is_constant: false,
                            ..value
                        }
                    } else {
                        value
                    }
                }
                _ => continue,
            };
            all.append(&value);
        }
        // No one writes ordinary text in escapes.
        if escapes >= 8 {
            all.taint |= Taint::DECODED;
        }
        all
    }

    fn concatenate(&mut self, node: Node<'_>, depth: usize) -> ScriptValue {
        let mut all = ScriptValue { is_constant: true, ..ScriptValue::default() };
        for child in children(node).into_iter().filter(|child| is_expression(child.kind())) {
            let value = self.evaluate(child, depth + 1);
            all.append(&value);
        }
        all
    }

    fn variable(&mut self, node: Node<'_>) -> ScriptValue {
        let name = self.written(node);
        match self.variables.get(name) {
            Some(value) => value.clone(),
            // Not `$name`, which is a variable in a command.
            None => ScriptValue::unknown(format!("…{name}")),
        }
    }

    fn evaluate_object(&mut self, node: Node<'_>, depth: usize) -> ScriptValue {
        let mut all = ScriptValue::default();
        for child in children(node) {
            let (key, value) =
                (child.child_by_field_name("key"), child.child_by_field_name("value"));
            let value = match value {
                Some(value) => self.evaluate(value, depth + 1),
                None => self.evaluate(child, depth + 1),
            };
            let key =
                key.map(|key| self.written(key).trim_matches(['"', '\'']).to_ascii_lowercase());
            // A key in a header authenticates a request.
            let is_auth = key.is_some_and(|key| {
                matches!(
                    key.as_str(),
                    "headers"
                        | "auth"
                        | "authorization"
                        | "x-api-key"
                        | "api_key"
                        | "apikey"
                        | "token"
                        | "env"
                )
            });
            if !is_auth {
                all.absorb(&value);
                if all.text.len() < 4096 && !value.text.is_empty() {
                    all.text.push_str(&value.text);
                    all.text.push(' ');
                }
            }
        }
        all
    }

    /// The elements of a list; `None` if the expression is not one.
    fn evaluate_items(&mut self, node: Node<'_>, depth: usize) -> Option<Vec<ScriptValue>> {
        match node.kind() {
            "list" | "tuple" | "array" | "set" => {
                let elements = children(node).into_iter().filter(|child| child.kind() != "comment");
                Some(elements.map(|child| self.evaluate(child, depth + 1)).collect())
            }
            "identifier" => self.lists.get(self.written(node)).cloned(),
            "parenthesized_expression" => {
                children(node).first().and_then(|inner| self.evaluate_items(*inner, depth + 1))
            }
            _ => None,
        }
    }

    fn binary(&mut self, node: Node<'_>, depth: usize) -> ScriptValue {
        let side = |name: &str| node.child_by_field_name(name);
        let (Some(left), Some(right)) = (side("left"), side("right")) else {
            return ScriptValue::default();
        };
        let mut value = self.evaluate(left, depth + 1);
        let other = self.evaluate(right, depth + 1);
        let operator = side("operator").map(|operator| self.written(operator)).unwrap_or_default();
        match operator {
            "+" => value.append(&other),
            // Paths of `pathlib`.
            "/" if !value.text.ends_with('/') => {
                value.append(&ScriptValue::constant("/"));
                value.append(&other);
            }
            _ => {
                value.absorb(&other);
                value.is_constant = false;
            }
        }
        value
    }

    fn subscript(&mut self, node: Node<'_>, depth: usize) -> ScriptValue {
        let object =
            node.child_by_field_name("value").or_else(|| node.child_by_field_name("object"));
        let index =
            node.child_by_field_name("subscript").or_else(|| node.child_by_field_name("index"));
        let (Some(object), Some(index)) = (object, index) else { return ScriptValue::default() };
        if self.written(index).replace(' ', "") == "::-1" {
            let value = self.evaluate(object, depth + 1);
            return value.decoded(|text| Some(text.chars().rev().collect()));
        }
        let path = self.path_of(object, depth);
        let key = self.evaluate(index, depth + 1);
        if path.as_deref().is_some_and(is_environment) {
            return self.flow.read_variable(&Self::span(node), &key.text);
        }
        let mut value = self.evaluate(object, depth + 1);
        value.is_constant = false;
        value
    }

    fn member(&mut self, node: Node<'_>, depth: usize) -> ScriptValue {
        let object = node.child_by_field_name("object");
        let path = self.path_of(node, depth).unwrap_or_default();
        if let Some(name) =
            path.strip_prefix("process.env.").or_else(|| path.strip_prefix("import.meta.env."))
        {
            return self.flow.read_variable(&Self::span(node), name);
        }
        if is_environment(&path) {
            return ScriptValue::tainted(Taint::ENVIRONMENT, "the environment");
        }
        match object {
            Some(object) => {
                let value = self.evaluate(object, depth + 1);
                ScriptValue { is_constant: false, ..value }
            }
            None => ScriptValue::default(),
        }
    }

    fn comprehension(&mut self, node: Node<'_>, depth: usize) -> ScriptValue {
        let written = self.written(node);
        let body = node.child_by_field_name("body");
        let clause = children(node).into_iter().find(|child| child.kind() == "for_in_clause");
        let source = clause.and_then(|clause| clause.child_by_field_name("right"));
        let items = source.and_then(|source| self.evaluate_items(source, depth + 1));
        let mut value = match (&items, source) {
            (Some(items), _) => list_value(items),
            (None, Some(source)) => self.evaluate(source, depth + 1),
            _ => ScriptValue::default(),
        };
        if let Some(clause) = clause
            && let Some(left) = clause.child_by_field_name("left")
        {
            let name = self.written(left).to_owned();
            self.variables.insert(name, ScriptValue { is_constant: false, ..value.clone() });
        }
        if let Some(body) = body {
            let inner = self.evaluate(body, depth + 1);
            value.absorb(&inner);
        }
        if written.contains("chr(") || written.contains(" ^ ") {
            let decoded = items.as_deref().and_then(decoding::from_character_codes);
            let is_exact = body
                .is_some_and(|body| self.written(body).matches(['(', '^', '+', '-']).count() == 1);
            return match decoded.filter(|_| is_exact) {
                Some(text) => ScriptValue::constant(text).with_taint(Taint::DECODED),
                None => ScriptValue {
                    text: String::new(),
                    is_constant: false,
                    ..value.with_taint(Taint::DECODED)
                },
            };
        }
        value.is_constant = false;
        value
    }
}

/// A list as one value, for its taint.
fn list_value(items: &[ScriptValue]) -> ScriptValue {
    let mut all = ScriptValue { is_constant: true, ..ScriptValue::default() };
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            all.append(&ScriptValue::constant(" "));
        }
        all.append(item);
    }
    all
}

fn is_environment(path: &str) -> bool {
    matches!(path, "os.environ" | "process.env" | "import.meta.env" | "Deno.env")
}

/// Whether a node of this kind has a value.
fn is_expression(kind: &str) -> bool {
    !matches!(
        kind,
        "comment"
            | "block"
            | "statement_block"
            | "expression_statement"
            | "if_statement"
            | "string_start"
            | "string_end"
            | "format_specifier"
            | "type_conversion"
            | "return_statement"
            | "try_statement"
            | "with_statement"
            | "while_statement"
    )
}
