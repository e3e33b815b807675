//! From bytes to lines and columns, each file once, whatever the number of findings.

use std::cmp::{Ordering, Reverse};
use std::ops::Range;
use std::sync::Arc;

use super::{Finding, Report};

/// More of a line than this is not shown on either side of the place.
const MAX_CONTEXT_BYTES: usize = 160;

/// A line and a column, both from 1; a column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineColumn {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// Where in a file something stands, with the line that shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingLocation {
    /// The bytes.
    pub span: Range<usize>,
    /// Where it begins.
    pub start: LineColumn,
    /// Where it ends: the first character behind it.
    pub end: LineColumn,
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
pub struct LocatedFinding {
    /// The finding.
    pub finding: Finding,
    /// Its place; none if it is about the file as a whole.
    pub location: Option<FindingLocation>,
}

/// The lines of a text that several have.
pub(crate) struct LineIndex {
    text: Arc<str>,
    checkpoints: Vec<LineCheckpoint>,
}

impl LineIndex {
    pub(super) fn new(text: Arc<str>) -> Self {
        let checkpoints = LineMap::new(&text).checkpoints;
        Self { text, checkpoints }
    }

    /// The number of the line that a byte is on, from 1.
    pub(crate) fn line_number(&self, at: usize) -> usize {
        let at = self.text.floor_char_boundary(at);
        nearest_checkpoint(&self.checkpoints, &self.text, at).line + 1
    }
}

/// The position of a byte, by the nearest one before it that is known.
fn nearest_checkpoint(steps: &[LineCheckpoint], text: &str, at: usize) -> LineCheckpoint {
    let known = steps.partition_point(|step| step.offset <= at) - 1;
    steps[known].advance_to(text, at)
}

/// The lines and columns of a text.
///
/// A text may be all line ends, and a line may be as long as the text: so the position of one byte in every
/// [`STEP_BYTES`] is known, and every other position is counted from there.
pub(super) struct LineMap<'a> {
    text: &'a str,
    checkpoints: Vec<LineCheckpoint>,
}

const CHECKPOINT_BYTES: usize = 16 * 1024;

/// The position of a byte.
#[derive(Clone, Copy)]
struct LineCheckpoint {
    offset: usize,
    /// The number of the line, from 0.
    line: usize,
    line_start: usize,
    /// How many characters of the line stand before the byte.
    characters: usize,
}

impl LineCheckpoint {
    /// The position of a byte that is not before this one.
    fn advance_to(self, text: &str, to: usize) -> Self {
        let passed = &text[self.offset..to];
        match passed.rfind('\n') {
            Some(last) => Self {
                offset: to,
                line: self.line + passed.bytes().filter(|byte| *byte == b'\n').count(),
                line_start: self.offset + last + 1,
                characters: passed[last + 1..].chars().count(),
            },
            None => {
                Self { offset: to, characters: self.characters + passed.chars().count(), ..self }
            }
        }
    }
}

impl<'a> LineMap<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let first = LineCheckpoint { offset: 0, line: 0, line_start: 0, characters: 0 };
        let next = |step: &LineCheckpoint| {
            let to = text.floor_char_boundary(step.offset + CHECKPOINT_BYTES);
            (to < text.len()).then(|| step.advance_to(text, to))
        };
        Self { text, checkpoints: std::iter::successors(Some(first), next).collect() }
    }

    fn checkpoint_at(&self, at: usize) -> LineCheckpoint {
        nearest_checkpoint(&self.checkpoints, self.text, at)
    }

    pub(super) fn position(&self, at: usize) -> LineColumn {
        let step = self.checkpoint_at(self.text.floor_char_boundary(at));
        LineColumn { line: step.line + 1, column: step.characters + 1 }
    }

    fn excerpt(&self, span: &Range<usize>) -> Excerpt {
        let text = self.text;
        let line_start = self.checkpoint_at(span.start).line_start;
        // No more of the line is shown than this.
        let most = text.floor_char_boundary(span.start + 2 * MAX_CONTEXT_BYTES + 8);
        let line_end = text[span.start..most].find('\n').map_or(most, |length| span.start + length);
        let line_end = line_end - usize::from(text[line_start..line_end].ends_with('\r'));
        let start = span.start.min(line_end);
        let end = span.end.clamp(start, line_end);
        let first =
            text.floor_char_boundary(line_start.max(start.saturating_sub(MAX_CONTEXT_BYTES)));
        let marked_end = text.floor_char_boundary(end.min(start + MAX_CONTEXT_BYTES));
        let last = text.floor_char_boundary(line_end.min(marked_end + MAX_CONTEXT_BYTES));
        let dots = |cut: bool| if cut { "…" } else { "" };
        Excerpt {
            before: format!("{}{}", dots(first > line_start), &text[first..start]),
            marked: text[start..marked_end].into(),
            after: format!("{}{}", &text[marked_end..last], dots(last < line_end)),
        }
    }

    pub(super) fn locate(&self, span: &Range<usize>) -> FindingLocation {
        let start = self.text.floor_char_boundary(span.start);
        let span = start..self.text.floor_char_boundary(span.end).max(start);
        FindingLocation {
            start: self.position(span.start),
            end: self.position(span.end),
            excerpt: self.excerpt(&span),
            span,
        }
    }
}

pub(super) fn locate_findings(report: &Report) -> Vec<LocatedFinding> {
    if report.findings.is_empty() {
        return Vec::new();
    }
    let lines = LineMap::new(&report.text);
    let place = |finding: &Finding| LocatedFinding {
        finding: finding.clone(),
        location: finding.span.as_ref().map(|span| lines.locate(span)),
    };
    let mut findings: Vec<&Finding> = report.findings.iter().collect();
    findings.sort_by_key(|finding| finding.span.as_ref().map_or(0, |span| span.start));
    let mut placed: Vec<LocatedFinding> = findings.into_iter().map(place).collect();
    placed.sort_by(compare_findings);
    placed.extend(
        report.overflow_finding().map(|finding| LocatedFinding { finding, location: None }),
    );
    placed
}

/// By place, the worst and then the widest first, and then by what is fixed whatever the order of the search.
pub(super) fn compare_findings(a: &LocatedFinding, b: &LocatedFinding) -> Ordering {
    let key = |LocatedFinding { finding, location: place }: &LocatedFinding| {
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
        let lines = LineMap::new(text);
        let position = |at| (lines.position(at).line, lines.position(at).column);
        assert_eq!(position(0), (1, 1));
        assert_eq!(position("é: ".len()), (1, 4));
        assert_eq!(position("é: 1\r\n日本: ".len()), (2, 5));
        assert_eq!(position(1000), (3, 1));
    }

    #[test]
    fn an_excerpt_is_the_line_and_of_a_long_one_the_middle() {
        let lines = LineMap::new("a\r\nb: c\r\n");
        let excerpt = lines.excerpt(&(6..7));
        assert_eq!((&*excerpt.before, &*excerpt.marked, &*excerpt.after), ("b: ", "c", ""));
        let long = format!("{}X{}", "é".repeat(1000), "ü".repeat(1000));
        let excerpt = LineMap::new(&long).excerpt(&(2000..2001));
        assert_eq!(excerpt.before, format!("…{}", "é".repeat(80)));
        assert_eq!(excerpt.marked, "X");
        assert_eq!(excerpt.after, format!("{}…", "ü".repeat(80)));
        let wide = LineMap::new(&long).locate(&(0..long.len()));
        assert_eq!(wide.excerpt.marked, "é".repeat(80));
        assert_eq!(wide.end, LineColumn { line: 1, column: 2002 });
    }
}
