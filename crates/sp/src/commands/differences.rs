//! Printing of differences, shared by `sp pkg diff` and `sp context diff`.

use std::io::{self, Write};

use anstyle::Style;
use sp_formats::output::{ChangeKind, MemberChange};
use sp_formats::printable::printable;
use sp_formats::text::truncate_printable;

use crate::terminal::{ADDED, CHANGED, REMOVED, STRONG};

pub(super) fn change_word(change: ChangeKind) -> &'static str {
    match change {
        ChangeKind::Added => "added",
        ChangeKind::Removed => "removed",
        ChangeKind::Changed => "changed",
    }
}

pub(super) fn change_sign(change: ChangeKind) -> (Style, char) {
    match change {
        ChangeKind::Added => (ADDED, '+'),
        ChangeKind::Removed => (REMOVED, '-'),
        ChangeKind::Changed => (CHANGED, '~'),
    }
}

/// Writes the heading of a list: what it lists, and the number of changes of each kind.
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

/// Writes what is compared.
pub(super) fn write_title(out: &mut dyn Write, before: &str, after: &str) -> io::Result<()> {
    let (before, after) = (printable(before), printable(after));
    writeln!(out, "{STRONG}{before}{STRONG:#} → {STRONG}{after}{STRONG:#}")
}

/// Writes the members of the manifest that differ.
pub(super) fn write_manifest(out: &mut dyn Write, members: &[MemberChange]) -> io::Result<()> {
    if !members.is_empty() {
        writeln!(out, "\nmanifest")?;
    }
    members.iter().try_for_each(|member| write_member(out, "  ", member))
}

/// Writes a member with its old and its new value.
pub(super) fn write_member(
    out: &mut dyn Write,
    indent: &str,
    member: &MemberChange,
) -> io::Result<()> {
    let text = |text: &Option<String>| text.as_deref().map_or("(none)".into(), truncate);
    writeln!(
        out,
        "{indent}{}: {} → {}",
        printable(&member.member),
        text(&member.before),
        text(&member.after)
    )
}

/// Truncates a text, and escapes what a terminal must not interpret.
pub(super) fn truncate(text: &str) -> String {
    const MAX_CHARS: usize = 70;
    truncate_printable(text, MAX_CHARS)
}
