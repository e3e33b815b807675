//! `sp doctor`.

use std::io::{self, Write};
use std::process::ExitCode;

use anstyle::Style;
use sp_engine::{Context, DoctorRequest, Result};
use sp_formats::output::{DoctorProblem, DoctorRepair, DoctorReport, DoctorStatus};
use sp_formats::printable::printable;
use sp_formats::text::pluralize;

use super::plan::{apply_options, write_apply_command};
use crate::cli::{DoctorArgs, GlobalOptions, OutputFormat};
use crate::terminal::{ADDED, DIM, ERROR, HINT, Terminal, WARNING, pad};

/// The width of the longest name of a status.
const STATUS_WIDTH: usize = 7;
/// The width of the longest name of an area.
const AREA_WIDTH: usize = 13;

pub(super) fn run(
    context: &Context<'_>,
    options: &GlobalOptions,
    args: &DoctorArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    // A dry run or a plan without `--fix` can only be about what it does.
    let fix = args.fix || args.plan.dry_run || args.plan.plan.is_some();
    let fix = fix.then(|| apply_options(&args.plan));
    let request = DoctorRequest { root: options.root.clone(), fix };
    let report = sp_engine::doctor(context, &request)?;
    terminal.print(&report, |out| match terminal.format {
        OutputFormat::Plain => write_plain(&report, out),
        _ => write_human(context, &report, out),
    })?;
    Ok(if report.healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn write_plain(report: &DoctorReport, out: &mut dyn Write) -> io::Result<()> {
    report.problems.iter().try_for_each(|problem| {
        let path = problem.path.as_ref().map(|path| path.display().to_string());
        writeln!(
            out,
            "{}\t{}\t{}\t{}",
            status_name(problem.status),
            problem.code.as_str(),
            path.unwrap_or_default(),
            problem.command.as_deref().unwrap_or_default()
        )
    })
}

fn write_human(
    context: &Context<'_>,
    report: &DoctorReport,
    out: &mut dyn Write,
) -> io::Result<()> {
    for check in &report.checks {
        let style = status_style(check.status);
        let status = pad(status_name(check.status), STATUS_WIDTH);
        let area = pad(check.area.as_str(), AREA_WIDTH);
        writeln!(out, "{style}{status}{style:#}  {area}  {}", printable(&check.detail))?;
    }
    for problem in &report.problems {
        write_problem(problem, out)?;
    }
    match &report.repair {
        Some(repair) => write_repair(context, report, repair, out),
        None => {
            let fixable = report.problems.iter().filter(|problem| problem.fixable).count();
            match fixable {
                0 => Ok(()),
                _ => writeln!(
                    out,
                    "\n`sp doctor --fix` repairs {}; `sp doctor --fix --dry-run` shows what it does",
                    pluralize(fixable, "problem")
                ),
            }
        }
    }
}

fn write_problem(problem: &DoctorProblem, out: &mut dyn Write) -> io::Result<()> {
    let style = status_style(problem.status);
    let (status, code) = (status_name(problem.status), problem.code.as_str());
    let message = printable(&problem.message);
    writeln!(out, "\n{style}{status}{style:#}: {message} {DIM}[{code}]{DIM:#}")?;
    if let Some(because) = &problem.because {
        writeln!(out, "  caused by: {}", printable(because))?;
    }
    if let Some(command) = &problem.command {
        writeln!(out, "  {HINT}run{HINT:#}: {}", printable(command))?;
    }
    match &problem.help {
        Some(help) => writeln!(out, "  {HINT}hint{HINT:#}: {}", printable(help)),
        None => Ok(()),
    }
}

fn write_repair(
    context: &Context<'_>,
    report: &DoctorReport,
    repair: &DoctorRepair,
    out: &mut dyn Write,
) -> io::Result<()> {
    let verb = if repair.status.applied { "repaired" } else { "would repair" };
    writeln!(out)?;
    for problem in &repair.repaired {
        let message = printable(&problem.message);
        writeln!(out, "{ADDED}{verb}{ADDED:#}: {message} {DIM}[{}]{DIM:#}", problem.code.as_str())?;
    }
    for kept in &repair.kept {
        let to = context.display_path(&kept.kept_at);
        writeln!(out, "moved `{}` to `{to}`", printable(&kept.folder))?;
    }
    let count = pluralize(repair.repaired.len(), "problem");
    if repair.repaired.is_empty() {
        return writeln!(out, "there is nothing that `--fix` repairs");
    }
    let is_left = |problem: &&DoctorProblem| problem.status == DoctorStatus::Problem;
    let left = report.problems.iter().filter(is_left).count();
    if repair.status.applied {
        return writeln!(
            out,
            "{verb} {count}; {} left",
            if left == 0 { "none".into() } else { left.to_string() }
        );
    }
    writeln!(out, "{verb} {count}")?;
    write_apply_command(&repair.status, out)
}

fn status_name(status: DoctorStatus) -> &'static str {
    match status {
        DoctorStatus::Skipped => "skipped",
        DoctorStatus::Ok => "ok",
        DoctorStatus::Notice => "notice",
        DoctorStatus::Problem => "problem",
    }
}

fn status_style(status: DoctorStatus) -> Style {
    match status {
        DoctorStatus::Skipped => DIM,
        DoctorStatus::Ok => ADDED,
        DoctorStatus::Notice => WARNING,
        DoctorStatus::Problem => ERROR,
    }
}
