//! Detects secrets in text: keys, assigned passwords, tokens in headers.
//!
//! [`has_secret`] decides what must not be recorded: it misses little, and takes examples for
//! secrets. [`find_secrets`] reports to people, and leaves examples out.
//!
//! All functions are linear in the length of the text.

mod assignment;
mod finder;

use std::ops::Range;

use assignment::assigned_values;
pub use finder::{FoundSecret, SecretKind, find_secrets};
use sp_formats::workspace::detect_secret;

/// Shorter words cannot be recognized by their shape.
const MIN_WORD_LEN: usize = 16;
/// Shorter words cannot be URLs.
const MIN_URL_LEN: usize = "a://".len();
/// Shorter lines cannot contain a name, an operator and a secret.
const MIN_LINE_LEN: usize = 3 + 1 + MIN_SECRET_LEN;
/// Shorter values are not secrets.
const MIN_SECRET_LEN: usize = 6;

/// Whether a text contains a word that looks like a secret, or an assignment of one.
pub fn has_secret(text: &str) -> bool {
    text.contains("PRIVATE KEY-----")
        || text.contains("PRIVATE KEY BLOCK-----")
        || text.split_whitespace().any(is_secret)
        || text
            .split('\n')
            .filter(|line| line.len() >= MIN_LINE_LEN)
            .map(|line| line.strip_suffix('\r').unwrap_or(line))
            .any(|line| {
                assigned_values(line).next().is_some() || auth_credentials(line).next().is_some()
            })
}

/// Whether a word is a secret or contains one between markup characters.
pub fn is_secret(word: &str) -> bool {
    let is_short = word.len() < MIN_WORD_LEN;
    if is_short && (word.len() < MIN_URL_LEN || !word.contains("://")) {
        return false;
    }
    let is_part = |part: &str| {
        let part = part.trim_matches('.');
        part.len() >= MIN_WORD_LEN && detect_secret("", part).is_some()
    };
    // Most parts of a word are short, and there may be millions of them.
    let mut parts = word.split(is_word_mark).filter(|part| part.len() >= MIN_WORD_LEN);
    detect_secret("", word).is_some()
        || parts.any(|part| is_part(part) || part.split('/').any(is_part))
}

/// Whether a character separates the parts of a word, such as a bracket or a quote.
fn is_word_mark(c: char) -> bool {
    !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.' | '+' | '/' | '=')
}

/// The values of credentials in a line, such as that of `Authorization: Bearer abc123`.
fn auth_credentials(line: &str) -> impl Iterator<Item = Range<usize>> {
    let mut words = line.split_whitespace();
    let mut scheme = words.next();
    words.filter_map(move |word| {
        let bears = scheme.replace(word).is_some_and(is_auth_scheme);
        let value = unquoted_value(word);
        let is_value = bears && is_literal(value) && has_letters_and_digits(value);
        is_value.then(|| finder::range_in(line, value))
    })
}

/// Whether a word is `Bearer` or `Basic`, ignoring leading punctuation.
fn is_auth_scheme(word: &str) -> bool {
    ["bearer", "basic"].iter().any(|scheme| {
        let (before, last) =
            word.split_at(word.floor_char_boundary(word.len().saturating_sub(scheme.len())));
        last.eq_ignore_ascii_case(scheme) && !before.contains(char::is_alphanumeric)
    })
}

/// The unquoted value at the start of a text.
fn unquoted_value(rest: &str) -> &str {
    rest.split(ends_unquoted_value).next().unwrap_or_default()
}

fn ends_unquoted_value(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';')
}

fn has_letters_and_digits(value: &str) -> bool {
    value.contains(|c: char| c.is_ascii_digit())
        && value.contains(|c: char| c.is_ascii_alphabetic())
}

/// First characters of a reference to something else.
const REFERENCE_PREFIXES: [char; 10] = ['$', '<', '{', '%', '*', '[', '(', '~', '/', '^'];
/// Characters that make a value code.
const CODE_CHARS: [char; 5] = ['(', '{', '<', '$', '&'];
/// Words that mark a value as a placeholder.
const PLACEHOLDERS: [&str; 9] =
    ["changeme", "example", "your", "xxx", "placeholder", "dummy", "test", "todo", "..."];

/// Whether a value is not a variable, a placeholder, a number or code.
fn is_literal(value: &str) -> bool {
    value.len() >= MIN_SECRET_LEN
        && !value.chars().all(is_number_char)
        && !value.starts_with(REFERENCE_PREFIXES)
        && !value.contains(CODE_CHARS)
        && find_placeholder(value).is_none()
}

fn is_number_char(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '.' | '_')
}

/// The offset of the first word of [`PLACEHOLDERS`], ignoring case.
fn find_placeholder(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let starts = |offset: usize, word: &str| {
        bytes[offset..]
            .get(..word.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    };
    (0..bytes.len()).find(|offset| PLACEHOLDERS.iter().any(|word| starts(*offset, word)))
}
