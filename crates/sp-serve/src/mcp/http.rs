//! The same over HTTP: no session is kept, so that nothing grows with the number of clients.

use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::mcp::backend::BackendProvider;
use crate::mcp::handler::McpHandler;
use crate::mcp::stdio::MAX_MESSAGE_BYTES;

/// Answers requests.
pub type McpEndpoint<P> = StreamableHttpService<McpHandler<P>, NeverSessionManager>;

/// How a connection is kept open while something takes long.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Whom the door is open to. A page in a browser of this machine could ask as well, in the name of a server that it
/// comes from; so hosts and origins are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpAccess {
    /// Whoever asks this machine by its own name.
    Loopback,
    /// Whoever was let in already, by a token.
    Authenticated,
}

/// The endpoint of a provider.
pub fn endpoint<P: BackendProvider>(provider: Arc<P>, door: McpAccess) -> McpEndpoint<P> {
    const LOOPBACK: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(Some(KEEP_ALIVE_INTERVAL))
        .with_max_request_body_bytes(MAX_MESSAGE_BYTES)
        .with_allowed_origins(LOOPBACK);
    let config = match door {
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
