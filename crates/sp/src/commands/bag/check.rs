//! `sp bag check`.

use std::path::PathBuf;
use std::process::ExitCode;

use sp_engine::workspace;
use sp_engine::{Context, FailureKind, Result};

use super::super::check::{self, EarlierFixes};
use super::super::mode;
use crate::cli::{CheckArgs, GlobalOptions};
use crate::terminal::Terminal;

/// Checks the given paths, or the workspace if there are none.
pub(super) fn check_workspace(
    context: &Context<'_>,
    options: &GlobalOptions,
    given: &CheckArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let paths = if given.paths.is_empty() {
        vec![workspace::find_root(context, options.root.as_deref())?]
    } else {
        given.paths.clone()
    };
    let args = CheckArgs { paths, ..given.clone() };
    let mut earlier = EarlierFixes::default();
    if given.fix {
        // Create missing files first; the check below then fixes the existing ones.
        let root = args.paths.first().map(PathBuf::as_path);
        let request = check::check_request(options, &args);
        let before = sp_engine::check(context, &request)?.finding_count();
        earlier.repaired = match workspace::repair(context, root, mode(given.dry_run)) {
            // The check reports what prevented the repair.
            Err(error) if error.kind() == FailureKind::Data => Vec::new(),
            repaired => repaired?,
        };
        let after = sp_engine::check(context, &request)?.finding_count();
        // A missing line of `.gitignore` is repaired, but not reported as a finding.
        earlier.problems = before.saturating_sub(after).max(earlier.repaired.len());
    }
    check::run_after_fixing(context, options, &args, earlier, terminal)
}
