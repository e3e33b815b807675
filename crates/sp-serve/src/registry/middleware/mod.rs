//! Middleware around every request: rate limit, metrics and request log.
//!
//! [`RequestMonitor`] knows nothing about what requests are for. Tokens, signatures, queries and
//! bodies are never logged.

mod client;
mod metrics;
mod rate_limiter;

use std::cell::OnceCell;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::HttpBody as _;
use axum::extract::{MatchedPath, Request, State as Extracted};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sp_tree::{Digest, to_hex};

use crate::address_range::AddressRange;
use crate::connections::PeerAddr;
use crate::registry::environment::RegistryEnvironment;
use crate::registry::error::{InternalCause, ResponseError, ResponseErrorBody};
use crate::registry::server_log::{RequestLogEntry, ServerLog, contains_token, redact_path};
use crate::request_gate::ClientAddr;

pub(crate) use metrics::RegistryMetrics;
pub(crate) use rate_limiter::RateLimiter;
pub use rate_limiter::RequestRate;
use rate_limiter::{RateDecision, RateLimitKey, RequestWeight};

const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");
const MAX_REQUEST_ID_LEN: usize = 64;
/// The files of indexes for other installers, which fetch all of them.
const LIGHT_PREFIX: &str = "/.well-known/";

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
    pub log: ServerLog,
    /// Proxies whose `X-Forwarded-For` header is trusted.
    pub trusted_proxies: Vec<AddressRange>,
    pub environment: RegistryEnvironment,
}

/// Counts and logs a request.
pub(crate) async fn monitor_request(
    Extracted(monitor): Extracted<Arc<RequestMonitor>>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<PeerAddr>().map(|peer| peer.0.ip());
    let client =
        peer.map(|peer| client::client_address(peer, request.headers(), &monitor.trusted_proxies));
    if let Some(client) = client {
        request.extensions_mut().insert(ClientAddr(client));
    }
    let mut seen = MonitoredRequest::new(&monitor, &request, client);
    let id = seen.log_entry.id.clone();
    let run = async {
        let response = next.run(request).await;
        (response, USER.with(|user| user.get().cloned()))
    };
    let (mut response, user) = USER.scope(OnceCell::new(), run).await;
    seen.log_entry.user = user;
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID_HEADER, id);
    }
    if let Some(refusal) = response.extensions().get::<ResponseErrorBody>() {
        monitor.metrics.request_refused(&refusal.0.code);
    }
    seen.log_entry.error = response.extensions_mut().remove::<InternalCause>().map(|cause| cause.0);
    seen.log_entry.status = response.status().as_u16();
    seen.bytes_out = response.body().size_hint().exact().unwrap_or_default();
    response
}

/// Delays or refuses requests of a client that sends too many, by its address or its token.
pub(crate) async fn limit_rate(
    Extracted(monitor): Extracted<Arc<RequestMonitor>>,
    request: Request,
    next: Next,
) -> Response {
    match decide_rate(&monitor, &request) {
        RateDecision::Refused(wait) => ResponseError::too_many_requests(wait).into_response(),
        RateDecision::After(delay) => {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            next.run(request).await
        }
    }
}

fn decide_rate(monitor: &RequestMonitor, request: &Request) -> RateDecision {
    let Some(limiter) = &monitor.limiter else { return RateDecision::After(Duration::ZERO) };
    let now = Instant::now();
    let weight = if request.uri().path().starts_with(LIGHT_PREFIX) {
        RequestWeight::Light
    } else {
        RequestWeight::Full
    };
    let client = request.extensions().get::<ClientAddr>();
    let token = request.headers().get(header::AUTHORIZATION);
    let keys = [
        client.map(|client| RateLimitKey::from_address(client.0)),
        token.map(|token| RateLimitKey::Token(Digest::of(token.as_bytes()))),
    ];
    let mut longest = Duration::ZERO;
    for key in keys.into_iter().flatten() {
        match limiter.decide(key, weight, now) {
            RateDecision::After(delay) => longest = longest.max(delay),
            refused @ RateDecision::Refused(_) => return refused,
        }
    }
    RateDecision::After(longest)
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
            path: redact_path(request.uri().path()),
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
        self.monitor.log.request(&self.log_entry);
    }
}

/// The request ID that the client or a proxy sent, if it is short and safe to log.
fn client_request_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID_HEADER)?.to_str().ok()?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    ((1..=MAX_REQUEST_ID_LEN).contains(&id.len())
        && id.bytes().all(is_plain)
        && !contains_token(id))
    .then(|| id.to_owned())
}

fn new_request_id(environment: &RegistryEnvironment) -> String {
    let mut bytes = [0; 8];
    // If this fails, the ID is zero; the log still has the time.
    let _ = environment.fill_random(&mut bytes);
    to_hex(&bytes)
}
