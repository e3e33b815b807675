//! Fits text into a token budget.

use crate::tokens;

/// Tokens reserved for the frontmatter of a file.
const FRONTMATTER_TOKENS: usize = 64;

/// The budget is too small for the minimum content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetError {
    pub file: &'static str,
    /// Tokens that the minimum content needs.
    pub required_tokens: usize,
}

/// Returns the greatest number of leading items whose text fits the budget; `None` if not even the
/// text without items fits.
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
    // Invariant: `low` fits, `high` does not.
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

/// Tokens of a file including its frontmatter.
pub(super) fn token_cost(text: &str) -> usize {
    FRONTMATTER_TOKENS + tokens::count(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_fitting_returns_the_greatest_count_that_fits() {
        let text = |words: usize| "word ".repeat(words);
        for budget in [64, 65, 70, 100, 163] {
            let count = max_fitting(100, budget, text).unwrap_or_default();
            assert!(
                token_cost(&text(count)) <= budget
                    && (count == 100 || token_cost(&text(count + 1)) > budget),
                "{budget}: {count}"
            );
        }
        assert_eq!(max_fitting(100, 10_000, text), Some(100));
        assert_eq!(max_fitting(100, 10, text), None);
    }
}
