//! What was extracted from one file, before it becomes part of a graph.

use std::collections::{HashMap, HashSet};

use sp_tree::Digest;

use crate::extract::line_range::LineRange;
use crate::extract::line_status::hash_line_range;
use crate::extract::parsed_code::ParsedCode;
use crate::extract::skip_reason::FileSkipReason;
use crate::extract::text::truncate_text;

/// Longer notes are truncated.
const MAX_CONTENT_LEN: usize = 12_000;

/// One piece of knowledge.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractedNote {
    /// Node kind: `fact`, `decision`, `gotcha` and so on.
    pub kind: &'static str,
    /// Topic: `stack`, `command`, `layout` and so on.
    pub category: &'static str,
    /// Distinguishes notes of the same kind, where needed.
    pub key: Option<String>,
    pub content: String,
    pub lines: LineRange,
    /// From 0 to 1.
    pub confidence: f64,
    /// The date that the text gives, if any.
    pub date: Option<String>,
    /// The decision record that this one supersedes, by file name or number.
    pub supersedes: Option<String>,
    /// The decision record that supersedes this one.
    pub superseded_by: Option<String>,
    /// Names and paths that the content mentions.
    pub mentions: Vec<String>,
    /// Index of the enclosing symbol in the file.
    pub enclosing_symbol: Option<usize>,
    /// Hash of the lines, to detect later whether they changed.
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

/// Everything extracted from one file.
#[derive(Debug, Clone, Default)]
pub struct FileExtract {
    pub path: String,
    pub notes: Vec<ExtractedNote>,
    /// Why the file was skipped, if it was.
    pub skip_reason: Option<FileSkipReason>,
    /// Lines where something looked like a secret and was removed.
    pub secret_lines: Vec<usize>,
    pub(crate) line_count: usize,
    /// Hash of all lines of the file.
    pub(crate) lines_hash: String,
    /// Digests of the notes, to reject duplicates.
    pub(crate) note_digests: HashSet<Digest>,
    pub(crate) code: Option<ParsedCode>,
    /// The package that is declared for the directory of the file.
    pub(crate) package: Option<DeclaredPackage>,
}

/// A package, module or crate that a manifest declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeclaredPackage {
    /// The name under which it is imported.
    pub name: String,
}

impl FileExtract {
    pub(crate) fn new(path: &str) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    /// Adds a note, unless it is empty or a duplicate.
    pub(crate) fn add_note(&mut self, mut note: ExtractedNote) {
        if note.content.len() > MAX_CONTENT_LEN {
            note.content = truncate_text(&note.content, MAX_CONTENT_LEN);
        }
        let digest = Digest::of(format!("{}\0{}", note.kind, note.content).as_bytes());
        if !note.content.trim().is_empty() && self.note_digests.insert(digest) {
            self.notes.push(note);
        }
    }

    /// Computes the line hashes of the file, its notes and its symbols.
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
