//! `sp check`, with and without `--fix`.

use std::process::ExitCode;

use sp_engine::{
    CheckRequest, CheckResults, CheckStrictness, Context, FixResults, ImportPolicy, Result,
};
use sp_formats::output::FixedFileItem;
use sp_formats::report::Severity;

use super::findings::{CheckOutcome, FixOutcome, print_outcome};
use super::{mode, watch};
use crate::cli::{self, OutputFormat};
use crate::terminal::{self, Terminal};

pub(super) fn run(
    context: &Context<'_>,
    options: &cli::GlobalOptions,
    check: &cli::CheckArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    run_after_fixing(context, options, check, 0, terminal)
}

pub(super) fn check_request(options: &cli::GlobalOptions, check: &cli::CheckArgs) -> CheckRequest {
    CheckRequest {
        paths: check.paths.clone(),
        root: options.root.clone(),
        strictness: if check.strict { CheckStrictness::Strict } else { CheckStrictness::Lenient },
        imports: if check.imports { ImportPolicy::Fetch } else { ImportPolicy::Skip },
    }
}

/// Checks after the caller has already fixed `fixed` problems, which count in the summary.
pub(super) fn run_after_fixing(
    context: &Context<'_>,
    options: &cli::GlobalOptions,
    check: &cli::CheckArgs,
    fixed: usize,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let request = check_request(options, check);
    if check.watch {
        return watch::run(context, &request, terminal);
    }
    let outcome = if check.fix {
        fix(context, &request, check.dry_run, fixed, terminal)?
    } else {
        CheckOutcome::without_fixes(sp_engine::check(context, &request)?)
    };
    print_outcome(context, &outcome, terminal)?;
    // A dry run leaves the problems in place, so it fails as if they had been reported.
    Ok(if outcome.has_pending_fixes() && outcome.results.unreadable.is_empty() {
        ExitCode::from(1)
    } else {
        exit_code_for(&outcome.results, 1)
    })
}

fn fix(
    context: &Context<'_>,
    request: &CheckRequest,
    dry_run: bool,
    already_fixed: usize,
    terminal: &Terminal,
) -> Result<CheckOutcome> {
    let FixResults { files, problems, applied, remaining } =
        sp_engine::fix(context, request, mode(dry_run))?;
    if dry_run && terminal.format == OutputFormat::Human {
        for file in &files {
            let diff = terminal::colored_diff(&file.file, &file.before, &file.after);
            terminal.print_stderr(&diff);
        }
    }
    let files = files.iter().map(|file| FixedFileItem {
        file: file.file.clone(),
        applied,
        diff: terminal::plain_diff(&file.file, &file.before, &file.after),
    });
    let fixes = FixOutcome { files: files.collect(), problems: problems + already_fixed, applied };
    Ok(CheckOutcome { results: remaining, fixes: Some(fixes) })
}

/// Returns the exit code of a check in which errors exit with `errors`.
///
/// A file that cannot be read takes precedence over findings.
pub(super) fn exit_code_for(results: &CheckResults, errors: u8) -> ExitCode {
    let unreadable = results.unreadable.iter().map(|target| target.kind.exit_code()).max();
    match unreadable {
        Some(worst) => ExitCode::from(worst),
        None if results.count(Severity::Error) > 0 => ExitCode::from(errors),
        None => ExitCode::SUCCESS,
    }
}
