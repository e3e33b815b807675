//! How many tokens a text has, by the tokenizer of OpenAI's current models.
//!
//! No tokenizer of the current Claude models is public, so a count is an estimate for them;
//! [`TOKENIZER`] says whose it is.

use std::sync::LazyLock;

use tiktoken_rs::CoreBPE;

/// The tokenizer that counts.
pub const TOKENIZER: &str = "o200k_base";

/// A run of blanks, or of anything else, that is longer than this is counted in pieces: the
/// tokenizer's own search needs memory and time out of proportion for a longer one.
const MAX_RUN: usize = 4096;

/// Loading takes a tenth of a second, so it is done by whoever counts first.
static ENCODING: LazyLock<Option<CoreBPE>> = LazyLock::new(|| tiktoken_rs::o200k_base().ok());

/// The number of tokens in a text.
pub fn count(text: &str) -> usize {
    match &*ENCODING {
        Some(encoding) => pieces(text).map(|piece| encoding.count_ordinary(piece)).sum(),
        // The tables are part of the program, so this is not reached; four bytes a token is usual.
        None => text.len().div_ceil(4),
    }
}

/// The text, cut only inside runs that are too long.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, more) = rest.split_at(end_of_piece(rest));
        rest = more;
        Some(piece)
    })
}

fn end_of_piece(text: &str) -> usize {
    let mut run_start = 0;
    let mut blank = None;
    for (at, c) in text.char_indices() {
        if blank != Some(c.is_whitespace()) {
            blank = Some(c.is_whitespace());
            run_start = at;
        } else if at - run_start >= MAX_RUN {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_06_counts_are_those_of_the_named_tokenizer() {
        // Worked out with the reference implementation of o200k_base.
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
        assert_eq!(count("tiktoken is great!"), 6);
        assert_eq!(count("お誕生日おめでとう"), 8);
    }

    #[test]
    fn se_04_runs_without_end_are_counted_and_not_a_crash() {
        for text in [
            " ".repeat(1_000_000),
            "a".repeat(1_000_000),
            "\n".repeat(1_000_000),
            "é".repeat(500_000),
            "!".repeat(1_000_000),
        ] {
            let tokens = count(&text);
            assert!(tokens > 0 && tokens <= text.len());
        }
    }

    #[test]
    fn pieces_are_the_text() {
        let text = format!("a b {} {}", "x".repeat(10_000), " ".repeat(9_000));
        assert_eq!(pieces(&text).collect::<String>(), text);
        assert_eq!(pieces("a b\nc").count(), 1);
    }
}
