//! A text with what is hidden in it made visible.

use std::borrow::Cow;
use std::fmt::Write;

use super::{HiddenRun, decode, hidden_runs, kind::kind_of};

/// Code points that are listed before the rest is counted.
const MAX_LISTED_CODE_POINTS: usize = 8;
/// More of what was hidden is not shown in a mark.
const MAX_SHOWN_CHARS: usize = 200;

const OPEN: char = '⟦';
const CLOSE: char = '⟧';

/// The text with each run of hidden characters replaced by a mark that can be seen:
/// `⟦hidden tag characters: "ignore all"⟧` where they say something, `⟦U+202E⟧` where not.
///
/// Every `⟦` of the result begins a mark and every `⟧` ends one: a bracket that the text has of its
/// own becomes a mark too, `⟦U+27E6⟧` or `⟦U+27E7⟧`. What is a mark already stays as it is, so
/// marking twice is marking once; a text that writes out a mark accuses only itself, since what it
/// says there was visible. What was hidden is escaped and cut, so a mark holds neither a line end
/// nor a hidden character nor another bracket, and nothing in it can end it early.
pub fn mark(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut done = 0;
    for run in hidden_runs(text) {
        push_with_marked_brackets(&mut shown, &text[done..run.range.start]);
        push_mark(&mut shown, text, &run);
        done = run.range.end;
    }
    if done == 0 && !text.contains([OPEN, CLOSE]) {
        return Cow::Borrowed(text);
    }
    push_with_marked_brackets(&mut shown, &text[done..]);
    Cow::Owned(shown)
}

fn push_mark(shown: &mut String, text: &str, run: &HiddenRun) {
    let hidden = &text[run.range.clone()];
    shown.push(OPEN);
    match decode::decode(hidden, run.kind) {
        Some(said) => {
            shown.extend(["hidden ", run.kind.name(), ": "]);
            push_decoded(shown, &said);
        }
        None => push_code_points(shown, hidden),
    }
    shown.push(CLOSE);
}

/// Adds what was hidden, in quotes, escaped and cut.
pub(super) fn push_decoded(shown: &mut String, said: &str) {
    shown.push('"');
    for (count, c) in said.chars().enumerate() {
        match c {
            _ if count == MAX_SHOWN_CHARS => {
                shown.push('…');
                break;
            }
            '"' | '\\' | '\n' | '\r' | '\t' => shown.extend(c.escape_default()),
            c if c == OPEN || c == CLOSE || kind_of(c).is_some() => {
                shown.extend(c.escape_unicode())
            }
            c => shown.push(c),
        }
    }
    shown.push('"');
}

/// Adds the first of some characters by their numbers, and how many more there are.
pub(super) fn push_code_points(shown: &mut String, hidden: &str) {
    for (count, c) in hidden.chars().take(MAX_LISTED_CODE_POINTS).enumerate() {
        let space = if count > 0 { " " } else { "" };
        // Writing to a string does not fail.
        let _ = write!(shown, "{space}U+{:04X}", u32::from(c));
    }
    let more = hidden.chars().count().saturating_sub(MAX_LISTED_CODE_POINTS);
    if more > 0 {
        let _ = write!(shown, " and {more} more");
    }
}

/// Adds a text without hidden characters; its brackets become marks, unless they are those of one.
fn push_with_marked_brackets(shown: &mut String, mut text: &str) {
    while let Some(at) = text.find([OPEN, CLOSE]) {
        shown.push_str(&text[..at]);
        text = &text[at..];
        let length = mark_length(text).unwrap_or_else(|| {
            push_bracket_mark(shown, text);
            0
        });
        shown.push_str(&text[..length]);
        text = &text[length.max(OPEN.len_utf8())..];
    }
    shown.push_str(text);
}

fn push_bracket_mark(shown: &mut String, text: &str) {
    shown.push(OPEN);
    push_code_points(shown, &text[..OPEN.len_utf8()]);
    shown.push(CLOSE);
}

/// How long the mark is with which a text begins; none if it begins with none.
fn mark_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix(OPEN)?;
    if !inside.starts_with("U+") && !inside.starts_with("hidden ") {
        return None;
    }
    let end = inside
        .find(|c| c == OPEN || c == CLOSE || c == '\n' || c == '\r' || kind_of(c).is_some())?;
    inside[end..].starts_with(CLOSE).then_some(OPEN.len_utf8() + end + CLOSE.len_utf8())
}
