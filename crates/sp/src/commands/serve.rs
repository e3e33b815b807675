//! `sp serve`

use std::net::SocketAddr;
use std::path::Path;

use sp_engine::{Context, Error, Kind, Result};
use sp_formats::output::RegistryStarted;
use sp_server::{ServeError, Settings, Started, Surroundings};
use sp_tree::Limits;

use crate::terminal::{DIM, STRONG, Terminal, WARNING};

pub(super) fn run(context: &Context<'_>, data: Option<&Path>, listen: SocketAddr, terminal: &Terminal) -> Result<()> {
    let data = data.map_or_else(|| context.home.join("registry"), |data| context.current_dir.join(data));
    let mut limits = Limits::default();
    for (name, value) in &context.limits {
        // The names were checked when the flags were read.
        let _ = limits.set(name, *value);
    }
    let surroundings = Surroundings { wall_clock: context.wall_clock, random: context.random };
    let settings = Settings { data: data.clone(), listen, limits, surroundings };
    if !listen.ip().is_loopback() {
        terminal.aside(&format!(
            "{WARNING}warning{WARNING:#}: it speaks plain http beyond this machine; put a proxy with TLS before it"
        ));
    }
    sp_server::serve(&settings, |started| tell(context, &data, started, terminal)).map_err(|error| failed(&error))
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

fn failed(error: &ServeError) -> Error {
    let hint = match error {
        ServeError::Data(..) => "name another folder with `--data`, or make this one writable",
        ServeError::Listen(..) => "name another address with `--listen`; port 0 takes one that is free",
        ServeError::Run(_) => "run it again when the cause is mended",
    };
    let source = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    Error::new(Kind::Environment, error.to_string()).because(source).hint(hint)
}
