//! How differences are shown, whatever they are of.

use std::io::{self, Write};

use anstyle::Style;
use sp_formats::output::{ChangeKind, MemberChange};
use sp_formats::printable::printable;

use crate::terminal::{ADDED, CHANGED, REMOVED};

/// What happened, in a word.
pub(super) fn change_word(change: ChangeKind) -> &'static str {
    match change {
        ChangeKind::Added => "added",
        ChangeKind::Removed => "removed",
        ChangeKind::Changed => "changed",
    }
}

/// What happened, as a sign.
pub(super) fn change_sign(change: ChangeKind) -> (Style, char) {
    match change {
        ChangeKind::Added => (ADDED, '+'),
        ChangeKind::Removed => (REMOVED, '-'),
        ChangeKind::Changed => (CHANGED, '~'),
    }
}

/// The heading of a list: what it is of, and how many of each.
pub(super) fn write_heading<'c>(
    out: &mut dyn Write,
    what: &str,
    changes: impl IntoIterator<Item = &'c ChangeKind>,
) -> io::Result<()> {
    let changes: Vec<&ChangeKind> = changes.into_iter().collect();
    let number = |kind| changes.iter().filter(|change| ***change == kind).count();
    let [added, gone, other] =
        [ChangeKind::Added, ChangeKind::Removed, ChangeKind::Changed].map(number);
    writeln!(out, "\n{what}: {added} added, {gone} removed, {other} changed")
}

/// A member with what it was and what it is.
pub(super) fn write_member(
    out: &mut dyn Write,
    indent: &str,
    member: &MemberChange,
) -> io::Result<()> {
    let text = |text: &Option<String>| text.as_deref().map_or("nothing".into(), truncate);
    writeln!(
        out,
        "{indent}{}: {} → {}",
        printable(&member.member),
        text(&member.before),
        text(&member.after)
    )
}

/// The beginning of a text.
pub(super) fn truncate(text: &str) -> String {
    const MAX_CHARS: usize = 70;
    let cut: String = text.chars().take(MAX_CHARS).collect();
    let dots = if cut.len() < text.len() { "…" } else { "" };
    format!("{}{dots}", printable(&cut))
}
