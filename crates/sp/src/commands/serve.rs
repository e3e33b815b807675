//! `sp serve`

use std::net::SocketAddr;
use std::path::Path;

use sp_engine::{Context, Error, Kind, Result};
use sp_formats::output::RegistryStarted;
use sp_server::{NoAddress, PostgresAddress, ServeError, Settings, Started, Surroundings};
use sp_tree::Limits;

use crate::terminal::{DIM, STRONG, Terminal, WARNING};

/// The address of a database has a password in it, and a command line is seen by others.
const DATABASE: &str = "SP_DATABASE_URL";

/// What stands on the command line.
pub(super) struct Wanted<'a> {
    pub data: Option<&'a Path>,
    pub database: Option<&'a str>,
    pub listen: SocketAddr,
}

pub(super) fn run(context: &Context<'_>, wanted: &Wanted<'_>, terminal: &Terminal) -> Result<()> {
    let data = wanted.data.map_or_else(|| context.home.join("registry"), |data| context.current_dir.join(data));
    let database = database(context, wanted.database)?;
    let listen = wanted.listen;
    let mut limits = Limits::default();
    for (name, value) in &context.limits {
        // The names were checked when the flags were read.
        let _ = limits.set(name, *value);
    }
    let surroundings = Surroundings { wall_clock: context.wall_clock, random: context.random };
    let settings = Settings { data: data.clone(), database, listen, limits, surroundings };
    if !listen.ip().is_loopback() {
        terminal.aside(&format!(
            "{WARNING}warning{WARNING:#}: it speaks plain http beyond this machine; put a proxy with TLS before it"
        ));
    }
    sp_server::serve(&settings, |started| tell(context, &data, started, terminal)).map_err(failed)
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
            writeln!(
                out,
                "next: curl -X POST {}/api/v1/tokens -H 'authorization: Bearer {token}' -H 'content-type: application/json' -d '{{\"user\":\"me\",\"scope\":\"publish\"}}'",
                view.address
            )?;
        }
        out.flush()
    });
}

fn failed(error: ServeError) -> Error {
    let told = Error::new(Kind::Environment, error.to_string());
    match error {
        ServeError::Data(_, source) => {
            told.because(source).hint("name another folder with `--data`, or make this one writable")
        }
        ServeError::Database(_, source) => told.because(source).hint(format!(
            "start the database, or mend `--database` or `{DATABASE}`; one that wants TLS needs `?sslmode=require`"
        )),
        ServeError::Listen(_, source) => {
            told.because(source).hint("name another address with `--listen`; port 0 takes one that is free")
        }
        ServeError::Run(source) => told.because(source).hint("run it again when the cause is mended"),
    }
}
