//! `sp mcp`: serves the skills and packages of this machine over stdio or HTTP.

use std::net::SocketAddr;
use std::sync::Arc;

use sp_engine::library::{LibraryFilter, LibrarySource, read_context_pack};
use sp_engine::{Error, ErrorCode, Result};
use sp_formats::output::McpStartReport;
use sp_serve::mcp::{
    LocalBackend, LocalBackendSettings, SharedBackend, SilentListener, WriteAccess, serve_stdio,
};
use sp_serve::mcp::{McpSettings, serve_mcp};

use crate::cli::{GlobalOptions, McpArgs, SkillSourceArg};
use crate::commands::serve::serve_error;
use crate::environment;
use crate::terminal::{STRONG, Terminal};

/// The token is not a flag, because other users can see a command line.
const TOKEN_ENV: &str = "SP_MCP_TOKEN";
/// Shorter tokens could be guessed.
const MIN_TOKEN_LEN: usize = 16;

pub(super) fn run(options: &GlobalOptions, args: &McpArgs, terminal: &Terminal) -> Result<()> {
    let context = environment::context(options, &SilentListener)?;
    // Fail now if a named pack is invalid; the server would silently skip it.
    for pack in &args.packs {
        read_context_pack(&context, pack)?;
    }
    let token = context.env.get(TOKEN_ENV).filter(|token| !token.is_empty()).cloned();
    let local = LocalBackend::new(LocalBackendSettings {
        context,
        refresh: environment::refresh,
        library_filter: LibraryFilter {
            root: options.root.clone(),
            sources: args.from.iter().map(|source| library_source(*source)).collect(),
        },
        packs: args.packs.clone(),
        write_access: if args.allow_write { WriteAccess::Allowed } else { WriteAccess::Denied },
    });
    let instructions = local.instructions();
    let backend = Arc::new(SharedBackend(Arc::new(local), instructions));
    match args.listen {
        None => serve_stdio(backend).map_err(|e| {
            Error::new(ErrorCode::Listen, "cannot serve MCP over stdio")
                .because(e)
                .hint("fix the cause, then run the command again")
        }),
        Some(listen) => {
            let settings = McpSettings { listen, token: required_token(listen, args, token)? };
            serve_mcp(&settings, backend, |address| print_started(address, terminal))
                .map_err(serve_error)
        }
    }
}

fn library_source(source: SkillSourceArg) -> LibrarySource {
    match source {
        SkillSourceArg::Repo => LibrarySource::Repository,
        SkillSourceArg::Bag => LibrarySource::Workspace,
        SkillSourceArg::Sink => LibrarySource::Sinks,
        SkillSourceArg::Package => LibrarySource::Packages,
    }
}

/// Validates the token. It is required for a non-loopback address and with `--allow-write`.
fn required_token(
    listen: SocketAddr,
    args: &McpArgs,
    token: Option<String>,
) -> Result<Option<String>> {
    let hint = format!(
        "set a token with `{TOKEN_ENV}=$(openssl rand -hex 32)`, and share it with your clients"
    );
    match token {
        Some(token) if token.len() < MIN_TOKEN_LEN => {
            let message =
                format!("the token in `{TOKEN_ENV}` is shorter than {MIN_TOKEN_LEN} characters");
            Err(Error::new(ErrorCode::InvalidSecret, message).hint(hint))
        }
        None if !listen.ip().is_loopback() => {
            let message = format!(
                "listening on the non-loopback address `{listen}` requires a token in `{TOKEN_ENV}`"
            );
            Err(Error::new(ErrorCode::UnprotectedServer, message)
                .hint(hint)
                .hint("or listen on a loopback address, such as `127.0.0.1:7879`"))
        }
        None if args.allow_write => {
            let message =
                format!("serving over HTTP with `--allow-write` requires a token in `{TOKEN_ENV}`");
            Err(Error::new(ErrorCode::UnprotectedServer, message)
                .hint(hint)
                .hint("or omit `--allow-write`"))
        }
        token => Ok(token),
    }
}

fn print_started(address: SocketAddr, terminal: &Terminal) {
    let view = McpStartReport { address: format!("http://{address}/mcp") };
    // A closed stdout does not stop the server.
    let _ = terminal.print(&view, |out| {
        writeln!(out, "{STRONG}{}{STRONG:#}", view.address)?;
        out.flush()
    });
}
