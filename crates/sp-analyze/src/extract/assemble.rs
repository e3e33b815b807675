//! Builds one graph from the extracts of all files.
//!
//! Every note becomes a node with its file, lines, date and activation. Code becomes nodes only
//! where that is useful ([`select_code`]), within a byte budget, and links between
//! nodes become edges.

use std::collections::{BTreeMap, HashMap, HashSet};

use sp_formats::json::quoted;
use sp_formats::package::{GraphBuilder, NewNode};
use sp_formats::text::plural;
use sp_formats::time::format_seconds;

use crate::extract::activation::{
    HIDDEN_PENALTY, file_activation, kind_defaults, round_activation, symbol_activation,
};
use crate::extract::code_selection::select_code;
use crate::extract::file_extract::{ExtractedNote, FileExtract};
use crate::extract::history::CommitHistory;
use crate::extract::line_range::LineRange;
use crate::extract::node_content::{
    file_content, is_prose, node_kind, note_node, section_titles, symbol_content,
};
use crate::extract::parsed_code::{ParsedCode, Symbol};
use crate::extract::resolve::{CodeItem, CodeLink, resolve_links};
use crate::extract::text::{collapse_whitespace, truncate_text};
use crate::secrets::has_secret;

#[derive(Debug, Clone, Copy)]
pub struct AssembleOptions {
    /// Package level: edges from 2, decay from 3.
    pub level: u64,
    /// Approximate maximum size of the graph. The least active code is dropped first.
    pub max_bytes: usize,
}

/// The assembled graph.
#[derive(Debug, Clone, Default)]
pub struct ExtractedGraph {
    pub graph: GraphBuilder,
    /// Number of symbols dropped to stay within the size limit.
    pub omitted_symbols: usize,
}

const MAX_MENTIONS: usize = 8;
const MAX_REVERTS: usize = 40;

/// Assembles the extracts of a project into a graph.
pub fn assemble(
    mut files: Vec<FileExtract>,
    history: &CommitHistory,
    options: AssembleOptions,
) -> ExtractedGraph {
    files.retain(|file| !has_secret(&file.path));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let links = resolve_links(&files);
    let selected = select_code(&files, &links, history, options.max_bytes);
    let mut assembler = GraphAssembler {
        files: &files,
        history,
        level: options.level,
        graph: GraphBuilder::default(),
        ids: HashMap::new(),
        notes: Vec::new(),
    };
    assembler.add_layout();
    assembler.add_notes();
    assembler.add_reverts();
    assembler.add_code(&selected.items);
    if options.level >= 2 {
        assembler.add_documents();
        assembler.add_links(&links);
        assembler.add_mentions();
        assembler.add_superseded();
    }
    ExtractedGraph { graph: assembler.graph, omitted_symbols: selected.omitted }
}

struct GraphAssembler<'f> {
    /// Sorted by path.
    files: &'f [FileExtract],
    history: &'f CommitHistory,
    level: u64,
    graph: GraphBuilder,
    /// Node IDs of files and symbols.
    ids: HashMap<CodeItem, String>,
    notes: Vec<NoteNode>,
}

/// The node of a note.
struct NoteNode {
    /// Index of the file.
    file: usize,
    /// Index of the note in its file.
    note: usize,
    id: String,
}

/// Provenance and activation of a node.
struct NodeSource<'a> {
    path: &'a str,
    lines: Option<LineRange>,
    hash: &'a str,
    activation: f64,
    date: Option<String>,
}

impl<'a> NodeSource<'a> {
    fn whole_file(file: &'a FileExtract, activation: f64) -> Self {
        let lines = Some(LineRange { first: 1, last: file.line_count.max(1) });
        Self { path: &file.path, lines, hash: &file.lines_hash, activation, date: None }
    }
}

impl<'f> GraphAssembler<'f> {
    fn add_node(&mut self, node: NewNode, source: &NodeSource<'_>) -> String {
        let half_life = kind_defaults(&node.kind).half_life_days;
        let is_dated = self.level >= 2;
        let date = source
            .date
            .clone()
            .or_else(|| self.history.last_changed_or_newest(source.path).map(format_seconds));
        let hash = Some(source.hash).filter(|hash| !hash.is_empty());
        let mut node = node
            .with_member("activation", Some(format!("{:?}", round_activation(source.activation))))
            .with_member("file_path", Some(quoted(source.path)))
            .with_member("line_start", source.lines.map(|lines| lines.first.to_string()))
            .with_member("line_end", source.lines.map(|lines| lines.last.to_string()))
            .with_member("lines_hash", hash.map(quoted))
            .with_member("created_at", date.as_deref().filter(|_| is_dated).map(quoted));
        if self.level >= 3 && date.is_some() {
            node = node.with_member("decay_half_life_days", Some(half_life.to_string()));
        }
        self.graph.add_node(node)
    }

    fn activation(&self, kind: &str, path: &str) -> f64 {
        file_activation(self.history, kind, path)
    }

    /// Adds a node that describes the top-level directories.
    fn add_layout(&mut self) {
        let mut folders: BTreeMap<&str, FolderSummary<'_>> = BTreeMap::new();
        for file in self.files {
            let Some((top, _)) = file.path.split_once('/') else { continue };
            folders.entry(top).or_default().add(file);
        }
        let list: Vec<String> = folders
            .iter()
            .map(|(folder, summary)| format!("- `{folder}/`: {}", summary.describe()))
            .collect();
        if list.len() > 1 {
            let node = NewNode::new(
                "fact",
                format!("Directory layout (readable files):\n{}", list.join("\n")),
            )
            .with_member("category", Some(quoted("layout")));
            let activation = kind_defaults("fact").activation;
            self.add_node(
                node,
                &NodeSource { path: ".", lines: None, hash: "", activation, date: None },
            );
        }
    }

    fn add_notes(&mut self) {
        let files = self.files;
        for (file_index, file) in files.iter().enumerate() {
            for (index, note) in file.notes.iter().enumerate() {
                let is_test = file.code.as_ref().is_some_and(|code| code.is_test);
                let activation = self.activation(note.kind, &file.path)
                    - if is_test { 2.0 * HIDDEN_PENALTY } else { 0.0 };
                let source = NodeSource {
                    path: &file.path,
                    lines: Some(note.lines),
                    hash: &note.lines_hash,
                    activation,
                    date: note.date.as_ref().map(|date| format!("{date}T00:00:00Z")),
                };
                let id = self.add_node(note_node(note), &source);
                self.notes.push(NoteNode { file: file_index, note: index, id });
            }
        }
    }

    /// Adds a node for each reverted change.
    fn add_reverts(&mut self) {
        let history = self.history;
        for commit in history.reverts.iter().take(MAX_REVERTS) {
            let Some(file) = commit.files.iter().find_map(|path| self.find_file(path)) else {
                continue;
            };
            let body = truncate_text(&collapse_whitespace(&commit.body), 600);
            let separator = if body.is_empty() { "" } else { ". " };
            let content = format!("Reverted: {}{separator}{body}", commit.subject);
            if has_secret(&content) {
                continue;
            }
            let node = NewNode::new("gotcha", content)
                .with_member("category", Some(quoted("reverted")))
                .with_member("confidence", Some("0.7".into()));
            let activation = self.activation("gotcha", &file.path);
            let date = Some(format_seconds(commit.at));
            let source = NodeSource { hash: "", date, ..NodeSource::whole_file(file, activation) };
            self.add_node(node, &source);
        }
    }

    fn find_file(&self, path: &str) -> Option<&'f FileExtract> {
        let index = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(index)
    }

    fn add_code(&mut self, selected: &HashSet<CodeItem>) {
        let files = self.files;
        for (file_index, file) in files.iter().enumerate() {
            let Some(code) = &file.code else { continue };
            if !selected.contains(&CodeItem::File(file_index)) {
                continue;
            }
            let activation = self.activation("code_file", &file.path)
                - if code.is_test { HIDDEN_PENALTY } else { 0.0 };
            let node = NewNode::new("code_file", file_content(file, code))
                .with_member("category", Some(quoted(code.language)));
            let id = self.add_node(node, &NodeSource::whole_file(file, activation));
            self.ids.insert(CodeItem::File(file_index), id);
            for (index, symbol) in code.symbols.iter().enumerate() {
                let item = CodeItem::Symbol(file_index, index);
                if selected.contains(&item) {
                    let id = self.add_symbol(file, code, symbol);
                    self.ids.insert(item, id);
                }
            }
        }
    }

    fn add_symbol(&mut self, file: &FileExtract, code: &ParsedCode, symbol: &Symbol) -> String {
        let node = NewNode::new(node_kind(symbol), symbol_content(symbol))
            .with_member("key", Some(quoted(&symbol.full_name())))
            .with_member("category", Some(quoted(code.language)));
        let source = NodeSource {
            path: &file.path,
            lines: Some(symbol.lines),
            hash: &symbol.lines_hash,
            activation: symbol_activation(self.history, &file.path, symbol),
            date: None,
        };
        self.add_node(node, &source)
    }

    /// Links documents to their sections, and files and symbols to their warnings.
    fn add_documents(&mut self) {
        let mut by_file: BTreeMap<usize, Vec<NoteNode>> = BTreeMap::new();
        for note in std::mem::take(&mut self.notes) {
            by_file.entry(note.file).or_default().push(note);
        }
        for (file, notes) in by_file {
            let parent = self.document_node(file, notes.len());
            for note in notes {
                let symbol = self.files[file].notes[note.note]
                    .enclosing_symbol
                    .and_then(|symbol| self.ids.get(&CodeItem::Symbol(file, symbol)));
                if let Some(parent) = symbol.or(parent.as_ref()) {
                    let parent = parent.clone();
                    self.graph.add_weighted_edge(&parent, &note.id, ("contains", 0.8));
                }
                self.notes.push(note);
            }
        }
    }

    /// Returns the node of a file with notes. Adds it if there is none.
    fn document_node(&mut self, index: usize, note_count: usize) -> Option<String> {
        let file = &self.files[index];
        if let Some(id) = self.ids.get(&CodeItem::File(index)) {
            return Some(id.clone());
        }
        // A manifest with a single note needs no node of its own.
        if note_count <= 1 && !is_prose(&file.path) {
            return None;
        }
        let content = format!("`{}`: {}", file.path, section_titles(&file.notes));
        let activation = self.activation("document", &file.path);
        let source = NodeSource::whole_file(file, activation);
        Some(self.add_node(NewNode::new("document", content), &source))
    }

    fn add_links(&mut self, links: &[CodeLink]) {
        for link in links {
            if let (Some(from), Some(to)) = (self.ids.get(&link.from), self.ids.get(&link.to)) {
                let edge = (link.kind.as_str(), link.kind.weight());
                self.graph.add_weighted_edge(&from.clone(), &to.clone(), edge);
            }
        }
    }

    /// Links a text to the files and symbols that it names.
    fn add_mentions(&mut self) {
        let items_by_name = self.items_by_name();
        let mut edges = Vec::new();
        for NoteNode { file, note, id } in &self.notes {
            let words =
                self.files[*file].notes[*note].mentions.iter().filter(|word| word.len() > 3);
            let targets = words.filter_map(|word| {
                match items_by_name.get(&word.replace("::", ".")).map(Vec::as_slice) {
                    Some([only]) => self.ids.get(only).cloned(),
                    _ => None,
                }
            });
            edges.extend(targets.take(MAX_MENTIONS).map(|to| (id.clone(), to)));
        }
        for (from, to) in &edges {
            self.graph.add_weighted_edge(from, to, ("mentions", 0.4));
        }
    }

    /// The files and symbols with a node, by path, name and full name.
    fn items_by_name(&self) -> HashMap<String, Vec<CodeItem>> {
        let mut by_name: HashMap<String, Vec<CodeItem>> = HashMap::new();
        let mut items: Vec<CodeItem> = self.ids.keys().copied().collect();
        items.sort();
        for item in items {
            match item {
                CodeItem::File(file) => {
                    by_name.entry(self.files[file].path.clone()).or_default().push(item);
                }
                CodeItem::Symbol(file, symbol) => {
                    let code = self.files[file].code.as_ref();
                    let Some(symbol) = code.and_then(|code| code.symbols.get(symbol)) else {
                        continue;
                    };
                    by_name.entry(symbol.name.clone()).or_default().push(item);
                    if symbol.owner.is_some() {
                        by_name.entry(symbol.full_name()).or_default().push(item);
                    }
                }
            }
        }
        by_name
    }

    /// Links a decision to the one that it supersedes.
    fn add_superseded(&mut self) {
        let decisions: Vec<DecisionNode<'_>> = self
            .notes
            .iter()
            .map(|NoteNode { file, note, id }| {
                let extract = &self.files[*file];
                DecisionNode { path: &extract.path, note: &extract.notes[*note], id }
            })
            .filter(|decision| decision.note.category == "record")
            .collect();
        let find = |name: &str| {
            let decision = decisions.iter().find(|decision| decision.is_called(name));
            decision.map(|decision| decision.id.to_owned())
        };
        let mut edges = Vec::new();
        for DecisionNode { note, id, .. } in &decisions {
            if let Some(old) = note.supersedes.as_deref().and_then(find) {
                edges.push(((*id).to_owned(), old));
            }
            if let Some(new) = note.superseded_by.as_deref().and_then(find) {
                edges.push((new, (*id).to_owned()));
            }
        }
        for (new, old) in edges.iter().filter(|(new, old)| new != old) {
            self.graph.add_edge(new, old, "supersedes");
        }
    }
}

/// The node of a decision record.
struct DecisionNode<'f> {
    path: &'f str,
    note: &'f ExtractedNote,
    id: &'f str,
}

impl DecisionNode<'_> {
    /// Whether `name` is the file name of the record, or its number.
    fn is_called(&self, name: &str) -> bool {
        let file = self.path.rsplit('/').next().unwrap_or(self.path).to_lowercase();
        if file == name {
            return true;
        }
        let number = name.trim_start_matches('0');
        let own_number =
            file.trim_start_matches("adr-").trim_start_matches("rfc-").trim_start_matches('0');
        !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && own_number
                .strip_prefix(number)
                .is_some_and(|suffix| !suffix.starts_with(|c: char| c.is_ascii_digit()))
    }
}

/// The files below a top-level directory.
#[derive(Default)]
struct FolderSummary<'f> {
    files: usize,
    /// The number of files in each language.
    languages: BTreeMap<&'f str, usize>,
}

impl<'f> FolderSummary<'f> {
    fn add(&mut self, file: &'f FileExtract) {
        self.files += 1;
        if let Some(code) = &file.code {
            *self.languages.entry(code.language).or_default() += 1;
        }
    }

    fn describe(&self) -> String {
        let main_language = self
            .languages
            .iter()
            .max_by_key(|(name, count)| (**count, std::cmp::Reverse(**name)))
            .map(|(name, count)| format!(", {count} of them {name}"));
        let files = plural(self.files, "file", "files");
        format!("{} {files}{}", self.files, main_language.unwrap_or_default())
    }
}
