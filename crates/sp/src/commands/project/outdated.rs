//! `sp outdated`: a table of sources with newer versions.

use std::io::{self, Write};

use sp_engine::Result;
use sp_formats::output::{OutdatedList, OutdatedSource};
use sp_formats::printable::printable;
use sp_formats::text::pluralize;

use crate::cli::OutputFormat;
use crate::terminal::{DIM, STRONG, Terminal, WARNING};

/// Commits and digests are shown in part.
const SHORT_LEN: usize = 12;

pub(super) fn print(list: &OutdatedList, terminal: &Terminal) -> Result<()> {
    terminal.print(list, |out| match terminal.format {
        OutputFormat::Plain => list.sources.iter().try_for_each(|it| write_plain(it, out)),
        _ => write_human(list, out),
    })
}

/// Writes the source, its locked and its newest version, separated by tabs.
fn write_plain(source: &OutdatedSource, out: &mut dyn Write) -> io::Result<()> {
    let newest = source.newest.as_deref().unwrap_or("-");
    let (name, locked) = (printable(&source.source), printable(&source.locked));
    writeln!(out, "{name}\t{locked}\t{}", printable(newest))
}

fn write_human(list: &OutdatedList, out: &mut dyn Write) -> io::Result<()> {
    if list.sources.is_empty() {
        return writeln!(out, "everything is up to date");
    }
    for source in &list.sources {
        let newest = source.newest.as_deref().map_or("unknown".into(), short);
        let (name, locked) = (printable(&source.source), short(&source.locked));
        writeln!(out, "{STRONG}{name}{STRONG:#}  {locked} → {newest}")?;
        if let Some(note) = &source.note {
            writeln!(out, "  {WARNING}warning{WARNING:#}: {}", printable(note))?;
        }
        if !source.skills.is_empty() {
            writeln!(out, "  {DIM}{}{DIM:#}", printable(&source.skills.join(", ")))?;
        }
    }
    let sources = pluralize(list.sources.len(), "source");
    writeln!(out, "\n{sources} outdated; run `sp update --dry-run --diff` to see what changes")
}

fn short(version: &str) -> String {
    let version = version.strip_prefix("sha256:").unwrap_or(version);
    let is_hex = version.len() >= 40 && version.bytes().all(|byte| byte.is_ascii_hexdigit());
    printable(if is_hex { &version[..SHORT_LEN] } else { version }).into_owned()
}
