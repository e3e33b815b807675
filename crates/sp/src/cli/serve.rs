//! Arguments of `sp serve`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use sp_serve::registry::RequestRate;

/// How a registry is to run.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    pub copy: Option<ServeCopyCommand>,
    /// Where everything is kept [default: `registry` in Skillpack's own directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub data: Option<PathBuf>,
    /// A PostgreSQL database, `postgres://…`, for all but the bytes of packages [env: `SP_DATABASE_URL`, which
    /// others on this machine do not see]
    #[arg(long, value_name = "ADDRESS")]
    pub database: Option<String>,
    /// Where it listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7878")]
    pub listen: SocketAddr,
    /// A line for each request, on stderr
    #[arg(long, value_enum, value_name = "FORM", default_value_t)]
    pub log: LogFormatArg,
    /// How many requests a second one client may make, and how many for a moment; `off` for no
    /// limit
    #[arg(long, value_name = "RATE[:BURST]", default_value = "100:400", value_parser = parse_rate)]
    pub rate: RateLimitArg,
    /// A proxy whose `X-Forwarded-For` tells who the client is; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub trust_proxy: Vec<IpAddr>,
    /// How long a request may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: u64,
}

/// A registry that is copied instead.
#[derive(Debug, Subcommand)]
pub(crate) enum ServeCopyCommand {
    /// Copy a registry, also one that runs, into a new folder
    Backup {
        /// The folder of the copy; it must be empty or not be there
        #[arg(value_hint = ValueHint::DirPath)]
        to: PathBuf,
        /// Where the registry is [default: `registry` in Skillpack's own directory]
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        data: Option<PathBuf>,
    },
    /// Make a registry of a backup; every digest is verified
    Restore {
        /// The folder of the backup
        #[arg(value_hint = ValueHint::DirPath)]
        from: PathBuf,
        /// Where the registry is to be; it must be empty or not be there [default: `registry` in
        /// Skillpack's own directory]
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        data: Option<PathBuf>,
    },
}

/// How a request is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum LogFormatArg {
    /// Not at all
    Off,
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// How often one client may ask, if that is limited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateLimitArg(pub Option<RequestRate>);

fn parse_rate(text: &str) -> Result<RateLimitArg, String> {
    if text == "off" {
        Ok(RateLimitArg(None))
    } else {
        text.parse().map(|rate| RateLimitArg(Some(rate)))
    }
}
