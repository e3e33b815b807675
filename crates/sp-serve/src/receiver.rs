//! `sp pkg receive`: accepts envelopes from `sp pkg send` over HTTP.
//!
//! The server is that of the other modules (`connections.rs`). It reads a request to its end
//! and passes it to the thread that called [`receive`], where
//! `sp_engine::pkg::PackageReceiver` verifies envelopes, and imports or queues the packages.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State as Extracted};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Body as _;
use sp_engine::pkg::{
    EnvelopeSignature, PackageReceiver, ReceiveError, ReceiveRequest, ReceivedPackage, SenderToken,
};
use sp_engine::{Context, Error, ErrorCode, Event};
use sp_formats::json::quoted;
use sp_formats::package::envelope::HANDOFF_PATH;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, oneshot};

use crate::connections::{self, ConnectionSettings, shutdown_signal};

/// Maximum time to receive the head of a request, and its body.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum number of concurrent requests; others get a 503.
const MAX_REQUESTS: usize = 16;
/// How much of a refused body is read, and for how long.
const MAX_DISCARDED_BYTES: usize = 4 * 1024 * 1024;
const DISCARD_TIMEOUT: Duration = Duration::from_secs(1);

/// When to stop listening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenMode {
    Forever,
    /// Until one package was imported or queued.
    Once,
}

#[derive(Debug, Clone)]
pub struct ListenRequest {
    /// Host and port; port 0 selects a free one.
    pub listen: String,
    pub mode: ListenMode,
    pub package: ReceiveRequest,
}

/// What the receiver reports while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceiverEvent {
    /// The address that it listens on.
    Listening(String),
    Imported {
        package: String,
        /// The name that the sender claims.
        sender: String,
    },
    /// The package waits to be accepted by the user.
    Waiting {
        package: String,
        /// The name that the sender claims.
        sender: String,
        /// Identifies the package when the user accepts or rejects it.
        id: String,
    },
    /// Why a request was rejected.
    Refused(String),
}

/// Listens on `request.listen` and reports events, until SIGINT or SIGTERM.
pub fn receive(
    context: &Context<'_>,
    request: &ListenRequest,
    report: &dyn Fn(ReceiverEvent),
) -> sp_engine::Result<()> {
    let receiver = PackageReceiver::open(context, &request.package)?;
    let listen_error = |e: std::io::Error| {
        Error::new(ErrorCode::Listen, format!("cannot listen on `{}`", request.listen))
            .because(e)
            .hint("use another address, or port 0 to select a free port")
    };
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(listen_error)?;
    let listener = runtime.block_on(TcpListener::bind(&request.listen)).map_err(listen_error)?;
    let address = listener.local_addr().map_err(listen_error)?;
    warn_about_exposure(context, request, address);
    let entered = runtime.enter();
    let signal = shutdown_signal();
    drop(entered);
    report(ReceiverEvent::Listening(address.to_string()));
    let (jobs, incoming) = mpsc::channel();
    let (finish, finished) = oneshot::channel::<Infallible>();
    let stop = async {
        tokio::select! {
            () = signal => {}
            _ = finished => {}
        }
    };
    let server = runtime.spawn(run_server(listener, ReceiverState::new(&receiver, jobs), stop));
    handle_jobs(&receiver, &incoming, request.mode, report);
    // Queued requests are rejected, and the last response is sent completely.
    drop((incoming, finish));
    // The server does not panic; if it did, there is nothing left to stop.
    let _ = runtime.block_on(server);
    Ok(())
}

fn warn_about_exposure(context: &Context<'_>, request: &ListenRequest, address: SocketAddr) {
    if !address.ip().is_loopback() {
        context.emit(Event::Warning(format!(
            "receiving unencrypted packages beyond this machine on {address}; put a TLS proxy in \
             front of it"
        )));
    }
    if request.package.signature == EnvelopeSignature::Optional {
        context.emit(Event::Warning(format!(
            "accepting unsigned envelopes: anyone who can connect to {address} can send packages \
             under any name"
        )));
    }
}

async fn run_server(listener: TcpListener, state: ReceiverState, stop: impl Future<Output = ()>) {
    let router = Router::new().fallback(handle_request).with_state(state);
    connections::run(listener, router, ConnectionSettings::new(REQUEST_TIMEOUT), stop).await;
}

/// A request that was read or refused, for the thread that owns the [`PackageReceiver`].
struct ReceiverJob {
    envelope: Result<String, ReceiveError>,
    reply: oneshot::Sender<(StatusCode, String)>,
}

/// Imports or queues packages one after the other, until the server stops or the mode says so.
fn handle_jobs(
    receiver: &PackageReceiver<'_>,
    incoming: &mpsc::Receiver<ReceiverJob>,
    mode: ListenMode,
    report: &dyn Fn(ReceiverEvent),
) {
    for ReceiverJob { envelope, reply } in incoming {
        let (status, body, event) = match envelope.and_then(|text| receiver.accept(&text)) {
            Ok(ReceivedPackage::Imported { package, sender }) => {
                let body = status_json("imported", &package);
                (StatusCode::OK, body, ReceiverEvent::Imported { package, sender })
            }
            Ok(ReceivedPackage::Queued { package, sender, id }) => {
                let body = status_json("waiting", &package);
                (StatusCode::ACCEPTED, body, ReceiverEvent::Waiting { package, sender, id })
            }
            Err(error) => {
                let (status, body) = error_response(&error);
                (status, body, ReceiverEvent::Refused(error.reason))
            }
        };
        let is_accepted = !matches!(event, ReceiverEvent::Refused(_));
        // The client may be gone.
        let _ = reply.send((status, body));
        report(event);
        if is_accepted && mode == ListenMode::Once {
            break;
        }
    }
}

/// What a request needs.
#[derive(Clone)]
struct ReceiverState {
    jobs: mpsc::Sender<ReceiverJob>,
    token: Arc<SenderToken>,
    max_bytes: u64,
    permits: Arc<Semaphore>,
}

impl ReceiverState {
    fn new(receiver: &PackageReceiver<'_>, jobs: mpsc::Sender<ReceiverJob>) -> Self {
        Self {
            jobs,
            token: receiver.sender_token(),
            max_bytes: receiver.max_bytes(),
            permits: Arc::new(Semaphore::new(MAX_REQUESTS)),
        }
    }
}

async fn handle_request(Extracted(state): Extracted<ReceiverState>, request: Request) -> Response {
    let Ok(_permit) = state.permits.try_acquire() else {
        return response(StatusCode::SERVICE_UNAVAILABLE, String::new());
    };
    let envelope = read_envelope(&state, request).await;
    let (reply, answer) = oneshot::channel();
    // Fails if the receiver has stopped.
    let _ = state.jobs.send(ReceiverJob { envelope, reply });
    match answer.await {
        Ok((status, body)) => response(status, body),
        Err(_) => response(StatusCode::SERVICE_UNAVAILABLE, String::new()),
    }
}

fn response(status: StatusCode, body: String) -> Response {
    // One envelope per connection, so that a refused body is never read as the next request.
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CONNECTION, "close")];
    (status, headers, body).into_response()
}

/// Checks the head of a request, then reads its body.
async fn read_envelope(state: &ReceiverState, request: Request) -> Result<String, ReceiveError> {
    let (head, body) = request.into_parts();
    let length = match check_head(state, &head) {
        Ok(length) => length,
        Err(error) => {
            if !head.headers.contains_key(header::EXPECT) {
                discard(body).await;
            }
            return Err(error);
        }
    };
    let read = tokio::time::timeout(REQUEST_TIMEOUT, to_bytes(body, length));
    let bytes = match read.await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(e)) => return Err(ReceiveError::new(400, format!("the connection was lost: {e}"))),
        Err(_) => return Err(ReceiveError::new(408, "timed out reading the request")),
    };
    String::from_utf8(bytes.into()).map_err(|_| ReceiveError::new(400, "the envelope is not UTF-8"))
}

/// Rejects requests that are not authorized envelopes. Returns the length of the body.
fn check_head(state: &ReceiverState, head: &Parts) -> Result<usize, ReceiveError> {
    if head.uri.path() != HANDOFF_PATH {
        return Err(ReceiveError::new(
            404,
            format!("not found; send envelopes to `{HANDOFF_PATH}`"),
        ));
    }
    if head.method != Method::POST {
        return Err(ReceiveError::new(405, "method not allowed; use POST"));
    }
    let tokens: Vec<&[u8]> =
        head.headers.get_all(header::AUTHORIZATION).iter().map(HeaderValue::as_bytes).collect();
    state.token.authorize(&tokens)?;
    let length = content_length(&head.headers)
        .ok_or_else(|| ReceiveError::new(411, "missing `content-length` header"))?;
    let limit = state.max_bytes;
    usize::try_from(length)
        .ok()
        .filter(|_| length <= limit)
        .ok_or_else(|| ReceiveError::new(413, format!("the envelope is larger than {limit} bytes")))
}

/// Returns the length of the body, unless there is a transfer encoding.
fn content_length(headers: &HeaderMap) -> Option<u64> {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        return None;
    }
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Reads a part of a refused body, since unread input can reset the connection before the client
/// has read the response.
async fn discard(mut body: Body) {
    let mut left = MAX_DISCARDED_BYTES;
    let discarded = async {
        while let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(DISCARD_TIMEOUT, discarded).await;
}

fn error_response(error: &ReceiveError) -> (StatusCode, String) {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, format!("{{\"error\":{}}}", quoted(&error.reason)))
}

fn status_json(status: &str, package: &str) -> String {
    format!("{{\"status\":{},\"package\":{}}}", quoted(status), quoted(package))
}
