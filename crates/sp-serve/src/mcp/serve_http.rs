//! `sp mcp --http`: the HTTP server around an MCP endpoint.

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

use crate::connections::{self, ConnectionSettings, bearer_token, shutdown_signal};
use crate::error::ServeError;
use crate::mcp::backend::BackendProvider;
use crate::mcp::http::{McpAccess, McpEndpoint, endpoint};
use crate::mcp::stdio::{MAX_MESSAGE_BYTES, invalid_message_response};
use crate::request_gate::{GateLimits, GateRefusal, RequestGate, admit_request};

pub(crate) const MCP_PATH: &str = "/mcp";
/// Maximum number of requests that are worked on; others wait.
const MAX_CONCURRENT_REQUESTS: usize = 256;
/// Maximum duration of a request, without the time to receive it.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(10);
/// Maximum time to receive a request.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

pub struct McpSettings {
    pub listen: SocketAddr,
    /// The required bearer token; without one, only loopback requests are accepted.
    pub token: Option<String>,
}

/// Serves MCP until SIGINT or SIGTERM. Calls `started` with the address once it listens.
pub fn serve_mcp<P: BackendProvider>(
    settings: &McpSettings,
    provider: Arc<P>,
    started: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let access = match &settings.token {
        None => McpAccess::Loopback,
        Some(_) => McpAccess::Authenticated,
    };
    let endpoint = endpoint(provider, access);
    let token_hash = settings.token.as_deref().map(|token| Digest::of(token.as_bytes()));
    let router = Router::new()
        .route(
            MCP_PATH,
            any(async move |request: Request| handle_request(&endpoint, request).await),
        )
        .layer(from_fn_with_state(token_hash, require_token))
        .layer(from_fn_with_state(Arc::new(request_gate()), admit_request));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(ServeError::Io)?;
    runtime.block_on(async {
        let listener = TcpListener::bind(settings.listen)
            .await
            .map_err(|e| ServeError::Listen(settings.listen, e))?;
        let stop = shutdown_signal();
        started(listener.local_addr().map_err(ServeError::Io)?);
        let settings = ConnectionSettings::new(READ_TIMEOUT);
        connections::run(listener, router, settings, stop).await;
        Ok(())
    })
}

fn request_gate() -> RequestGate {
    let limits = GateLimits {
        concurrent: MAX_CONCURRENT_REQUESTS,
        // Often behind a proxy, or on one machine.
        concurrent_per_client: MAX_CONCURRENT_REQUESTS,
        timeout: REQUEST_TIMEOUT,
    };
    RequestGate::new(limits, |refusal| {
        let message = match refusal {
            GateRefusal::SlowBody => "the request body was sent too slowly\n",
            GateRefusal::TimedOut => "the request timed out\n",
        };
        (StatusCode::REQUEST_TIMEOUT, message).into_response()
    })
}

/// Passes a request to an endpoint. An invalid message gets a JSON-RPC error, where the endpoint
/// would respond with plain text.
pub(crate) async fn handle_request<P: BackendProvider>(
    endpoint: &McpEndpoint<P>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = match tokio::time::timeout(READ_TIMEOUT, to_bytes(body, MAX_MESSAGE_BYTES)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            return (StatusCode::PAYLOAD_TOO_LARGE, "the request body is too large\n")
                .into_response();
        }
        Err(_) => {
            return (StatusCode::REQUEST_TIMEOUT, "timed out reading the request body\n")
                .into_response();
        }
    };
    let response =
        endpoint.handle(Request::from_parts(parts, Body::from(bytes.clone()))).await.map(Body::new);
    let error = (response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE)
        .then(|| invalid_message_response(&bytes))
        .flatten();
    match error {
        Some(error) => {
            (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], error)
                .into_response()
        }
        None => response,
    }
}

/// Rejects requests without the token, if there is one. Compares hashes, so that timing reveals
/// nothing.
async fn require_token(
    Extracted(expected): Extracted<Option<Digest>>,
    request: Request,
    next: Next,
) -> Response {
    let actual =
        bearer_token(request.headers()).flatten().map(|token| Digest::of(token.as_bytes()));
    if expected.is_some_and(|expected| actual != Some(expected)) {
        return unauthorized_response();
    }
    next.run(request).await
}

fn unauthorized_response() -> Response {
    let mut response =
        (StatusCode::UNAUTHORIZED, "a token is required: `Authorization: Bearer …`\n")
            .into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}
