//! `sp mcp`

mod install;
mod serve;

use sp_engine::{Context, Result};

use crate::cli::{Mcp, McpAction, Options};
use crate::terminal::Terminal;

pub(super) fn run(context: &Context<'_>, options: &Options, wanted: &Mcp, terminal: &Terminal) -> Result<()> {
    match &wanted.action {
        None => serve::run(options, wanted, terminal),
        Some(McpAction::Install(request)) => install::install(context, request, terminal),
        Some(McpAction::Uninstall { target }) => install::uninstall(context, target, terminal),
    }
}
