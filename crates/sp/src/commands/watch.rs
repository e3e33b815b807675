//! `sp check --watch`

use std::process::ExitCode;

use sp_engine::{CheckRequest, Context, Result};

use super::check;
use crate::cli::OutputFormat;
use crate::terminal::{DIM, Terminal};

/// Checks, and checks again whenever something changes, until it is interrupted.
pub(super) fn run(
    context: &Context<'_>,
    request: &CheckRequest,
    terminal: &Terminal,
) -> Result<ExitCode> {
    // It watches before it checks, so that no change in between is missed.
    let watch = sp_engine::watch(context, request)?;
    loop {
        terminal.clear_screen()?;
        check::check_once(context, request, terminal)?;
        if terminal.format == OutputFormat::Human {
            terminal.print_stderr(&format!("\n{DIM}watching for changes; Ctrl-C ends it{DIM:#}\n"));
        }
        if terminal.is_stdout_closed() {
            return Ok(ExitCode::SUCCESS);
        }
        watch.wait()?;
    }
}
