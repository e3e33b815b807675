//! What differs between two context packs.

use std::io::{self, Write};

use sp_engine::Result;
use sp_engine::context_pack::PackDiff;
use sp_formats::output::{ContextFileDiff, ContextPackDiff, ItemChange};
use sp_formats::printable::printable;

use super::super::differences::{heading, member_line, short, sign, word};
use crate::cli::Format;
use crate::terminal::{self, DIM, STRONG, Terminal};

pub(super) fn diff(found: PackDiff, terminal: &Terminal) -> Result<()> {
    if terminal.format == Format::Json {
        return terminal.print_json(&with_diffs(found));
    }
    terminal.print_text(|out| match terminal.format {
        Format::Plain => plain(out, &found.diff),
        _ => human(out, &found),
    })
}

/// The value with the diff of each file of Markdown that changed.
fn with_diffs(PackDiff { mut diff, bodies }: PackDiff) -> ContextPackDiff {
    for file in &mut diff.files {
        file.diff = bodies.get(&file.path).map(|body| terminal::plain(&file.path, &body.before, &body.after));
    }
    diff
}

/// A line for each difference, and nothing where there is none.
fn plain(out: &mut dyn Write, diff: &ContextPackDiff) -> io::Result<()> {
    for member in &diff.manifest {
        writeln!(out, "changed\tmanifest\t{}", printable(&member.member))?;
    }
    for (what, list) in [("stack", &diff.stack), ("source", &diff.sources)] {
        for item in list {
            writeln!(out, "{}\t{what}\t{}", word(item.change), printable(&item.id))?;
        }
    }
    for file in &diff.files {
        let path = printable(&file.path);
        writeln!(out, "{}\tfile\t{path}", word(file.change))?;
        for section in &file.sections {
            writeln!(out, "{}\tsection\t{path}\t{}", word(section.change), printable(&section.title))?;
        }
    }
    Ok(())
}

fn human(out: &mut dyn Write, PackDiff { diff, bodies }: &PackDiff) -> io::Result<()> {
    writeln!(out, "{STRONG}{}{STRONG:#} → {STRONG}{}{STRONG:#}", printable(&diff.before), printable(&diff.after))?;
    for member in &diff.generation {
        write!(out, "{DIM}")?;
        member_line(out, "", member)?;
        write!(out, "{DIM:#}")?;
    }
    if !diff.manifest.is_empty() {
        writeln!(out, "\nmanifest")?;
        diff.manifest.iter().try_for_each(|member| member_line(out, "  ", member))?;
    }
    for (what, list) in [("stack", &diff.stack), ("sources", &diff.sources)] {
        if !list.is_empty() {
            heading(out, what, list.iter().map(|item| &item.change))?;
            list.iter().try_for_each(|item| item_lines(out, item))?;
        }
    }
    if !diff.files.is_empty() {
        heading(out, "files", diff.files.iter().map(|file| &file.change))?;
        diff.files.iter().try_for_each(|file| file_lines(out, file))?;
    }
    for (path, body) in bodies {
        write!(out, "\n{}", terminal::coloured(path, &body.before, &body.after).trim_end_matches('\n'))?;
        writeln!(out)?;
    }
    if diff.same { writeln!(out, "no difference in what they say") } else { Ok(()) }
}

/// A word of the stack, or a source: of one that came or went the title, of another what changed.
fn item_lines(out: &mut dyn Write, item: &ItemChange) -> io::Result<()> {
    let (style, sign) = sign(item.change);
    let title = item.members.iter().find(|member| member.member == "title");
    let of_one = title.and_then(|title| title.before.as_ref().xor(title.after.as_ref()));
    match of_one {
        Some(title) => writeln!(out, "  {style}{sign}{style:#} {}  {}", printable(&item.id), short(title)),
        None => {
            writeln!(out, "  {style}{sign}{style:#} {}", printable(&item.id))?;
            item.members.iter().try_for_each(|member| member_line(out, "      ", member))
        }
    }
}

fn file_lines(out: &mut dyn Write, file: &ContextFileDiff) -> io::Result<()> {
    let (style, mark) = sign(file.change);
    writeln!(out, "  {style}{mark}{style:#} {}", printable(&file.path))?;
    file.members.iter().try_for_each(|member| member_line(out, "      ", member))?;
    file.sections.iter().try_for_each(|section| {
        let (style, mark) = sign(section.change);
        writeln!(out, "      {style}{mark}{style:#} {}", printable(&section.title))
    })
}
