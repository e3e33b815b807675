//! Evaluates the words of a shell script: quotes, variables and substitutions.

use tree_sitter::Node;

use super::{ShellScanner, ShellWord};
use crate::audit::syntax::{MAX_TREE_DEPTH, children};
use crate::audit::value::{ScriptValue, Taint, unescape};

impl ShellScanner<'_, '_> {
    pub(super) fn evaluate(&mut self, node: Node<'_>, depth: usize) -> ShellWord {
        let value = if depth > MAX_TREE_DEPTH {
            ScriptValue::default()
        } else {
            self.evaluate_value(node, depth)
        };
        ShellWord { value, written: self.written(node).to_owned(), span: self.span(node) }
    }

    fn evaluate_value(&mut self, node: Node<'_>, depth: usize) -> ScriptValue {
        let written = self.written(node);
        match node.kind() {
            "raw_string" => ScriptValue::constant(written.trim_matches('\'')),
            "ansi_c_string" => {
                let inside = written.strip_prefix("$'").and_then(|rest| rest.strip_suffix('\''));
                let text = unescape(inside.unwrap_or_default());
                let is_hidden =
                    written.contains("\\x") || written.contains("\\u") || written.contains("\\1");
                let taint = if is_hidden { Taint::DECODED } else { Taint::NONE };
                ScriptValue::constant(text).with_taint(taint)
            }
            "string" | "translated_string" => self.evaluate_string(node, depth),
            "concatenation" => self.concatenate(node, depth),
            "simple_expansion" => self.expand(node, written.trim_start_matches('$')),
            "expansion" => {
                let name = written.trim_start_matches("${").trim_start_matches('!');
                let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next();
                self.expand(node, name.unwrap_or_default())
            }
            "command_substitution" | "process_substitution" => {
                let mut output = ScriptValue { is_constant: true, ..ScriptValue::default() };
                for child in children(node) {
                    let value = self.run(child, ScriptValue::default(), depth + 1);
                    output.append(&value);
                }
                output.text = output.text.trim_end_matches('\n').to_owned();
                output
            }
            "array" => self.concatenate(node, depth),
            "command_name" => match children(node).first() {
                Some(inner) => self.evaluate_value(*inner, depth + 1),
                None => ScriptValue::constant(written),
            },
            _ if written.contains('\\') => ScriptValue::constant(without_backslashes(written)),
            _ => ScriptValue::constant(written),
        }
    }

    /// A string in double quotes. The text between its expansions is constant.
    fn evaluate_string(&mut self, node: Node<'_>, depth: usize) -> ScriptValue {
        let mut all = ScriptValue { is_constant: true, ..ScriptValue::default() };
        for child in children(node) {
            let value = match child.kind() {
                "string_content" => ScriptValue::constant(
                    self.written(child).replace("\\\"", "\"").replace("\\$", "$"),
                ),
                _ => self.evaluate(child, depth + 1).value,
            };
            all.append(&value);
        }
        all
    }

    fn concatenate(&mut self, node: Node<'_>, depth: usize) -> ScriptValue {
        let mut all = ScriptValue { is_constant: true, ..ScriptValue::default() };
        let mut end = None;
        for child in children(node) {
            if node.kind() == "array" && end.is_some() {
                all.append(&ScriptValue::constant(" "));
            }
            let value = self.evaluate(child, depth + 1).value;
            all.append(&value);
            end = Some(child.end_byte());
        }
        all
    }

    /// The value of a variable: known, or from the environment.
    fn expand(&mut self, node: Node<'_>, name: &str) -> ScriptValue {
        match self.variables.get(name) {
            Some(value) if value.is_constant || value.taint != Taint::NONE => value.clone(),
            Some(value) if value.text.is_empty() => ScriptValue::unknown(format!("${name}")),
            Some(value) => value.clone(),
            None => {
                let span = self.span(node);
                self.flow.read_variable(&span, name)
            }
        }
    }
}

/// An unquoted word without its escapes.
fn without_backslashes(word: &str) -> String {
    let mut output = String::with_capacity(word.len());
    let mut characters = word.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => output.extend(characters.next().filter(|c| *c != '\n')),
            c => output.push(c),
        }
    }
    output
}
