//! Splits text into sentences, and escapes it so that it is displayed literally anywhere in
//! Markdown.

use std::collections::HashSet;

/// Words with a period that does not end a sentence.
const ABBREVIATIONS: &[&str] = &[
    "e.g", "i.e", "etc", "vs", "cf", "fig", "sec", "ch", "p", "pp", "mr", "mrs", "ms", "dr", "st",
    "inc", "ltd", "corp", "approx", "resp", "al", "ca", "z.b", "d.h", "bzw", "ggf", "usw",
];

/// Splits inline Markdown into sentences, never inside a code span.
pub(crate) fn split_sentences(text: &str) -> Vec<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    let (mut start, mut in_code) = (0, false);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        match c {
            '`' => in_code = !in_code,
            _ if in_code => {}
            // An escaped character is not a marker.
            '\\' => drop(chars.next_if(|(_, next)| next.is_ascii_punctuation())),
            '。' | '！' | '？' => push_sentence(&mut found, &text, &mut start, end),
            ' ' if ends_sentence(&text[start..at], &text[end..]) => {
                push_sentence(&mut found, &text, &mut start, end);
            }
            _ => {}
        }
    }
    let length = text.len();
    push_sentence(&mut found, &text, &mut start, length);
    found
}

/// Adds the sentence up to `end` and moves `start` there.
fn push_sentence(found: &mut Vec<String>, text: &str, start: &mut usize, end: usize) {
    let sentence = text[*start..end].trim();
    *start = end;
    if !sentence.is_empty() {
        found.push(escape_line_start(sentence));
    }
}

/// Whether a sentence ends between `before` and `after`.
fn ends_sentence(before: &str, after: &str) -> bool {
    let bare = before.trim_end_matches(['"', '\'', ')', '”', '’', '*', '_', '»', ']']);
    let bare = bare.trim_end_matches('\\').trim_end_matches(['"', ')']);
    let next = after
        .trim_start_matches(['"', '\'', '(', '“', '‘', '«', '\\', '*', '_', '['])
        .chars()
        .next();
    let begins = next.is_some_and(|c| !c.is_lowercase() && (c.is_alphanumeric() || c == '`'));
    match bare.chars().last() {
        Some('!' | '?' | '…') => begins,
        // A list number is not a sentence.
        Some('.') if bare.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => false,
        Some('.') => begins && !is_abbreviation(bare.rsplit([' ', '(']).next().unwrap_or_default()),
        _ => false,
    }
}

/// Whether a word is an abbreviation such as `e.g.`, or a single letter.
fn is_abbreviation(word: &str) -> bool {
    let bare = word.trim_end_matches('.').trim_start_matches(['"', '(', '\\', '[']);
    let is_letter = bare.chars().count() == 1 && bare.chars().all(char::is_alphabetic);
    ABBREVIATIONS.contains(&bare.to_lowercase().as_str()) || is_letter && bare != "I"
}

/// Escapes a sentence that would start a heading, a list or a quote at the start of a line.
pub(crate) fn escape_line_start(sentence: &str) -> String {
    let digits = sentence.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &sentence[digits..];
    if (1..=9).contains(&digits) && rest.starts_with(['.', ')']) {
        return format!("{}\\{rest}", &sentence[..digits]);
    }
    if sentence.starts_with(['#', '>', '-', '+', '=', '|', '~', ':']) {
        return format!("\\{sentence}");
    }
    sentence.into()
}

/// Escapes all Markdown syntax.
///
/// A word that starts with `@` becomes a code span, because some agents include the file that such
/// a word names.
pub(crate) fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    // The text before is unknown.
    let mut before = '\0';
    while let Some(c) = rest.chars().next() {
        let (this, next) = rest.split_at(c.len_utf8());
        let follows = next.chars().next();
        match c {
            // The text after is unknown, and may continue the word.
            '@' if !before.is_alphanumeric() && follows.is_none_or(|c| !c.is_whitespace()) => {
                let end = rest.find(|c: char| c.is_whitespace() || c == '`').unwrap_or(rest.len());
                out.push_str(&code_span(&rest[..end]));
                rest = &rest[end..];
                before = '`';
                continue;
            }
            '\\' | '`' | '*' | '[' | ']' | '<' => out.extend(['\\', c]),
            '_' if !(before.is_alphanumeric() && follows.is_some_and(char::is_alphanumeric)) => {
                out.push_str("\\_");
            }
            '&' if follows.is_some_and(|c| c == '#' || c.is_ascii_alphabetic()) => {
                out.push_str("\\&");
            }
            // Before a word these characters close nothing, and a closing one is escaped: `~/path`,
            // `$5`.
            '~' | '$'
                if before.is_whitespace()
                    && follows.is_some_and(|c| c.is_alphanumeric() || c == '/') =>
            {
                out.push(c);
            }
            '~' | '$' => out.extend(['\\', c]),
            _ => out.push_str(this),
        }
        before = c;
        rest = next;
    }
    out
}

/// Formats code as a code span on one line.
pub(crate) fn code_span(code: &str) -> String {
    let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
    // Backticks inside would need longer fences, so they are replaced.
    let code = code.replace('`', "'");
    if code.is_empty() { String::new() } else { format!("`{code}`") }
}

/// Returns a sentence as plain text, without escapes.
pub fn to_plain_text(sentence: &str) -> String {
    let mut out = String::with_capacity(sentence.len());
    let (mut in_code, mut chars) = (false, sentence.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '`' => in_code = !in_code,
            '\\' if !in_code && chars.peek().is_some_and(char::is_ascii_punctuation) => {
                out.extend(chars.next());
            }
            c => out.push(c),
        }
    }
    out
}

/// Whether a part can be cut out of a sentence without splitting a code span or an escape, which
/// would turn code into text or the other way round.
pub(crate) fn is_clean_excerpt(sentence: &str, part: &str) -> bool {
    let places = cut_positions(sentence);
    let is_clean =
        |offset: usize| places.contains(&offset) && places.contains(&(offset + part.len()));
    sentence.match_indices(part).any(|(offset, _)| is_clean(offset))
}

/// Byte offsets at which a sentence may be cut.
fn cut_positions(sentence: &str) -> HashSet<usize> {
    let mut places = HashSet::from([sentence.len()]);
    let (mut in_code, mut chars) = (false, sentence.char_indices().peekable());
    while let Some((at, c)) = chars.next() {
        if !in_code {
            places.insert(at);
        }
        match c {
            '`' => in_code = !in_code,
            '\\' if !in_code => drop(chars.next_if(|(_, next)| next.is_ascii_punctuation())),
            _ => {}
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cp_12_excerpt_never_splits_code_or_escapes() {
        let sentence = r"Call `a b` with \[x\] or `c` now";
        for (excerpt, is_clean) in [
            ("Call `a b` with", true),
            (r"with \[x\]", true),
            ("`c` now", true),
            ("b` with", false),
            ("Call `a", false),
            (r"[x\] or", false),
            (r"with \[x\", false),
            ("c", false),
        ] {
            assert_eq!(is_clean_excerpt(sentence, excerpt), is_clean, "{excerpt}");
        }
    }

    #[test]
    fn text_is_split_at_sentence_ends_only() {
        for (text, expected) in [
            ("One. Two! Three? Four", &["One.", "Two!", "Three?", "Four"][..]),
            ("Use e.g. Rust. It is fast.", &["Use e.g. Rust.", "It is fast."]),
            (
                "Version 1.2 is out. See foo.rs for more.",
                &["Version 1.2 is out.", "See foo.rs for more."],
            ),
            ("Call `a. B` now. Then go.", &["Call `a. B` now.", "Then go."]),
            (r"Call `a. B\` now. Then go.", &[r"Call `a. B\` now.", "Then go."]),
            (r"Call \\`a. B` now. Then go.", &[r"Call \\`a. B` now.", "Then go."]),
            (r"Call \`a. Then go.", &[r"Call \`a.", "Then go."]),
            ("He said \"No.\" Then he left.", &["He said \"No.\"", "Then he left."]),
            ("It ends in lower case. npm is next.", &["It ends in lower case. npm is next."]),
            ("認証します。次へ。", &["認証します。", "次へ。"]),
            ("  \n ", &[]),
        ] {
            assert_eq!(split_sentences(text), expected, "{text}");
        }
    }

    #[test]
    fn cp_12_escaped_text_has_no_markdown_meaning() {
        for (text, expected) in [
            ("a [^src_x] b", r"a \[^src_x\] b"),
            ("<!-- x -->", r"\<!-- x -->"),
            ("snake_case and _this_", r"snake_case and \_this\_"),
            ("see @~/.ssh/id_rsa now", "see `@~/.ssh/id_rsa` now"),
            ("mail a@b.example", "mail a@b.example"),
            ("see @", "see `@`"),
            ("~a~ or ~/b~ for $5 or $x$", r"\~a\~ or ~/b\~ for $5 or $x\$"),
            ("R&D &amp; &lt;", r"R\&D \&amp; \&lt;"),
        ] {
            assert_eq!(escape_markdown(text), expected);
            assert_eq!(to_plain_text(&escape_markdown(text)), text);
        }
        assert_eq!(split_sentences("# No heading"), [r"\# No heading"]);
        assert_eq!(split_sentences("1. No list"), [r"1\. No list"]);
        assert_eq!(split_sentences("- No list"), [r"\- No list"]);
    }
}
