//! Secrets in somebody's text: keys, passwords behind their names, tokens in headers.
//!
//! Every search is linear in the length of the text.

mod assignment;

use assignment::assigns_secret;
use sp_formats::bag::secret;

/// What is shorter cannot be told from a word by its shape.
const SHORTEST_WORD: usize = 16;
/// A shorter line has no room for a telling name, a sign and a secret.
const SHORTEST_LINE: usize = 3 + 1 + FEWEST;
/// What is shorter is no secret.
const FEWEST: usize = 6;

/// Whether there is a word in a text that looks like a secret, or a name of one with its value.
pub fn has_secret(text: &str) -> bool {
    text.contains("PRIVATE KEY-----")
        || text.contains("PRIVATE KEY BLOCK-----")
        || text.split_whitespace().any(is_secret)
        || text
            .lines()
            .filter(|line| line.len() >= SHORTEST_LINE)
            .any(|line| assigns_secret(line) || bears_secret(line))
}

/// A word that is a secret, or has one between its marks: backticks, brackets, stars.
pub fn is_secret(word: &str) -> bool {
    if word.len() < SHORTEST_WORD && !word.contains("://") {
        return false;
    }
    let is_mark = |c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.' | '+' | '/' | '=');
    let is_part = |part: &str| {
        let part = part.trim_matches('.');
        part.len() >= SHORTEST_WORD && secret("", part).is_some()
    };
    // Most parts of a word are short, and there may be millions of them.
    let mut parts = word.split(is_mark).filter(|part| part.len() >= SHORTEST_WORD);
    secret("", word).is_some() || parts.any(|part| is_part(part) || part.split('/').any(is_part))
}

/// `Authorization: Bearer abc123`
fn bears_secret(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let mut scheme = words.next();
    words.any(|value| {
        let bears = scheme.replace(value).is_some_and(names_scheme);
        bears && is_literal(bare(value)) && is_mixed(bare(value))
    })
}

/// Whether a word is `Bearer` or `Basic` behind nothing but marks.
fn names_scheme(word: &str) -> bool {
    ["bearer", "basic"].iter().any(|scheme| {
        let (before, last) = word.split_at(word.floor_char_boundary(word.len().saturating_sub(scheme.len())));
        last.eq_ignore_ascii_case(scheme) && !before.contains(char::is_alphanumeric)
    })
}

/// A value without quotes, up to where it ends.
fn bare(rest: &str) -> &str {
    rest.split(ends_bare).next().unwrap_or_default()
}

/// Whether a value without quotes ends before this character.
fn ends_bare(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';')
}

/// Letters and digits together.
fn is_mixed(value: &str) -> bool {
    value.contains(|c: char| c.is_ascii_digit()) && value.contains(|c: char| c.is_ascii_alphabetic())
}

/// What a reference to something else begins with.
const REFERENCES: [char; 10] = ['$', '<', '{', '%', '*', '[', '(', '~', '/', '^'];
/// What makes a value a piece of code.
const CODE: [char; 5] = ['(', '{', '<', '$', '&'];
/// Words in a value that stands for another.
const PLACEHOLDERS: [&str; 9] = ["changeme", "example", "your", "xxx", "placeholder", "dummy", "test", "todo", "..."];

/// Not a reference to a variable, a placeholder, a number or a piece of code.
fn is_literal(value: &str) -> bool {
    value.len() >= FEWEST
        && !value.chars().all(is_of_number)
        && !value.starts_with(REFERENCES)
        && !value.contains(CODE)
        && find_placeholder(value).is_none()
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '.' | '_')
}

/// Where the first word of [`PLACEHOLDERS`] begins, in either case.
fn find_placeholder(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let starts = |at: usize, word: &str| {
        bytes[at..].get(..word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    };
    (0..bytes.len()).find(|at| PLACEHOLDERS.iter().any(|word| starts(*at, word)))
}
