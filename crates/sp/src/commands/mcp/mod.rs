//! `sp mcp`.

mod install;
mod serve;

use sp_engine::{Context, Result};

use crate::cli::{GlobalOptions, McpArgs, McpCommand};
use crate::terminal::Terminal;

pub(super) fn run(
    context: &Context<'_>,
    options: &GlobalOptions,
    args: &McpArgs,
    terminal: &Terminal,
) -> Result<()> {
    match &args.action {
        None => serve::run(options, args, terminal),
        Some(McpCommand::Install(request)) => install::install(context, request, terminal),
        Some(McpCommand::Uninstall { target }) => install::uninstall(context, target, terminal),
    }
}
