//! The streamable HTTP transport.
//!
//! It is stateless: no session outlives a request, so memory does not grow with the number of
//! clients.

use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::mcp::backend::BackendProvider;
use crate::mcp::handler::McpHandler;
use crate::mcp::stdio::MAX_MESSAGE_BYTES;

pub type McpEndpoint<P> = StreamableHttpService<McpHandler<P>, NeverSessionManager>;

/// Interval of keep-alive events while a request runs.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Which clients an endpoint accepts. A web page in a browser on this machine could also send
/// requests, so `Host` and `Origin` are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpAccess {
    /// Requests to a loopback host name.
    Loopback,
    /// Requests that were authenticated with a token; any host name is accepted.
    Authenticated,
}

pub fn endpoint<P: BackendProvider>(provider: Arc<P>, access: McpAccess) -> McpEndpoint<P> {
    const LOOPBACK: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(Some(KEEP_ALIVE_INTERVAL))
        .with_max_request_body_bytes(MAX_MESSAGE_BYTES)
        .with_allowed_origins(LOOPBACK);
    let config = match access {
        McpAccess::Loopback => config,
        McpAccess::Authenticated => config.disable_allowed_hosts(),
    };
    let server = McpHandler::new(provider);
    StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    )
}
