//! `sp check`, with and without `--fix`.

use std::process::ExitCode;

use sp_engine::workspace::RepairedFile;
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
    run_after_fixing(context, options, check, EarlierFixes::default(), terminal)
}

pub(super) fn check_request(options: &cli::GlobalOptions, check: &cli::CheckArgs) -> CheckRequest {
    CheckRequest {
        paths: check.paths.clone(),
        root: options.root.clone(),
        strictness: if check.strict { CheckStrictness::Strict } else { CheckStrictness::Lenient },
        imports: if check.imports { ImportPolicy::Fetch } else { ImportPolicy::Skip },
    }
}

/// What was fixed before a check, or would be in a dry run.
#[derive(Default)]
pub(super) struct EarlierFixes {
    pub(super) repaired: Vec<RepairedFile>,
    pub(super) problems: usize,
}

/// Checks after the caller has already fixed problems, which count in the summary.
pub(super) fn run_after_fixing(
    context: &Context<'_>,
    options: &cli::GlobalOptions,
    check: &cli::CheckArgs,
    earlier: EarlierFixes,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let request = check_request(options, check);
    if check.watch {
        return watch::run(context, &request, terminal);
    }
    let outcome = if check.fix {
        fix(context, &request, check.dry_run, earlier, terminal)?
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
    earlier: EarlierFixes,
    terminal: &Terminal,
) -> Result<CheckOutcome> {
    let FixResults { mut files, problems, applied, remaining } =
        sp_engine::fix(context, request, mode(dry_run))?;
    let EarlierFixes { repaired, problems: repaired_problems } = earlier;
    // In a dry run, both may regenerate the same file.
    files.retain(|file| !repaired.iter().any(|earlier| earlier.path == file.path));
    let remaining = if dry_run { remaining.without_missing_parts(&repaired) } else { remaining };
    if dry_run && terminal.format == OutputFormat::Human {
        for file in &repaired {
            let name = context.display_relative_path(&file.path);
            terminal.print_stderr(&terminal::colored_diff(&name, &file.before, &file.after));
        }
        for file in &files {
            let diff = terminal::colored_diff(&file.file, &file.before, &file.after);
            terminal.print_stderr(&diff);
        }
    }
    let fixed = files.iter().map(|file| FixedFileItem {
        file: file.file.clone(),
        applied,
        diff: terminal::plain_diff(&file.file, &file.before, &file.after),
    });
    let created = repaired.iter().map(|file| {
        let name = context.display_relative_path(&file.path);
        let diff = terminal::plain_diff(&name, &file.before, &file.after);
        FixedFileItem { file: name, applied, diff }
    });
    let files = created.chain(fixed).collect();
    let fixes = FixOutcome { files, problems: problems + repaired_problems, applied };
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
