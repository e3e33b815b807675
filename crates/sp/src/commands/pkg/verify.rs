//! `sp pkg verify`: every verification step with its outcome.

use std::io::{self, Write};
use std::process::ExitCode;

use sp_engine::pkg::{self, TrustOverrides};
use sp_engine::{Context, Result};
use sp_formats::output::PackageVerification;
use sp_formats::package::VerificationOutcome;
use sp_formats::printable::printable;

use crate::cli::OutputFormat;
use crate::terminal::{ADDED, DIM, ERROR, STRONG, Terminal, WARNING, pad};

pub(super) fn verify(
    context: &Context<'_>,
    package: &str,
    trust: TrustOverrides,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let (report, failure) = pkg::verify(context, package, trust)?;
    terminal.print(&report, |out| write_steps(&report, terminal, out))?;
    match failure {
        None => Ok(ExitCode::SUCCESS),
        Some(error) => Err(error),
    }
}

fn write_steps(
    report: &PackageVerification,
    terminal: &Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    if terminal.format == OutputFormat::Plain {
        return report.steps.iter().try_for_each(|step| {
            writeln!(out, "{}\t{}\t{}", step.outcome.as_str(), step.step, printable(&step.detail))
        });
    }
    let named = [report.name.as_deref(), report.version.as_deref()]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ");
    let named = if named.is_empty() || named == report.subject {
        String::new()
    } else {
        format!(" · {}", printable(&named))
    };
    writeln!(out, "{STRONG}{}{STRONG:#}{named}\n", printable(&report.subject))?;
    for step in &report.steps {
        let (style, sign) = match step.outcome {
            VerificationOutcome::Passed => (ADDED, '✓'),
            VerificationOutcome::Warned => (WARNING, '!'),
            VerificationOutcome::Failed => (ERROR, '✗'),
            VerificationOutcome::Skipped => (DIM, '·'),
        };
        writeln!(
            out,
            "  {style}{sign}{style:#} {}  {}",
            pad(&step.step, 14),
            printable(&step.detail)
        )?;
    }
    if report.verified {
        writeln!(out, "\n{ADDED}verified{ADDED:#}")
    } else {
        writeln!(out, "\n{ERROR}verification failed{ERROR:#}")
    }
}
