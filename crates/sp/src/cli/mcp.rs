//! Arguments of `sp mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::{PlanArgs, ScopeArg};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub action: Option<McpCommand>,
    /// Serve over HTTP at this address, under `/mcp`
    ///
    /// The default is stdin and stdout. An address that other machines can reach, and
    /// `--allow-write`, require a token in the environment variable `SP_MCP_TOKEN`.
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Option<SocketAddr>,
    /// Only skills from `repo`, `bag`, `agent` or `package`
    ///
    /// Can be repeated, or separated with commas. `repo` is the repository, `bag` the workspace,
    /// `agent` what is installed for agents, and `package` the store.
    #[arg(
        long,
        value_enum,
        value_name = "SOURCE",
        value_delimiter = ',',
        hide_possible_values = true
    )]
    pub from: Vec<SkillSourceArg>,
    /// Serve this context pack [default: `context-pack`]
    ///
    /// Can be repeated.
    #[arg(long = "pack", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub packs: Vec<PathBuf>,
    /// Let agents install and uninstall packs
    ///
    /// Each change requires the ID of a plan that the agent requested.
    #[arg(long)]
    pub allow_write: bool,
}

/// Where served skills come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SkillSourceArg {
    /// `skills/` of the repository
    Repo,
    /// `.skills/` of the workspace
    Bag,
    /// Skills that are installed for agents
    #[value(name = "agent", alias = "sink")]
    Sink,
    /// Packages in the store
    Package,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add the MCP server to the settings of agents
    Install(McpInstallArgs),
    /// Remove the MCP server from the settings of agents
    Uninstall {
        #[command(flatten)]
        target: McpTargetArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct McpInstallArgs {
    #[command(flatten)]
    pub target: McpTargetArgs,
    /// URL of a running server [default: start `sp mcp`]
    #[arg(long, value_name = "URL", conflicts_with = "args")]
    pub url: Option<String>,
    /// Replace another server of the same name
    #[arg(long, short)]
    pub force: bool,
    /// Arguments for `sp mcp`
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

/// An entry in the settings of agents.
#[derive(Debug, Args)]
pub(crate) struct McpTargetArgs {
    /// Agents: `claude,codex`, `detected` or `all`
    ///
    /// Can be repeated.
    #[arg(long, short, required = true, value_name = "AGENT", value_delimiter = ',')]
    pub agent: Vec<String>,
    /// `global` for the user, or `project`
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    pub scope: ScopeArg,
    /// Name of the server in the settings
    #[arg(long, default_value = sp_engine::DEFAULT_MCP_NAME)]
    pub name: String,
    #[command(flatten)]
    pub plan: PlanArgs,
}
