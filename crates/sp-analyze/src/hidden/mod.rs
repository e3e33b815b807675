//! Finds characters that people do not see but agents read, and decodes them.
//!
//! [`search`] returns runs of [`HiddenText`] with position and [`HiddenKind`]. [`mark()`] makes
//! them visible, the `check_*` functions report them as findings (SE-09), and [`find_lookalikes`]
//! finds words that are not what they look like.
//!
//! Every function is linear in the length of the text. A text without hidden characters costs one
//! pass over its bytes and no allocation. Characters that a script or an emoji requires, such as a
//! joiner between two emoji, are not hidden.

mod decode;
mod kind;
mod legitimate;
mod lookalikes;
mod mark;
mod position_counter;
mod report;

use std::ops::Range;

pub use kind::HiddenKind;
pub(crate) use lookalikes::to_latin;
pub use lookalikes::{Lookalike, LookalikeContext, find_lookalikes};
pub use mark::mark;
pub use report::{check_json, check_name, check_part, check_text, check_value};

use kind::{kind_of, may_start_hidden};
use legitimate::is_legitimate;
pub(crate) use position_counter::PositionCounter;

/// Maximum number of runs reported per text, to bound memory.
pub const MAX_HIDDEN_RUNS: usize = 1_000;

/// A run of adjacent hidden characters of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenText {
    /// Byte range.
    pub range: Range<usize>,
    /// One-based line of the start.
    pub line: u32,
    /// One-based column of the start, in characters.
    pub column: u32,
    pub kind: HiddenKind,
    /// The decoded message, if there is one. It is unescaped: escape it before printing.
    pub decoded: Option<String>,
}

/// The hidden characters of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HiddenSearch {
    /// In order; at most [`MAX_HIDDEN_RUNS`].
    pub found: Vec<HiddenText>,
    pub truncated: bool,
}

/// Finds hidden characters, in order; at most [`MAX_HIDDEN_RUNS`] runs.
pub fn find(text: &str) -> Vec<HiddenText> {
    search(text).found
}

/// Like [`find`], and reports whether there are more.
pub fn search(text: &str) -> HiddenSearch {
    let mut all = hidden_runs(text);
    let mut position = PositionCounter::default();
    let found = all
        .by_ref()
        .take(MAX_HIDDEN_RUNS)
        .map(|run| run.into_hidden_text(text, &mut position))
        .collect();
    HiddenSearch { found, truncated: all.next().is_some() }
}

/// Byte range and kind of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HiddenRun {
    range: Range<usize>,
    kind: HiddenKind,
}

impl HiddenRun {
    fn into_hidden_text(self, text: &str, position: &mut PositionCounter) -> HiddenText {
        position.advance(text, self.range.start);
        let decoded = decode::decode(&text[self.range.clone()], self.kind);
        HiddenText {
            range: self.range,
            line: position.line(),
            column: position.column(),
            kind: self.kind,
            decoded,
        }
    }
}

/// Iterates over all runs of hidden characters.
fn hidden_runs(text: &str) -> HiddenRuns<'_> {
    HiddenRuns { text, at: 0, last_run_end: None }
}

struct HiddenRuns<'a> {
    text: &'a str,
    at: usize,
    /// End of the last run. A run directly after it has no visible text in front that could justify
    /// it.
    last_run_end: Option<usize>,
}

impl Iterator for HiddenRuns<'_> {
    type Item = HiddenRun;

    fn next(&mut self) -> Option<HiddenRun> {
        loop {
            self.at +=
                self.text.as_bytes()[self.at..].iter().position(|byte| may_start_hidden(*byte))?;
            let rest = &self.text[self.at..];
            let first = rest.chars().next()?;
            let Some(kind) = kind_of(first) else {
                self.at += first.len_utf8();
                continue;
            };
            let length = rest.find(|c| kind_of(c) != Some(kind)).unwrap_or(rest.len());
            let range = self.at..self.at + length;
            self.at = range.end;
            let before =
                if self.last_run_end == Some(range.start) { "" } else { &self.text[..range.start] };
            if is_legitimate(kind, &rest[..length], before, &rest[length..], range.start) {
                continue;
            }
            self.last_run_end = Some(range.end);
            return Some(HiddenRun { range, kind });
        }
    }
}

#[cfg(test)]
mod tests;
