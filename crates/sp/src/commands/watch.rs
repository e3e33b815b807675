//! `sp check --watch`

use std::process::ExitCode;

use sp_engine::{CheckRequest, Context, Result};

use super::check;
use crate::cli::Format;
use crate::terminal::{DIM, Terminal};

/// Checks, and checks again whenever something changes, until it is interrupted.
pub(super) fn run(context: &Context<'_>, request: &CheckRequest, terminal: &Terminal) -> Result<ExitCode> {
    // It watches before it checks, so that no change in between is missed.
    let watch = sp_engine::watch(context, request)?;
    loop {
        terminal.start_over()?;
        check::once(context, request, terminal)?;
        if terminal.format == Format::Human {
            terminal.aside(&format!("\n{DIM}watching for changes; Ctrl-C ends it{DIM:#}\n"));
        }
        if terminal.is_unread() {
            return Ok(ExitCode::SUCCESS);
        }
        watch.wait()?;
    }
}
