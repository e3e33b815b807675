//! As much as fits.

use crate::tokens;

/// What the frontmatter of a file costs.
const FRONTMATTER: usize = 64;

/// A budget into which not even the least of a file fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooSmall {
    /// The file.
    pub file: &'static str,
    /// How many tokens its least needs.
    pub needs: usize,
}

/// How many of so many things, the first ones, make a text that fits; none if not even the text without any does.
pub(super) fn most_that_fit(count: usize, budget: usize, text: impl Fn(usize) -> String) -> Option<usize> {
    let fits = |count: usize| cost(&text(count)) <= budget;
    if fits(count) {
        return Some(count);
    }
    if !fits(0) {
        return None;
    }
    // `low` fits, and `high` does not.
    let (mut low, mut high) = (0, count);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(low)
}

/// What a file costs, with its frontmatter.
pub(super) fn cost(text: &str) -> usize {
    FRONTMATTER + tokens::count(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_fit_are_taken() {
        let text = |count: usize| "word ".repeat(count);
        for budget in [64, 65, 70, 100, 163] {
            let most = most_that_fit(100, budget, text).unwrap_or_default();
            assert!(cost(&text(most)) <= budget && (most == 100 || cost(&text(most + 1)) > budget), "{budget}: {most}");
        }
        assert_eq!(most_that_fit(100, 10_000, text), Some(100));
        assert_eq!(most_that_fit(100, 10, text), None);
    }
}
