//! How many tokens a text has, by the tokenizer of OpenAI's current models.
//!
//! No tokenizer of the current Claude models is public, so a count is an estimate for them;
//! [`TOKENIZER`] says whose it is.

mod split;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use tiktoken_rs::CoreBPE;

/// The tokenizer that counts.
pub const TOKENIZER: &str = "o200k_base";

/// A run of blanks, or of anything else, that is longer than this is counted in pieces: the
/// tokenizer's own search needs memory and time out of proportion for a longer one.
const MAX_RUN: usize = 4096;

/// Words that are longer than this hardly come twice.
const MAX_KNOWN: usize = 32;
/// How many words a thread remembers.
const MAX_WORDS: usize = 50_000;

/// Loading takes a tenth of a second, so it is done by whoever counts first.
static ENCODING: LazyLock<Option<CoreBPE>> = LazyLock::new(|| tiktoken_rs::o200k_base().ok());

thread_local! {
    /// Words that this thread has met, and how many tokens each has: a few make up most of any text.
    static WORDS: RefCell<HashMap<Box<str>, usize>> = RefCell::default();
}

/// Loads the tables, so that whoever counts later need not wait for them.
pub fn prepare() {
    LazyLock::force(&ENCODING);
}

/// The number of tokens in a text.
pub fn count(text: &str) -> usize {
    let Some(encoding) = &*ENCODING else {
        // The tables are part of the program, so this is not reached; four bytes a token is usual.
        return text.len().div_ceil(4);
    };
    let count_line = |line: &str| match line.is_ascii() {
        true => WORDS.with_borrow_mut(|known| count_words(encoding, known, line)),
        false => count_pieces(encoding, line),
    };
    lines(text).map(count_line).sum()
}

fn count_words(encoding: &CoreBPE, known: &mut HashMap<Box<str>, usize>, mut text: &str) -> usize {
    let mut tokens = 0;
    while !text.is_empty() {
        let (word, rest) = text.split_at(split::word(text.as_bytes()));
        text = rest;
        tokens += match known.get(word) {
            Some(count) => *count,
            None => {
                let count = count_pieces(encoding, word);
                if word.len() <= MAX_KNOWN && known.len() < MAX_WORDS {
                    known.insert(word.into(), count);
                }
                count
            }
        };
    }
    tokens
}

fn count_pieces(encoding: &CoreBPE, text: &str) -> usize {
    pieces(text).map(|piece| encoding.count_ordinary(piece)).sum()
}

/// The text, cut where no token can cross: behind a line end, before a letter or a digit.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let is_cut = |at: &usize| rest[*at..].starts_with(char::is_alphanumeric);
        let cut = rest.match_indices('\n').map(|(at, _)| at + 1).find(is_cut);
        let (line, more) = rest.split_at(cut.unwrap_or(rest.len()));
        rest = more;
        Some(line)
    })
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
    if text.len() <= MAX_RUN {
        return text.len();
    }
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
    use proptest::prelude::*;

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
            "\na".repeat(500_000),
            " \n".repeat(500_000),
        ] {
            let tokens = count(&text);
            assert!(tokens > 0 && tokens <= text.len());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

        #[test]
        fn as_06_counting_word_by_word_is_counting_the_whole(
            text in "([a-z]{1,6}|[A-Z]{1,3}|[0-9]{1,5}|[ \\t]{1,3}|\\r|\\n|[/.,!#*`'-]{1,3}|é|日本|\u{301}|🙂|'[sStTdD]|'re|'LL|[\\x00-\\x7f]){0,40}",
        ) {
            let encoding = ENCODING.as_ref().unwrap();
            prop_assert_eq!(count(&text), encoding.count_ordinary(&text));
        }
    }

    #[test]
    fn as_06_the_words_of_this_very_file_are_those_of_the_tokenizer() {
        let encoding = ENCODING.as_ref().unwrap();
        for text in [include_str!("mod.rs"), include_str!("split.rs"), include_str!("../checks/agent_skills.rs")] {
            assert_eq!(count(text), encoding.count_ordinary(text));
        }
    }

    #[test]
    fn pieces_are_the_text() {
        let text = format!("a b {} {}", "x".repeat(10_000), " ".repeat(9_000));
        assert_eq!(pieces(&text).collect::<String>(), text);
        assert_eq!(pieces("a b\nc").count(), 1);
        assert_eq!(lines(&text).collect::<String>(), text);
    }
}
