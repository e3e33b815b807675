//! Counts tokens with the tokenizer of OpenAI's current models.
//!
//! No tokenizer of the current Claude models is public, so for them the count is an estimate;
//! [`TOKENIZER`] names the one in use.
//!
//! Counting is linear in the length of the text. The count is exact, except that a run of more than
//! 4 KiB without whitespace (or of only whitespace) is counted in pieces of that length: a token
//! that crosses the end of a piece counts as two.

mod layout;
mod split;
mod vocabulary;

use std::cell::RefCell;

use crate::interner::FastMap;

use vocabulary::count_word;

/// Name of the tokenizer.
pub const TOKENIZER: &str = "o200k_base";

/// Longer runs of whitespace, or of anything else, are counted in pieces: the tokenizer needs
/// disproportionate memory and time for them.
const MAX_RUN_LEN: usize = 4096;
/// A token of slashes and line ends contains no runs and may be as long as the text, so it is split
/// here.
const MAX_PIECE_LEN: usize = 4 * MAX_RUN_LEN;

/// Longer words rarely repeat.
const MAX_CACHED_WORD_LEN: usize = 32;
/// Maximum number of words cached per thread.
const MAX_CACHED_WORDS: usize = 50_000;
/// Maximum number of long pieces cached per thread: a repetitive run has few distinct ones.
const MAX_CACHED_PIECES: usize = 64;

thread_local! {
    static COUNT_CACHE: RefCell<TokenCountCache> = RefCell::default();
}

/// Token counts of words and pieces counted before.
#[derive(Default)]
struct TokenCountCache {
    /// Words of at most [`MAX_CACHED_WORD_LEN`] bytes: a few make up most of any text.
    words: FastMap<Box<str>, usize>,
    /// Pieces of long runs, at most [`MAX_CACHED_PIECES`].
    long_pieces: FastMap<Box<str>, usize>,
}

impl TokenCountCache {
    /// Counts a text that the tokenizer may split further.
    fn count(&mut self, text: &str) -> usize {
        if text.len() > MAX_CACHED_WORD_LEN {
            return split_long_runs(text).map(|piece| self.count_piece(piece)).sum();
        }
        if let Some(count) = self.words.get(text) {
            return *count;
        }
        let count = count_words(text);
        if self.words.len() < MAX_CACHED_WORDS {
            self.words.insert(text.into(), count);
        }
        count
    }

    fn count_piece(&mut self, piece: &str) -> usize {
        if piece.len() < MAX_RUN_LEN {
            return count_words(piece);
        }
        if let Some(count) = self.long_pieces.get(piece) {
            return *count;
        }
        let count = count_words(piece);
        if self.long_pieces.len() >= MAX_CACHED_PIECES {
            self.long_pieces.clear();
        }
        self.long_pieces.insert(piece.into(), count);
        count
    }

    /// Counts an ASCII text.
    fn count_ascii(&mut self, mut text: &str) -> usize {
        let mut tokens = 0;
        while !text.is_empty() {
            let (word, rest) = text.split_at(split::ascii_word_len(text.as_bytes()));
            text = rest;
            tokens += self.count(word);
        }
        tokens
    }
}

/// Returns the number of tokens in a text.
pub fn count(text: &str) -> usize {
    COUNT_CACHE.with_borrow_mut(|cache| {
        // ASCII text is split into words directly.
        if text.is_ascii() {
            return cache.count_ascii(text);
        }
        let count_line = |line: &str| {
            if line.is_ascii() {
                cache.count_ascii(line)
            } else {
                split_at_spaces(line).map(|word| cache.count(word)).sum()
            }
        };
        split_lines(text).map(count_line).sum()
    })
}

/// Counts the tokens in a text without the cache.
fn count_words(text: &str) -> usize {
    split::words(text).map(|word| count_word(word.as_bytes())).sum()
}

/// Splits a text where no token can span: after a line end that is not followed by whitespace or a
/// slash.
fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let is_cut =
            |offset: &usize| rest[*offset..].starts_with(|c: char| !c.is_whitespace() && c != '/');
        let cut = rest.match_indices(['\n', '\r']).map(|(offset, _)| offset + 1).find(is_cut);
        let (line, more) = rest.split_at(cut.unwrap_or(rest.len()));
        rest = more;
        Some(line)
    })
}

/// Splits a text where no token can span: before whitespace that follows a word and is not a line
/// end.
fn split_at_spaces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut behind_word = false;
        let cut = rest.char_indices().find(|(_, c)| {
            let is_cut = behind_word && c.is_whitespace() && !matches!(c, '\n' | '\r');
            behind_word = !c.is_whitespace();
            is_cut
        });
        let (word, more) = rest.split_at(cut.map_or(rest.len(), |(at, _)| at));
        rest = more;
        Some(word)
    })
}

/// Splits a text only inside runs that are too long.
fn split_long_runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, more) = rest.split_at(piece_end(rest));
        rest = more;
        Some(piece)
    })
}

fn piece_end(text: &str) -> usize {
    if text.len() <= MAX_RUN_LEN {
        return text.len();
    }
    let mut run_start = 0;
    let mut blank = None;
    for (offset, c) in text.char_indices() {
        if blank != Some(c.is_whitespace()) {
            blank = Some(c.is_whitespace());
            run_start = offset;
        }
        if offset - run_start >= MAX_RUN_LEN || offset >= MAX_PIECE_LEN {
            return offset;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use proptest::prelude::*;
    use tiktoken_rs::CoreBPE;

    static REFERENCE: LazyLock<CoreBPE> = LazyLock::new(|| tiktoken_rs::o200k_base().unwrap());

    proptest! {
        #[test]
        fn as_06_token_count_is_at_most_byte_count(text in "(\\PC|\\s){0,60}") {
            let count = count(&text);
            prop_assert!(count <= text.len() && (count == 0) == text.is_empty());
        }
    }

    #[test]
    fn as_06_counts_match_the_reference_tokenizer() {
        // Computed with the reference implementation of o200k_base.
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
        assert_eq!(count("tiktoken is great!"), 6);
        assert_eq!(count("お誕生日おめでとう"), 8);
    }

    #[test]
    fn se_04_very_long_runs_are_counted() {
        for text in [
            " ".repeat(1_000_000),
            "a".repeat(1_000_000),
            "\n".repeat(1_000_000),
            "é".repeat(500_000),
            "!".repeat(1_000_000),
            "\na".repeat(500_000),
            " \n".repeat(500_000),
            "7".repeat(4_000_000),
            "/\n".repeat(500_000),
            "é\t".repeat(200_000),
            "日本 ".repeat(200_000),
            "🙂\n".repeat(200_000),
        ] {
            let tokens = count(&text);
            assert!(tokens > 0 && tokens <= text.len());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

        #[test]
        fn as_06_word_by_word_count_equals_whole_count(
            text in "([a-z]{1,6}|[A-Z]{1,3}|[0-9]{1,5}|[ \\t]{1,3}|\\r|\\n|[/.,!#*`'-]{1,3}|é|日本|\u{301}|🙂|'[sStTdD]|'re|'LL|[\\x00-\\x7f]){0,40}",
        ) {
            prop_assert_eq!(count(&text), REFERENCE.count_ordinary(&text));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

        #[test]
        fn as_06_counts_of_any_script_match_the_reference_tokenizer(
            text in "(\\p{Lu}{1,3}|\\p{Ll}{1,5}|\\p{Lt}|\\p{Lm}|\\p{Lo}{1,4}|\\p{M}|\\p{N}{1,5}|\\p{S}|\\p{P}|\\s{1,3}|'[sſK]|'ll|[ -~]{1,4}|\\PC){0,30}",
        ) {
            prop_assert_eq!(count(&text), REFERENCE.count_ordinary(&text));
        }
    }

    #[test]
    fn as_06_source_files_are_counted_exactly() {
        for text in [include_str!("mod.rs"), include_str!("split.rs"), include_str!("../hosts.rs")]
        {
            assert_eq!(count(text), REFERENCE.count_ordinary(text));
        }
    }

    #[test]
    fn split_pieces_concatenate_to_the_text() {
        let text = format!("a b {} {}", "x".repeat(10_000), " ".repeat(9_000));
        assert_eq!(split_long_runs(&text).collect::<String>(), text);
        assert_eq!(split_long_runs("a b\nc").count(), 1);
        assert_eq!(split_lines(&text).collect::<String>(), text);
        assert_eq!(split_at_spaces(&text).collect::<String>(), text);
    }
}
