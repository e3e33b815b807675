//! Detects whether extracted lines are still in their file.
//!
//! A node stores a hash of its lines: eight hex digits of the first line, to find lines that moved,
//! and sixteen of all lines. Trailing whitespace is ignored.

use crate::extract::line_range::LineRange;
use sp_tree::Digest;

const FIRST_LINE_HASH_LEN: usize = 8;
const ALL_LINES_HASH_LEN: usize = 16;

/// The current state of lines that were hashed earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineStatus {
    Unchanged,
    /// Unchanged, but the first line is now this one.
    Moved(usize),
    /// Changed or removed.
    Changed,
}

/// Hashes a range of lines.
pub fn hash_line_range(text: &[&str], range: LineRange) -> String {
    let lines =
        text.get(range.first.saturating_sub(1)..range.last.min(text.len())).unwrap_or_default();
    format!(
        "{}{}",
        &hash_lines(&lines[..lines.len().min(1)])[..FIRST_LINE_HASH_LEN],
        &hash_lines(lines)[..ALL_LINES_HASH_LEN]
    )
}

fn hash_lines(lines: &[&str]) -> String {
    let text: String = lines.iter().flat_map(|line| [line.trim_end(), "\n"]).collect();
    Digest::of(text.as_bytes()).hex()
}

/// Compares the current lines of a file with a hash computed earlier.
pub fn line_status(text: &[&str], range: LineRange, remembered: &str) -> LineStatus {
    if hash_line_range(text, range) == remembered {
        return LineStatus::Unchanged;
    }
    let Some((first, all)) = remembered.split_at_checked(FIRST_LINE_HASH_LEN) else {
        return LineStatus::Changed;
    };
    let length = range.last.saturating_sub(range.first) + 1;
    let candidates = text
        .windows(length)
        .enumerate()
        .filter(|(_, lines)| hash_lines(&lines[..1])[..FIRST_LINE_HASH_LEN] == *first);
    // A line that occurs very often would otherwise make this quadratic.
    let mut found = candidates
        .take(MAX_CANDIDATES)
        .filter(|(_, lines)| hash_lines(lines)[..ALL_LINES_HASH_LEN] == *all);
    found.next().map_or(LineStatus::Changed, |(at, _)| LineStatus::Moved(at + 1))
}

/// Maximum number of candidate positions for moved lines.
const MAX_CANDIDATES: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_unchanged_moved_or_changed() {
        let old = ["a", "fn x() {", "    1", "}", "b"];
        let range = LineRange { first: 2, last: 4 };
        let recorded_hash = hash_line_range(&old, range);
        assert_eq!(line_status(&old, range, &recorded_hash), LineStatus::Unchanged);
        assert_eq!(
            line_status(&["a", "fn x() {  ", "    1", "}"], range, &recorded_hash),
            LineStatus::Unchanged
        );
        let moved = ["a", "fn x() {", "    2", "}", "fn x() {", "    1", "}"];
        assert_eq!(line_status(&moved, range, &recorded_hash), LineStatus::Moved(5));
        assert_eq!(
            line_status(&["a", "fn x() {", "    3", "}"], range, &recorded_hash),
            LineStatus::Changed
        );
        assert_eq!(line_status(&[], range, &recorded_hash), LineStatus::Changed);
        assert_eq!(line_status(&old, range, "short"), LineStatus::Changed);
        assert_eq!(
            line_status(&old, LineRange { first: 9, last: 2 }, &recorded_hash),
            LineStatus::Changed
        );
    }
}
