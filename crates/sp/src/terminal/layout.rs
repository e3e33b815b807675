//! Wrapping and padding of text.

use sp_formats::text::truncate;

/// Longer lines are hard to read, even on a wider terminal.
const MAX_LINE_LEN: usize = 100;

/// Wraps a text at the width of the terminal.
pub(crate) fn wrap(text: &str, width: Option<u16>) -> String {
    let width = width.map_or(MAX_LINE_LEN, usize::from).clamp(20, MAX_LINE_LEN);
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let word_length = word.chars().count();
        if length > 0 && length + 1 + word_length > width {
            lines.push('\n');
            length = 0;
        } else if length > 0 {
            lines.push(' ');
            length += 1;
        }
        lines += word;
        length += word_length;
    }
    lines
}

/// Pads or truncates a text to `width` characters.
pub(crate) fn pad(text: &str, width: usize) -> String {
    match text.chars().count() {
        length if length > width => {
            format!("{:width$}", truncate(text, width.saturating_sub(1)))
        }
        _ => format!("{text:width$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_and_padded() {
        let text = wrap("one two three four five six seven", Some(20));
        assert_eq!(text, "one two three four\nfive six seven");
        assert_eq!(pad("é", 3), "é  ");
        assert_eq!(pad("abc", 3), "abc");
        assert_eq!(pad("abcdef", 3), "ab…");
        assert_eq!(pad("a bcdef", 3), "a… ");
    }
}
