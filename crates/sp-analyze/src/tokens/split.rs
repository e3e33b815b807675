//! The tokenizer's split into words, for ASCII.
//!
//! The tokenizer splits with a regular expression that has a look-ahead, which takes most of its
//! time. For ASCII its seven alternatives are simple enough to implement by hand, in the same
//! order: words with a leading character and a trailing contraction, numbers of up to three digits,
//! punctuation, line ends, whitespace. A property test compares both.

/// Returns the length of the word at the start of `text`, which must be ASCII and not empty.
pub(super) fn word_len(text: &[u8]) -> usize {
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
