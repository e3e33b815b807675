//! The tokenizer's split into words.
//!
//! A regular expression with a look-ahead defines it. For ASCII its seven alternatives are simple
//! enough to implement by hand, in the same order: words with a leading character and a trailing
//! contraction, numbers of up to three digits, punctuation, line ends, whitespace. Other text is
//! split with the expression; the look-ahead is replaced by a look at the next character. Property
//! tests compare both with the tokenizer.

use std::sync::LazyLock;

use regex::Regex;

/// The expression without `\s+(?!\S)`, its last alternative but one.
const WORD: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"\p{N}{1,3}|",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*|",
    r"\s*[\r\n]+|",
    r"\s+",
);

static WORD_REGEX: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(WORD).ok());

/// Splits a text into words.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_ascii = text.is_ascii();
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let len = if is_ascii { ascii_word_len(rest.as_bytes()) } else { word_len(rest) };
        let (word, more) = rest.split_at(len);
        rest = more;
        Some(word)
    })
}

/// Returns the length of the word at the start of `text`, which must not be empty.
fn word_len(text: &str) -> usize {
    let found = WORD_REGEX.as_ref().and_then(|word| word.find(text));
    // Each character is part of a word.
    let len = found.map_or(text.len(), |found| found.end());
    let word = &text[..len];
    if len < text.len() && word.chars().all(|c| c.is_whitespace() && c != '\r' && c != '\n') {
        // The last of several blanks belongs to the next word.
        let last = word.char_indices().next_back().map_or(0, |(at, _)| at);
        return if last > 0 { last } else { len };
    }
    len
}

/// Returns the length of the word at the start of `text`, which must be ASCII and not empty.
pub(super) fn ascii_word_len(text: &[u8]) -> usize {
    letters_len(text)
        .or_else(|| digits_len(text))
        .or_else(|| punctuation_len(text))
        .or_else(|| line_ends_len(text))
        .unwrap_or_else(|| whitespace_len(text))
}

fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn is_punctuation(byte: u8) -> bool {
    !is_whitespace(byte) && !byte.is_ascii_alphanumeric()
}

/// The length of the run from `at` for which `is` holds.
fn run_len(text: &[u8], at: usize, is: impl Fn(u8) -> bool) -> usize {
    text[at..].iter().take_while(|byte| is(**byte)).count()
}

/// At most one byte that is not a line end, letter or digit; uppercase letters; lowercase letters;
/// a contraction.
fn letters_len(text: &[u8]) -> Option<usize> {
    let first = text[0];
    let before = usize::from(!first.is_ascii_alphanumeric() && first != b'\r' && first != b'\n');
    let capitals = run_len(text, before, |byte| byte.is_ascii_uppercase());
    let small = run_len(text, before + capitals, |byte| byte.is_ascii_lowercase());
    let end = before + capitals + small;
    (capitals + small > 0).then(|| end + contraction_len(&text[end..]))
}

/// `'s`, `'re` and the like, ignoring case.
fn contraction_len(text: &[u8]) -> usize {
    let starts =
        |with: &[u8]| text.len() >= with.len() && text[..with.len()].eq_ignore_ascii_case(with);
    let all: [&[u8]; 7] = [b"'s", b"'t", b"'re", b"'ve", b"'m", b"'ll", b"'d"];
    all.into_iter().find(|one| starts(one)).map_or(0, <[u8]>::len)
}

fn digits_len(text: &[u8]) -> Option<usize> {
    // A number has at most three digits; scanning a longer run would be quadratic.
    let digits = run_len(&text[..text.len().min(3)], 0, |byte| byte.is_ascii_digit());
    (digits > 0).then_some(digits)
}

/// At most one space, punctuation, and trailing line ends and slashes.
fn punctuation_len(text: &[u8]) -> Option<usize> {
    let before = usize::from(text[0] == b' ');
    let signs = run_len(text, before, is_punctuation);
    let end = before + signs;
    (signs > 0).then(|| end + run_len(text, end, |byte| matches!(byte, b'\r' | b'\n' | b'/')))
}

/// Whitespace up to its last line end.
fn line_ends_len(text: &[u8]) -> Option<usize> {
    let blanks = run_len(text, 0, is_whitespace);
    text[..blanks].iter().rposition(|byte| matches!(byte, b'\r' | b'\n')).map(|at| at + 1)
}

/// Whitespace; the last of several characters belongs to the next word.
fn whitespace_len(text: &[u8]) -> usize {
    let blanks = run_len(text, 0, is_whitespace);
    if blanks < text.len() && blanks > 1 { blanks - 1 } else { blanks.max(1) }
}
