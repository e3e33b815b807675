//! Text from outside, made safe to show on a terminal.

use std::borrow::Cow;

pub use crate::redact::mask_secrets;

/// The text with every control, bidi and invisible formatting character escaped.
///
/// A line feed or a tab is escaped too: what is shown here stands inside a line.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !is_hidden(c) => shown.push(c),
            '\n' | '\t' | '\r' => shown.extend(c.escape_default()),
            c => shown.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

/// Text of several lines: as [`printable`], but line feeds stay.
pub fn printable_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(printable).collect();
    lines.join("\n")
}

/// A line of somebody's text: as [`printable`], but tabs stay, since they are no secret there.
pub fn printable_tabs(line: &str) -> String {
    line.split('\t').map(printable).collect::<Vec<_>>().join("\t")
}

/// Somebody's text of several lines: line feeds and tabs stay.
pub fn printable_text(text: &str) -> String {
    text.lines().map(printable_tabs).collect::<Vec<_>>().join("\n")
}

/// Whether a character shows nothing of itself, or changes how others are shown.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Bidi marks, embeddings, overrides and isolates.
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
    fn se_08_escapes_bidi_and_controls_are_shown_escaped() {
        for (text, shown) in [
            ("plain é 日本 👩\u{200d}🚀", "plain é 日本 👩\u{200d}🚀"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("x\u{e0041}", "x\\u{e0041}"),
        ] {
            assert_eq!(printable(text), shown);
        }
        assert_eq!(printable_lines("a\n\u{7}b"), "a\n\\u{7}b");
    }
}
