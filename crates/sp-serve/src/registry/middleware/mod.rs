//! Middleware around every request: rate limit, metrics and request log.
//!
//! [`RequestMonitor`] knows nothing about what requests are for. Tokens, signatures, queries and
//! bodies are never logged.

mod client;
mod log_entry;
mod metrics;
mod rate_limiter;

use std::cell::OnceCell;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::body::HttpBody as _;
use axum::extract::{MatchedPath, Request, State as Extracted};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sp_tree::{Digest, to_hex};

use crate::connections::PeerAddr;
use crate::registry::environment::RegistryEnvironment;
use crate::registry::error::{InternalCause, ResponseError};

pub use log_entry::RequestLogEntry;
pub(crate) use metrics::RegistryMetrics;
pub(crate) use rate_limiter::RateLimiter;
pub use rate_limiter::RequestRate;

/// Receives an entry for each request.
pub type RequestLogger = Arc<dyn Fn(&RequestLogEntry) + Send + Sync>;

const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");
const MAX_REQUEST_ID_LEN: usize = 64;

tokio::task_local! {
    /// The owner of the request's token.
    static USER: OnceCell<String>;
}

/// Records the owner of the request's token for the log.
pub(crate) fn record_user(user: &str) {
    let _ = USER.try_with(|known| known.set(user.to_owned()));
}

/// What the middleware needs.
pub(crate) struct RequestMonitor {
    pub metrics: RegistryMetrics,
    pub limiter: Option<RateLimiter>,
    pub logger: Option<RequestLogger>,
    /// Proxies whose `X-Forwarded-For` header is trusted.
    pub trusted_proxies: Vec<IpAddr>,
    pub environment: RegistryEnvironment,
}

/// Limits, counts and logs a request.
pub(crate) async fn monitor_request(
    Extracted(monitor): Extracted<Arc<RequestMonitor>>,
    request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<PeerAddr>().map(|peer| peer.0.ip());
    let client =
        peer.map(|peer| client::client_address(peer, request.headers(), &monitor.trusted_proxies));
    let mut seen = MonitoredRequest::new(&monitor, &request, client);
    let id = seen.log_entry.id.clone();
    let answered = match check_rate_limit(&monitor, &request, client) {
        Some(refusal) => refusal.into_response(),
        None => {
            let run = async {
                let response = next.run(request).await;
                (response, USER.with(|user| user.get().cloned()))
            };
            let (response, user) = USER.scope(OnceCell::new(), run).await;
            seen.log_entry.user = user;
            response
        }
    };
    let mut response = answered;
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID_HEADER, id);
    }
    seen.log_entry.error = response.extensions_mut().remove::<InternalCause>().map(|cause| cause.0);
    seen.log_entry.status = response.status().as_u16();
    seen.bytes_out = response.body().size_hint().exact().unwrap_or_default();
    response
}

/// Returns an error if the client exceeds the rate limit, by address or by token.
fn check_rate_limit(
    monitor: &RequestMonitor,
    request: &Request,
    client: Option<IpAddr>,
) -> Option<ResponseError> {
    let limiter = monitor.limiter.as_ref()?;
    let now = Instant::now();
    let by_address = client.and_then(|client| {
        limiter.retry_after(rate_limiter::RateLimitKey::from_address(client), now)
    });
    let token = request.headers().get(header::AUTHORIZATION);
    let by_token = || {
        token.and_then(|token| {
            limiter
                .retry_after(rate_limiter::RateLimitKey::Token(Digest::of(token.as_bytes())), now)
        })
    };
    by_address.or_else(by_token).map(ResponseError::too_many_requests)
}

/// A request in progress. It is counted and logged when dropped, however the request ends.
struct MonitoredRequest {
    monitor: Arc<RequestMonitor>,
    started_at: Instant,
    route: Option<MatchedPath>,
    bytes_in: u64,
    bytes_out: u64,
    log_entry: RequestLogEntry,
}

impl MonitoredRequest {
    fn new(monitor: &Arc<RequestMonitor>, request: &Request, client: Option<IpAddr>) -> Self {
        monitor.metrics.request_started();
        let log_entry = RequestLogEntry {
            at: monitor.environment.timestamp(),
            id: client_request_id(request.headers())
                .unwrap_or_else(|| new_request_id(&monitor.environment)),
            client,
            method: metrics::method_label(request.method()).into(),
            path: log_entry::redact_path(request.uri().path()),
            status: 0,
            milliseconds: 0,
            user: None,
            error: None,
        };
        let route = request.extensions().get::<MatchedPath>().cloned();
        let bytes_in = request.body().size_hint().exact().unwrap_or_default();
        Self {
            monitor: Arc::clone(monitor),
            started_at: Instant::now(),
            route,
            bytes_in,
            bytes_out: 0,
            log_entry,
        }
    }
}

impl Drop for MonitoredRequest {
    fn drop(&mut self) {
        let took = self.started_at.elapsed();
        self.log_entry.milliseconds = took.as_millis().try_into().unwrap_or(u64::MAX);
        self.monitor.metrics.request_finished(&metrics::FinishedRequest {
            route: self.route.as_ref().map_or("none", MatchedPath::as_str),
            method: &self.log_entry.method,
            status: self.log_entry.status,
            duration: took,
            bytes_in_out: (self.bytes_in, self.bytes_out),
        });
        if let Some(log) = &self.monitor.logger {
            log(&self.log_entry);
        }
    }
}

/// The request ID that the client or a proxy sent, if it is short and safe to log.
fn client_request_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID_HEADER)?.to_str().ok()?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    ((1..=MAX_REQUEST_ID_LEN).contains(&id.len())
        && id.bytes().all(is_plain)
        && !log_entry::contains_token(id))
    .then(|| id.to_owned())
}

fn new_request_id(environment: &RegistryEnvironment) -> String {
    let mut bytes = [0; 8];
    // If this fails, the ID is zero; the log still has the time.
    let _ = environment.fill_random(&mut bytes);
    to_hex(&bytes)
}
