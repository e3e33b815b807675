//! As much as fits.

use crate::tokens;

/// What the frontmatter of a file costs.
const FRONTMATTER_TOKENS: usize = 64;

/// A budget into which not even the least of a file fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetError {
    /// The file.
    pub file: &'static str,
    /// How many tokens its least needs.
    pub required_tokens: usize,
}

/// How many of so many things, the first ones, make a text that fits; none if not even the text without any does.
pub(super) fn max_fitting(
    count: usize,
    budget: usize,
    text: impl Fn(usize) -> String,
) -> Option<usize> {
    let fits = |count: usize| token_cost(&text(count)) <= budget;
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
pub(super) fn token_cost(text: &str) -> usize {
    FRONTMATTER_TOKENS + tokens::count(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_fit_are_taken() {
        let text = |count: usize| "word ".repeat(count);
        for budget in [64, 65, 70, 100, 163] {
            let most = max_fitting(100, budget, text).unwrap_or_default();
            assert!(
                token_cost(&text(most)) <= budget
                    && (most == 100 || token_cost(&text(most + 1)) > budget),
                "{budget}: {most}"
            );
        }
        assert_eq!(max_fitting(100, 10_000, text), Some(100));
        assert_eq!(max_fitting(100, 10, text), None);
    }
}
