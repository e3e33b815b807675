//! MCP over HTTP, as `sp mcp --http` serves it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State as Extracted};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use sp_tree::Digest;
use tokio::net::TcpListener;
use tower::limit::GlobalConcurrencyLimitLayer;

use crate::connections::{self, bearer_token, shutdown_signal};
use crate::error::ServeError;
use crate::mcp::backend::BackendProvider;
use crate::mcp::http::{McpAccess, McpEndpoint, endpoint};
use crate::mcp::stdio::{MAX_MESSAGE_BYTES, invalid_message_response};

/// The path at which MCP is spoken.
pub(crate) const MCP_PATH: &str = "/mcp";
/// How many requests are answered at once; the others wait.
const MAX_CONCURRENT_REQUESTS: usize = 256;
/// How long a request may take to come.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// How MCP is served over HTTP.
pub struct McpSettings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// What opens it; without one only this machine may ask.
    pub token: Option<String>,
}

/// Serves a provider until it is told to stop.
pub fn serve_mcp<P: BackendProvider>(
    settings: &McpSettings,
    provider: Arc<P>,
    started: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let door = match &settings.token {
        None => McpAccess::Loopback,
        Some(_) => McpAccess::Authenticated,
    };
    let endpoint = endpoint(provider, door);
    let wanted = settings.token.as_deref().map(|token| Digest::of(token.as_bytes()));
    let router = Router::new()
        .route(
            MCP_PATH,
            any(async move |request: Request| handle_request(&endpoint, request).await),
        )
        .layer(from_fn_with_state(wanted, require_token))
        .layer(GlobalConcurrencyLimitLayer::new(MAX_CONCURRENT_REQUESTS));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(ServeError::Io)?;
    runtime.block_on(async {
        let listener = TcpListener::bind(settings.listen)
            .await
            .map_err(|e| ServeError::Listen(settings.listen, e))?;
        started(listener.local_addr().map_err(ServeError::Io)?);
        connections::run(listener, router, READ_TIMEOUT, shutdown_signal()).await;
        Ok(())
    })
}

/// Asks an endpoint. What is no message is refused as JSON-RPC asks, where the endpoint would say so in a text.
pub(crate) async fn handle_request<P: BackendProvider>(
    endpoint: &McpEndpoint<P>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = match tokio::time::timeout(READ_TIMEOUT, to_bytes(body, MAX_MESSAGE_BYTES)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            return (StatusCode::PAYLOAD_TOO_LARGE, "that is more than is taken here\n")
                .into_response();
        }
        Err(_) => {
            return (StatusCode::REQUEST_TIMEOUT, "that takes too long to come\n").into_response();
        }
    };
    let response =
        endpoint.handle(Request::from_parts(parts, Body::from(bytes.clone()))).await.map(Body::new);
    let told = (response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE)
        .then(|| invalid_message_response(&bytes))
        .flatten();
    match told {
        Some(told) => (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], told)
            .into_response(),
        None => response,
    }
}

/// Lets nobody in without the token, if there is one. Hashes are compared, which tell nothing by their time.
async fn require_token(
    Extracted(wanted): Extracted<Option<Digest>>,
    request: Request,
    next: Next,
) -> Response {
    let given = bearer_token(request.headers()).flatten().map(|token| Digest::of(token.as_bytes()));
    if wanted.is_some_and(|wanted| given != Some(wanted)) {
        return unauthorized_response();
    }
    next.run(request).await
}

/// What whoever has no token is told.
fn unauthorized_response() -> Response {
    let mut response = (StatusCode::UNAUTHORIZED, "a token is needed: `Authorization: Bearer …`\n")
        .into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}
