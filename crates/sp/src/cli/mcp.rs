//! `sp mcp`

use clap::{Args, Subcommand};

use super::Scope;

/// Skillpack for agents that speak MCP.
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub action: McpAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpAction {
    /// Add the server to the settings of agents; all else in them stays as it is
    Install(McpInstall),
    /// Take the server out of the settings of agents
    Uninstall {
        #[command(flatten)]
        target: McpTarget,
    },
}

#[derive(Debug, Args)]
pub(crate) struct McpInstall {
    #[command(flatten)]
    pub target: McpTarget,
    /// The address of a server that runs [default: the agent starts `sp mcp`]
    #[arg(long, value_name = "URL", conflicts_with = "args")]
    pub http: Option<String>,
    /// Replace another server of the same name
    #[arg(long)]
    pub replace: bool,
    /// What the agent hands to `sp mcp`
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

/// Which entry of whose settings.
#[derive(Debug, Args)]
pub(crate) struct McpTarget {
    /// The agent; may be given several times (`claude`, `cursor`, `codex`, `vscode`, `windsurf`, …)
    #[arg(long, required = true, value_name = "AGENT")]
    pub agent: Vec<String>,
    /// Whose settings: the user's, or those of this project
    #[arg(long, value_enum, default_value_t)]
    pub scope: Scope,
    /// The name of the server in them
    #[arg(long, default_value = sp_engine::DEFAULT_MCP_NAME)]
    pub name: String,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}
