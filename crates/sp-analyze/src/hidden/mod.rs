//! Characters in a text that nobody sees and an agent reads all the same: where they are, of which
//! sort, and what they say. And [`lookalikes`]: words that are not what they look like.
//!
//! Pure and linear; a text without such characters costs one pass over its bytes and no memory.
//! What a script or an emoji needs to be written, such as a joiner between two emoji, is not hidden.

mod decode;
mod lookalikes;
mod mark;
mod normal;
mod position;
mod report;
mod sorts;

use std::ops::Range;

pub use lookalikes::{Lookalike, Pretence, lookalikes};
pub use mark::mark;
pub use report::{check_json, check_name, check_part, check_text, check_value};
pub use sorts::HiddenSort;

use normal::is_normal;
use position::Position;
use sorts::{may_begin, sort_of};

/// More places than this in one text say nothing new, and cost memory.
pub const MOST_HIDDEN: usize = 1_000;

/// A run of hidden characters of one sort, with none that can be seen between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden {
    /// The bytes.
    pub range: Range<usize>,
    /// The line on which it begins, from 1.
    pub line: u32,
    /// The column at which it begins, from 1, in characters.
    pub column: u32,
    /// Of which sort they are.
    pub sort: HiddenSort,
    /// What they say, if they say anything; as it stands, so it is to be escaped where it is shown.
    pub decoded: Option<String>,
}

/// The hidden characters of a text, as many as are worth telling.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Search {
    /// The first of them, in order; at most [`MOST_HIDDEN`].
    pub found: Vec<Hidden>,
    /// Whether there are more.
    pub more: bool,
}

/// The hidden characters of a text, in order; at most [`MOST_HIDDEN`] runs of them.
pub fn find(text: &str) -> Vec<Hidden> {
    search(text).found
}

/// As [`find`], and whether there are more.
pub fn search(text: &str) -> Search {
    let mut all = runs(text);
    let mut position = Position::default();
    let found = all.by_ref().take(MOST_HIDDEN).map(|run| run.told(text, &mut position)).collect();
    Search { found, more: all.next().is_some() }
}

/// Where hidden characters of one sort stand.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Run {
    range: Range<usize>,
    sort: HiddenSort,
}

impl Run {
    fn told(self, text: &str, position: &mut Position) -> Hidden {
        position.advance(text, self.range.start);
        let decoded = decode::decode(&text[self.range.clone()], self.sort);
        Hidden { range: self.range, line: position.line(), column: position.column(), sort: self.sort, decoded }
    }
}

/// Every run of hidden characters.
fn runs(text: &str) -> Runs<'_> {
    Runs { text, at: 0, hidden_to: None }
}

struct Runs<'a> {
    text: &'a str,
    at: usize,
    /// Where the last run ended: what stands behind it has nothing in front that could justify it.
    hidden_to: Option<usize>,
}

impl Iterator for Runs<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        loop {
            self.at += self.text.as_bytes()[self.at..].iter().position(|byte| may_begin(*byte))?;
            let rest = &self.text[self.at..];
            let first = rest.chars().next()?;
            let Some(sort) = sort_of(first) else {
                self.at += first.len_utf8();
                continue;
            };
            let length = rest.find(|c| sort_of(c) != Some(sort)).unwrap_or(rest.len());
            let range = self.at..self.at + length;
            self.at = range.end;
            let before = match self.hidden_to == Some(range.start) {
                true => "",
                false => &self.text[..range.start],
            };
            if is_normal(sort, &rest[..length], before, &rest[length..], range.start) {
                continue;
            }
            self.hidden_to = Some(range.end);
            return Some(Run { range, sort });
        }
    }
}

#[cfg(test)]
mod tests;
