//! `sp serve`

use std::io::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sp_engine::Limits;
use sp_engine::{Context, Error, Kind, Result};
use sp_formats::output::{RegistryCopied, RegistryStarted};
use sp_serve::ServeError;
use sp_serve::registry::{CopyError, Log, NoAddress, PostgresAddress, Settings, Started, Surroundings};

use crate::cli::{LogForm, Serve, ServeCopy};
use crate::terminal::{DIM, STRONG, Terminal, WARNING};

/// The address of a database has a password in it, and a command line is seen by others.
const DATABASE: &str = "SP_DATABASE_URL";
const OTHERWISE: &str = "with PostgreSQL run `pg_dump` first, and then copy `objects` from the folder";

pub(super) fn run(context: &Context<'_>, wanted: &Serve, terminal: &Terminal) -> Result<()> {
    if let Some(wish) = &wanted.copy {
        return copy(context, wish, terminal);
    }
    let data = data(context, wanted.data.as_deref());
    let mut limits = Limits::default();
    for (name, value) in &context.limits {
        // The names were checked when the flags were read.
        let _ = limits.set(name, *value);
    }
    let surroundings = Surroundings { wall_clock: context.wall_clock, random: context.random };
    let settings = Settings {
        data: data.clone(),
        database: database(context, wanted.database.as_deref())?,
        listen: wanted.listen,
        limits,
        rate: wanted.rate.0,
        trusted: wanted.trust_proxy.iter().map(IpAddr::to_canonical).collect(),
        patience: Duration::from_secs(wanted.timeout),
        log: log(wanted.log),
        surroundings,
    };
    if !wanted.listen.ip().is_loopback() {
        terminal.aside(&format!(
            "{WARNING}warning{WARNING:#}: it speaks plain http beyond this machine; put a proxy with TLS before it"
        ));
    }
    sp_serve::registry::serve(&settings, |started| tell(context, &data, started, terminal)).map_err(failed)
}

fn data(context: &Context<'_>, wanted: Option<&Path>) -> PathBuf {
    wanted.map_or_else(|| context.home.join("registry"), |data| context.current_dir.join(data))
}

fn copy(context: &Context<'_>, wish: &ServeCopy, terminal: &Terminal) -> Result<()> {
    let (from, to) = match wish {
        ServeCopy::Backup { to, data: from } => (data(context, from.as_deref()), context.current_dir.join(to)),
        ServeCopy::Restore { from, data: to } => (context.current_dir.join(from), data(context, to.as_deref())),
    };
    if context.env.get(DATABASE).is_some_and(|address| !address.is_empty()) {
        let what = format!("`{DATABASE}` is set, and what stands in PostgreSQL is not copied by `sp`");
        return Err(Error::new(Kind::Usage, what).hint(OTHERWISE));
    }
    let copied = sp_serve::registry::copy(&from, &to).map_err(not_copied)?;
    let view = RegistryCopied { from, to, objects: copied.objects, bytes: copied.bytes };
    terminal.print(&view, |out| {
        let packages = if view.objects == 1 { "package" } else { "packages" };
        writeln!(out, "{} {packages}, every digest verified: {}", view.objects, context.show(&view.to))
    })
}

fn not_copied(error: CopyError) -> Error {
    const NOTHING: &str = "nothing was copied";
    let told = Error::new(Kind::Environment, error.to_string());
    match error {
        CopyError::Nothing(_) => told.hint(format!("name its folder with `--data`; {OTHERWISE}")),
        CopyError::NotEmpty(_) => told.hint("name a folder that is empty, or not there"),
        CopyError::Database(source) => told.because(source).hint(NOTHING),
        CopyError::Missing(_) => told.hint(NOTHING),
        CopyError::File(source) => told.because(source).hint(NOTHING),
    }
}

/// Where lines about requests go. Whoever closed stderr does not stop the registry.
fn log(form: LogForm) -> Option<Log> {
    let write = |text: String| drop(writeln!(std::io::stderr().lock(), "{text}"));
    match form {
        LogForm::Off => None,
        LogForm::Text => Some(Arc::new(move |line| write(line.to_string()))),
        LogForm::Json => Some(Arc::new(move |line| write(serde_json::to_string(line).unwrap_or_default()))),
    }
}

fn database(context: &Context<'_>, wanted: Option<&str>) -> Result<Option<PostgresAddress>> {
    let given = wanted.or_else(|| context.env.get(DATABASE).map(String::as_str)).filter(|text| !text.is_empty());
    let address = given.map(str::parse).transpose();
    address.map_err(|error: NoAddress| {
        Error::new(Kind::Usage, error.to_string()).hint(format!("mend `--database` or `{DATABASE}`"))
    })
}

fn tell(context: &Context<'_>, data: &Path, started: Started, terminal: &Terminal) {
    let view = RegistryStarted {
        address: format!("http://{}", started.address),
        data: data.into(),
        admin_token: started.admin_token,
    };
    // Whoever closed the output does not stop the registry.
    let _ = terminal.print(&view, |out| {
        writeln!(out, "{STRONG}{}{STRONG:#}  {DIM}{}{DIM:#}", view.address, context.show(&view.data))?;
        if let Some(token) = &view.admin_token {
            writeln!(out, "the admin's token, shown this once: {token}")?;
            writeln!(out, "next: SP_REGISTRY_TOKEN={token} sp login {}", view.address)?;
        }
        out.flush()
    });
}

pub(super) fn failed(error: ServeError) -> Error {
    let told = Error::new(Kind::Environment, error.to_string());
    match error {
        ServeError::Data(_, source) => {
            told.because(source).hint("name another folder with `--data`, or make this one writable")
        }
        ServeError::Used(_) => told.hint("end it first, or name another folder with `--data`"),
        ServeError::Database(_, source) => told.because(source).hint(format!(
            "start the database, or mend `--database` or `{DATABASE}`; one that wants TLS needs `?sslmode=require`"
        )),
        ServeError::Listen(_, source) => {
            told.because(source).hint("name another address with `--listen`; port 0 takes one that is free")
        }
        ServeError::Run(source) => told.because(source).hint("run it again when the cause is mended"),
    }
}
