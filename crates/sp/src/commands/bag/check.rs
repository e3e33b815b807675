//! `sp bag check`.

use std::path::PathBuf;
use std::process::ExitCode;

use sp_engine::{Context, FailureKind, Result, workspace};

use super::super::check;
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
    let mut fixed = 0;
    if given.fix && !given.dry_run {
        // Create missing files first; the check below then fixes the existing ones.
        let root = args.paths.first().map(PathBuf::as_path);
        let request = check::check_request(options, &args);
        let before = sp_engine::check(context, &request)?.finding_count();
        match workspace::repair(context, root) {
            // The check reports what prevented the repair.
            Err(error) if error.kind() == FailureKind::Data => {}
            repaired => repaired?,
        }
        fixed = before.saturating_sub(sp_engine::check(context, &request)?.finding_count());
    }
    check::run_after_fixing(context, options, &args, fixed, terminal)
}
