//! Accepts HTTP connections, limits what slow or hostile clients can occupy, and shuts down
//! gracefully.

mod certificate;
mod client_stream;
mod table;
mod transfer;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use crate::address_range::AddressRange;
pub(crate) use certificate::ServerCertificate;
pub use certificate::{CertificateError, TlsFiles};
use client_stream::ClientStream;
use table::{OpenConnection, OpenConnections};

pub(crate) use table::{Connection, ConnectionCounts};
pub(crate) use transfer::{TransferClock, TransferLimits};

/// Limits on the head of a request.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_HEADER_BYTES: usize = 32 * 1024;
const MAX_HEADERS: usize = 64;
/// What is buffered of a request or a response. Together with one piece of a response body, it is
/// the memory that a slow client occupies.
const MAX_BUFFER_BYTES: usize = 32 * 1024;
/// Maximum size of a piece of a response body.
pub(crate) const MAX_PIECE_BYTES: usize = 32 * 1024;
/// Time to finish running requests at shutdown, unless it is configured.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// At shutdown, a client that has been idle for this long is disconnected.
const SHUTDOWN_IDLE_TIMEOUT: Duration = Duration::from_secs(2);
const SHUTDOWN_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Pause after a connection could not be accepted.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);

/// The remote address of a connection, as a request extension.
#[derive(Clone, Copy)]
pub(crate) struct PeerAddr(pub SocketAddr);

/// How a server treats its connections.
#[derive(Clone)]
pub(crate) struct ConnectionSettings {
    /// A client must send the head of a request within this time, and must not stall longer.
    pub request_timeout: Duration,
    /// Maximum time to finish running requests at shutdown.
    pub shutdown_timeout: Duration,
    /// Proxies that may open any number of connections.
    pub proxies: Vec<AddressRange>,
    pub counts: Arc<ConnectionCounts>,
    /// Serves HTTPS instead of HTTP.
    pub tls: Option<TlsAcceptor>,
}

impl ConnectionSettings {
    pub(crate) fn new(request_timeout: Duration) -> Self {
        Self {
            request_timeout,
            shutdown_timeout: SHUTDOWN_TIMEOUT,
            proxies: Vec::new(),
            counts: Arc::default(),
            tls: None,
        }
    }
}

/// Serves `router` until `stop` completes, then finishes the requests that are running.
pub(crate) async fn run(
    listener: TcpListener,
    router: Router,
    settings: ConnectionSettings,
    stop: impl Future<Output = ()>,
) {
    let request_timeout = settings.request_timeout;
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_READ_TIMEOUT.min(request_timeout));
    builder.max_header_size(MAX_HEADER_BYTES).max_headers(MAX_HEADERS);
    builder.max_buf_size(MAX_BUFFER_BYTES);
    let limits = TransferLimits::for_timeout(request_timeout);
    let graceful = GracefulShutdown::new();
    let open = Arc::new(OpenConnections::new(
        settings.proxies,
        sp_engine::raise_open_file_limit(),
        settings.counts,
    ));
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let Ok((stream, peer)) = accepted else {
            // Most likely out of file descriptors.
            open.evict_any();
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let Some(entry) = open.add(peer.ip()) else { continue };
        // The last part of a response does not wait until the client has confirmed the others.
        let _ = stream.set_nodelay(true);
        let stream = ClientStream::new(stream, limits, Arc::clone(&entry.connection));
        let service = router_service(router.clone(), peer, Arc::clone(&entry.connection));
        let (builder, watcher, tls) = (builder.clone(), graceful.watcher(), settings.tls.clone());
        let served = async move {
            let service = service_fn(service);
            // An error means that the client is gone or too slow; nothing is left to do.
            let Some(tls) = tls else {
                let plain = builder.serve_connection(TokioIo::new(stream), service);
                return drop(watcher.watch(plain).await);
            };
            if let Ok(Ok(stream)) = timeout(HEADER_READ_TIMEOUT, tls.accept(stream)).await {
                let encrypted = builder.serve_connection(TokioIo::new(stream), service);
                drop(watcher.watch(encrypted).await);
            }
        };
        tokio::spawn(serve_until_closed(served, entry));
    }
    drop(listener);
    shut_down(graceful, &open, settings.shutdown_timeout).await;
}

async fn serve_until_closed(served: impl Future<Output = ()>, entry: OpenConnection) {
    tokio::select! {
        () = served => {}
        () = entry.closed() => {}
    }
}

/// Waits for running requests, at most for `timeout`, and not for clients that do nothing.
async fn shut_down(graceful: GracefulShutdown, open: &OpenConnections, timeout: Duration) {
    let finished = graceful.shutdown();
    let deadline = tokio::time::sleep(timeout);
    tokio::pin!(finished, deadline);
    loop {
        tokio::select! {
            () = &mut finished => return,
            () = &mut deadline => break,
            () = tokio::time::sleep(SHUTDOWN_POLL_INTERVAL) => {
                open.close_idle(SHUTDOWN_IDLE_TIMEOUT.min(timeout));
            }
        }
    }
    open.close_all();
}

type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

fn router_service(
    router: Router,
    peer: SocketAddr,
    connection: Arc<Connection>,
) -> impl Fn(hyper::Request<Incoming>) -> ResponseFuture {
    move |mut request| {
        request.extensions_mut().insert(PeerAddr(peer));
        request.extensions_mut().insert(Arc::clone(&connection));
        let (router, connection) = (router.clone(), Arc::clone(&connection));
        Box::pin(async move {
            connection.set_working(true);
            let response = router.oneshot(request.map(Body::new)).await;
            connection.set_working(false);
            response
        })
    }
}

/// Returns the bearer token of a request: `None` without an `Authorization` header, `Some(None)` if
/// the header is malformed.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<Option<&str>> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok();
    let parts = value.and_then(|value| value.split_once(' '));
    Some(parts.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer")).map(|(_, token)| token))
}

/// From this call on, SIGINT and SIGTERM do not end the process, but complete the future. Call it
/// before the server is announced, because a client may stop it at once.
pub(crate) fn shutdown_signal() -> impl Future<Output = ()> {
    let signals = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    async move {
        let [interrupted, terminated] = signals.map(|signal| async move {
            match signal {
                Ok(mut signal) => drop(signal.recv().await),
                Err(_) => std::future::pending().await,
            }
        });
        tokio::select! {
            () = interrupted => {}
            () = terminated => {}
        }
    }
}
