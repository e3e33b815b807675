//! `sp check`, with and without `--fix`. `sp bag check` and `sp context check` are the same.

use std::path::Path;
use std::process::ExitCode;

use sp_engine::{
    ApplyMode, ApplyOptions, CheckRequest, CheckResults, CheckStrictness, Context, FixResults,
    FixedFile, ImportPolicy, Result, WorkspaceRepairs,
};
use sp_formats::output::{FixedFileItem, PlanStatus};
use sp_formats::report::Severity;

use super::findings::{CheckOutcome, FixOutcome, print_outcome};
use super::watch;
use crate::cli::{self, OutputFormat};
use crate::terminal::{self, Terminal};

pub(super) fn run(
    context: &Context<'_>,
    options: &cli::GlobalOptions,
    check: &cli::CheckArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let request = check_request(options, check);
    if check.watch {
        return watch::run(context, &request, terminal);
    }
    if let Some(file) = check.baseline.as_deref().filter(|_| check.write_baseline) {
        return write_baseline(context, &request, file, terminal);
    }
    let outcome = if check.fix {
        fix(context, &request, check, terminal)?
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

fn check_request(options: &cli::GlobalOptions, check: &cli::CheckArgs) -> CheckRequest {
    CheckRequest {
        paths: check.paths.clone(),
        root: options.root.clone(),
        strictness: if check.strict { CheckStrictness::Strict } else { CheckStrictness::Lenient },
        imports: if check.imports { ImportPolicy::Fetch } else { ImportPolicy::Skip },
        baseline: check.baseline.clone(),
    }
}

/// Writes all findings to a baseline, and reports only what cannot be written to one.
fn write_baseline(
    context: &Context<'_>,
    request: &CheckRequest,
    file: &Path,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let results = sp_engine::write_baseline(context, request, file)?;
    let code = exit_code_for(&results, 1);
    print_outcome(context, &CheckOutcome::without_fixes(results), terminal)?;
    Ok(code)
}

fn fix(
    context: &Context<'_>,
    request: &CheckRequest,
    check: &cli::CheckArgs,
    terminal: &Terminal,
) -> Result<CheckOutcome> {
    if check.dry_run {
        return plan_fixes(context, request, terminal).map(|(outcome, _)| outcome);
    }
    let apply = ApplyOptions { mode: ApplyMode::Apply, expected_plan: check.plan };
    let plan = match check.plan {
        Some(_) => Some(planned_fixes(context, request)?.status(apply)?),
        None => None,
    };
    if plan.is_some() || check.yes || !is_attended(context, terminal) {
        let repairs = sp_engine::repair_workspaces(context, request, ApplyMode::Apply)?;
        let fixed = sp_engine::fix(context, request, ApplyMode::Apply)?;
        return Ok(fix_outcome(context, fixed, &repairs, plan));
    }
    let (planned, shown) = plan_fixes(context, request, terminal)?;
    let question = "apply these changes?";
    if planned.has_pending_fixes() && !terminal.confirm(question)? {
        return Ok(planned);
    }
    let repairs = sp_engine::repair_workspaces(context, request, ApplyMode::Apply)?;
    let confirm_if_changed = |files: &[FixedFile]| {
        // A repair regenerates files that the plan edits.
        if files == shown || !repairs.files.is_empty() {
            return Ok(true);
        }
        print_diffs(files, terminal);
        terminal.confirm(question)
    };
    let fixed = sp_engine::fix_if_confirmed(context, request, &confirm_if_changed)?;
    Ok(fix_outcome(context, fixed, &repairs, None))
}

/// What a fix would do.
struct PlannedFixes {
    repairs: WorkspaceRepairs,
    fixed: FixResults,
}

impl PlannedFixes {
    /// Returns the status of the plan, unless another one is expected.
    fn status(&self, apply: ApplyOptions) -> Result<PlanStatus> {
        sp_engine::confirm_fixes(&self.repairs, &self.fixed.files, apply)
    }
}

fn planned_fixes(context: &Context<'_>, request: &CheckRequest) -> Result<PlannedFixes> {
    let repairs = sp_engine::repair_workspaces(context, request, ApplyMode::DryRun)?;
    let fixed = sp_engine::fix(context, request, ApplyMode::DryRun)?;
    Ok(PlannedFixes { repairs, fixed })
}

/// Plans the fixes, and shows their diffs. Returns the files that would be edited, too.
fn plan_fixes(
    context: &Context<'_>,
    request: &CheckRequest,
    terminal: &Terminal,
) -> Result<(CheckOutcome, Vec<FixedFile>)> {
    let planned = planned_fixes(context, request)?;
    let status = planned.status(ApplyMode::DryRun.into())?;
    let PlannedFixes { repairs, fixed: mut planned } = planned;
    let shown = planned.files.clone();
    // Both may regenerate the same file.
    planned.files.retain(|file| !repairs.files.iter().any(|repaired| repaired.path == file.path));
    planned.remaining = planned.remaining.without_missing_parts(&repairs.files);
    if terminal.format == OutputFormat::Human {
        for file in &repairs.files {
            let name = context.display_relative_path(&file.path);
            terminal.print_stderr(&terminal::colored_diff(&name, &file.before, &file.after));
        }
        print_diffs(&planned.files, terminal);
    }
    Ok((fix_outcome(context, planned, &repairs, Some(status)), shown))
}

/// Whether someone is there to answer a question.
fn is_attended(context: &Context<'_>, terminal: &Terminal) -> bool {
    let is_ci = context.env.get("CI").is_some_and(|value| !value.is_empty() && value != "false");
    terminal.is_interactive() && !is_ci
}

fn print_diffs(files: &[FixedFile], terminal: &Terminal) {
    for file in files {
        terminal.print_stderr(&terminal::colored_diff(&file.file, &file.before, &file.after));
    }
}

/// Combines the results of a fix and of the repairs before it.
fn fix_outcome(
    context: &Context<'_>,
    fixed: FixResults,
    repairs: &WorkspaceRepairs,
    plan: Option<PlanStatus>,
) -> CheckOutcome {
    let FixResults { files, problems, applied, remaining } = fixed;
    let edited = files.iter().map(|file| FixedFileItem {
        file: file.file.clone(),
        applied,
        diff: terminal::plain_diff(&file.file, &file.before, &file.after),
    });
    let created = repairs.files.iter().map(|file| {
        let name = context.display_relative_path(&file.path);
        let diff = terminal::plain_diff(&name, &file.before, &file.after);
        FixedFileItem { file: name, applied, diff }
    });
    let files = created.chain(edited).collect();
    let fixes = FixOutcome { files, problems: problems + repairs.problems, applied, plan };
    CheckOutcome { results: remaining, fixes: Some(fixes) }
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
