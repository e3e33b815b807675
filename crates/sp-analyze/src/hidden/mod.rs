//! Characters in a text that nobody sees and an agent reads all the same: where they are, of which
//! sort, and what they say. And [`lookalikes`]: words that are not what they look like.
//!
//! Pure and linear; a text without such characters costs one pass over its bytes and no memory.
//! What a script or an emoji needs to be written, such as a joiner between two emoji, is not hidden.

mod decode;
mod kind;
mod legitimate;
mod lookalikes;
mod mark;
mod position_counter;
mod report;

use std::ops::Range;

pub use kind::HiddenKind;
pub use lookalikes::{Lookalike, LookalikeContext, find_lookalikes};
pub use mark::mark;
pub use report::{check_json, check_name, check_part, check_text, check_value};

use kind::{kind_of, may_start_hidden};
use legitimate::is_legitimate;
use position_counter::PositionCounter;

/// More places than this in one text say nothing new, and cost memory.
pub const MAX_HIDDEN_RUNS: usize = 1_000;

/// A run of hidden characters of one sort, with none that can be seen between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenText {
    /// The bytes.
    pub range: Range<usize>,
    /// The line on which it begins, from 1.
    pub line: u32,
    /// The column at which it begins, from 1, in characters.
    pub column: u32,
    /// Of which sort they are.
    pub kind: HiddenKind,
    /// What they say, if they say anything; as it stands, so it is to be escaped where it is shown.
    pub decoded: Option<String>,
}

/// The hidden characters of a text, as many as are worth telling.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HiddenSearch {
    /// The first of them, in order; at most [`MOST_HIDDEN`].
    pub found: Vec<HiddenText>,
    /// Whether there are more.
    pub truncated: bool,
}

/// The hidden characters of a text, in order; at most [`MOST_HIDDEN`] runs of them.
pub fn find(text: &str) -> Vec<HiddenText> {
    search(text).found
}

/// As [`find`], and whether there are more.
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

/// Where hidden characters of one sort stand.
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

/// Every run of hidden characters.
fn hidden_runs(text: &str) -> HiddenRuns<'_> {
    HiddenRuns { text, at: 0, last_run_end: None }
}

struct HiddenRuns<'a> {
    text: &'a str,
    at: usize,
    /// Where the last run ended: what stands behind it has nothing in front that could justify it.
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
            let Some(sort) = kind_of(first) else {
                self.at += first.len_utf8();
                continue;
            };
            let length = rest.find(|c| kind_of(c) != Some(sort)).unwrap_or(rest.len());
            let range = self.at..self.at + length;
            self.at = range.end;
            let before = match self.last_run_end == Some(range.start) {
                true => "",
                false => &self.text[..range.start],
            };
            if is_legitimate(sort, &rest[..length], before, &rest[length..], range.start) {
                continue;
            }
            self.last_run_end = Some(range.end);
            return Some(HiddenRun { range, kind: sort });
        }
    }
}

#[cfg(test)]
mod tests;
