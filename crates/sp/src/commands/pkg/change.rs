//! Printing of changes to the packages of a project.

use std::io::{self, Write};

use anstyle::Style;
use sp_engine::{Context, Result};
use sp_formats::output::{
    FolderAction, FolderChange, GraphChangeReport, PackageChangeItem, PackageChangeReport,
    SinkChange,
};
use sp_formats::printable::printable;
use sp_formats::text::pluralize;

use super::super::kept::write_kept;
use super::super::plan::write_apply_command;
use super::graph::write_contradictions;
use crate::cli::OutputFormat;
use crate::terminal::{ADDED, CHANGED, DIM, REMOVED, STRONG, Terminal, WARNING};

pub(super) fn print_change(
    context: &Context<'_>,
    report: &PackageChangeReport,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(report, |out| {
        if terminal.format == OutputFormat::Plain {
            return report.packages.iter().try_for_each(|package| write_plain(package, out));
        }
        for package in &report.packages {
            write_package(context, report, package, out)?;
        }
        let kept = report.kept.iter().chain(report.sinks.iter().flat_map(|sink| &sink.kept));
        write_kept(context, kept, out)?;
        if let Some(change) = &report.context {
            writeln!(out)?;
            write_context_change(change, out)?;
        }
        let touched =
            report.packages.iter().filter(|package| package.action != FolderAction::Keep).count();
        let word = match (report.status.applied, touched) {
            (true, 0) => "up to date",
            (true, _) => "done",
            (false, 0) => "no changes",
            (false, _) => "would change",
        };
        writeln!(
            out,
            "\n{STRONG}{word}{STRONG:#} · {} · {}",
            context.display_path(&report.root),
            pluralize(touched, "package")
        )?;
        if touched == 0 { Ok(()) } else { write_apply_command(&report.status, out) }
    })
}

/// Writes action, name and version, separated by tabs.
fn write_plain(package: &PackageChangeItem, out: &mut dyn Write) -> io::Result<()> {
    let action = serde_json::to_value(package.action).unwrap_or_default();
    let (name, version) = (printable(&package.name), printable(&package.version));
    writeln!(out, "{}\t{name}\t{version}", action.as_str().unwrap_or_default())
}

/// Writes a package, and below it the folders in sinks that change with it.
fn write_package(
    context: &Context<'_>,
    report: &PackageChangeReport,
    package: &PackageChangeItem,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_package_line(package, out)?;
    for (sink, folder) in package_folders(report, &package.name) {
        let (style, sign) = action_sign(folder.action);
        let edited = if folder.edited {
            format!("  {WARNING}edited since it was installed{WARNING:#}")
        } else {
            String::new()
        };
        let path = context.display_path(&sink.path.join(&folder.folder));
        writeln!(out, "    {style}{sign}{style:#} {path}{edited}")?;
    }
    Ok(())
}

/// Writes what happens to a package.
pub(in crate::commands) fn write_package_line(
    package: &PackageChangeItem,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (style, sign) = action_sign(package.action);
    let from = package.from_version.as_ref().map(|from| format!("{from} → ")).unwrap_or_default();
    let needed_by = if package.needed_by.is_empty() {
        String::new()
    } else {
        format!("  {DIM}required by {}{DIM:#}", printable(&package.needed_by.join(", ")))
    };
    writeln!(
        out,
        "{style}{sign}{style:#} {} {}{}{needed_by}",
        printable(&package.name),
        printable(&from),
        printable(&package.version)
    )
}

/// Writes the changes to the project's merged graph.
pub(in crate::commands) fn write_context_change(
    change: &GraphChangeReport,
    out: &mut dyn Write,
) -> io::Result<()> {
    let parts = [
        (change.added.len(), "added"),
        (change.updated.len(), "updated"),
        (change.removed.len(), "removed"),
        (change.superseded.len(), "superseded"),
    ];
    let counts: String = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(" · {count} {what}"))
        .collect();
    let contradictions = match change.contradictions.len() {
        0 => String::new(),
        many => format!(" · {}", pluralize(many, "contradiction")),
    };
    writeln!(
        out,
        "{STRONG}context{STRONG:#} {}{counts}{contradictions}",
        pluralize(change.nodes, "node")
    )?;
    write_contradictions(&change.contradictions, out)
}

fn package_folders<'a>(
    report: &'a PackageChangeReport,
    package: &'a str,
) -> impl Iterator<Item = (&'a SinkChange, &'a FolderChange)> {
    let folders = move |sink: &'a SinkChange| sink.folders.iter().map(move |folder| (sink, folder));
    report.sinks.iter().flat_map(folders).filter(move |(_, folder)| folder.pack == package)
}

fn action_sign(action: FolderAction) -> (Style, char) {
    match action {
        FolderAction::Add => (ADDED, '+'),
        FolderAction::Update => (CHANGED, '~'),
        FolderAction::Remove => (REMOVED, '-'),
        FolderAction::Keep => (DIM, ' '),
    }
}
