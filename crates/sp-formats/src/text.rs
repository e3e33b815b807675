//! Text for people: truncated, escaped, counted.
//!
//! Sizes are [`ByteSize`], timestamps are in [`crate::time`], and text from outside passes
//! through [`crate::printable`] before a terminal shows it.

use std::borrow::Cow;
use std::fmt::Display;

use crate::printable::printable;

pub use sp_tree::{ByteSize, OverLimit};

/// Truncates a text to `max_chars` characters, followed by `…`.
///
/// ```
/// use sp_formats::text::truncate;
///
/// assert_eq!(truncate("as long as allowed", 18), "as long as allowed");
/// assert_eq!(truncate("one word too many", 9), "one word…");
/// ```
pub fn truncate(text: &str, max_chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => Cow::Owned(format!("{}…", text[..end].trim_end())),
        None => Cow::Borrowed(text),
    }
}

/// Truncates a text to its first line and to `max_chars` characters, followed by `…` if anything
/// but white space is left out.
pub fn truncate_line(text: &str, max_chars: usize) -> Cow<'_, str> {
    let text = text.trim_end();
    let line = text.lines().next().unwrap_or_default();
    match truncate(line, max_chars) {
        Cow::Borrowed(line) if line.len() < text.len() => {
            Cow::Owned(format!("{}…", line.trim_end()))
        }
        line => line,
    }
}

/// Truncates a text from outside, and escapes what a terminal must not interpret.
pub fn truncate_printable(text: &str, max_chars: usize) -> String {
    printable(&truncate(text, max_chars)).into_owned()
}

/// Escapes a text for the content of an HTML or XML element, or for an attribute in double quotes.
pub fn escape_markup(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"']) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Formats an integer with thousands separators: `1,234,567`.
pub fn group_digits(number: impl Display) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a count with its noun: `1 file`, `2 files`, `1,234 files`.
pub fn pluralize(number: impl Display, noun: &str) -> String {
    let number = group_digits(number);
    let ending = plural(&number, "", "s");
    format!("{number} {noun}{ending}")
}

/// Returns the form of a word that goes with a count.
///
/// ```
/// use sp_formats::text::{plural, pluralize};
///
/// let was_read = |count: usize| {
///     format!("{} {} read", pluralize(count, "file"), plural(count, "was", "were"))
/// };
/// assert_eq!(was_read(1), "1 file was read");
/// assert_eq!(was_read(2), "2 files were read");
/// ```
pub fn plural<'t>(number: impl Display, one: &'t str, many: &'t str) -> &'t str {
    if number.to_string() == "1" { one } else { many }
}

/// Quotes a path or another word for a shell. A leading `~/` stays outside the quotes.
pub fn shell_quote(path: &str) -> String {
    let (home, rest) = path.strip_prefix("~/").map_or(("", path), |rest| ("~/", rest));
    let plain =
        !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+~".contains(c));
    if plain { path.into() } else { format!("{home}'{}'", rest.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_truncated_at_characters() {
        for (text, max_chars, expected) in [
            ("", 0, ""),
            ("", 3, ""),
            ("abc", 0, "…"),
            ("abc", 2, "ab…"),
            ("abc", 3, "abc"),
            ("abc", 4, "abc"),
            ("ab  c", 3, "ab…"),
            ("äöü", 2, "äö…"),
            ("äöü", 3, "äöü"),
            ("日本語", 1, "日…"),
            ("👩🚀👩", 2, "👩🚀…"),
            ("a\nb", 3, "a\nb"),
        ] {
            assert_eq!(truncate(text, max_chars), expected, "{text:?} {max_chars}");
        }
    }

    #[test]
    fn lines_are_truncated_with_an_ellipsis_if_text_is_left_out() {
        for (text, max_chars, expected) in [
            ("", 3, ""),
            ("abc", 3, "abc"),
            ("abc\n", 3, "abc"),
            ("abc \r\n\n", 3, "abc"),
            ("abc\ndef", 3, "abc…"),
            ("abc \r\ndef", 9, "abc…"),
            ("abcd\ndef", 3, "abc…"),
            ("\nabc", 3, "…"),
        ] {
            assert_eq!(truncate_line(text, max_chars), expected, "{text:?} {max_chars}");
        }
    }

    #[test]
    fn escapes_are_not_truncated() {
        assert_eq!(truncate_printable("ab\u{202e}cd", 3), r"ab\u{202e}…");
        assert_eq!(truncate_printable("ab\u{202e}cd", 2), "ab…");
        assert_eq!(truncate_printable("ab\u{202e}", 3), r"ab\u{202e}");
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(
            escape_markup("<a href=\"x\">&amp; it's ä</a>"),
            "&lt;a href=&quot;x&quot;&gt;&amp;amp; it's ä&lt;/a&gt;"
        );
        assert!(matches!(escape_markup("it's plain ä"), Cow::Borrowed(_)));
        assert_eq!(escape_markup(""), "");
    }

    #[test]
    fn counts_have_separators_and_plurals() {
        let grouped = [0, 7, 999, 1000, 1_234_567].map(|number: u64| group_digits(number));
        assert_eq!(grouped, ["0", "7", "999", "1,000", "1,234,567"]);
        let counted = [0, 1, 2, 1001].map(|number: usize| pluralize(number, "file"));
        assert_eq!(counted, ["0 files", "1 file", "2 files", "1,001 files"]);
    }
}
