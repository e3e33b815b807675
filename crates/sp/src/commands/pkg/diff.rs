//! What differs between two packages.

use std::io::{self, Write};

use sp_engine::Result;
use sp_formats::output::{ChangeKind, ItemChange, MemberChange, PackageDiff};
use sp_formats::printable::printable;

use crate::cli::Format;
use crate::terminal::{ADDED, CHANGED, REMOVED, STRONG, Terminal};

pub(super) fn diff(diff: &PackageDiff, terminal: &Terminal) -> Result<()> {
    terminal.print(diff, |out| {
        let lists =
            [("nodes", &diff.nodes), ("edges", &diff.edges), ("files", &diff.files), ("content", &diff.content)];
        if terminal.format == Format::Plain {
            for (what, list) in lists {
                let what = what.trim_end_matches('s');
                list.iter().try_for_each(|item| {
                    writeln!(out, "{}\t{what}\t{}", change_word(item.change), printable(&item.id))
                })?;
            }
            return diff
                .manifest
                .iter()
                .try_for_each(|member| writeln!(out, "changed\tmanifest\t{}", printable(&member.member)));
        }
        writeln!(out, "{STRONG}{}{STRONG:#} → {STRONG}{}{STRONG:#}", printable(&diff.before), printable(&diff.after))?;
        if !diff.manifest.is_empty() {
            writeln!(out, "\nmanifest")?;
            diff.manifest.iter().try_for_each(|member| member_line(out, "  ", member))?;
        }
        for (what, list) in lists {
            if !list.is_empty() {
                let number = |kind| list.iter().filter(|item| item.change == kind).count();
                let [added, gone, other] = [ChangeKind::Added, ChangeKind::Removed, ChangeKind::Changed].map(number);
                writeln!(out, "\n{what}: {added} added, {gone} removed, {other} changed")?;
                list.iter().try_for_each(|item| item_lines(out, item))?;
            }
        }
        match diff.manifest.is_empty() && lists.iter().all(|(_, list)| list.is_empty()) {
            true => writeln!(out, "no difference"),
            false => Ok(()),
        }
    })
}

fn change_word(change: ChangeKind) -> &'static str {
    match change {
        ChangeKind::Added => "added",
        ChangeKind::Removed => "removed",
        ChangeKind::Changed => "changed",
    }
}

fn item_lines(out: &mut dyn Write, item: &ItemChange) -> io::Result<()> {
    let (style, sign) = match item.change {
        ChangeKind::Added => (ADDED, '+'),
        ChangeKind::Removed => (REMOVED, '-'),
        ChangeKind::Changed => (CHANGED, '~'),
    };
    let content = item.members.iter().find(|member| member.member == "content");
    let text = content.and_then(|member| member.after.as_ref().or(member.before.as_ref()));
    match (item.change, text) {
        (ChangeKind::Changed, _) => {
            writeln!(out, "  {style}{sign}{style:#} {}", printable(&item.id))?;
            item.members.iter().try_for_each(|member| member_line(out, "      ", member))
        }
        (_, Some(text)) => writeln!(out, "  {style}{sign}{style:#} {}  {}", printable(&item.id), short(text)),
        (_, None) => writeln!(out, "  {style}{sign}{style:#} {}", printable(&item.id)),
    }
}

fn member_line(out: &mut dyn Write, indent: &str, member: &MemberChange) -> io::Result<()> {
    let text = |text: &Option<String>| text.as_deref().map_or("nothing".into(), short);
    writeln!(out, "{indent}{}: {} → {}", printable(&member.member), text(&member.before), text(&member.after))
}

fn short(text: &str) -> String {
    const SHOWN: usize = 70;
    let cut: String = text.chars().take(SHOWN).collect();
    let dots = if cut.len() < text.len() { "…" } else { "" };
    format!("{}{dots}", printable(&cut))
}
