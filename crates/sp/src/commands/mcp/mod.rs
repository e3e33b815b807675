//! `sp mcp`.

mod install;
mod serve;

use sp_engine::{Context, Result};

use crate::cli::{GlobalOptions, McpArgs, McpCommand};
use crate::terminal::Terminal;

pub(super) fn run(
    context: &Context<'_>,
    options: &GlobalOptions,
    wanted: &McpArgs,
    terminal: &Terminal,
) -> Result<()> {
    match &wanted.action {
        None => serve::run(options, wanted, terminal),
        Some(McpCommand::Install(request)) => install::install(context, request, terminal),
        Some(McpCommand::Uninstall { target }) => install::uninstall(context, target, terminal),
    }
}
