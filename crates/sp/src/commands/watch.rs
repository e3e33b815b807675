//! `sp check --watch`

use std::process::ExitCode;

use sp_engine::{CheckRequest, Context, Result};

use super::findings::{CheckOutcome, print_outcome};
use crate::cli::OutputFormat;
use crate::terminal::{DIM, Terminal};

/// Checks, and checks again whenever a file changes, until it is interrupted.
pub(super) fn run(
    context: &Context<'_>,
    request: &CheckRequest,
    terminal: &Terminal,
) -> Result<ExitCode> {
    // Watch before the first check, so that no change in between is missed.
    let watch = sp_engine::watch(context, request)?;
    loop {
        terminal.clear_screen()?;
        let results = sp_engine::check(context, request)?;
        print_outcome(context, &CheckOutcome::without_fixes(results), terminal)?;
        if terminal.format == OutputFormat::Human {
            terminal.print_stderr(&format!(
                "\n{DIM}watching for changes; press Ctrl-C to stop{DIM:#}\n"
            ));
        }
        if terminal.is_stdout_closed() {
            return Ok(ExitCode::SUCCESS);
        }
        watch.wait()?;
    }
}
