//! What is seen of every request: who asks too often, what is counted, and a line that tells of it.
//!
//! Nothing here knows what a request is about. Tokens, signatures, queries and bodies are never told.

mod client;
mod line;
mod metrics;
mod rate;

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

use crate::connections::Peer;
use crate::registry::refusal::{Cause, Refusal};
use crate::registry::state::State;

pub use line::RequestLine;
pub(crate) use metrics::Metrics;
pub(crate) use rate::Limiter;
pub use rate::Rate;

/// Who is told of requests.
pub type Log = Arc<dyn Fn(&RequestLine) + Send + Sync>;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const LONGEST_ID: usize = 64;

tokio::task_local! {
    /// Whose token the request had.
    static USER: OnceCell<String>;
}

/// Remembers whose token the request had, for the line that tells of it.
pub(crate) fn remember_user(user: &str) {
    let _ = USER.try_with(|known| known.set(user.to_owned()));
}

/// What watches.
pub(crate) struct Watch {
    pub metrics: Metrics,
    pub limiter: Option<Limiter>,
    pub log: Option<Log>,
    /// Proxies whose word on the client is taken.
    pub trusted: Vec<IpAddr>,
}

/// Watches one request.
pub(crate) async fn watch(Extracted(state): Extracted<State>, request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0.ip());
    let client = peer.map(|peer| client::of(peer, request.headers(), &state.watch.trusted));
    let mut seen = Seen::new(&state, &request, client);
    let id = seen.line.id.clone();
    let answered = match too_often(&state, &request, client) {
        Some(refusal) => refusal.into_response(),
        None => {
            let run = async {
                let response = next.run(request).await;
                (response, USER.with(|user| user.get().cloned()))
            };
            let (response, user) = USER.scope(OnceCell::new(), run).await;
            seen.line.user = user;
            response
        }
    };
    let mut response = answered;
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    seen.line.error = response.extensions_mut().remove::<Cause>().map(|cause| cause.0);
    seen.line.status = response.status().as_u16();
    seen.bytes_out = response.body().size_hint().exact().unwrap_or_default();
    response
}

/// The refusal of whoever asks too often, by address and by token.
fn too_often(state: &State, request: &Request, client: Option<IpAddr>) -> Option<Refusal> {
    let limiter = state.watch.limiter.as_ref()?;
    let now = Instant::now();
    let by_address = client.and_then(|client| limiter.refuse(rate::Key::of_address(client), now));
    let token = request.headers().get(header::AUTHORIZATION);
    let by_token = || token.and_then(|token| limiter.refuse(rate::Key::Token(Digest::of(token.as_bytes())), now));
    by_address.or_else(by_token).map(Refusal::too_often)
}

/// A request that is being answered. However that ends, it is counted and told of.
struct Seen {
    state: State,
    begun: Instant,
    route: Option<MatchedPath>,
    bytes_in: u64,
    bytes_out: u64,
    line: RequestLine,
}

impl Seen {
    fn new(state: &State, request: &Request, client: Option<IpAddr>) -> Self {
        state.watch.metrics.begin();
        let line = RequestLine {
            at: state.timestamp(),
            id: given_id(request.headers()).unwrap_or_else(|| new_id(state)),
            client,
            method: metrics::method(request.method()).into(),
            path: line::shown(request.uri().path()),
            status: 0,
            milliseconds: 0,
            user: None,
            error: None,
        };
        let route = request.extensions().get::<MatchedPath>().cloned();
        let bytes_in = request.body().size_hint().exact().unwrap_or_default();
        Self { state: State::clone(state), begun: Instant::now(), route, bytes_in, bytes_out: 0, line }
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        let took = self.begun.elapsed();
        self.line.milliseconds = took.as_millis().try_into().unwrap_or(u64::MAX);
        self.state.watch.metrics.end(&metrics::Ended {
            route: self.route.as_ref().map_or("none", MatchedPath::as_str),
            method: &self.line.method,
            status: self.line.status,
            took,
            bytes: (self.bytes_in, self.bytes_out),
        });
        if let Some(log) = &self.state.watch.log {
            log(&self.line);
        }
    }
}

/// An id that the client or its proxy gave, if it is short and plain.
fn given_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    ((1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(is_plain) && !line::is_secret(id)).then(|| id.to_owned())
}

fn new_id(state: &State) -> String {
    let mut bytes = [0; 8];
    // Without randomness requests are told apart by their time alone.
    let _ = (state.surroundings.random)(&mut bytes);
    to_hex(&bytes)
}
