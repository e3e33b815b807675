//! Printing of changes to the packages of a project.

use anstyle::Style;
use sp_engine::{Context, Result};
use sp_formats::output::{
    FolderAction, FolderChange, GraphChangeReport, PackageChangeReport, SinkChange,
};
use sp_formats::printable::printable;

use super::super::pluralize;
use super::graph::write_contradictions;
use crate::cli::OutputFormat;
use crate::terminal::{ADDED, CHANGED, DIM, REMOVED, STRONG, Terminal, WARNING};

pub(super) fn print_change(
    context: &Context<'_>,
    report: &PackageChangeReport,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(report, |out| {
        for package in &report.packages {
            let (style, sign) = action_sign(package.action);
            if terminal.format == OutputFormat::Plain {
                let action = serde_json::to_value(package.action).unwrap_or_default();
                writeln!(
                    out,
                    "{}\t{}\t{}",
                    action.as_str().unwrap_or_default(),
                    printable(&package.name),
                    printable(&package.version)
                )?;
                continue;
            }
            let from =
                package.from_version.as_ref().map(|from| format!("{from} → ")).unwrap_or_default();
            let by = if package.needed_by.is_empty() {
                String::new()
            } else {
                format!("  {DIM}for {}{DIM:#}", printable(&package.needed_by.join(", ")))
            };
            writeln!(
                out,
                "{style}{sign}{style:#} {} {}{}{by}",
                printable(&package.name),
                printable(&from),
                printable(&package.version)
            )?;
            for (sink, folder) in package_folders(report, &package.name) {
                let (style, sign) = self::action_sign(folder.action);
                let edited = if folder.edited {
                    format!("  {WARNING}edited since it was installed{WARNING:#}")
                } else {
                    String::new()
                };
                let path = context.display_path(&sink.path.join(&folder.folder));
                writeln!(out, "    {style}{sign}{style:#} {path}{edited}")?;
            }
        }
        if terminal.format == OutputFormat::Plain {
            return Ok(());
        }
        for kept in report.kept.iter().chain(report.sinks.iter().flat_map(|sink| &sink.kept)) {
            writeln!(
                out,
                "{WARNING}kept{WARNING:#} the old `{}` in {}",
                printable(&kept.folder),
                context.display_path(&kept.kept_at)
            )?;
        }
        if let Some(change) = &report.context {
            write_context_change(change, out)?;
        }
        let touched =
            report.packages.iter().filter(|package| package.action != FolderAction::Keep).count();
        let word = match (report.applied, touched) {
            (true, 0) => "nothing to do",
            (true, _) => "done",
            (false, 0) => "nothing would change",
            (false, _) => "would change",
        };
        writeln!(
            out,
            "\n{STRONG}{word}{STRONG:#} · {} · {}",
            context.display_path(&report.root),
            pluralize(touched, "package")
        )
    })
}

/// Writes the changes to the project's merged graph.
fn write_context_change(
    change: &GraphChangeReport,
    out: &mut dyn std::io::Write,
) -> std::io::Result<()> {
    let parts = [
        (change.added.len(), "added"),
        (change.updated.len(), "updated"),
        (change.removed.len(), "removed"),
        (change.superseded.len(), "superseded"),
    ];
    let told: String = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(" · {count} {what}"))
        .collect();
    let odds = match change.contradictions.len() {
        0 => String::new(),
        many => format!(" · {}", pluralize(many, "contradiction")),
    };
    writeln!(out, "\n{STRONG}context{STRONG:#} {}{told}{odds}", pluralize(change.nodes, "node"))?;
    write_contradictions(&change.contradictions, out)
}

fn package_folders<'a>(
    report: &'a PackageChangeReport,
    package: &'a str,
) -> impl Iterator<Item = (&'a SinkChange, &'a FolderChange)> {
    let of = move |sink: &'a SinkChange| sink.folders.iter().map(move |folder| (sink, folder));
    report.sinks.iter().flat_map(of).filter(move |(_, folder)| folder.pack == package)
}

fn action_sign(action: FolderAction) -> (Style, char) {
    match action {
        FolderAction::Add => (ADDED, '+'),
        FolderAction::Update => (CHANGED, '~'),
        FolderAction::Remove => (REMOVED, '-'),
        FolderAction::Keep => (DIM, ' '),
    }
}
