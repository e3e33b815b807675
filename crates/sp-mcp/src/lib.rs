//! What Skillpack knows and does, for agents that ask for themselves: MCP over stdio and HTTP.
//!
//! ```text
//! transport ──▶ Server (methods, pages, marks) ──▶ Shelf (what there is) ──▶ engine, or a registry
//! ```
//!
//! No verb lives here alone: every tool calls the engine as a command does, and everything that is served can be
//! had on the command line. What comes from files is data; nothing hidden in it reaches an agent unmarked.

mod answer;
mod cursor;
mod extension;
mod http;
mod local;
mod pages;
mod prompts;
mod resources;
mod schema;
mod server;
mod shelf;
mod stdio;
mod tools;

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};

pub use crate::http::{Door, Endpoint, endpoint};
pub use crate::local::{Local, LocalSettings, Silent, Writing};
pub use crate::server::Server;
pub use crate::shelf::{Desk, Only, PackCard, PackageCard, Paged, Shelf, SkillCard};
pub use crate::stdio::{MOST_BYTES, no_message};
pub use crate::tools::{About, Call, Effect, Progress, Reach, Tool, common, knowledge};
pub use rmcp::model::Extensions;

use crate::stdio::Lines;

/// Serves one client that writes lines and reads lines, until it hangs up.
pub async fn serve_lines<D, R, W>(desk: Arc<D>, input: R, output: W)
where
    D: Desk,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    // A client that hangs up before it said what it wants is nobody's fault.
    if let Ok(running) = rmcp::service::serve_server(Server::new(desk), Lines::new(input, output)).await {
        let _ = running.waiting().await;
    }
}

/// Serves this process's parent over stdin and stdout, until stdin ends.
pub fn serve_stdio<D: Desk>(desk: Arc<D>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(serve_lines(desk, tokio::io::stdin(), tokio::io::stdout()));
    // A thread may still wait for stdin, and nobody waits for it.
    runtime.shutdown_background();
    Ok(())
}
