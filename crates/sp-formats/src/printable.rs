//! Untrusted text, escaped for display in a terminal.

use std::borrow::Cow;

pub use crate::redact::mask_secrets;

/// Escapes every control, bidirectional and invisible formatting character.
///
/// Line feeds and tabs are escaped too, because the result is part of a line.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut output = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !is_hidden(c) => output.push(c),
            '\n' | '\t' | '\r' => output.extend(c.escape_default()),
            c => output.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(output)
}

/// Like [`printable`], but keeps line feeds.
pub fn printable_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(printable).collect();
    lines.join("\n")
}

/// Like [`printable`], but keeps tabs: for a line of a file.
pub fn printable_tabs(line: &str) -> String {
    line.split('\t').map(printable).collect::<Vec<_>>().join("\t")
}

/// Like [`printable`], but keeps line feeds and tabs.
pub fn printable_text(text: &str) -> String {
    text.lines().map(printable_tabs).collect::<Vec<_>>().join("\n")
}

/// Whether a character is invisible or changes how others are displayed.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Bidirectional marks, embeddings, overrides and isolates.
            '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
            // Line and paragraph separators, zero-width characters, the byte-order mark.
            | '\u{2028}' | '\u{2029}' | '\u{200B}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}'
            // Deprecated format characters, interlinear annotation, tag characters.
            | '\u{206A}'..='\u{206F}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn se_08_control_and_bidirectional_characters_are_escaped() {
        for (text, expected) in [
            ("plain é 日本 👩\u{200d}🚀", "plain é 日本 👩\u{200d}🚀"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("x\u{e0041}", "x\\u{e0041}"),
        ] {
            assert_eq!(printable(text), expected);
        }
        assert_eq!(printable_lines("a\n\u{7}b"), "a\n\\u{7}b");
    }
}
