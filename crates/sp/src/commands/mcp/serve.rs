//! `sp mcp`: this machine, over stdin and stdout or over HTTP.

use std::net::SocketAddr;
use std::sync::Arc;

use sp_engine::library::{Shelves, context_pack};
use sp_engine::{Error, Kind, Result};
use sp_formats::output::McpStarted;
use sp_serve::mcp::{Local, LocalSettings, Only, Silent, Writing, serve_stdio};
use sp_serve::mcp::{McpSettings, serve_mcp};

use crate::cli::{Mcp, Options, Origin};
use crate::commands::serve::failed;
use crate::surroundings;
use crate::terminal::{STRONG, Terminal};

/// A command line is seen by others, so the token stands here.
const TOKEN: &str = "SP_MCP_TOKEN";
/// A shorter one can be guessed.
const SHORTEST_TOKEN: usize = 16;

pub(super) fn run(options: &Options, wanted: &Mcp, terminal: &Terminal) -> Result<()> {
    let context = surroundings::context(options, &Silent)?;
    // A pack that was named and is none is said now, and not passed over later.
    for pack in &wanted.packs {
        context_pack(&context, pack)?;
    }
    let token = context.env.get(TOKEN).filter(|token| !token.is_empty()).cloned();
    let local = Local::new(LocalSettings {
        context,
        renew: surroundings::renew,
        shelves: Shelves {
            root: options.root.clone(),
            origins: wanted.from.iter().map(|origin| word(*origin).to_owned()).collect(),
        },
        packs: wanted.packs.clone(),
        writing: if wanted.allow_write { Writing::Allowed } else { Writing::Off },
    });
    let told = local.instructions();
    let desk = Arc::new(Only(Arc::new(local), told));
    match wanted.http {
        None => serve_stdio(desk).map_err(|e| {
            Error::new(Kind::Environment, "MCP cannot be served")
                .because(e)
                .hint("run it again when the cause is mended")
        }),
        Some(listen) => {
            let settings = McpSettings { listen, token: token_for(listen, wanted, token)? };
            serve_mcp(&settings, desk, |address| tell(address, terminal)).map_err(failed)
        }
    }
}

fn word(origin: Origin) -> &'static str {
    match origin {
        Origin::Repo => "repo",
        Origin::Bag => "bag",
        Origin::Sink => "sink",
        Origin::Package => "package",
    }
}

/// The token that is asked for: beyond this machine, and where something may be changed, there must be one.
fn token_for(listen: SocketAddr, wanted: &Mcp, token: Option<String>) -> Result<Option<String>> {
    let make = format!("set one: `{TOKEN}=$(openssl rand -hex 32)`, and give it to those who may ask");
    match token {
        Some(token) if token.len() < SHORTEST_TOKEN => {
            let message = format!("the token in `{TOKEN}` has fewer than {SHORTEST_TOKEN} characters");
            Err(Error::new(Kind::Usage, message).hint(make))
        }
        None if !listen.ip().is_loopback() => {
            let message = format!("`{listen}` can be reached from elsewhere, and there is no token in `{TOKEN}`");
            Err(Error::new(Kind::Usage, message).hint(make).hint("or listen on this machine alone: `127.0.0.1:7879`"))
        }
        None if wanted.allow_write => {
            let message = format!("others on this machine could change something, and there is no token in `{TOKEN}`");
            Err(Error::new(Kind::Usage, message).hint(make).hint("or leave `--allow-write` out"))
        }
        token => Ok(token),
    }
}

fn tell(address: SocketAddr, terminal: &Terminal) {
    let view = McpStarted { address: format!("http://{address}/mcp") };
    // Whoever closed the output does not stop the server.
    let _ = terminal.print(&view, |out| {
        writeln!(out, "{STRONG}{}{STRONG:#}", view.address)?;
        out.flush()
    });
}
