//! Secrets in somebody's text: keys, passwords behind their names, tokens in headers.

use crate::bag::secret;

/// A name and its type are not longer.
const LONGEST_NAME: usize = 120;
/// What is shorter cannot be told from a word by its shape.
const SHORTEST_WORD: usize = 16;
/// What is shorter is no secret.
const FEWEST: usize = 6;

/// Whether there is a word in a text that looks like a secret, or a name of one with its value.
pub fn has_secret(text: &str) -> bool {
    text.contains("PRIVATE KEY-----")
        || text.contains("PRIVATE KEY BLOCK-----")
        || text.split_whitespace().any(is_secret)
        || text.lines().any(|line| assigns_secret(line) || bears_secret(line))
}

/// A word that is a secret, or has one between its marks: backticks, brackets, stars.
pub fn is_secret(word: &str) -> bool {
    if word.len() < SHORTEST_WORD && !word.contains("://") {
        return false;
    }
    let is_mark = |c: char| !c.is_alphanumeric() && !"-_.+/=".contains(c);
    secret("", word).is_some()
        || word.split(is_mark).flat_map(|part| [part].into_iter().chain(part.split('/'))).any(|part| {
            let part = part.trim_matches('.');
            part.len() >= SHORTEST_WORD && secret("", part).is_some()
        })
}

/// `Authorization: Bearer abc123`
fn bears_secret(line: &str) -> bool {
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        let scheme = word.trim_start_matches(|c: char| !c.is_alphanumeric());
        if ["bearer", "basic"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
            && words.clone().next().is_some_and(|value| is_literal(bare(value)) && is_mixed(bare(value)))
        {
            return true;
        }
    }
    false
}

/// `password = "hunter2"`: a telling name, and a value that is one, and not a type, a place or a sentence.
fn assigns_secret(line: &str) -> bool {
    line.match_indices(['=', ':']).any(|(at, sign)| {
        let start = (0..=at.saturating_sub(LONGEST_NAME)).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
        let before = line[start..at].rsplit([',', '(', ';']).next().unwrap_or_default();
        // Between a name and its value may stand a type.
        let names = [before, before.split(':').next().unwrap_or_default()].map(last_word);
        let rest = line[at + 1..].trim_start_matches('=').trim();
        let tells = |name: &&str| !name.is_empty() && !name.to_lowercase().contains("tokeniz");
        names.iter().filter(|name| tells(name)).any(|name| holds_secret(name, rest, sign))
    })
}

fn last_word(text: &str) -> &str {
    let text = text.trim_end().trim_end_matches(['"', '\'', '`', '?']);
    text.rsplit(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))).next().unwrap_or_default()
}

/// Whether what stands behind a name and a sign begins with the value of a secret.
fn holds_secret(name: &str, rest: &str, sign: &str) -> bool {
    let quotes = ['"', '\'', '`'];
    let quoted =
        quotes.iter().find_map(|quote| rest.strip_prefix(*quote)?.split_once(*quote).map(|(inside, _)| inside));
    if let Some(value) = quoted {
        return is_literal(value) && secret(name, value).is_some();
    }
    let value = bare(rest);
    let is_whole = sign == "=" && value == rest.trim_end_matches([',', ';']);
    // In a sentence, or behind a colon, only what is no word is a value.
    let is_alone = sign == "=" || value.len() + 1 >= rest.len();
    (is_whole || (is_alone && is_mixed(value))) && is_literal(value) && secret(name, value).is_some()
}

/// A value without quotes, up to where it ends.
fn bare(rest: &str) -> &str {
    rest.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';')).next().unwrap_or_default()
}

/// Letters and digits together.
fn is_mixed(value: &str) -> bool {
    value.contains(|c: char| c.is_ascii_digit()) && value.contains(|c: char| c.is_ascii_alphabetic())
}

/// Not a reference to a variable, a placeholder, a number or a piece of code.
fn is_literal(value: &str) -> bool {
    let stands_for_another = value.starts_with(['$', '<', '{', '%', '*', '[', '(', '~', '/', '^'])
        || value.contains(['(', '{', '<', '$', '&']);
    let words = ["changeme", "example", "your", "xxx", "placeholder", "dummy", "test", "todo", "..."];
    let lower = value.to_ascii_lowercase();
    let is_number = value.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '_'));
    value.len() >= FEWEST && !is_number && !stands_for_another && !words.iter().any(|word| lower.contains(word))
}
