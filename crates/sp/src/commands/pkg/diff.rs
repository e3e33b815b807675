//! What differs between two packages.

use std::io::{self, Write};

use sp_engine::Result;
use sp_formats::output::{ChangeKind, ItemChange, PackageDiff};
use sp_formats::printable::printable;

use super::super::differences::{heading, member_line, short, sign, word};
use crate::cli::Format;
use crate::terminal::{STRONG, Terminal};

pub(super) fn diff(diff: &PackageDiff, terminal: &Terminal) -> Result<()> {
    terminal.print(diff, |out| {
        let lists =
            [("nodes", &diff.nodes), ("edges", &diff.edges), ("files", &diff.files), ("content", &diff.content)];
        if terminal.format == Format::Plain {
            for (what, list) in lists {
                let what = what.trim_end_matches('s');
                list.iter()
                    .try_for_each(|item| writeln!(out, "{}\t{what}\t{}", word(item.change), printable(&item.id)))?;
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
                heading(out, what, list.iter().map(|item| &item.change))?;
                list.iter().try_for_each(|item| item_lines(out, item))?;
            }
        }
        match diff.manifest.is_empty() && lists.iter().all(|(_, list)| list.is_empty()) {
            true => writeln!(out, "no difference"),
            false => Ok(()),
        }
    })
}

fn item_lines(out: &mut dyn Write, item: &ItemChange) -> io::Result<()> {
    let (style, sign) = sign(item.change);
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
