//! Whether what was read still stands where it was read.
//!
//! A node remembers its lines by a hash: eight digits for the first line, by which the lines are found
//! again where they moved, and sixteen for all of them. Blanks at the ends of lines do not count.

use sp_tree::Digest;

use crate::extract::note::Lines;

const FIRST: usize = 8;
const ALL: usize = 16;

/// How lines stand to what they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// They are as they were, and where they were.
    Same,
    /// They are as they were, and begin at this line now.
    Moved(usize),
    /// They are not there any more.
    Changed,
}

/// The hash of some lines of a text.
pub fn hash_of_lines(text: &[&str], range: Lines) -> String {
    let lines = text.get(range.first.saturating_sub(1)..range.last.min(text.len())).unwrap_or_default();
    format!("{}{}", &hash(&lines[..lines.len().min(1)])[..FIRST], &hash(lines)[..ALL])
}

fn hash(lines: &[&str]) -> String {
    let text: String = lines.iter().flat_map(|line| [line.trim_end(), "\n"]).collect();
    Digest::of(text.as_bytes()).hex()
}

/// How the lines that had a hash stand in a text now.
pub fn standing(text: &[&str], range: Lines, remembered: &str) -> Standing {
    if hash_of_lines(text, range) == remembered {
        return Standing::Same;
    }
    let Some((first, all)) = remembered.split_at_checked(FIRST) else { return Standing::Changed };
    let length = range.last.saturating_sub(range.first) + 1;
    let candidates = text.windows(length).enumerate().filter(|(_, lines)| hash(&lines[..1])[..FIRST] == *first);
    // A line that stands on every page is not tried for ever.
    let mut found = candidates.take(MOST_TRIED).filter(|(_, lines)| hash(lines)[..ALL] == *all);
    found.next().map_or(Standing::Changed, |(at, _)| Standing::Moved(at + 1))
}

/// How many places are tried at which lines may have moved to.
const MOST_TRIED: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_moved_or_changed() {
        let old = ["a", "fn x() {", "    1", "}", "b"];
        let range = Lines { first: 2, last: 4 };
        let remembered = hash_of_lines(&old, range);
        assert_eq!(standing(&old, range, &remembered), Standing::Same);
        assert_eq!(standing(&["a", "fn x() {  ", "    1", "}"], range, &remembered), Standing::Same);
        let moved = ["a", "fn x() {", "    2", "}", "fn x() {", "    1", "}"];
        assert_eq!(standing(&moved, range, &remembered), Standing::Moved(5));
        assert_eq!(standing(&["a", "fn x() {", "    3", "}"], range, &remembered), Standing::Changed);
        assert_eq!(standing(&[], range, &remembered), Standing::Changed);
        assert_eq!(standing(&old, range, "short"), Standing::Changed);
        assert_eq!(standing(&old, Lines { first: 9, last: 2 }, &remembered), Standing::Changed);
    }
}
