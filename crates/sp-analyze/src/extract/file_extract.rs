//! What was found in a file, before it is a graph.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use sp_tree::Digest;

use crate::extract::code::ParsedCode;
use crate::extract::line_status::hash_line_range;
use crate::extract::skip_reason::FileSkipReason;

/// A text, and where it is from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourceText<'a> {
    pub path: &'a str,
    pub text: &'a str,
    /// Where its lines end.
    pub line_ends: &'a [usize],
}

/// Where the lines of a text end.
pub(crate) fn find_line_ends(text: &str) -> Vec<usize> {
    text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect()
}

impl SourceText<'_> {
    /// The first and the last line of a piece of the text, counted from one.
    pub(crate) fn line_range(&self, range: &Range<usize>) -> LineRange {
        let line = |at: usize| self.line_ends.partition_point(|end| *end < at) + 1;
        let piece = self.text[range.clone()].trim_end();
        LineRange { first: line(range.start), last: line(range.start + piece.len()) }
    }

    /// All its lines.
    pub(crate) fn all_lines(&self) -> LineRange {
        LineRange { first: 1, last: self.text.lines().count().max(1) }
    }

    /// The folder that it is in; empty for the project's own.
    pub(crate) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}

/// Longer than this is nothing that is worth being said at once.
const MAX_CONTENT_LEN: usize = 12_000;

/// From one line to another, both counted from one and both in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineRange {
    /// The first.
    pub first: usize,
    /// The last.
    pub last: usize,
}

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

/// The first so many characters of a text, cut after a sentence or a word. What may be a part of something longer is
/// not kept in part: half of a secret is one too.
pub(crate) fn truncate_text(text: &str, most: usize) -> String {
    let text = text.trim();
    let Some((end, _)) = text.char_indices().nth(most) else { return text.into() };
    let piece = &text[..end];
    let stop = piece.rfind(". ").map(|at| at + 1).filter(|at| *at > end / 2);
    let after = |is_end: fn(char) -> bool| piece.rfind(is_end).filter(|at| *at > end / 2);
    let word = || {
        after(char::is_whitespace)
            .or_else(|| after(|c| !c.is_alphanumeric() && !"-_.+/=".contains(c)))
    };
    format!("{} …", piece[..stop.or_else(word).unwrap_or(end)].trim_end())
}

/// The text on one line, with one blank between words.
pub(crate) fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
