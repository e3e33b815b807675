//! Builds one graph from the extracts of all files.
//!
//! Every note becomes a node with its file, lines, date and activation. Code becomes nodes only
//! where that is useful ([`select_code`]), within a byte budget, and links between
//! nodes become edges.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::secrets::has_secret;
use jiff::Timestamp;
use sp_formats::json::quoted;
use sp_formats::package::{GraphBuilder, NewNode};

use crate::extract::file_extract::{ExtractedNote, FileExtract};
use crate::extract::history::CommitHistory;
use crate::extract::line_range::LineRange;
use crate::extract::parsed_code::{ParsedCode, Symbol};
use crate::extract::resolve::{CodeItem, CodeLink, resolve_links};
use crate::extract::text::{collapse_whitespace, truncate_text};

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

/// Approximate size of a node without its content.
const NODE_OVERHEAD_BYTES: usize = 420;
/// Approximate size of an edge.
const EDGE_BYTES: usize = 130;
const MAX_LISTED_SYMBOLS: usize = 24;
const MAX_MENTIONS: usize = 8;
const MAX_REVERTS: usize = 40;

/// Minimum activation and half-life in days, by node kind.
const KIND_DEFAULTS: &[(&str, f64, u32)] = &[
    ("fact", 0.70, 180),
    ("convention", 0.75, 365),
    ("policy", 0.70, 365),
    ("decision", 0.65, 730),
    ("gotcha", 0.75, 180),
    ("document", 0.40, 180),
    ("code_file", 0.45, 90),
    ("code_test", 0.25, 90),
    ("code_function", 0.45, 90),
    ("code_method", 0.40, 90),
];
const FALLBACK_DEFAULTS: (f64, u32) = (0.50, 90);
/// Activation added for the most active file.
const ACTIVITY_BONUS: f64 = 0.25;
/// Activation subtracted from symbols that are not visible.
const HIDDEN_PENALTY: f64 = 0.10;

/// Assembles the extracts of a project into a graph.
pub fn assemble(
    mut found: Vec<FileExtract>,
    history: &CommitHistory,
    options: AssembleOptions,
) -> ExtractedGraph {
    found.retain(|file| !has_secret(&file.path));
    found.sort_by(|a, b| a.path.cmp(&b.path));
    let links = resolve_links(&found);
    let selected = select_code(&found, &links, history, options);
    let mut assembly = GraphAssembler {
        found: &found,
        history,
        options,
        graph: GraphBuilder::default(),
        ids: HashMap::new(),
        notes: Vec::new(),
    };
    assembly.add_layout();
    assembly.add_notes();
    assembly.add_reverts();
    assembly.add_code(&selected.items);
    if options.level >= 2 {
        assembly.add_documents();
        assembly.add_links(&links);
        assembly.add_mentions();
        assembly.add_superseded();
    }
    ExtractedGraph { graph: assembly.graph, omitted_symbols: selected.omitted }
}

struct GraphAssembler<'f> {
    found: &'f [FileExtract],
    history: &'f CommitHistory,
    options: AssembleOptions,
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

impl<'f> GraphAssembler<'f> {
    fn add_node(&mut self, node: NewNode, origin: &NodeSource<'_>) -> String {
        let (_, half_life) = kind_defaults(&node.kind);
        let number = |number: usize| number.to_string();
        let dated = self.options.level >= 2;
        let date = origin
            .date
            .clone()
            .or_else(|| self.history.last_changed_or_newest(origin.path).map(format_timestamp));
        let mut node = node
            .with_member("activation", Some(format!("{:?}", round_activation(origin.activation))))
            .with_member("file_path", Some(quoted(origin.path)))
            .with_member("line_start", origin.lines.map(|lines| number(lines.first)))
            .with_member("line_end", origin.lines.map(|lines| number(lines.last)))
            .with_member(
                "lines_hash",
                Some(origin.hash).filter(|hash| !hash.is_empty()).map(quoted),
            )
            .with_member("created_at", date.as_deref().filter(|_| dated).map(quoted));
        if self.options.level >= 3 && date.is_some() {
            node = node.with_member("decay_half_life_days", Some(half_life.to_string()));
        }
        self.graph.add_node(node)
    }

    fn activation(&self, kind: &str, path: &str) -> f64 {
        kind_defaults(kind).0 + ACTIVITY_BONUS * self.history.activity(path) - example_penalty(path)
    }

    /// Adds a node that describes the top-level directories.
    fn add_layout(&mut self) {
        let mut folders: BTreeMap<&str, (usize, BTreeMap<&str, usize>)> = BTreeMap::new();
        for file in self.found {
            let Some((top, _)) = file.path.split_once('/') else { continue };
            let (files, languages) = folders.entry(top).or_default();
            *files += 1;
            if let Some(code) = &file.code {
                *languages.entry(code.language).or_default() += 1;
            }
        }
        let list: Vec<String> = folders
            .iter()
            .map(|(folder, (files, languages))| {
                let main = languages
                    .iter()
                    .max_by_key(|(name, count)| (**count, std::cmp::Reverse(**name)))
                    .map(|(name, count)| format!(", {count} of them {name}"));
                let files =
                    if *files == 1 { "1 file".to_owned() } else { format!("{files} files") };
                format!("- `{folder}/`: {files}{}", main.unwrap_or_default())
            })
            .collect();
        if list.len() > 1 {
            let node =
                NewNode::new("fact", format!("Layout, by what can be read:\n{}", list.join("\n")))
                    .with_member("category", Some(quoted("layout")));
            let activation = kind_defaults("fact").0;
            self.add_node(
                node,
                &NodeSource { path: ".", lines: None, hash: "", activation, date: None },
            );
        }
    }

    fn add_notes(&mut self) {
        let found = self.found;
        for (at, file) in found.iter().enumerate() {
            for (place, note) in file.notes.iter().enumerate() {
                let is_test = file.code.as_ref().is_some_and(|code| code.is_test);
                let activation = self.activation(note.kind, &file.path)
                    - if is_test { 2.0 * HIDDEN_PENALTY } else { 0.0 };
                let origin = NodeSource {
                    path: &file.path,
                    lines: Some(note.lines),
                    hash: &note.lines_hash,
                    activation,
                    date: note.date.as_ref().map(|date| format!("{date}T00:00:00Z")),
                };
                let id = self.add_node(note_node(note), &origin);
                self.notes.push(NoteNode { file: at, note: place, id });
            }
        }
    }

    /// Adds a node for each reverted change.
    fn add_reverts(&mut self) {
        let history = self.history;
        for commit in history.reverts.iter().take(MAX_REVERTS) {
            let Some(file) = commit.files.iter().find_map(|path| {
                let at = self.found.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
                self.found.get(at)
            }) else {
                continue;
            };
            let body = truncate_text(&collapse_whitespace(&commit.body), 600);
            let content = format!(
                "Taken back: {}{}{body}",
                commit.subject,
                if body.is_empty() { "" } else { ". " }
            );
            if has_secret(&content) {
                continue;
            }
            let node = NewNode::new("gotcha", content)
                .with_member("category", Some(quoted("reverted")))
                .with_member("confidence", Some("0.7".into()));
            let lines = LineRange { first: 1, last: file.line_count.max(1) };
            let activation = self.activation("gotcha", &file.path);
            self.add_node(
                node,
                &NodeSource {
                    path: &file.path,
                    lines: Some(lines),
                    hash: "",
                    activation,
                    date: Some(format_timestamp(commit.at)),
                },
            );
        }
    }

    fn add_code(&mut self, selected: &HashSet<CodeItem>) {
        let found = self.found;
        for (at, file) in found.iter().enumerate() {
            let Some(code) = &file.code else { continue };
            if !selected.contains(&CodeItem::File(at)) {
                continue;
            }
            let lines = LineRange { first: 1, last: file.line_count.max(1) };
            let activation = self.activation("code_file", &file.path)
                - if code.is_test { HIDDEN_PENALTY } else { 0.0 };
            let node = NewNode::new("code_file", file_content(file, code))
                .with_member("category", Some(quoted(code.language)));
            let id = self.add_node(
                node,
                &NodeSource {
                    path: &file.path,
                    lines: Some(lines),
                    hash: &file.lines_hash,
                    activation,
                    date: None,
                },
            );
            self.ids.insert(CodeItem::File(at), id);
            for (index, symbol) in code
                .symbols
                .iter()
                .enumerate()
                .filter(|(index, _)| selected.contains(&CodeItem::Symbol(at, *index)))
            {
                let kind = node_kind(symbol);
                let activation = symbol_activation(self.history, &file.path, symbol);
                let node = NewNode::new(kind, symbol_content(symbol))
                    .with_member("key", Some(quoted(&symbol.full_name())))
                    .with_member("category", Some(quoted(code.language)));
                let id = self.add_node(
                    node,
                    &NodeSource {
                        path: &file.path,
                        lines: Some(symbol.lines),
                        hash: &symbol.lines_hash,
                        activation,
                        date: None,
                    },
                );
                self.ids.insert(CodeItem::Symbol(at, index), id);
            }
        }
    }

    /// Links documents to their sections, and files and symbols to their warnings.
    fn add_documents(&mut self) {
        let mut by_file: BTreeMap<usize, Vec<(usize, String)>> = BTreeMap::new();
        for NoteNode { file, note, id } in std::mem::take(&mut self.notes) {
            by_file.entry(file).or_default().push((note, id));
        }
        for (at, notes) in by_file {
            let file = &self.found[at];
            let parent = match (self.ids.get(&CodeItem::File(at)).cloned(), notes.len()) {
                (Some(id), _) => Some(id),
                // A manifest with a single note needs no node of its own.
                (None, 0 | 1) if !is_prose(&file.path) => None,
                (None, _) => {
                    let activation = self.activation("document", &file.path);
                    let lines = LineRange { first: 1, last: file.line_count.max(1) };
                    let node = NewNode::new(
                        "document",
                        format!("`{}`: {}", file.path, section_titles(&file.notes)),
                    );
                    Some(self.add_node(
                        node,
                        &NodeSource {
                            path: &file.path,
                            lines: Some(lines),
                            hash: &file.lines_hash,
                            activation,
                            date: None,
                        },
                    ))
                }
            };
            for (place, id) in notes {
                let inside = file.notes[place]
                    .enclosing_symbol
                    .and_then(|symbol| self.ids.get(&CodeItem::Symbol(at, symbol)).cloned());
                if let Some(parent) = inside.or_else(|| parent.clone()) {
                    self.graph.add_weighted_edge(&parent, &id, ("contains", 0.8));
                }
                self.notes.push(NoteNode { file: at, note: place, id });
            }
        }
    }

    fn add_links(&mut self, links: &[CodeLink]) {
        for link in links {
            if let (Some(from), Some(to)) = (self.ids.get(&link.from), self.ids.get(&link.to)) {
                let weight = match link.kind {
                    "contains" => 0.8,
                    "tested_by" => 0.7,
                    "calls" => 0.6,
                    _ => 0.5,
                };
                self.graph.add_weighted_edge(&from.clone(), &to.clone(), (link.kind, weight));
            }
        }
    }

    /// Links a text to the files and symbols that it names.
    fn add_mentions(&mut self) {
        let mut named: HashMap<String, Vec<&CodeItem>> = HashMap::new();
        let mut places: Vec<&CodeItem> = self.ids.keys().collect();
        places.sort();
        for place in places {
            match *place {
                CodeItem::File(at) => {
                    named.entry(self.found[at].path.clone()).or_default().push(place);
                }
                CodeItem::Symbol(at, symbol) => {
                    let Some(symbol) =
                        self.found[at].code.as_ref().and_then(|code| code.symbols.get(symbol))
                    else {
                        continue;
                    };
                    named.entry(symbol.name.clone()).or_default().push(place);
                    if symbol.owner.is_some() {
                        named.entry(symbol.full_name()).or_default().push(place);
                    }
                }
            }
        }
        let mut edges = Vec::new();
        for NoteNode { file, note, id } in &self.notes {
            let words =
                self.found[*file].notes[*note].mentions.iter().filter(|word| word.len() > 3);
            let targets = words.filter_map(|word| {
                match named.get(&word.replace("::", ".")).map(Vec::as_slice) {
                    Some([only]) => self.ids.get(only).cloned(),
                    _ => None,
                }
            });
            edges.extend(targets.take(MAX_MENTIONS).map(|to| (id.clone(), to)));
        }
        edges
            .iter()
            .for_each(|(from, to)| self.graph.add_weighted_edge(from, to, ("mentions", 0.4)));
    }

    /// Links a decision to the one that it supersedes.
    fn add_superseded(&mut self) {
        struct Decision<'f> {
            path: &'f str,
            note: &'f ExtractedNote,
            id: &'f str,
        }
        let decisions: Vec<Decision<'_>> = self
            .notes
            .iter()
            .map(|NoteNode { file, note, id }| {
                let extract = &self.found[*file];
                Decision { path: &extract.path, note: &extract.notes[*note], id }
            })
            .filter(|decision| decision.note.category == "record")
            .collect();
        let called = |name: &str| {
            let number = name.trim_start_matches('0');
            let fits = |path: &str| {
                let file = path.rsplit('/').next().unwrap_or(path).to_lowercase();
                let own = file
                    .trim_start_matches("adr-")
                    .trim_start_matches("rfc-")
                    .trim_start_matches('0');
                file == name
                    || (!number.is_empty()
                        && number.bytes().all(|byte| byte.is_ascii_digit())
                        && own
                            .strip_prefix(number)
                            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit())))
            };
            decisions.iter().find(|other| fits(other.path)).map(|other| other.id.to_owned())
        };
        let mut edges = Vec::new();
        for Decision { note, id, .. } in &decisions {
            if let Some(old) = note.supersedes.as_deref().and_then(called) {
                edges.push(((*id).to_owned(), old));
            }
            if let Some(new) = note.superseded_by.as_deref().and_then(called) {
                edges.push((new, (*id).to_owned()));
            }
        }
        for (new, old) in edges.iter().filter(|(new, old)| new != old) {
            self.graph.add_edge(new, old, "supersedes");
        }
    }
}

/// The code that gets nodes.
struct SelectedCode {
    items: HashSet<CodeItem>,
    /// Number of items that did not fit into the size limit.
    omitted: usize,
}

/// An item with its sort key and its approximate size.
struct RankedItem {
    item: CodeItem,
    activation: f64,
    bytes: usize,
}

/// Selects the code that gets nodes: what is visible, documented, or called from elsewhere.
fn select_code(
    found: &[FileExtract],
    links: &[CodeLink],
    history: &CommitHistory,
    options: AssembleOptions,
) -> SelectedCode {
    let mut candidates: HashSet<CodeItem> = HashSet::new();
    for (at, file) in found.iter().enumerate() {
        let Some(code) = &file.code else { continue };
        candidates.insert(CodeItem::File(at));
        let is_documented_or_visible = |symbol: &Symbol| {
            symbol.is_visible || (!symbol.doc.is_empty() && symbol.kind != "constant")
        };
        let is_candidate =
            |symbol: &Symbol| !symbol.is_test && !code.is_test && is_documented_or_visible(symbol);
        candidates.extend(
            code.symbols
                .iter()
                .enumerate()
                .filter(|(_, symbol)| is_candidate(symbol))
                .map(|(index, _)| CodeItem::Symbol(at, index)),
        );
    }
    let is_test = |item: CodeItem| match item {
        CodeItem::Symbol(at, symbol) => {
            found[at].code.as_ref().is_some_and(|code| code.is_test || code.symbols[symbol].is_test)
        }
        CodeItem::File(_) => false,
    };
    for link in links {
        if let (CodeItem::Symbol(to_file, _), "calls") = (link.to, link.kind) {
            let from_file = match link.from {
                CodeItem::File(at) | CodeItem::Symbol(at, _) => at,
            };
            if from_file != to_file && !is_test(link.to) {
                candidates.insert(link.to);
            }
        }
    }
    // A test gets a node if it tests something that has one.
    let tests: Vec<CodeItem> = links
        .iter()
        .filter(|link| link.kind == "tested_by" && candidates.contains(&link.from))
        .map(|link| link.to)
        .collect();
    candidates.extend(tests);
    fit_budget(found, candidates, history, options)
}

/// Keeps the most active items that fit into the size limit.
fn fit_budget(
    found: &[FileExtract],
    candidates: HashSet<CodeItem>,
    history: &CommitHistory,
    options: AssembleOptions,
) -> SelectedCode {
    let notes: usize = found
        .iter()
        .flat_map(|file| &file.notes)
        .map(|note| note.content.len() + NODE_OVERHEAD_BYTES + EDGE_BYTES)
        .sum();
    let mut ranked: Vec<RankedItem> = candidates
        .into_iter()
        .filter_map(|item| {
            let (activation, bytes) = match item {
                // A symbol without its file would have no parent.
                CodeItem::File(at) => {
                    (f64::MAX, file_content(&found[at], found[at].code.as_ref()?).len())
                }
                CodeItem::Symbol(at, symbol) => {
                    let symbol = &found[at].code.as_ref()?.symbols[symbol];
                    (
                        symbol_activation(history, &found[at].path, symbol),
                        symbol_content(symbol).len(),
                    )
                }
            };
            // A symbol has about three edges.
            let bytes = bytes + NODE_OVERHEAD_BYTES + 3 * EDGE_BYTES;
            Some(RankedItem { item, activation, bytes })
        })
        .collect();
    ranked.sort_by(|a, b| b.activation.total_cmp(&a.activation).then(a.item.cmp(&b.item)));
    let mut room = options.max_bytes.saturating_sub(notes);
    let total = ranked.len();
    let fitting = ranked.into_iter().take_while(|ranked| {
        let fits = ranked.bytes <= room;
        room = room.saturating_sub(ranked.bytes);
        fits
    });
    let items: HashSet<CodeItem> = fitting.map(|ranked| ranked.item).collect();
    let omitted = total - items.len();
    SelectedCode { items, omitted }
}

fn kind_defaults(kind: &str) -> (f64, u32) {
    KIND_DEFAULTS
        .iter()
        .find(|(name, ..)| *name == kind)
        .map_or(FALLBACK_DEFAULTS, |(_, base, days)| (*base, *days))
}

/// Examples rank below the code they illustrate.
fn example_penalty(path: &str) -> f64 {
    let is_example = path
        .split('/')
        .any(|part| matches!(part, "examples" | "example" | "samples" | "demo" | "demos"));
    if is_example { 2.0 * HIDDEN_PENALTY } else { 0.0 }
}

fn round_activation(number: f64) -> f64 {
    (number.clamp(0.0, 1.0) * 100.0).round() / 100.0
}

fn format_timestamp(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn node_kind(symbol: &Symbol) -> String {
    if symbol.is_test { "code_test".into() } else { format!("code_{}", symbol.kind) }
}

fn symbol_activation(history: &CommitHistory, path: &str, symbol: &Symbol) -> f64 {
    let hidden = if symbol.is_visible || symbol.is_test { 0.0 } else { HIDDEN_PENALTY };
    let silent = if symbol.doc.is_empty() { HIDDEN_PENALTY / 2.0 } else { 0.0 };
    kind_defaults(&node_kind(symbol)).0 + ACTIVITY_BONUS * history.activity(path)
        - hidden
        - silent
        - example_penalty(path)
}

fn note_node(note: &ExtractedNote) -> NewNode {
    let confidence = (note.confidence < 1.0).then(|| format!("{:?}", note.confidence));
    NewNode::new(note.kind, note.content.clone())
        .with_member("category", Some(quoted(note.category)))
        .with_member("key", note.key.as_deref().map(quoted))
        .with_member("confidence", confidence)
}

fn file_content(file: &FileExtract, code: &ParsedCode) -> String {
    let lines = if file.line_count == 1 { "line" } else { "lines" };
    let mut content = format!("`{}` ({}, {} {lines})", file.path, code.language, file.line_count);
    if !code.doc.is_empty() {
        content += &format!(": {}", code.doc);
    }
    let own = |symbol: &&Symbol| symbol.owner.is_none() && !symbol.is_test && symbol.is_visible;
    content += &list_names("Defines", code.symbols.iter().filter(own));
    content += &list_names("Tests", code.symbols.iter().filter(|symbol| symbol.is_test));
    content
}

/// Formats the distinct names of symbols after a label; empty if there are none.
fn list_names<'s>(word: &str, symbols: impl Iterator<Item = &'s Symbol>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for symbol in symbols {
        if !names.contains(&symbol.name.as_str()) && names.len() <= MAX_LISTED_SYMBOLS {
            names.push(&symbol.name);
        }
    }
    let more = if names.len() > MAX_LISTED_SYMBOLS { ", …" } else { "." };
    names.truncate(MAX_LISTED_SYMBOLS);
    if names.is_empty() { String::new() } else { format!("\n{word} {}{more}", names.join(", ")) }
}

fn symbol_content(symbol: &Symbol) -> String {
    let name = symbol.full_name();
    let mut content = match (&symbol.owner, symbol.is_test) {
        (_, true) => format!("test `{}`", symbol.name),
        (Some(_), _) => format!("`{name}`: `{}`", symbol.signature),
        (None, _) => format!("`{}`", symbol.signature),
    };
    if !symbol.doc.is_empty() {
        content += &format!("\n{}", symbol.doc);
    }
    if !symbol.members.is_empty() {
        let word = match symbol.kind {
            "enum" => "Variants",
            "interface" | "trait" => "Members",
            _ => "Fields",
        };
        content += &format!("\n{word}: {}.", symbol.members.join(", "));
    }
    content
}

fn is_prose(path: &str) -> bool {
    [".md", ".mdx", ".mdc", ".rst"].iter().any(|ending| path.ends_with(ending))
}

/// The section titles of a document, as its summary.
fn section_titles(notes: &[ExtractedNote]) -> String {
    let mut titles: Vec<&str> = Vec::new();
    for note in notes {
        let first =
            note.content.lines().next().unwrap_or_default().trim_end_matches(" (continued)");
        let is_title = note.content.contains("\n\n") && first.len() < 100;
        if is_title && !titles.contains(&first) {
            titles.push(first);
        }
    }
    truncate_text(&titles.join("; "), 500)
}
