//! Evaluates shell scripts: variables, pipelines and redirections, without running anything.
//!
//! A statement has a [`ScriptValue`] as its output, which the next stage of a pipeline reads. The
//! meaning of each program is in [`commands`].

mod arguments;
mod command;
mod commands;
mod danger;
mod words;

use std::collections::HashMap;
use std::ops::Range;

use tree_sitter::Node;

use super::flow::{ScriptFlow, ScriptLanguage};
use super::syntax::{MAX_TREE_DEPTH, children, parse_script};
use super::value::ScriptValue;
use command::ShellCommand;

/// A word of a command.
#[derive(Debug, Clone, Default)]
struct ShellWord {
    value: ScriptValue,
    /// The word as it is written.
    written: String,
    span: Range<usize>,
}

/// Evaluates one script.
struct ShellScanner<'a, 'e> {
    text: &'a str,
    /// Added to all spans: a line may be scanned alone.
    offset: usize,
    flow: &'a mut ScriptFlow<'e>,
    variables: HashMap<String, ScriptValue>,
}

/// Scans a shell script. Returns whether all of it could be parsed.
pub(super) fn scan_shell(text: &str, flow: &mut ScriptFlow<'_>) -> bool {
    let mut scanner = ShellScanner { text, offset: 0, flow, variables: HashMap::new() };
    danger::check_raw_text(&mut scanner);
    match parse_script(ScriptLanguage::Shell, text) {
        Some(tree) => {
            scanner.run(tree.root_node(), ScriptValue::default(), 0);
            if tree.root_node().has_error() {
                scanner.scan_broken_lines(tree.root_node());
            }
            true
        }
        None => scanner.scan_lines(),
    }
}

impl<'a> ShellScanner<'a, '_> {
    /// Scans the lines with errors one by one: what breaks one line must not hide another.
    fn scan_broken_lines(&mut self, root: Node<'_>) {
        let whole = self.text;
        let mut done = 0;
        for node in error_nodes(root) {
            let start = whole[..node.start].rfind('\n').map_or(0, |at| at + 1).max(done);
            let end = whole[node.start..].find('\n').map_or(whole.len(), |at| node.start + at);
            if start < end {
                self.scan_line(whole, start, end);
            }
            done = done.max(end);
        }
    }

    /// Scans each line alone. Returns whether all of them could be parsed.
    fn scan_lines(&mut self) -> bool {
        let whole = self.text;
        let mut start = 0;
        let mut is_complete = true;
        for line in whole.split_inclusive('\n') {
            is_complete &= self.scan_line(whole, start, start + line.len());
            start += line.len();
        }
        is_complete
    }

    fn scan_line(&mut self, whole: &'a str, start: usize, end: usize) -> bool {
        let line = &whole[start..end];
        let Some(tree) = parse_script(ScriptLanguage::Shell, line) else { return false };
        (self.text, self.offset) = (line, start);
        self.run(tree.root_node(), ScriptValue::default(), 0);
        (self.text, self.offset) = (whole, 0);
        true
    }

    fn span(&self, node: Node<'_>) -> Range<usize> {
        self.offset + node.start_byte()..self.offset + node.end_byte()
    }

    fn written(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Evaluates a statement, and returns its output.
    fn run(&mut self, node: Node<'_>, stdin: ScriptValue, depth: usize) -> ScriptValue {
        if depth > MAX_TREE_DEPTH {
            return ScriptValue::default();
        }
        match node.kind() {
            "comment" | "heredoc_body" | "heredoc_end" | "file_descriptor" => {
                ScriptValue::default()
            }
            "command" => self.run_command(node, stdin, depth),
            "pipeline" => {
                let stages = children(node);
                stages.into_iter().fold(stdin, |input, stage| self.run(stage, input, depth + 1))
            }
            "redirected_statement" => self.run_redirected(node, stdin, depth),
            "variable_assignment" => self.assign(node, depth),
            "function_definition" => match node.child_by_field_name("body") {
                Some(body) => self.run(body, stdin, depth + 1),
                None => ScriptValue::default(),
            },
            "for_statement" => self.run_loop(node, &stdin, depth),
            "string"
            | "word"
            | "concatenation"
            | "raw_string"
            | "expansion"
            | "simple_expansion"
            | "command_substitution"
            | "process_substitution" => self.evaluate(node, depth + 1).value,
            _ => {
                let mut output = ScriptValue::default();
                for child in children(node) {
                    let value = self.run(child, stdin.clone(), depth + 1);
                    output.append(&value);
                }
                output
            }
        }
    }

    fn run_loop(&mut self, node: Node<'_>, stdin: &ScriptValue, depth: usize) -> ScriptValue {
        let variable = node.child_by_field_name("variable").map(|name| self.written(name));
        let mut cursor = node.walk();
        let values: Vec<Node<'_>> = node.children_by_field_name("value", &mut cursor).collect();
        let mut all = ScriptValue { is_constant: true, ..ScriptValue::default() };
        for value in values {
            let word = self.evaluate(value, depth + 1);
            if credential(&word.value.text) {
                let read = self.flow.read_path(&word.span, &word.value.text);
                all.absorb(&read);
            }
            all.append(&ScriptValue::constant(" "));
            all.append(&word.value);
        }
        if let Some(name) = variable {
            self.variables.insert(name.to_owned(), ScriptValue { is_constant: false, ..all });
        }
        match node.child_by_field_name("body") {
            Some(body) => self.run(body, stdin.clone(), depth + 1),
            None => ScriptValue::default(),
        }
    }

    fn assign(&mut self, node: Node<'_>, depth: usize) -> ScriptValue {
        let name =
            node.child_by_field_name("name").map(|name| self.written(name)).unwrap_or_default();
        let value = match node.child_by_field_name("value") {
            Some(value) => self.evaluate(value, depth + 1).value,
            None => ScriptValue::constant(""),
        };
        let is_added =
            self.written(node).get(name.len()..).is_some_and(|rest| rest.starts_with("+="));
        let known = self.variables.entry(name.to_owned()).or_default();
        if is_added && known.is_constant {
            known.append(&value);
            // A command that is put together from pieces hides from readers.
            *known = std::mem::take(known);
        } else {
            *known = value;
        }
        ScriptValue::default()
    }

    fn run_command(&mut self, node: Node<'_>, mut stdin: ScriptValue, depth: usize) -> ScriptValue {
        let mut words: Vec<ShellWord> = Vec::new();
        let mut writes: Vec<ShellWord> = Vec::new();
        for child in children(node) {
            match child.kind() {
                "variable_assignment" => {
                    // `A=b command` sets a variable for the command only.
                    if let Some(value) = child.child_by_field_name("value") {
                        self.evaluate(value, depth + 1);
                    }
                }
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                    self.redirect(child, &mut stdin, &mut writes, depth);
                }
                "comment" => {}
                "command_name" => {
                    let inner = children(child).into_iter().next().unwrap_or(child);
                    words.push(self.evaluate(inner, depth + 1));
                }
                _ => words.push(self.evaluate(child, depth + 1)),
            }
        }
        let output = self.execute_words(words, stdin, self.span(node));
        self.write_all(&writes, &output);
        output
    }

    fn execute_words(
        &mut self,
        words: Vec<ShellWord>,
        stdin: ScriptValue,
        span: Range<usize>,
    ) -> ScriptValue {
        match ShellCommand::new(words, stdin, span) {
            Some(command) => self.execute(&command),
            None => ScriptValue::default(),
        }
    }

    fn run_redirected(
        &mut self,
        node: Node<'_>,
        mut stdin: ScriptValue,
        depth: usize,
    ) -> ScriptValue {
        let mut writes = Vec::new();
        let mut cursor = node.walk();
        let redirects: Vec<Node<'_>> =
            node.children_by_field_name("redirect", &mut cursor).collect();
        let mut pipelines = Vec::new();
        for redirect in redirects {
            // In `cat <<EOF | sh`, the rest of the line is inside of the redirection.
            pipelines.extend(children(redirect).into_iter().filter(|child| {
                redirect.kind() == "heredoc_redirect"
                    && matches!(child.kind(), "pipeline" | "command" | "list")
            }));
            self.redirect(redirect, &mut stdin, &mut writes, depth);
        }
        let output = match node.child_by_field_name("body") {
            Some(body) => self.run(body, stdin.clone(), depth + 1),
            None => stdin,
        };
        self.write_all(&writes, &output);
        pipelines.into_iter().fold(output, |input, stage| self.run(stage, input, depth + 1))
    }

    fn redirect(
        &mut self,
        node: Node<'_>,
        stdin: &mut ScriptValue,
        writes: &mut Vec<ShellWord>,
        depth: usize,
    ) {
        if node.kind() == "heredoc_redirect" {
            let bodies = children(node).into_iter().filter(|child| child.kind() == "heredoc_body");
            for body in bodies {
                *stdin = ScriptValue::constant(self.written(body));
            }
            let inner = children(node).into_iter().filter(|child| child.kind() == "file_redirect");
            for redirect in inner {
                self.redirect(redirect, stdin, writes, depth + 1);
            }
            return;
        }
        let Some(target) =
            children(node).into_iter().rfind(|child| child.kind() != "file_descriptor")
        else {
            return;
        };
        let word = self.evaluate(target, depth + 1);
        if node.kind() == "herestring_redirect" {
            *stdin = word.value;
        } else if self
            .written(node)
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .starts_with('<')
        {
            *stdin = match word.value.text.is_empty() {
                true => word.value,
                false => self.flow.read_path(&word.span, &word.value.text),
            };
        } else {
            writes.push(word);
        }
    }

    fn write_all(&mut self, writes: &[ShellWord], output: &ScriptValue) {
        for word in writes {
            self.write_to(word, output);
        }
    }

    fn write_to(&mut self, word: &ShellWord, output: &ScriptValue) {
        let path = word.value.text.as_str();
        if let Some(address) = path.strip_prefix("/dev/tcp/").or(path.strip_prefix("/dev/udp/")) {
            let host = address.split('/').next().unwrap_or_default().to_owned();
            self.flow.visit_host(&word.span, &host);
            self.flow.send(&word.span, output, Some(&host));
        } else if !path.is_empty() && !path.starts_with('&') && path != "/dev/null" {
            danger::check_write(self, word);
            self.flow.write_path(&word.span, path, output);
        }
    }
}

fn credential(path: &str) -> bool {
    super::sensitive::credential_in(path).is_some()
}

/// The spans of the errors in a tree, in order.
fn error_nodes(root: Node<'_>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut cursor = root.walk();
    let mut depth = 0;
    'all: loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            found.push(node.byte_range());
        }
        if node.has_error()
            && !node.is_error()
            && depth < MAX_TREE_DEPTH
            && cursor.goto_first_child()
        {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                break 'all;
            }
            depth -= 1;
        }
    }
    found
}
