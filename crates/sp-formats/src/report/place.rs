//! From bytes to lines and columns, each file once, whatever the number of findings.

use std::cmp::{Ordering, Reverse};
use std::ops::Range;
use std::sync::Arc;

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

/// The lines of a text that several have.
pub(crate) struct LineIndex {
    text: Arc<str>,
    steps: Vec<Step>,
}

impl LineIndex {
    pub(super) fn new(text: Arc<str>) -> Self {
        let steps = Lines::new(&text).steps;
        Self { text, steps }
    }

    /// The number of the line that a byte is on, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        let at = self.text.floor_char_boundary(at);
        step_at(&self.steps, &self.text, at).line + 1
    }
}

/// The position of a byte, by the nearest one before it that is known.
fn step_at(steps: &[Step], text: &str, at: usize) -> Step {
    let known = steps.partition_point(|step| step.at <= at) - 1;
    steps[known].advanced(text, at)
}

/// The lines and columns of a text.
///
/// A text may be all line ends, and a line may be as long as the text: so the position of one byte in every
/// [`STEP_BYTES`] is known, and every other position is counted from there.
pub(super) struct Lines<'a> {
    text: &'a str,
    steps: Vec<Step>,
}

const STEP_BYTES: usize = 16 * 1024;

/// The position of a byte.
#[derive(Clone, Copy)]
struct Step {
    at: usize,
    /// The number of the line, from 0.
    line: usize,
    line_start: usize,
    /// How many characters of the line stand before the byte.
    characters: usize,
}

impl Step {
    /// The position of a byte that is not before this one.
    fn advanced(self, text: &str, to: usize) -> Self {
        let passed = &text[self.at..to];
        match passed.rfind('\n') {
            Some(last) => Self {
                at: to,
                line: self.line + passed.bytes().filter(|byte| *byte == b'\n').count(),
                line_start: self.at + last + 1,
                characters: passed[last + 1..].chars().count(),
            },
            None => Self { at: to, characters: self.characters + passed.chars().count(), ..self },
        }
    }
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let first = Step { at: 0, line: 0, line_start: 0, characters: 0 };
        let next = |step: &Step| {
            let to = text.floor_char_boundary(step.at + STEP_BYTES);
            (to < text.len()).then(|| step.advanced(text, to))
        };
        Self { text, steps: std::iter::successors(Some(first), next).collect() }
    }

    fn step(&self, at: usize) -> Step {
        step_at(&self.steps, self.text, at)
    }

    pub(super) fn position(&self, at: usize) -> Position {
        let step = self.step(self.text.floor_char_boundary(at));
        Position { line: step.line + 1, column: step.characters + 1 }
    }

    fn excerpt(&self, span: &Range<usize>) -> Excerpt {
        let text = self.text;
        let line_start = self.step(span.start).line_start;
        // No more of the line is shown than this.
        let most = text.floor_char_boundary(span.start + 2 * CONTEXT_BYTES + 8);
        let line_end = text[span.start..most].find('\n').map_or(most, |length| span.start + length);
        let line_end = line_end - usize::from(text[line_start..line_end].ends_with('\r'));
        let start = span.start.min(line_end);
        let end = span.end.clamp(start, line_end);
        let first = text.floor_char_boundary(line_start.max(start.saturating_sub(CONTEXT_BYTES)));
        let marked_end = text.floor_char_boundary(end.min(start + CONTEXT_BYTES));
        let last = text.floor_char_boundary(line_end.min(marked_end + CONTEXT_BYTES));
        let dots = |cut: bool| if cut { "…" } else { "" };
        Excerpt {
            before: format!("{}{}", dots(first > line_start), &text[first..start]),
            marked: text[start..marked_end].into(),
            after: format!("{}{}", &text[marked_end..last], dots(last < line_end)),
        }
    }

    pub(super) fn place(&self, span: &Range<usize>) -> Place {
        let start = self.text.floor_char_boundary(span.start);
        let span = start..self.text.floor_char_boundary(span.end).max(start);
        Place { start: self.position(span.start), end: self.position(span.end), excerpt: self.excerpt(&span), span }
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
