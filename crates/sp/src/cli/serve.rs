//! Arguments of `sp serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use sp_serve::AddressRange;
use sp_serve::registry::{Quota, RequestRate};

use super::parse_duration;
use super::serve_oidc::OidcArgs;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    pub command: Option<ServeCommand>,
    /// Data directory [default: ~/.skillpack/registry]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub data: Option<PathBuf>,
    /// PostgreSQL URL, `postgres://…` [default: SQLite]
    ///
    /// The database for metadata. Also read from the environment variable `SP_DATABASE_URL`.
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,
    /// Bucket for packages, `s3://bucket/prefix` [default: data directory]
    ///
    /// Also read from the environment variable `SP_SERVE_OBJECTS`. Credentials come from variables
    /// such as `AWS_ACCESS_KEY_ID`.
    #[arg(long, value_name = "URL", hide_short_help = true)]
    pub objects: Option<String>,
    /// Address to listen on
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7878")]
    pub listen: SocketAddr,
    /// File with settings, in YAML
    ///
    /// Its keys are the names of the options of `sp serve`. They can also be set with environment
    /// variables: `SP_SERVE_LISTEN` for `--listen`. Options take precedence over variables, and
    /// variables over the file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub config: Option<PathBuf>,
    /// Check the settings, the certificate, the database, the object store and the login provider,
    /// then exit
    #[arg(long, hide_short_help = true)]
    pub check: bool,
    /// Certificate chain to serve HTTPS with, in PEM; loaded again when it is replaced
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub tls_certificate: Option<PathBuf>,
    /// Private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub tls_key: Option<PathBuf>,
    /// Format of the log on stderr
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t, hide_short_help = true)]
    pub log: LogFormatArg,
    /// Requests per second for each client, and the size of a burst; further requests are delayed,
    /// then refused; `off` for no limit
    #[arg(long, value_name = "RATE[:BURST]", default_value = "100:400", value_parser = parse_rate, hide_short_help = true)]
    pub rate: RateLimitArg,
    /// Address or range of proxies whose `X-Forwarded-For` header is trusted, such as
    /// `10.0.0.0/8`; can be repeated
    #[arg(long, value_name = "ADDRESS[/PREFIX]", hide_short_help = true)]
    pub trust_proxy: Vec<AddressRange>,
    /// Maximum duration of a request without the transfer of its body and the validation of a
    /// package, from `1s` to `1h`
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_duration, hide_short_help = true)]
    pub timeout: Duration,
    /// Require a token or a login for everything but signed URLs
    #[arg(long, hide_short_help = true)]
    pub login_required: bool,
    /// Limits of each user, such as `bytes=1GiB,packages=100,publishes=60` (per hour)
    #[arg(long, value_name = "LIMITS", hide_short_help = true)]
    pub user_quota: Option<Quota>,
    /// Limits of each namespace, in the same form
    #[arg(long, value_name = "LIMITS", hide_short_help = true)]
    pub namespace_quota: Option<Quota>,
    /// Maximum time to complete running requests after SIGTERM, from `1s` to `1h`
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration, hide_short_help = true)]
    pub grace: Duration,
    #[command(flatten)]
    pub oidc: OidcArgs,
}

/// Commands on the machine of a registry.
#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    /// Back up a registry, even while it is running
    Backup {
        /// Directory for the backup; must be empty or not exist yet
        #[arg(value_hint = ValueHint::DirPath)]
        to: PathBuf,
        /// Copy only the database, and list the objects
        #[arg(long, hide_short_help = true)]
        objects_stay: bool,
        #[command(flatten)]
        location: RegistryLocationArgs,
    },
    /// Restore a registry from a backup, verifying every digest
    ///
    /// The data directory and the database must be empty. A backup can also be restored into a
    /// registry that uses another kind of database or object store.
    Restore {
        /// Directory of the backup
        #[arg(value_hint = ValueHint::DirPath)]
        from: PathBuf,
        #[command(flatten)]
        location: RegistryLocationArgs,
    },
    /// Create, list, rotate and revoke tokens of a registry
    ///
    /// The database must be writable. No token is required, so this also works if all admin tokens
    /// were lost.
    Token(ServeTokenArgs),
    /// Verify the digests of all packages and context packs
    Verify(RegistryLocationArgs),
    /// Delete stored objects that nothing refers to
    Gc {
        /// Only list what would be deleted
        #[arg(long)]
        dry_run: bool,
        /// Keep newer objects; at least `1h`
        ///
        /// It must exceed the duration of the longest upload.
        #[arg(
            long,
            value_name = "DURATION",
            default_value = "24h",
            value_parser = parse_garbage_grace
        )]
        gc_grace: Duration,
        #[command(flatten)]
        location: RegistryLocationArgs,
    },
    /// Delete the content of a version permanently
    Delete {
        /// Version, such as `@team/name@1.2.0`
        package: String,
        /// Reason to record in the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
        #[command(flatten)]
        location: RegistryLocationArgs,
    },
}

fn parse_garbage_grace(text: &str) -> Result<Duration, String> {
    sp_formats::time::parse_duration(text)
        .filter(|it| *it >= Duration::from_hours(1))
        .ok_or_else(|| "expected a duration of at least `1h`, such as `24h`".into())
}

/// Where a registry stores its data.
#[derive(Debug, Args)]
pub(crate) struct RegistryLocationArgs {
    /// Data directory [default: ~/.skillpack/registry]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub data: Option<PathBuf>,
    /// PostgreSQL URL, `postgres://…` [default: SQLite]
    ///
    /// Also read from the environment variable `SP_DATABASE_URL`.
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,
    /// Bucket for packages, `s3://bucket/prefix` [default: data directory]
    ///
    /// Also read from the environment variable `SP_SERVE_OBJECTS`. Credentials come from variables
    /// such as `AWS_ACCESS_KEY_ID`.
    #[arg(long, value_name = "URL", hide_short_help = true)]
    pub objects: Option<String>,
    /// File with settings of `sp serve`, in YAML
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("other").args(["list", "rotate", "revoke"]))]
pub(crate) struct ServeTokenArgs {
    /// Create an admin token
    #[arg(long, conflicts_with_all = ["scope", "namespaces", "other"])]
    pub admin: bool,
    /// User of the token [default with `--admin`: admin]
    #[arg(long, value_name = "NAME", conflicts_with = "other")]
    pub user: Option<String>,
    /// `publish`, or only `read`
    #[arg(
        long,
        value_enum,
        value_name = "SCOPE",
        default_value_t,
        conflicts_with = "other",
        hide_possible_values = true
    )]
    pub scope: TokenScopeArg,
    /// What the token is for
    #[arg(long, value_name = "TEXT", conflicts_with = "other")]
    pub label: Option<String>,
    /// Lifetime, such as `90d` [default: unlimited]
    #[arg(long, value_name = "DURATION", value_parser = parse_lifetime, conflicts_with = "other")]
    pub expires: Option<Duration>,
    /// Limit the token to a namespace; can be repeated
    #[arg(long = "namespace", value_name = "NAME", conflicts_with = "other")]
    pub namespaces: Vec<String>,
    /// List all tokens
    #[arg(long)]
    pub list: bool,
    /// Replace the secret of a token
    #[arg(long, value_name = "ID")]
    pub rotate: Option<i64>,
    /// Revoke a token
    #[arg(long, value_name = "ID")]
    pub revoke: Option<i64>,
    #[command(flatten)]
    pub location: RegistryLocationArgs,
}

/// What a token permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum TokenScopeArg {
    /// Publish packages, and read private ones
    #[default]
    Publish,
    /// Read private packages
    Read,
}

fn parse_lifetime(text: &str) -> Result<Duration, String> {
    sp_formats::time::parse_duration(text)
        .filter(|it| *it >= Duration::from_secs(1))
        .ok_or_else(|| "expected a duration such as `12h` or `90d`".into())
}

/// The format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum LogFormatArg {
    /// No log
    Off,
    /// One line of text for each request and event
    #[default]
    Text,
    /// One JSON object for each request and event
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
