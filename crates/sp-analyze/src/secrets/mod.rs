//! Secrets in somebody's text: keys, passwords behind their names, tokens in headers.
//!
//! Every search is linear in the length of the text.

mod assignment;

use assignment::assigns_secret;
use sp_formats::workspace::detect_secret;

/// What is shorter cannot be told from a word by its shape.
const MIN_WORD_LEN: usize = 16;
/// A shorter line has no room for a telling name, a sign and a secret.
const MIN_LINE_LEN: usize = 3 + 1 + MIN_SECRET_LEN;
/// What is shorter is no secret.
const MIN_SECRET_LEN: usize = 6;

/// Whether there is a word in a text that looks like a secret, or a name of one with its value.
pub fn has_secret(text: &str) -> bool {
    text.contains("PRIVATE KEY-----")
        || text.contains("PRIVATE KEY BLOCK-----")
        || text.split_whitespace().any(is_secret)
        || text
            .lines()
            .filter(|line| line.len() >= MIN_LINE_LEN)
            .any(|line| assigns_secret(line) || has_auth_credentials(line))
}

/// A word that is a secret, or has one between its marks: backticks, brackets, stars.
pub fn is_secret(word: &str) -> bool {
    if word.len() < MIN_WORD_LEN && !word.contains("://") {
        return false;
    }
    let is_mark = |c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.' | '+' | '/' | '=');
    let is_part = |part: &str| {
        let part = part.trim_matches('.');
        part.len() >= MIN_WORD_LEN && detect_secret("", part).is_some()
    };
    // Most parts of a word are short, and there may be millions of them.
    let mut parts = word.split(is_mark).filter(|part| part.len() >= MIN_WORD_LEN);
    detect_secret("", word).is_some()
        || parts.any(|part| is_part(part) || part.split('/').any(is_part))
}

/// `Authorization: Bearer abc123`
fn has_auth_credentials(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let mut scheme = words.next();
    words.any(|value| {
        let bears = scheme.replace(value).is_some_and(is_auth_scheme);
        bears && is_literal(unquoted_value(value)) && has_letters_and_digits(unquoted_value(value))
    })
}

/// Whether a word is `Bearer` or `Basic` behind nothing but marks.
fn is_auth_scheme(word: &str) -> bool {
    ["bearer", "basic"].iter().any(|scheme| {
        let (before, last) =
            word.split_at(word.floor_char_boundary(word.len().saturating_sub(scheme.len())));
        last.eq_ignore_ascii_case(scheme) && !before.contains(char::is_alphanumeric)
    })
}

/// A value without quotes, up to where it ends.
fn unquoted_value(rest: &str) -> &str {
    rest.split(ends_unquoted_value).next().unwrap_or_default()
}

/// Whether a value without quotes ends before this character.
fn ends_unquoted_value(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';')
}

/// Letters and digits together.
fn has_letters_and_digits(value: &str) -> bool {
    value.contains(|c: char| c.is_ascii_digit())
        && value.contains(|c: char| c.is_ascii_alphabetic())
}

/// What a reference to something else begins with.
const REFERENCE_PREFIXES: [char; 10] = ['$', '<', '{', '%', '*', '[', '(', '~', '/', '^'];
/// What makes a value a piece of code.
const CODE_CHARS: [char; 5] = ['(', '{', '<', '$', '&'];
/// Words in a value that stands for another.
const PLACEHOLDERS: [&str; 9] =
    ["changeme", "example", "your", "xxx", "placeholder", "dummy", "test", "todo", "..."];

/// Not a reference to a variable, a placeholder, a number or a piece of code.
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

/// Where the first word of [`PLACEHOLDERS`] begins, in either case.
fn find_placeholder(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let starts = |at: usize, word: &str| {
        bytes[at..]
            .get(..word.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    };
    (0..bytes.len()).find(|at| PLACEHOLDERS.iter().any(|word| starts(*at, word)))
}
