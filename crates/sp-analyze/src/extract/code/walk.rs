//! Traverses a syntax tree, the same for every language: depth first, without recursion.

use tree_sitter::{Node, Tree};

use super::{CodeDefinition, LanguageRules, OwnerBlock, node_text};
use crate::extract::comment::{CodeComment, is_boilerplate, strip_comment_markers};
use crate::extract::line_range::LineRange;
use crate::extract::parsed_code::{CodeCall, ParsedCode, Symbol, SymbolKind};
use crate::extract::source_text::SourceText;
use crate::extract::text::{collapse_whitespace, truncate_text};

const MAX_SIGNATURE_LEN: usize = 280;
const MAX_DOC_LEN: usize = 700;
/// Maximum number of members listed for a type.
const MAX_MEMBERS: usize = 24;
/// Definitions that are nested deeper are ignored.
const MAX_DEFINITION_DEPTH: usize = 24;
/// Nodes below this depth are ignored: finding a sibling costs time proportional to the depth.
const MAX_TREE_DEPTH: usize = 1_000;
/// Maximum number of type names collected from a file.
const MAX_TYPES: usize = 2_000;

/// A syntax node whose end has not been reached yet.
struct OpenSyntaxNode {
    end: usize,
    symbol: Option<usize>,
    block: OwnerBlock,
}

struct SyntaxWalker<'a> {
    rules: &'a dyn LanguageRules,
    source: SourceText<'a>,
    code: ParsedCode,
    comments: Vec<CodeComment>,
    open: Vec<OpenSyntaxNode>,
}

/// Collects what a tree defines, calls and imports, and its comments.
pub(super) fn walk(
    rules: &dyn LanguageRules,
    tree: &Tree,
    source: SourceText<'_>,
) -> (ParsedCode, Vec<CodeComment>) {
    let root = tree.root_node();
    let code = ParsedCode { is_test: rules.is_test_file(source.path), ..ParsedCode::default() };
    let mut walk = SyntaxWalker { rules, source, code, comments: Vec::new(), open: Vec::new() };
    let mut cursor = tree.walk();
    let mut depth = 0;
    'all: loop {
        walk.visit(cursor.node());
        if depth < MAX_TREE_DEPTH && cursor.goto_first_child() {
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
    let mut code = walk.code;
    let exported = rules.exported_names(source);
    for symbol in
        code.symbols.iter_mut().filter(|symbol| symbol.owner.is_none() && symbol.parent.is_none())
    {
        symbol.is_visible |= exported.contains(symbol.name.as_str());
    }
    code.doc = truncate_text(&rules.file_doc(root, source), MAX_DOC_LEN);
    code.calls.sort_unstable();
    code.calls.dedup();
    (code, walk.comments)
}

impl SyntaxWalker<'_> {
    fn visit(&mut self, node: Node<'_>) {
        while self.open.last().is_some_and(|open| open.end <= node.start_byte()) {
            self.open.pop();
        }
        if !node.is_named() {
            return;
        }
        if node.is_extra() && node.kind().contains("comment") {
            self.comments.push(CodeComment {
                text: node_text(node, self.source).to_owned(),
                line: node.start_position().row + 1,
            });
            return;
        }
        if matches!(node.kind(), "type_identifier" | "identifier") {
            self.record_type(node_text(node, self.source));
            return;
        }
        if self.rules.is_member(node.kind()) {
            self.add_member(node);
        }
        let shallow = (self.open.len() < MAX_DEFINITION_DEPTH).then_some(self.rules);
        if let Some(block) = shallow.and_then(|rules| rules.block(node, self.source)) {
            self.open.push(OpenSyntaxNode { end: node.end_byte(), symbol: None, block });
        } else if let Some(definition) =
            shallow.and_then(|rules| rules.definition(node, self.source))
        {
            self.add_definition(node, &definition);
        } else if let Some((through, name)) = self.rules.call(node, self.source) {
            let from = self.caller();
            self.code.calls.push(CodeCall { from, name, receiver: through });
        }
        self.code.imports.extend(self.rules.imports(node, self.source));
        if self.code.package.is_none() {
            self.code.package = self.rules.package(node, self.source);
        }
    }

    fn record_type(&mut self, name: &str) {
        let is_type = name.starts_with(char::is_uppercase) && name.len() > 1;
        if is_type && self.code.types.len() < MAX_TYPES && !self.code.types.contains(name) {
            self.code.types.insert(name.to_owned());
        }
    }

    /// The innermost open symbol.
    fn current_symbol(&self) -> Option<usize> {
        self.open.iter().rev().find_map(|open| open.symbol)
    }

    /// The outermost open function: nested functions count as part of it.
    fn caller(&self) -> Option<usize> {
        self.open
            .iter()
            .filter_map(|open| open.symbol)
            .find(|at| self.code.symbols[*at].is_callable() || self.code.symbols[*at].is_test)
            .or_else(|| self.current_symbol())
    }

    fn add_member(&mut self, node: Node<'_>) {
        let Some(at) = self.current_symbol() else { return };
        let symbol = &mut self.code.symbols[at];
        let is_of_variant = symbol.kind == SymbolKind::Enum && node.kind() == "field_declaration";
        if symbol.is_callable() || is_of_variant || symbol.members.len() > MAX_MEMBERS {
            return;
        }
        let Some(name) = node.child_by_field_name("name").or_else(|| node.named_child(0)) else {
            return;
        };
        let name = collapse_whitespace(node_text(name, self.source));
        if name.len() < 60 && !name.is_empty() {
            symbol.members.push(name);
        }
    }

    fn add_definition(&mut self, node: Node<'_>, definition: &CodeDefinition<'_>) {
        let block = self.open.last().map(|open| &open.block);
        let is_hidden = block.is_some_and(|block| block.is_hidden);
        let in_test = self.open.iter().any(|open| open.block.is_test);
        let parent = self.current_symbol();
        let in_function = parent
            .is_some_and(|at| self.code.symbols[at].is_callable() || self.code.symbols[at].is_test);
        let is_part = (in_function || is_hidden) && !definition.is_test;
        let symbol = if is_part {
            None
        } else {
            let symbol = self.build_symbol(node, definition, parent);
            self.code.symbols.push(Symbol { is_visible: symbol.is_visible && !in_test, ..symbol });
            Some(self.code.symbols.len() - 1)
        };
        let is_type = definition.kind.is_type();
        let owner = if is_type {
            Some(definition.name.clone())
        } else {
            block.and_then(|block| block.owner.clone())
        };
        let block = OwnerBlock { owner, is_hidden: is_hidden && !is_type, is_test: in_test };
        self.open.push(OpenSyntaxNode { end: node.end_byte(), symbol, block });
    }

    fn build_symbol(
        &self,
        node: Node<'_>,
        definition: &CodeDefinition<'_>,
        parent: Option<usize>,
    ) -> Symbol {
        let end = definition.body.map_or(node.end_byte(), |body| body.start_byte());
        let head = self.source.text.get(definition.outer.start_byte()..end).unwrap_or_default();
        let signature = collapse_whitespace(head);
        let signature =
            signature.trim_end_matches("=>").trim_end_matches(['{', ':', '=', ' ', ';']);
        let doc = definition.doc.clone().unwrap_or_else(|| self.doc_before(definition.outer));
        let owner = definition
            .owner
            .clone()
            .or_else(|| self.open.last().and_then(|open| open.block.owner.clone()));
        let lines = LineRange {
            first: definition.outer.start_position().row + 1,
            last: last_line(node, self.source),
        };
        Symbol {
            kind: definition.kind,
            name: definition.name.clone(),
            owner,
            parent,
            signature: truncate_text(signature, MAX_SIGNATURE_LEN),
            doc: truncate_text(&first_paragraphs(&doc), MAX_DOC_LEN),
            members: Vec::new(),
            lines,
            is_visible: definition.is_visible,
            is_test: definition.is_test,
            lines_hash: String::new(),
        }
    }

    /// The comments directly before a node, joined.
    fn doc_before(&self, node: Node<'_>) -> String {
        let mut texts: Vec<&str> = Vec::new();
        let mut below = node.start_position().row;
        let mut before = node.prev_sibling();
        while let Some(sibling) = before {
            let text = node_text(sibling, self.source);
            let is_comment = sibling.is_extra() && sibling.kind().contains("comment");
            let last = sibling.start_position().row + text.trim_end().matches('\n').count();
            if last + 1 < below
                || !(is_comment
                    || sibling.kind().contains("attribute")
                    || sibling.kind() == "decorator")
            {
                break;
            }
            // A comment at the end of the previous line belongs to that line.
            let is_behind = sibling.prev_sibling().is_some_and(|other| {
                other.end_position().row == sibling.start_position().row
                    && other.end_position().column > 0
            });
            if is_comment && is_behind {
                break;
            }
            if is_comment && self.rules.is_doc(text) {
                texts.push(text);
            }
            below = sibling.start_position().row;
            before = sibling.prev_sibling();
        }
        texts.reverse();
        let doc =
            texts.iter().map(|text| strip_comment_markers(text)).collect::<Vec<_>>().join("\n");
        if is_boilerplate(&doc) { String::new() } else { doc }
    }
}

/// The last line of a node. Some comments and definitions include their line feed.
fn last_line(node: Node<'_>, source: SourceText<'_>) -> usize {
    node.start_position().row + 1 + node_text(node, source).trim_end().matches('\n').count()
}

/// The description in a doc comment, without examples and parameter lists.
fn first_paragraphs(doc: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for line in doc.lines() {
        let start = line.trim_start();
        let ends = start.starts_with("```")
            || start.starts_with("# ")
            || start.starts_with(">>>")
            || is_doc_tag(start);
        if ends {
            break;
        }
        kept.push(line);
    }
    strip_markup(kept.join("\n").trim())
}

/// Whether a line starts a tag such as `@param`, `:param` or `Args:`.
fn is_doc_tag(line: &str) -> bool {
    const TAGS: &[&str] = &[
        "@",
        ":param",
        ":return",
        ":raise",
        ":type",
        ":rtype",
        "Args:",
        "Arguments:",
        "Parameters",
        "Returns:",
        "Raises:",
        "Example",
        "Usage:",
    ];
    !line.starts_with("@link") && TAGS.iter().any(|tag| line.starts_with(tag))
}

/// Removes HTML tags and replaces `{@code x}` with `x`.
fn strip_markup(doc: &str) -> String {
    if !doc.contains(['<', '{']) {
        return doc.to_owned();
    }
    const TAGS: &[&str] = &[
        "p", "b", "i", "em", "strong", "ul", "ol", "li", "code", "pre", "br", "br/", "br /", "tt",
        "h2", "h3",
    ];
    let mut text = doc.to_owned();
    for tag in TAGS {
        for mark in [format!("<{tag}>"), format!("</{tag}>")] {
            if text.contains(&mark) {
                text = text.replace(&mark, "");
            }
        }
    }
    for word in ["{@code ", "{@link ", "{@linkplain ", "{@literal "] {
        while let Some(start) = text.find(word) {
            let Some(end) = text[start..].find('}').map(|end| start + end) else { break };
            text = format!(
                "{}`{}`{}",
                &text[..start],
                text[start + word.len()..end].trim_start_matches('#'),
                &text[end + 1..]
            );
        }
    }
    text
}
