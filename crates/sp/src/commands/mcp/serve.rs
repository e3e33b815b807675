//! `sp mcp`: this machine, over stdin and stdout or over HTTP.

use std::net::SocketAddr;
use std::sync::Arc;

use sp_engine::library::{LibraryFilter, read_context_pack};
use sp_engine::{Error, FailureKind, Result};
use sp_formats::output::McpStartReport;
use sp_serve::mcp::{
    LocalBackend, LocalBackendSettings, SharedBackend, SilentListener, WriteAccess, serve_stdio,
};
use sp_serve::mcp::{McpSettings, serve_mcp};

use crate::cli::{GlobalOptions, McpArgs, SkillSourceArg};
use crate::commands::serve::serve_error;
use crate::environment;
use crate::terminal::{STRONG, Terminal};

/// A command line is seen by others, so the token stands here.
const TOKEN_ENV: &str = "SP_MCP_TOKEN";
/// A shorter one can be guessed.
const MIN_TOKEN_LEN: usize = 16;

pub(super) fn run(options: &GlobalOptions, wanted: &McpArgs, terminal: &Terminal) -> Result<()> {
    let context = environment::context(options, &SilentListener)?;
    // A pack that was named and is none is said now, and not passed over later.
    for pack in &wanted.packs {
        read_context_pack(&context, pack)?;
    }
    let token = context.env.get(TOKEN_ENV).filter(|token| !token.is_empty()).cloned();
    let local = LocalBackend::new(LocalBackendSettings {
        context,
        refresh: environment::refresh,
        library_filter: LibraryFilter {
            root: options.root.clone(),
            origins: wanted.from.iter().map(|origin| source_name(*origin).to_owned()).collect(),
        },
        packs: wanted.packs.clone(),
        write_access: if wanted.allow_write { WriteAccess::Allowed } else { WriteAccess::Denied },
    });
    let told = local.instructions();
    let desk = Arc::new(SharedBackend(Arc::new(local), told));
    match wanted.http {
        None => serve_stdio(desk).map_err(|e| {
            Error::new(FailureKind::Environment, "MCP cannot be served")
                .because(e)
                .hint("run it again when the cause is mended")
        }),
        Some(listen) => {
            let settings = McpSettings { listen, token: required_token(listen, wanted, token)? };
            serve_mcp(&settings, desk, |address| print_started(address, terminal))
                .map_err(serve_error)
        }
    }
}

fn source_name(origin: SkillSourceArg) -> &'static str {
    match origin {
        SkillSourceArg::Repo => "repo",
        SkillSourceArg::Bag => "bag",
        SkillSourceArg::Sink => "sink",
        SkillSourceArg::Package => "package",
    }
}

/// The token that is asked for: beyond this machine, and where something may be changed, there must be one.
fn required_token(
    listen: SocketAddr,
    wanted: &McpArgs,
    token: Option<String>,
) -> Result<Option<String>> {
    let make =
        format!("set one: `{TOKEN_ENV}=$(openssl rand -hex 32)`, and give it to those who may ask");
    match token {
        Some(token) if token.len() < MIN_TOKEN_LEN => {
            let message =
                format!("the token in `{TOKEN_ENV}` has fewer than {MIN_TOKEN_LEN} characters");
            Err(Error::new(FailureKind::Usage, message).hint(make))
        }
        None if !listen.ip().is_loopback() => {
            let message = format!(
                "`{listen}` can be reached from elsewhere, and there is no token in `{TOKEN_ENV}`"
            );
            Err(Error::new(FailureKind::Usage, message)
                .hint(make)
                .hint("or listen on this machine alone: `127.0.0.1:7879`"))
        }
        None if wanted.allow_write => {
            let message = format!(
                "others on this machine could change something, and there is no token in `{TOKEN_ENV}`"
            );
            Err(Error::new(FailureKind::Usage, message)
                .hint(make)
                .hint("or leave `--allow-write` out"))
        }
        token => Ok(token),
    }
}

fn print_started(address: SocketAddr, terminal: &Terminal) {
    let view = McpStartReport { address: format!("http://{address}/mcp") };
    // Whoever closed the output does not stop the server.
    let _ = terminal.print(&view, |out| {
        writeln!(out, "{STRONG}{}{STRONG:#}", view.address)?;
        out.flush()
    });
}
