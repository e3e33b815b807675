//! Arguments of `sp mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::ScopeArg;

/// How MCP is served.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub action: Option<McpCommand>,
    /// Answer over HTTP at this address, at `/mcp`, instead of over stdin and stdout. Beyond this
    /// machine, and with `--allow-write`, it needs a token in `SP_MCP_TOKEN`
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// Where skills come from [default: everywhere]
    #[arg(long, value_enum, value_name = "ORIGIN", value_delimiter = ',')]
    pub from: Vec<SkillSourceArg>,
    /// A context pack to serve; may be repeated [default: `context-pack` in the current directory]
    #[arg(long = "pack", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub packs: Vec<PathBuf>,
    /// Let agents install and uninstall packs, by a plan that they were shown
    #[arg(long)]
    pub allow_write: bool,
}

/// Where skills come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SkillSourceArg {
    /// `skills/` of the repository
    Repo,
    /// `.skills/` of the workspace
    Bag,
    /// What is installed in agents' sinks
    Sink,
    /// Packages of the store
    Package,
}

/// What is done to the settings of agents instead.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add the server to the settings of agents; all else in them stays as it is
    Install(McpInstallArgs),
    /// Take the server out of the settings of agents
    Uninstall {
        #[command(flatten)]
        target: McpTargetArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct McpInstallArgs {
    #[command(flatten)]
    pub target: McpTargetArgs,
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
pub(crate) struct McpTargetArgs {
    /// The agent; may be given several times (`claude`, `cursor`, `codex`, `vscode`, `windsurf`, …)
    #[arg(long, required = true, value_name = "AGENT")]
    pub agent: Vec<String>,
    /// Whose settings: the user's, or those of this project
    #[arg(long, value_enum, default_value_t)]
    pub scope: ScopeArg,
    /// The name of the server in them
    #[arg(long, default_value = sp_engine::DEFAULT_MCP_NAME)]
    pub name: String,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}
