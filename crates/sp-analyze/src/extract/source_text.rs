//! The text of one file, with its path and a line index.

use std::ops::Range;

use crate::extract::line_range::LineRange;

/// The text of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourceText<'a> {
    pub path: &'a str,
    pub text: &'a str,
    /// Byte offsets of the line feeds, in ascending order.
    pub line_ends: &'a [usize],
}

/// Returns the byte offsets of the line feeds in `text`.
pub(crate) fn find_line_ends(text: &str) -> Vec<usize> {
    text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect()
}

impl SourceText<'_> {
    /// Returns the lines that a byte range covers, without trailing whitespace.
    pub(crate) fn line_range(&self, range: &Range<usize>) -> LineRange {
        let line_of = |offset: usize| self.line_ends.partition_point(|end| *end < offset) + 1;
        let piece = self.text[range.clone()].trim_end();
        LineRange { first: line_of(range.start), last: line_of(range.start + piece.len()) }
    }

    pub(crate) fn all_lines(&self) -> LineRange {
        LineRange { first: 1, last: self.text.lines().count().max(1) }
    }

    /// The directory of the file; empty for the project root.
    pub(crate) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}
