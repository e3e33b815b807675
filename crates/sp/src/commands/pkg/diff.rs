//! `sp pkg diff`.

use std::io::{self, Write};

use sp_engine::Result;
use sp_formats::output::{ChangeKind, DiffEntry, PackageDiff};
use sp_formats::printable::printable;

use super::super::differences::{
    change_sign, change_word, truncate, write_heading, write_manifest, write_member, write_title,
};
use crate::cli::OutputFormat;
use crate::terminal::Terminal;

pub(super) fn print_diff(diff: &PackageDiff, terminal: &Terminal) -> Result<()> {
    terminal.print(diff, |out| {
        let lists = [
            ("nodes", &diff.nodes),
            ("edges", &diff.edges),
            ("files", &diff.files),
            ("content", &diff.content),
        ];
        if terminal.format == OutputFormat::Plain {
            for (what, list) in lists {
                let what = what.trim_end_matches('s');
                list.iter().try_for_each(|item| {
                    writeln!(out, "{}\t{what}\t{}", change_word(item.change), printable(&item.id))
                })?;
            }
            return diff.manifest.iter().try_for_each(|member| {
                writeln!(out, "changed\tmanifest\t{}", printable(&member.member))
            });
        }
        write_title(out, &diff.before, &diff.after)?;
        write_manifest(out, &diff.manifest)?;
        for (what, list) in lists {
            if !list.is_empty() {
                write_heading(out, what, list.iter().map(|item| &item.change))?;
                list.iter().try_for_each(|item| write_item(out, item))?;
            }
        }
        if diff.manifest.is_empty() && lists.iter().all(|(_, list)| list.is_empty()) {
            writeln!(out, "no differences")?;
        }
        Ok(())
    })
}

fn write_item(out: &mut dyn Write, item: &DiffEntry) -> io::Result<()> {
    let (style, sign) = change_sign(item.change);
    let content = item.members.iter().find(|member| member.member == "content");
    let text = content.and_then(|member| member.after.as_ref().or(member.before.as_ref()));
    match (item.change, text) {
        (ChangeKind::Changed, _) => {
            writeln!(out, "  {style}{sign}{style:#} {}", printable(&item.id))?;
            item.members.iter().try_for_each(|member| write_member(out, "      ", member))
        }
        (_, Some(text)) => {
            writeln!(out, "  {style}{sign}{style:#} {}  {}", printable(&item.id), truncate(text))
        }
        (_, None) => writeln!(out, "  {style}{sign}{style:#} {}", printable(&item.id)),
    }
}
