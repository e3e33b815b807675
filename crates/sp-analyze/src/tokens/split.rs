//! How the tokenizer splits text into words before it looks them up, for plain ASCII.
//!
//! The tokenizer's own split is a regular expression with a look-ahead, which takes most of its
//! time. Over ASCII its seven alternatives are simple enough to be followed by hand, in order:
//! words with what stands before them and a contraction behind, numbers of three digits, signs,
//! line ends, blanks. A property test holds this against the expression itself.

/// The length of the word at the start of `text`, which is ASCII and not empty.
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

/// How many bytes from `at` on are such.
fn run_len(text: &[u8], at: usize, is: impl Fn(u8) -> bool) -> usize {
    text[at..].iter().take_while(|byte| is(**byte)).count()
}

/// At most one byte that is no line end, letter or digit; capitals; small letters; a contraction.
fn letters_len(text: &[u8]) -> Option<usize> {
    let first = text[0];
    let before = usize::from(!first.is_ascii_alphanumeric() && first != b'\r' && first != b'\n');
    let capitals = run_len(text, before, |byte| byte.is_ascii_uppercase());
    let small = run_len(text, before + capitals, |byte| byte.is_ascii_lowercase());
    let end = before + capitals + small;
    (capitals + small > 0).then(|| end + contraction_len(&text[end..]))
}

/// `'s`, `'re` and the like, in either case.
fn contraction_len(text: &[u8]) -> usize {
    let starts =
        |with: &[u8]| text.len() >= with.len() && text[..with.len()].eq_ignore_ascii_case(with);
    let all: [&[u8]; 7] = [b"'s", b"'t", b"'re", b"'ve", b"'m", b"'ll", b"'d"];
    all.into_iter().find(|one| starts(one)).map_or(0, <[u8]>::len)
}

fn digits_len(text: &[u8]) -> Option<usize> {
    // Look at no more than one number has: a long run of digits is many numbers.
    let digits = run_len(&text[..text.len().min(3)], 0, |byte| byte.is_ascii_digit());
    (digits > 0).then_some(digits)
}

/// At most one blank, signs, and the line ends and slashes behind them.
fn punctuation_len(text: &[u8]) -> Option<usize> {
    let before = usize::from(text[0] == b' ');
    let signs = run_len(text, before, is_punctuation);
    let end = before + signs;
    (signs > 0).then(|| end + run_len(text, end, |byte| matches!(byte, b'\r' | b'\n' | b'/')))
}

/// Blanks up to the last line end among them.
fn line_ends_len(text: &[u8]) -> Option<usize> {
    let blanks = run_len(text, 0, is_whitespace);
    text[..blanks].iter().rposition(|byte| matches!(byte, b'\r' | b'\n')).map(|at| at + 1)
}

/// Blanks; the last of several belongs to the word behind them.
fn whitespace_len(text: &[u8]) -> usize {
    let blanks = run_len(text, 0, is_whitespace);
    if blanks < text.len() && blanks > 1 { blanks - 1 } else { blanks.max(1) }
}
