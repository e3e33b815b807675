//! MCP over stdio and HTTP: skills, context packs, packages and tools for agents.
//!
//! ```text
//! transport ──▶ McpHandler (methods, pages) ──▶ McpBackend ──▶ engine, or a registry
//! ```
//!
//! Every tool calls the engine the way a command does, so nothing is available only here. Text from
//! files is data: it is quoted as such, and hidden characters in it are marked before an agent sees
//! them.

mod backend;
mod cursor;
mod handler;
mod http;
mod local;
mod pagination;
mod pending;
mod prompts;
mod resources;
mod response;
mod schema;
pub(crate) mod serve_http;
mod skills_extension;
mod stdio;
mod tool;
mod tool_call;
mod tool_set;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use rmcp::service::{RoleServer, RunningService};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::signal::unix::{SignalKind, signal};

pub use crate::mcp::backend::{
    BackendProvider, McpBackend, McpContextPack, McpPackageSummary, McpPage, McpSkillSummary,
    SharedBackend,
};
pub use crate::mcp::handler::McpHandler;
pub use crate::mcp::http::{McpAccess, McpEndpoint, endpoint};
pub use crate::mcp::local::{LocalBackend, LocalBackendSettings, SilentListener, WriteAccess};
pub use crate::mcp::serve_http::{McpSettings, serve_mcp};
pub use crate::mcp::stdio::{MAX_MESSAGE_BYTES, invalid_message_response};
pub use crate::mcp::tool::{McpTool, ToolEffect, ToolReach, ToolSpec};
pub use crate::mcp::tool_call::{ToolCall, ToolProgress};
pub use crate::mcp::tools::{common, knowledge};
pub use rmcp::model::Extensions;

use crate::mcp::stdio::LineTransport;

/// Maximum time to finish running requests at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves one client that sends and receives lines, until its input has ended and every request has
/// its response, until it closes the output, or until `shutdown` completes. On shutdown, running
/// requests are cancelled.
pub async fn serve_lines<P, R, W>(
    provider: Arc<P>,
    input: R,
    output: W,
    shutdown: impl Future<Output = ()>,
) where
    P: BackendProvider,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let transport = LineTransport::new(input, output);
    let pending = transport.pending().clone();
    let mut shutdown = std::pin::pin!(shutdown);
    let running = tokio::select! {
        running = start_session(McpHandler::new(provider), transport) => running,
        () = &mut shutdown => return,
    };
    let Some(running) = running else { return };
    let cancellation = running.cancellation_token();
    let mut ended = std::pin::pin!(running.waiting());
    tokio::select! {
        _ = &mut ended => {}
        // Do not wait for cancelled requests that are still running.
        () = pending.completed() => {}
        () = shutdown => {
            cancellation.cancel();
            let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, ended).await;
        }
    }
}

/// Waits for the message that starts a session. A message that cannot start one was answered, or
/// needs no answer, so the next one is tried. Returns `None` if the connection ends before that.
async fn start_session<P, R, W>(
    server: McpHandler<P>,
    transport: LineTransport<R, W>,
) -> Option<RunningService<RoleServer, McpHandler<P>>>
where
    P: BackendProvider,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    while !transport.pending().is_complete() {
        if let Ok(running) = rmcp::service::serve_server(server.clone(), transport.clone()).await {
            return Some(running);
        }
    }
    None
}

/// Serves the parent process over stdin and stdout, until stdin ends or the process is asked to
/// exit.
pub fn serve_stdio<P: BackendProvider>(provider: Arc<P>) -> std::io::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let mut terminated = signal(SignalKind::terminate())?;
        let mut interrupted = signal(SignalKind::interrupt())?;
        let shutdown = async {
            tokio::select! {
                _ = terminated.recv() => {}
                _ = interrupted.recv() => {}
            }
        };
        serve_lines(provider, tokio::io::stdin(), tokio::io::stdout(), shutdown).await;
        std::io::Result::Ok(())
    })?;
    // A thread may still be blocked on stdin; do not wait for it.
    runtime.shutdown_background();
    Ok(())
}
