//! `sp migrate`: what was taken over, and what was not.

use std::io::{self, Write};
use std::process::ExitCode;

use sp_engine::{Context, Result};
use sp_formats::output::ProjectMigrationReport;
use sp_formats::printable::printable;
use sp_formats::text::pluralize;

use super::report::{exit_code, write_human, write_plain};
use crate::cli::OutputFormat;
use crate::terminal::{DIM, STRONG, Terminal, WARNING};

pub(super) fn print(
    context: &Context<'_>,
    report: &ProjectMigrationReport,
    terminal: &Terminal,
) -> Result<ExitCode> {
    terminal.print(report, |out| match terminal.format {
        OutputFormat::Plain => write_plain(&report.change, out),
        _ => {
            write_skipped(report, out)?;
            write_human(context, &report.change, terminal, out)?;
            write_summary(report, out)
        }
    })?;
    Ok(exit_code(&report.change))
}

fn write_skipped(report: &ProjectMigrationReport, out: &mut dyn Write) -> io::Result<()> {
    for item in &report.skipped {
        let (name, reason) = (printable(&item.name), printable(&item.reason));
        writeln!(out, "{WARNING}not migrated{WARNING:#} {name}: {reason}")?;
        writeln!(out, "  {DIM}{}{DIM:#}", printable(&item.position))?;
    }
    if report.skipped.is_empty() { Ok(()) } else { writeln!(out) }
}

fn write_summary(report: &ProjectMigrationReport, out: &mut dyn Write) -> io::Result<()> {
    let verb = if report.change.status.applied { "migrated" } else { "would migrate" };
    let skills = pluralize(report.adopted.len(), "skill");
    let files = report.files.join(", ");
    writeln!(out, "\n{STRONG}{verb} {skills}{STRONG:#} from {}", printable(&files))?;
    if report.change.status.applied {
        writeln!(out, "remove these files when you no longer use the other tool")?;
    }
    Ok(())
}
