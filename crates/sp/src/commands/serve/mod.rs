//! `sp serve`.

mod backup;
mod maintenance;
mod oidc;
mod tokens;

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_engine::Limits;
use sp_engine::{Context, Error, ErrorCode, Result};
use sp_formats::output::RegistryStartReport;
use sp_serve::registry::{
    BackupContent, BucketSettings, BucketUrl, GarbageAction, LocalRegistry, LocalRegistryError,
    PostgresAddress, PostgresAddressError, Quotas, RegistryEnvironment, RegistryLocation,
    RegistryLogger, RegistrySettings, RunningRegistry,
};
use sp_serve::{ServeError, TlsFiles};

use crate::cli::{LogFormatArg, RegistryLocationArgs, ServeArgs, ServeCommand};
use crate::terminal::{DIM, STRONG, Terminal, WARNING};

/// A database URL contains a password, and other users can see a command line.
const DATABASE_ENV: &str = "SP_DATABASE_URL";
const OBJECTS_ENV: &str = "SP_SERVE_OBJECTS";

pub(super) fn run(context: &Context<'_>, args: &ServeArgs, terminal: &Terminal) -> Result<()> {
    match &args.command {
        None => {}
        Some(ServeCommand::Token(args)) => return tokens::run(context, args, terminal),
        Some(ServeCommand::Backup { to, objects_stay, location }) => {
            let content =
                if *objects_stay { BackupContent::DatabaseOnly } else { BackupContent::Complete };
            return backup::back_up(context, (location, to, content), terminal);
        }
        Some(ServeCommand::Restore { from, location }) => {
            return backup::restore(context, (from, location), terminal);
        }
        Some(ServeCommand::Verify(location)) => {
            return maintenance::verify(context, location, terminal);
        }
        Some(ServeCommand::Gc { dry_run, gc_grace, location }) => {
            let action = if *dry_run { GarbageAction::List } else { GarbageAction::Delete };
            let registry = open_local(context, location)?;
            return maintenance::collect_garbage(&registry, (*gc_grace, action), terminal);
        }
        Some(ServeCommand::Delete { package, reason, location }) => {
            let registry = open_local(context, location)?;
            return maintenance::delete(&registry, (package, reason), terminal);
        }
    }
    let settings = settings(context, args)?;
    if args.check {
        sp_serve::registry::check_settings(&settings).map_err(serve_error)?;
        return print_checked(&settings, terminal);
    }
    if settings.tls.is_none() && !args.listen.ip().is_loopback() {
        terminal.print_stderr(&format!(
            "{WARNING}warning{WARNING:#}: serving plain HTTP beyond this machine; put a TLS proxy \
             in front of it, or pass `--tls-certificate`"
        ));
    }
    let print = |started| print_started(context, &settings, started, terminal);
    sp_serve::registry::serve(&settings, print).map_err(serve_error)
}

fn settings(context: &Context<'_>, args: &ServeArgs) -> Result<RegistrySettings> {
    let mut limits = Limits::default();
    for (name, value) in &context.limits {
        // The names were validated when the flags were parsed.
        let _ = limits.set(name, *value);
    }
    Ok(RegistrySettings {
        data_dir: data_dir(context, args.data.as_deref()),
        database: database_address(context, args.database.as_deref())?,
        bucket: bucket(context, args.objects.as_deref())?,
        listen: args.listen,
        tls: tls_files(context, args)?,
        limits,
        rate_limit: args.rate.0,
        trusted_proxies: args.trust_proxy.clone(),
        request_timeout: args.timeout,
        shutdown_timeout: args.grace,
        login_required: args.login_required,
        quotas: Quotas {
            user: args.user_quota.unwrap_or_default(),
            namespace: args.namespace_quota.unwrap_or_default(),
        },
        oidc: oidc::settings(context, &args.oidc)?,
        logger: registry_logger(args.log),
        environment: environment(context),
    })
}

fn tls_files(context: &Context<'_>, args: &ServeArgs) -> Result<Option<TlsFiles>> {
    let file = |path: &PathBuf| context.current_dir.join(path);
    match (&args.tls_certificate, &args.tls_key) {
        (None, None) => Ok(None),
        (Some(chain), Some(key)) => Ok(Some(TlsFiles { certificate: file(chain), key: file(key) })),
        _ => Err(Error::new(ErrorCode::MissingArgument, "HTTPS needs a certificate and its key")
            .hint("set both `--tls-certificate` and `--tls-key`")),
    }
}

fn url(settings: &RegistrySettings, address: SocketAddr) -> String {
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    format!("{scheme}://{address}")
}

fn print_checked(settings: &RegistrySettings, terminal: &Terminal) -> Result<()> {
    let report = RegistryStartReport {
        address: url(settings, settings.listen),
        data: settings.data_dir.clone(),
        admin_token: None,
    };
    terminal.print(&report, |out| {
        writeln!(out, "the configuration is valid; it serves {}", report.address)
    })
}

fn environment(context: &Context<'_>) -> RegistryEnvironment {
    RegistryEnvironment { wall_clock: context.wall_clock, random: context.random }
}

/// Opens a registry on this machine.
fn open_local(context: &Context<'_>, args: &RegistryLocationArgs) -> Result<LocalRegistry> {
    LocalRegistry::open(location(context, args)?).map_err(local_error)
}

fn location(context: &Context<'_>, args: &RegistryLocationArgs) -> Result<RegistryLocation> {
    Ok(RegistryLocation {
        data_dir: data_dir(context, args.data.as_deref()),
        database: database_address(context, args.database.as_deref())?,
        bucket: bucket(context, args.objects.as_deref())?,
        environment: environment(context),
    })
}

fn local_error(error: LocalRegistryError) -> Error {
    let message = error.to_string();
    match error {
        LocalRegistryError::Unusable(error) => serve_error(error),
        LocalRegistryError::File(source) => Error::new(ErrorCode::Io, message).because(source),
        LocalRegistryError::VersionNotFound(_) => {
            Error::new(ErrorCode::VersionNotFound, message).hint("use the form `@team/name@1.2.0`")
        }
        LocalRegistryError::NoRegistry(_) => Error::new(ErrorCode::RegistryNotFound, message)
            .hint("pass its directory with `--data`, or its database with `--database`"),
        LocalRegistryError::InvalidRequest(_) => Error::new(ErrorCode::InvalidArguments, message),
        LocalRegistryError::TokenNotFound(_) => {
            Error::new(ErrorCode::TokenNotFound, message).hint("run `sp serve token --list`")
        }
        LocalRegistryError::LastAdmin(_) => Error::new(ErrorCode::StillRequired, message)
            .hint("create another one first with `sp serve token --admin`"),
    }
}

fn data_dir(context: &Context<'_>, given: Option<&Path>) -> PathBuf {
    given.map_or_else(|| context.home.join("registry"), |data| context.current_dir.join(data))
}

/// Writes the log to stderr. A closed stderr does not stop the registry.
fn registry_logger(format: LogFormatArg) -> Option<RegistryLogger> {
    let write = |text: String| drop(writeln!(std::io::stderr().lock(), "{text}"));
    match format {
        LogFormatArg::Off => None,
        LogFormatArg::Text => Some(Arc::new(move |entry| write(entry.to_string()))),
        LogFormatArg::Json => {
            Some(Arc::new(move |entry| write(serde_json::to_string(&entry).unwrap_or_default())))
        }
    }
}

fn database_address(context: &Context<'_>, given: Option<&str>) -> Result<Option<PostgresAddress>> {
    let address = given
        .or_else(|| context.env.get(DATABASE_ENV).map(String::as_str))
        .filter(|text| !text.is_empty());
    address.map(str::parse).transpose().map_err(|error: PostgresAddressError| {
        Error::new(ErrorCode::InvalidArguments, error.to_string())
            .hint(format!("correct `--database` or `{DATABASE_ENV}`"))
    })
}

fn bucket(context: &Context<'_>, given: Option<&str>) -> Result<Option<BucketSettings>> {
    let url = given
        .or_else(|| context.env.get(OBJECTS_ENV).map(String::as_str))
        .filter(|text| !text.is_empty());
    let url = url.map(str::parse::<BucketUrl>).transpose().map_err(|error| {
        Error::new(ErrorCode::InvalidArguments, error.to_string())
            .hint(format!("correct `--objects` or `{OBJECTS_ENV}`"))
    })?;
    Ok(url.map(|url| BucketSettings::new(url, context.env.iter())))
}

fn print_started(
    context: &Context<'_>,
    settings: &RegistrySettings,
    started: RunningRegistry,
    terminal: &Terminal,
) {
    let view = RegistryStartReport {
        address: url(settings, started.address),
        data: settings.data_dir.clone(),
        admin_token: started.admin_token,
    };
    // A closed stdout does not stop the registry.
    let _ = terminal.print(&view, |out| {
        writeln!(
            out,
            "{STRONG}{}{STRONG:#}  {DIM}{}{DIM:#}",
            view.address,
            context.display_path(&view.data)
        )?;
        if let Some(token) = &view.admin_token {
            writeln!(out, "admin token, shown only once: {token}")?;
            writeln!(out, "next: SP_REGISTRY_TOKEN={token} sp login {}", view.address)?;
        }
        out.flush()
    });
}

pub(super) fn serve_error(error: ServeError) -> Error {
    let code = match error {
        ServeError::DataDir(..) | ServeError::Io(_) => ErrorCode::Io,
        ServeError::DataDirInUse(_) => ErrorCode::DataDirInUse,
        ServeError::Database(..) | ServeError::NewerDatabase(_) => ErrorCode::Database,
        ServeError::ObjectStore(..) => ErrorCode::ObjectStore,
        ServeError::WrongObjectStore(..) => ErrorCode::WrongObjectStore,
        ServeError::Certificate(_) => ErrorCode::InvalidKeyFile,
        ServeError::LoginProvider(_) => ErrorCode::Network,
        ServeError::Listen(..) => ErrorCode::Listen,
    };
    let report = Error::new(code, error.to_string());
    match error {
        ServeError::DataDir(_, source) => report
            .because(source)
            .hint("use another directory with `--data`, or make this one writable"),
        ServeError::DataDirInUse(_) => {
            report.hint("stop it first, or use another directory with `--data`")
        }
        ServeError::Database(_, source) => report.because(source).hint(format!(
            "start the database, or correct `--database` or `{DATABASE_ENV}`; if it requires TLS, \
             add `?sslmode=require`"
        )),
        ServeError::NewerDatabase(source) => report
            .because(source)
            .hint("upgrade `sp`; older versions cannot use the database any longer"),
        ServeError::ObjectStore(_, source) => report.because(source).hint(format!(
            "start the object store, or correct `--objects`, `{OBJECTS_ENV}` and the variables \
             `AWS_…`"
        )),
        ServeError::WrongObjectStore(_, source) => report
            .because(source)
            .hint("use the `--data`, `--database` and `--objects` of the same registry"),
        ServeError::Certificate(source) => {
            report.because(source).hint("correct `--tls-certificate` or `--tls-key`")
        }
        ServeError::LoginProvider(source) => {
            report.because(source).hint("start the provider, or correct `--oidc-issuer`")
        }
        ServeError::Listen(_, source) => report
            .because(source)
            .hint("use another address with `--listen`; port 0 selects a free one"),
        ServeError::Io(source) => {
            report.because(source).hint("fix the cause, then run the command again")
        }
    }
}
