//! `sp context diff`.

use std::io::{self, Write};

use sp_engine::Result;
use sp_engine::context_pack::ContextPackComparison;
use sp_formats::output::{ContextPackDiff, ContextPackFileDiff, DiffEntry};
use sp_formats::printable::printable;

use super::super::differences::{
    change_sign, change_word, truncate, write_heading, write_manifest, write_member, write_title,
};
use crate::cli::OutputFormat;
use crate::terminal::{self, DIM, Terminal};

pub(super) fn print_diff(found: ContextPackComparison, terminal: &Terminal) -> Result<()> {
    if terminal.format == OutputFormat::Json {
        return terminal.print_json(&with_diffs(found));
    }
    terminal.print_text(|out| match terminal.format {
        OutputFormat::Plain => write_plain(out, &found.diff),
        _ => write_human(out, &found),
    })
}

/// Adds a unified diff to each Markdown file that changed.
fn with_diffs(
    ContextPackComparison { mut diff, bodies }: ContextPackComparison,
) -> ContextPackDiff {
    for file in &mut diff.files {
        file.diff = bodies
            .get(&file.path)
            .map(|body| terminal::plain_diff(&file.path, &body.before, &body.after));
    }
    diff
}

/// Writes one line per difference, and nothing if there is none.
fn write_plain(out: &mut dyn Write, diff: &ContextPackDiff) -> io::Result<()> {
    for member in &diff.manifest {
        writeln!(out, "changed\tmanifest\t{}", printable(&member.member))?;
    }
    for (what, list) in [("stack", &diff.stack), ("source", &diff.sources)] {
        for item in list {
            writeln!(out, "{}\t{what}\t{}", change_word(item.change), printable(&item.id))?;
        }
    }
    for file in &diff.files {
        let path = printable(&file.path);
        writeln!(out, "{}\tfile\t{path}", change_word(file.change))?;
        for section in &file.sections {
            writeln!(
                out,
                "{}\tsection\t{path}\t{}",
                change_word(section.change),
                printable(&section.title)
            )?;
        }
    }
    Ok(())
}

fn write_human(
    out: &mut dyn Write,
    ContextPackComparison { diff, bodies }: &ContextPackComparison,
) -> io::Result<()> {
    write_title(out, &diff.before, &diff.after)?;
    for member in &diff.generation {
        write!(out, "{DIM}")?;
        write_member(out, "", member)?;
        write!(out, "{DIM:#}")?;
    }
    write_manifest(out, &diff.manifest)?;
    for (what, list) in [("stack", &diff.stack), ("sources", &diff.sources)] {
        if !list.is_empty() {
            write_heading(out, what, list.iter().map(|item| &item.change))?;
            list.iter().try_for_each(|item| write_item(out, item))?;
        }
    }
    if !diff.files.is_empty() {
        write_heading(out, "files", diff.files.iter().map(|file| &file.change))?;
        diff.files.iter().try_for_each(|file| write_file(out, file))?;
    }
    for (path, body) in bodies {
        write!(
            out,
            "\n{}",
            terminal::colored_diff(path, &body.before, &body.after).trim_end_matches('\n')
        )?;
        writeln!(out)?;
    }
    if diff.same { writeln!(out, "no differences in content") } else { Ok(()) }
}

/// Writes a stack entry or a source: its title if it was added or removed, otherwise its changes.
fn write_item(out: &mut dyn Write, item: &DiffEntry) -> io::Result<()> {
    let (style, sign) = change_sign(item.change);
    let title = item.members.iter().find(|member| member.member == "title");
    let of_one = title.and_then(|title| title.before.as_ref().xor(title.after.as_ref()));
    match of_one {
        Some(title) => {
            writeln!(out, "  {style}{sign}{style:#} {}  {}", printable(&item.id), truncate(title))
        }
        None => {
            writeln!(out, "  {style}{sign}{style:#} {}", printable(&item.id))?;
            item.members.iter().try_for_each(|member| write_member(out, "      ", member))
        }
    }
}

fn write_file(out: &mut dyn Write, file: &ContextPackFileDiff) -> io::Result<()> {
    let (style, mark) = change_sign(file.change);
    writeln!(out, "  {style}{mark}{style:#} {}", printable(&file.path))?;
    file.members.iter().try_for_each(|member| write_member(out, "      ", member))?;
    file.sections.iter().try_for_each(|section| {
        let (style, mark) = change_sign(section.change);
        writeln!(out, "      {style}{mark}{style:#} {}", printable(&section.title))
    })
}
