//! `sp mcp`

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

/// How MCP is served.
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Answer over HTTP at this address, at `/mcp`, instead of over stdin and stdout. Beyond this machine it needs a
    /// token in `SP_MCP_TOKEN`
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// Where skills come from [default: everywhere]
    #[arg(long, value_enum, value_name = "ORIGIN", value_delimiter = ',')]
    pub from: Vec<Origin>,
    /// A context pack to serve; may be repeated [default: `context-pack` in the current directory]
    #[arg(long = "pack", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub packs: Vec<PathBuf>,
    /// Let agents install and uninstall packs, by a plan that they were shown
    #[arg(long)]
    pub allow_write: bool,
    /// Pages of this origin may ask over HTTP, too: `https://app.example.com:443`; may be repeated
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub allow_origin: Vec<String>,
}

/// Where skills come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Origin {
    /// `skills/` of the repository
    Repo,
    /// `.skills/` of the workspace
    Bag,
    /// What is installed in agents' sinks
    Sink,
    /// Packages of the store
    Package,
}
