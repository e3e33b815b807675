//! Wrapping and padding of text, in columns of the terminal.
//!
//! A wide character takes two columns, a combining one none, and an escape sequence for a color
//! none either.

use unicode_width::UnicodeWidthChar;

/// Longer lines are hard to read, even on a wider terminal.
const MAX_LINE_LEN: usize = 100;
/// On narrower terminals, lines are wrapped as if they had this width.
const MIN_LINE_LEN: usize = 20;
const ESCAPE: char = '\u{1b}';

/// Returns the number of columns that a text takes.
pub(crate) fn columns(text: &str) -> usize {
    visible_chars(text).map(|(_, c)| char_columns(c)).sum()
}

fn char_columns(c: char) -> usize {
    UnicodeWidthChar::width(c).unwrap_or(0)
}

/// Returns the characters that are not part of an escape sequence, with their positions.
fn visible_chars(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut in_sequence = false;
    text.char_indices().filter(move |(_, c)| {
        if in_sequence {
            in_sequence = !c.is_ascii_alphabetic();
            return false;
        }
        in_sequence = *c == ESCAPE;
        !in_sequence
    })
}

/// Wraps a paragraph at the width of the terminal.
pub(crate) fn wrap(text: &str, width: Option<u16>) -> String {
    let width = width.map_or(MAX_LINE_LEN, usize::from).clamp(MIN_LINE_LEN, MAX_LINE_LEN);
    let paragraph = text.split_whitespace().collect::<Vec<_>>().join(" ");
    wrap_line(&paragraph, width, 0)
}

/// Wraps each line that is longer than the terminal. Its further lines are indented a bit more than
/// its first one, or up to the text after a label such as `hint:`.
pub(crate) fn wrap_lines(text: &str, width: u16) -> String {
    let width = usize::from(width).max(MIN_LINE_LEN);
    let mut wrapped = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (content, end) = line.strip_suffix('\n').map_or((line, ""), |content| (content, "\n"));
        if columns(content) <= width {
            wrapped += content;
        } else {
            wrapped += &wrap_line(content, width, hanging_indent(content).min(width / 2));
        }
        wrapped += end;
    }
    wrapped
}

/// Returns the indentation of the lines that follow the first line of a wrapped one.
fn hanging_indent(line: &str) -> usize {
    let plain: String = visible_chars(line).map(|(_, c)| c).collect();
    let spaces = plain.len() - plain.trim_start_matches(' ').len();
    let label = plain.trim_start_matches(' ').split_once(": ").map(|(label, _)| label);
    let is_label = |label: &&str| {
        label.len() <= 10 && label.chars().all(|c| c.is_ascii_lowercase() || c == ' ')
    };
    spaces + label.filter(is_label).map_or(2, |label| label.len() + 2)
}

/// Wraps a line between words. Text in backticks stays together if it fits on a line, so that
/// commands can be copied.
fn wrap_line(line: &str, width: usize, indent: usize) -> String {
    let mut lines = String::with_capacity(line.len() + 16);
    let mut length = 0;
    let mut is_line_empty = true;
    for (spaces, word) in words(line, width.saturating_sub(indent)) {
        let word_length = columns(word);
        if !is_line_empty && length + spaces + word_length > width {
            lines.push('\n');
            lines.extend(std::iter::repeat_n(' ', indent));
            length = indent;
        } else {
            lines.extend(std::iter::repeat_n(' ', spaces));
            length += spaces;
        }
        lines += word;
        length += word_length;
        is_line_empty = false;
    }
    lines
}

/// Splits a line into words, each with the number of spaces before it. Text in backticks of at most
/// `max_code` columns is one word.
fn words(line: &str, max_code: usize) -> Vec<(usize, &str)> {
    let code_spans = code_spans(line, max_code);
    let is_in_code = |at: usize| code_spans.iter().any(|span| span.contains(&at));
    let mut words = Vec::new();
    let (mut start, mut spaces) = (None, 0);
    for (at, c) in line.char_indices() {
        if c == ' ' && !is_in_code(at) {
            if let Some(start) = start.take() {
                words.push((std::mem::take(&mut spaces), &line[start..at]));
            }
            spaces += 1;
        } else if start.is_none() {
            start = Some(at);
        }
    }
    if let Some(start) = start {
        words.push((spaces, &line[start..]));
    }
    words
}

/// Returns the positions of short texts in backticks.
fn code_spans(line: &str, max_columns: usize) -> Vec<std::ops::Range<usize>> {
    let ticks: Vec<usize> = line.match_indices('`').map(|(at, _)| at).collect();
    if !ticks.len().is_multiple_of(2) {
        return Vec::new();
    }
    let spans = ticks.chunks_exact(2).map(|pair| pair[0]..pair[1] + 1);
    spans.filter(|span| columns(&line[span.clone()]) <= max_columns).collect()
}

/// Pads or truncates a text to `width` columns.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let fitted = truncate_columns(text, width);
    let missing = width.saturating_sub(columns(&fitted));
    fitted + &" ".repeat(missing)
}

/// Truncates a text to `width` columns, including the `…` at its end.
pub(crate) fn truncate_columns(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let kept = head(text, width.saturating_sub(1));
    format!("{}…", kept.trim_end())
}

/// Returns the longest start of a text that takes at most `width` columns.
pub(super) fn head(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, c) in visible_chars(text) {
        used += char_columns(c);
        if used > width {
            return &text[..at];
        }
    }
    text
}

/// Returns the longest end of a text that takes at most `width` columns. The text has no escape
/// sequences.
pub(super) fn tail(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += char_columns(c);
        if used > width {
            return &text[at + c.len_utf8()..];
        }
    }
    text
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
        assert_eq!(pad("日本語", 4), "日… ");
        assert_eq!(pad("日本", 5), "日本 ");
        assert_eq!(pad("e\u{301}x", 3), "e\u{301}x ");
    }

    #[test]
    fn wide_and_combining_characters_and_colors_are_measured_in_columns() {
        for (text, expected) in
            [("abc", 3), ("日本", 4), ("e\u{301}", 1), ("\u{1b}[1;31mred\u{1b}[0m", 3), ("🙂", 2)]
        {
            assert_eq!(columns(text), expected, "{text:?}");
        }
    }

    #[test]
    fn no_line_is_longer_than_the_terminal_and_no_word_is_broken() {
        let text = "error: cannot reach the repository `file:///srv/x` because it is elsewhere\n  \
                    a line with 日本語 日本語 日本語 日本語 日本語 日本語 wide characters in it\n\
                    \u{1b}[1mbold\u{1b}[0m and then a text that is long enough to be wrapped twice \
                    at forty columns, and once at eighty\n";
        for width in [40, 80, 200] {
            let wrapped = wrap_lines(text, width);
            for line in wrapped.lines() {
                assert!(columns(line) <= usize::from(width), "{width}: {line:?}");
            }
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&wrapped), words(text), "{width}");
        }
        assert_eq!(wrap_lines(text, 200), text);
    }

    #[test]
    fn further_lines_are_indented_up_to_the_text_after_a_label() {
        assert_eq!(
            wrap_lines("hint: run it again and again and again, please\n", 30),
            "hint: run it again and again\n      and again, please\n"
        );
        assert_eq!(
            wrap_lines("+ a-folder edited since it was installed\n", 30),
            "+ a-folder edited since it was\n  installed\n"
        );
    }

    #[test]
    fn commands_in_backticks_stay_on_one_line() {
        assert_eq!(
            wrap_lines("to update it, run `sp install team -a x` again\n", 32),
            "to update it, run\n  `sp install team -a x` again\n"
        );
        // One that fits on no line is wrapped between its words.
        let long = format!("run `sp install {}`\n", "team ".repeat(9).trim_end());
        assert!(wrap_lines(&long, 24).lines().all(|line| columns(line) <= 24));
    }
}
