//! What was found in a file, before it is a graph.

use std::collections::{HashMap, HashSet};

use sp_tree::Digest;

use crate::extract::line_range::LineRange;
use crate::extract::line_status::hash_line_range;
use crate::extract::parsed_code::ParsedCode;
use crate::extract::skip_reason::FileSkipReason;
use crate::extract::text::truncate_text;

/// Longer than this is nothing that is worth being said at once.
const MAX_CONTENT_LEN: usize = 12_000;

/// A piece of knowledge.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractedNote {
    /// What it is: `fact`, `decision`, `gotcha` and so on.
    pub kind: &'static str,
    /// What it is about: `stack`, `command`, `layout` and so on.
    pub category: &'static str,
    /// What it is called, where two of a kind must be told apart.
    pub key: Option<String>,
    /// What it says.
    pub content: String,
    /// Where it stands.
    pub lines: LineRange,
    /// How sure it is, from 0 to 1.
    pub confidence: f64,
    /// When it was said, if the text says so.
    pub date: Option<String>,
    /// The document whose decision this one takes the place of, by its name or its number.
    pub supersedes: Option<String>,
    /// The document whose decision took the place of this one.
    pub superseded_by: Option<String>,
    /// Names and paths that it speaks of.
    pub mentions: Vec<String>,
    /// The symbol of the file that it stands in.
    pub enclosing_symbol: Option<usize>,
    /// What the lines were, so that one can see later whether they still are.
    pub lines_hash: String,
}

impl ExtractedNote {
    pub(crate) fn new(
        kind: &'static str,
        category: &'static str,
        content: impl Into<String>,
        lines: LineRange,
    ) -> Self {
        Self {
            kind,
            category,
            key: None,
            content: content.into(),
            lines,
            confidence: 1.0,
            date: None,
            supersedes: None,
            superseded_by: None,
            mentions: Vec::new(),
            enclosing_symbol: None,
            lines_hash: String::new(),
        }
    }

    pub(crate) fn fact(
        category: &'static str,
        content: impl Into<String>,
        lines: LineRange,
    ) -> Self {
        Self::new("fact", category, content, lines)
    }

    pub(crate) fn with_confidence(mut self, confidence: f64) -> Self {
        self.confidence = confidence;
        self
    }

    pub(crate) fn with_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

/// What one file says.
#[derive(Debug, Clone, Default)]
pub struct FileExtract {
    /// The file.
    pub path: String,
    /// What is known from it.
    pub notes: Vec<ExtractedNote>,
    /// Why nothing was read, if nothing was.
    pub skip_reason: Option<FileSkipReason>,
    /// Lines at which something looked like a secret and was left out.
    pub secret_lines: Vec<usize>,
    /// How many lines it has.
    pub(crate) line_count: usize,
    /// What all its lines are.
    pub(crate) lines_hash: String,
    /// The notes that there are, so that none is there twice.
    pub(crate) note_digests: HashSet<Digest>,
    pub(crate) code: Option<ParsedCode>,
    /// By which name other projects and packages import what is below its folder.
    pub(crate) package: Option<DeclaredPackage>,
}

/// A package, module or crate that a manifest declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeclaredPackage {
    /// By which name it is imported.
    pub name: String,
}

impl FileExtract {
    pub(crate) fn new(path: &str) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    /// Adds a note, unless the file says the same further up.
    pub(crate) fn add_note(&mut self, mut note: ExtractedNote) {
        if note.content.len() > MAX_CONTENT_LEN {
            note.content = truncate_text(&note.content, MAX_CONTENT_LEN);
        }
        let said = Digest::of(format!("{}\0{}", note.kind, note.content).as_bytes());
        if !note.content.trim().is_empty() && self.note_digests.insert(said) {
            self.notes.push(note);
        }
    }

    /// Remembers what the lines of everything are.
    pub(crate) fn record_line_hashes(&mut self, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        self.lines_hash = hash_line_range(&lines, LineRange { first: 1, last: lines.len() });
        let mut known: HashMap<LineRange, String> = HashMap::new();
        let mut hash = |range: LineRange| {
            known.entry(range).or_insert_with(|| hash_line_range(&lines, range)).clone()
        };
        for note in &mut self.notes {
            note.lines_hash = hash(note.lines);
        }
        for symbol in self.code.iter_mut().flat_map(|code| &mut code.symbols) {
            symbol.lines_hash = hash(symbol.lines);
        }
    }
}
