//! Byte offsets to lines and columns, in one pass per file regardless of the number of findings.

use std::cmp::{Ordering, Reverse};
use std::ops::Range;
use std::sync::Arc;

use super::{Finding, Report};

/// An excerpt shows at most this much of a line on either side.
const MAX_CONTEXT_BYTES: usize = 160;

/// A line and a column. Both start at 1; a column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineColumn {
    pub line: usize,
    pub column: usize,
}

/// Where a finding is in a file, with an excerpt of the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingLocation {
    pub span: Range<usize>,
    pub start: LineColumn,
    /// The first character after the span.
    pub end: LineColumn,
    pub excerpt: Excerpt,
}

/// The line on which a span starts, shortened if it is long, in three parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    pub before: String,
    /// The text of the span.
    pub marked: String,
    pub after: String,
}

/// A finding with its location, independent of the text of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedFinding {
    pub finding: Finding,
    /// `None` if the finding is about the whole file.
    pub location: Option<FindingLocation>,
}

/// An index of the lines of a text that is shared.
pub(crate) struct LineIndex {
    text: Arc<str>,
    checkpoints: Vec<LineCheckpoint>,
}

impl LineIndex {
    pub(super) fn new(text: Arc<str>) -> Self {
        let checkpoints = LineMap::new(&text).checkpoints;
        Self { text, checkpoints }
    }

    /// The line number of a byte, starting at 1.
    pub(crate) fn line_number(&self, offset: usize) -> usize {
        let offset = self.text.floor_char_boundary(offset);
        nearest_checkpoint(&self.checkpoints, &self.text, offset).line + 1
    }
}

/// The position of a byte, counted from the checkpoint before it.
fn nearest_checkpoint(checkpoints: &[LineCheckpoint], text: &str, offset: usize) -> LineCheckpoint {
    let index = checkpoints.partition_point(|checkpoint| checkpoint.offset <= offset) - 1;
    checkpoints[index].advance_to(text, offset)
}

/// The lines and columns of a text.
///
/// A text may consist of line breaks, or of one long line. So the position of one byte in every
/// [`CHECKPOINT_BYTES`] is stored, and other positions are counted from there.
pub(super) struct LineMap<'a> {
    text: &'a str,
    checkpoints: Vec<LineCheckpoint>,
}

const CHECKPOINT_BYTES: usize = 16 * 1024;

/// The position of a byte.
#[derive(Clone, Copy)]
struct LineCheckpoint {
    offset: usize,
    /// Starting at 0.
    line: usize,
    line_start: usize,
    /// The number of characters before the byte on its line.
    characters: usize,
}

impl LineCheckpoint {
    /// Moves forward to a later byte.
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
        let checkpoint = self.checkpoint_at(self.text.floor_char_boundary(at));
        LineColumn { line: checkpoint.line + 1, column: checkpoint.characters + 1 }
    }

    fn excerpt(&self, span: &Range<usize>) -> Excerpt {
        let text = self.text;
        let line_start = self.checkpoint_at(span.start).line_start;
        // Limits how much of a long line is scanned.
        let scan_end = text.floor_char_boundary(span.start + 2 * MAX_CONTEXT_BYTES + 8);
        let line_end =
            text[span.start..scan_end].find('\n').map_or(scan_end, |length| span.start + length);
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
    let locate = |finding: &Finding| LocatedFinding {
        finding: finding.clone(),
        location: finding.span.as_ref().map(|span| lines.locate(span)),
    };
    let mut findings: Vec<&Finding> = report.findings.iter().collect();
    findings.sort_by_key(|finding| finding.span.as_ref().map_or(0, |span| span.start));
    let mut located: Vec<LocatedFinding> = findings.into_iter().map(locate).collect();
    located.sort_by(compare_findings);
    located.extend(
        report.overflow_finding().map(|finding| LocatedFinding { finding, location: None }),
    );
    located
}

/// By position, then worst and widest first, then by rule and message, so that the order does not
/// depend on the order of the checks.
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
        let position = |offset| (lines.position(offset).line, lines.position(offset).column);
        assert_eq!(position(0), (1, 1));
        assert_eq!(position("é: ".len()), (1, 4));
        assert_eq!(position("é: 1\r\n日本: ".len()), (2, 5));
        assert_eq!(position(1000), (3, 1));
    }

    #[test]
    fn excerpt_of_a_long_line_is_its_middle() {
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
