//! `sp mcp`

mod install;

use sp_engine::{Context, Result};

use crate::cli::{McpAction, McpArgs};
use crate::terminal::Terminal;

pub(super) fn run(context: &Context<'_>, mcp: &McpArgs, terminal: &Terminal) -> Result<()> {
    match &mcp.action {
        McpAction::Install(request) => install::install(context, request, terminal),
        McpAction::Uninstall { target } => install::uninstall(context, target, terminal),
    }
}
