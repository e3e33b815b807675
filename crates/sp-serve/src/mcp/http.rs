//! The same over HTTP: no session is kept, so that nothing grows with the number of clients.

use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::mcp::server::Server;
use crate::mcp::shelf::Desk;
use crate::mcp::stdio::MOST_BYTES;

/// Answers requests.
pub type Endpoint<D> = StreamableHttpService<Server<D>, NeverSessionManager>;

/// How a connection is kept open while something takes long.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Whom the door is open to. A page in a browser of this machine could ask as well, in the name of a server that it
/// comes from; so hosts and origins are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Whoever asks this machine by its own name.
    Loopback,
    /// Whoever was let in already, by a token.
    Opened,
}

/// The endpoint of a desk.
pub fn endpoint<D: Desk>(desk: Arc<D>, door: Door) -> Endpoint<D> {
    const LOOPBACK: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(Some(KEEP_ALIVE))
        .with_max_request_body_bytes(MOST_BYTES)
        .with_allowed_origins(LOOPBACK);
    let config = match door {
        Door::Loopback => config,
        Door::Opened => config.disable_allowed_hosts(),
    };
    let server = Server::new(desk);
    StreamableHttpService::new(move || Ok(server.clone()), Arc::new(NeverSessionManager::default()), config)
}
