//! From bytes to lines and columns, each file once, whatever the number of findings.

use std::cell::Cell;
use std::cmp::{Ordering, Reverse};
use std::ops::Range;

use super::{Finding, Report};

/// More of a line than this is not shown on either side of the place.
const CONTEXT_BYTES: usize = 160;

/// A line and a column, both from 1; a column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// Where in a file something stands, with the line that shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The bytes.
    pub span: Range<usize>,
    /// Where it begins.
    pub start: Position,
    /// Where it ends: the first character behind it.
    pub end: Position,
    /// The line on which it begins.
    pub excerpt: Excerpt,
}

/// The line on which a place begins, as much of it as is worth showing, in three parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// What stands before the place.
    pub before: String,
    /// What stands at the place.
    pub marked: String,
    /// What stands behind it.
    pub after: String,
}

/// A finding with its place, without the text of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The finding.
    pub finding: Finding,
    /// Its place; none if it is about the file as a whole.
    pub place: Option<Place>,
}

/// Where the lines of a text start.
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
    /// The last places that were worked out, a beginning and an end: the next one is often behind
    /// them on the same line, and a line may be as long as the file.
    last: [Cell<Known>; 2],
}

/// A byte, the line that it is on, from 0, and its column.
#[derive(Clone, Copy, Default)]
struct Known {
    at: usize,
    line: usize,
    column: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let behind = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(behind).collect(), last: Default::default() }
    }

    /// Which line a byte is on, from 0.
    fn line_of(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at) - 1
    }

    pub(super) fn position(&self, at: usize) -> Position {
        self.position_by(&self.last[0], at)
    }

    fn position_by(&self, last: &Cell<Known>, at: usize) -> Position {
        let at = floor(self.text, at);
        let line = self.line_of(at);
        let start = Known { at: self.starts[line], line, column: 1 };
        let known =
            Some(last.get()).filter(|last| last.column > 0 && last.line == line && last.at <= at).unwrap_or(start);
        let column = known.column + self.text[known.at..at].chars().count();
        last.set(Known { at, line, column });
        Position { line: line + 1, column }
    }

    fn excerpt(&self, span: &Range<usize>) -> Excerpt {
        let line = self.line_of(span.start);
        let line_end = self.starts.get(line + 1).map_or(self.text.len(), |next| next - 1);
        let line_end = line_end - usize::from(self.text[..line_end].ends_with('\r'));
        let start = span.start.min(line_end);
        let end = span.end.clamp(start, line_end);
        let first = floor(self.text, self.starts[line].max(start.saturating_sub(CONTEXT_BYTES)));
        let marked_end = floor(self.text, end.min(start + CONTEXT_BYTES));
        let last = floor(self.text, line_end.min(marked_end + CONTEXT_BYTES));
        let dots = |cut: bool| if cut { "…" } else { "" };
        Excerpt {
            before: format!("{}{}", dots(first > self.starts[line]), &self.text[first..start]),
            marked: self.text[start..marked_end].into(),
            after: format!("{}{}", &self.text[marked_end..last], dots(last < line_end)),
        }
    }

    pub(super) fn place(&self, span: &Range<usize>) -> Place {
        let start = floor(self.text, span.start);
        let span = start..floor(self.text, span.end).max(start);
        Place {
            start: self.position(span.start),
            end: self.position_by(&self.last[1], span.end),
            excerpt: self.excerpt(&span),
            span,
        }
    }
}

pub(super) fn placed(report: &Report) -> Vec<Placed> {
    if report.findings.is_empty() {
        return Vec::new();
    }
    let lines = Lines::new(&report.text);
    let place = |finding: &Finding| Placed {
        finding: finding.clone(),
        place: finding.span.as_ref().map(|span| lines.place(span)),
    };
    let mut findings: Vec<&Finding> = report.findings.iter().collect();
    findings.sort_by_key(|finding| finding.span.as_ref().map_or(0, |span| span.start));
    let mut placed: Vec<Placed> = findings.into_iter().map(place).collect();
    placed.sort_by(order);
    placed.extend(report.rest().map(|finding| Placed { finding, place: None }));
    placed
}

/// By place, the worst and then the widest first, and then by what is fixed whatever the order of the search.
pub(super) fn order(a: &Placed, b: &Placed) -> Ordering {
    let key = |Placed { finding, place }: &Placed| {
        let span = place.as_ref().map_or(0..0, |place| place.span.clone());
        (span.start, Reverse(finding.severity), Reverse(span.end), finding.check.id)
    };
    key(a).cmp(&key(b)).then_with(|| a.finding.message.cmp(&b.finding.message))
}

/// The nearest character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let text = "é: 1\r\n日本: x\n";
        let lines = Lines::new(text);
        let position = |at| (lines.position(at).line, lines.position(at).column);
        assert_eq!(position(0), (1, 1));
        assert_eq!(position("é: ".len()), (1, 4));
        assert_eq!(position("é: 1\r\n日本: ".len()), (2, 5));
        assert_eq!(position(1000), (3, 1));
    }

    #[test]
    fn an_excerpt_is_the_line_and_of_a_long_one_the_middle() {
        let lines = Lines::new("a\r\nb: c\r\n");
        let excerpt = lines.excerpt(&(6..7));
        assert_eq!((&*excerpt.before, &*excerpt.marked, &*excerpt.after), ("b: ", "c", ""));
        let long = format!("{}X{}", "é".repeat(1000), "ü".repeat(1000));
        let excerpt = Lines::new(&long).excerpt(&(2000..2001));
        assert_eq!(excerpt.before, format!("…{}", "é".repeat(80)));
        assert_eq!(excerpt.marked, "X");
        assert_eq!(excerpt.after, format!("{}…", "ü".repeat(80)));
        let wide = Lines::new(&long).place(&(0..long.len()));
        assert_eq!(wide.excerpt.marked, "é".repeat(80));
        assert_eq!(wide.end, Position { line: 1, column: 2002 });
    }
}
