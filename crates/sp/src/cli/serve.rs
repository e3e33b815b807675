//! Arguments of `sp serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use sp_serve::AddressRange;
use sp_serve::registry::RequestRate;

use super::parse_duration;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    pub copy: Option<ServeCopyCommand>,
    /// Data directory [default: ~/.skillpack/registry]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub data: Option<PathBuf>,
    /// PostgreSQL database for metadata, `postgres://…` [env: SP_DATABASE_URL] [default: SQLite]
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,
    /// Address to listen on
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7878")]
    pub listen: SocketAddr,
    /// Format of the request log on stderr
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub log: LogFormatArg,
    /// Requests per second for each client, and the size of a burst; further requests are delayed,
    /// then refused; `off` for no limit
    #[arg(long, value_name = "RATE[:BURST]", default_value = "100:400", value_parser = parse_rate)]
    pub rate: RateLimitArg,
    /// Address or range of proxies whose `X-Forwarded-For` header is trusted, such as
    /// `10.0.0.0/8`; can be repeated
    #[arg(long, value_name = "ADDRESS[/PREFIX]")]
    pub trust_proxy: Vec<AddressRange>,
    /// Maximum duration of a request without the transfer of its body, from `1s` to `1h`
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_duration)]
    pub timeout: Duration,
    /// Maximum time to complete running requests after SIGTERM, from `1s` to `1h`
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    pub grace: Duration,
}

/// Copies of a registry.
#[derive(Debug, Subcommand)]
pub(crate) enum ServeCopyCommand {
    /// Back up a registry, which can be running
    Backup {
        /// Directory for the backup; it must not exist or be empty
        #[arg(value_hint = ValueHint::DirPath)]
        to: PathBuf,
        /// Data directory of the registry [default: ~/.skillpack/registry]
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        data: Option<PathBuf>,
    },
    /// Restore a registry from a backup, verifying every digest
    Restore {
        /// Directory of the backup
        #[arg(value_hint = ValueHint::DirPath)]
        from: PathBuf,
        /// Data directory to create; it must not exist or be empty [default:
        /// ~/.skillpack/registry]
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        data: Option<PathBuf>,
    },
}

/// The format of the request log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum LogFormatArg {
    /// No log
    Off,
    /// One line of text for each request
    #[default]
    Text,
    /// One JSON object for each request
    Json,
}

/// How many requests one client can send, if that is limited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateLimitArg(pub Option<RequestRate>);

fn parse_rate(text: &str) -> Result<RateLimitArg, String> {
    if text == "off" {
        Ok(RateLimitArg(None))
    } else {
        text.parse().map(|rate| RateLimitArg(Some(rate)))
    }
}
