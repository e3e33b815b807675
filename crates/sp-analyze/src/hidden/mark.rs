//! Replaces hidden characters with visible marks.

use std::borrow::Cow;
use std::fmt::Write;

use super::{HiddenRun, decode, hidden_runs, kind::kind_of};

/// Maximum number of code points listed in a mark.
const MAX_LISTED_CODE_POINTS: usize = 8;
/// Maximum length of decoded text in a mark.
const MAX_SHOWN_CHARS: usize = 200;

const OPEN: char = '⟦';
const CLOSE: char = '⟧';

/// Replaces each run of hidden characters with a visible mark: `⟦hidden tag characters: "ignore
/// all"⟧` if it can be decoded, `⟦U+202E⟧` otherwise.
///
/// In the result, every `⟦` starts a mark and every `⟧` ends one. Brackets in the input become
/// marks too, `⟦U+27E6⟧` and `⟦U+27E7⟧`, except those of an existing mark, so marking is
/// idempotent. A text that contains a literal mark harms only itself, since the mark was visible.
/// Decoded text is escaped and truncated: a mark contains no line end, hidden character or bracket,
/// and nothing in it can end it early.
pub fn mark(text: &str) -> Cow<'_, str> {
    let mut output = String::new();
    let mut done = 0;
    for run in hidden_runs(text) {
        push_with_marked_brackets(&mut output, &text[done..run.range.start]);
        push_mark(&mut output, text, &run);
        done = run.range.end;
    }
    if done == 0 && !text.contains([OPEN, CLOSE]) {
        return Cow::Borrowed(text);
    }
    push_with_marked_brackets(&mut output, &text[done..]);
    Cow::Owned(output)
}

fn push_mark(output: &mut String, text: &str, run: &HiddenRun) {
    let hidden = &text[run.range.clone()];
    output.push(OPEN);
    match decode::decode(hidden, run.kind) {
        Some(decoded) => {
            output.extend(["hidden ", run.kind.name(), ": "]);
            push_decoded(output, &decoded);
        }
        None => push_code_points(output, hidden),
    }
    output.push(CLOSE);
}

/// Appends decoded text in quotes, escaped and truncated.
pub(super) fn push_decoded(output: &mut String, decoded: &str) {
    output.push('"');
    for (count, c) in decoded.chars().enumerate() {
        match c {
            _ if count == MAX_SHOWN_CHARS => {
                output.push('…');
                break;
            }
            '"' | '\\' | '\n' | '\r' | '\t' => output.extend(c.escape_default()),
            c if c == OPEN || c == CLOSE || kind_of(c).is_some() => {
                output.extend(c.escape_unicode());
            }
            c => output.push(c),
        }
    }
    output.push('"');
}

/// Appends the first code points, and the number of the others.
pub(super) fn push_code_points(output: &mut String, hidden: &str) {
    for (count, c) in hidden.chars().take(MAX_LISTED_CODE_POINTS).enumerate() {
        let space = if count > 0 { " " } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(output, "{space}U+{:04X}", u32::from(c));
    }
    let more = hidden.chars().count().saturating_sub(MAX_LISTED_CODE_POINTS);
    if more > 0 {
        let _ = write!(output, " and {more} more");
    }
}

/// Appends text without hidden characters. Brackets become marks unless they belong to one.
fn push_with_marked_brackets(output: &mut String, mut text: &str) {
    while let Some(at) = text.find([OPEN, CLOSE]) {
        output.push_str(&text[..at]);
        text = &text[at..];
        let length = mark_length(text).unwrap_or_else(|| {
            push_bracket_mark(output, text);
            0
        });
        output.push_str(&text[..length]);
        text = &text[length.max(OPEN.len_utf8())..];
    }
    output.push_str(text);
}

fn push_bracket_mark(output: &mut String, text: &str) {
    output.push(OPEN);
    push_code_points(output, &text[..OPEN.len_utf8()]);
    output.push(CLOSE);
}

/// The length of the mark at the start of a text, if there is one.
fn mark_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix(OPEN)?;
    if !inside.starts_with("U+") && !inside.starts_with("hidden ") {
        return None;
    }
    let end = inside
        .find(|c| c == OPEN || c == CLOSE || c == '\n' || c == '\r' || kind_of(c).is_some())?;
    inside[end..].starts_with(CLOSE).then_some(OPEN.len_utf8() + end + CLOSE.len_utf8())
}
