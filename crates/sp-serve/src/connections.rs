//! Accepts HTTP connections, limits what slow or hostile clients can occupy, and shuts down
//! gracefully.

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
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::ServiceExt as _;

/// Further connections wait in the backlog of the listener.
const MAX_CONNECTIONS: usize = 4096;
/// Limits on the head of a request.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_HEADER_BYTES: usize = 32 * 1024;
const MAX_HEADERS: usize = 64;
/// Maximum time to finish running requests at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause after a connection could not be accepted.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);

/// The remote address of a connection, as a request extension.
#[derive(Clone, Copy)]
pub(crate) struct PeerAddr(pub SocketAddr);

/// Serves `router` until `stop` completes, then finishes the requests that are running. A client
/// must send the head of a request within `request_timeout`.
pub(crate) async fn run(
    listener: TcpListener,
    router: Router,
    request_timeout: Duration,
    stop: impl Future<Output = ()>,
) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_READ_TIMEOUT.min(request_timeout));
    builder.max_header_size(MAX_HEADER_BYTES).max_headers(MAX_HEADERS);
    let graceful = GracefulShutdown::new();
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &permits) => accepted,
            () = &mut stop => break,
        };
        let Some(AcceptedConnection { stream, peer, permit }) = accepted else { continue };
        let connection = builder.serve_connection(
            TokioIo::new(stream),
            service_fn(router_service(router.clone(), peer)),
        );
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // An error means that the client is gone; nothing is left to do.
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, graceful.shutdown()).await;
}

struct AcceptedConnection {
    stream: TcpStream,
    peer: SocketAddr,
    /// Held while the connection is open.
    permit: OwnedSemaphorePermit,
}

/// Accepts a connection once fewer than the maximum are open. Returns `None` if that fails.
async fn accept(listener: &TcpListener, permits: &Arc<Semaphore>) -> Option<AcceptedConnection> {
    let permit = Arc::clone(permits).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => Some(AcceptedConnection { stream, peer, permit }),
        Err(_) => {
            // Most likely out of file descriptors; wait until some are closed.
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            None
        }
    }
}

type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

fn router_service(
    router: Router,
    peer: SocketAddr,
) -> impl Fn(hyper::Request<Incoming>) -> ResponseFuture {
    move |mut request| {
        request.extensions_mut().insert(PeerAddr(peer));
        Box::pin(router.clone().oneshot(request.map(Body::new)))
    }
}

/// Returns the bearer token of a request: `None` without an `Authorization` header, `Some(None)` if
/// the header is malformed.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<Option<&str>> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok();
    let parts = value.and_then(|value| value.split_once(' '));
    Some(parts.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer")).map(|(_, token)| token))
}

/// Completes on SIGINT or SIGTERM.
pub(crate) async fn shutdown_signal() {
    let interrupted = tokio::signal::ctrl_c();
    let Ok(mut terminated) =
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
    else {
        let _ = interrupted.await;
        return;
    };
    tokio::select! {
        _ = interrupted => {}
        _ = terminated.recv() => {}
    }
}
