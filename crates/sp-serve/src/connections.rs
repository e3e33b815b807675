//! Connections: taken, watched for clients that are too slow or say too much, and ended in peace.

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
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

/// So many connections are open at once.
const MAX_CONNECTIONS: usize = 4096;
/// How long a client may take to say what it wants, and how long its wish may be.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_HEADER_BYTES: usize = 32 * 1024;
const MAX_HEADERS: usize = 64;
/// How long is waited for what is being answered when the registry ends, and after a connection could not be taken.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);

/// Who is at the other end of a connection.
#[derive(Clone, Copy)]
pub(crate) struct PeerAddr(pub SocketAddr);

/// Answers until told to stop. A request may take as long as `patience`, and its head no longer than that.
pub(crate) async fn run(
    listener: TcpListener,
    router: Router,
    patience: Duration,
    stop: impl Future<Output = ()>,
) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_READ_TIMEOUT.min(patience));
    builder.max_header_size(MAX_HEADER_BYTES).max_headers(MAX_HEADERS);
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    tokio::pin!(stop);
    loop {
        let taken = tokio::select! {
            taken = accept(&listener, &room) => taken,
            () = &mut stop => break,
        };
        let Some((stream, peer, place)) = taken else { continue };
        let connection = builder.serve_connection(
            TokioIo::new(stream),
            service_fn(router_service(router.clone(), peer)),
        );
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A client that went away, or was cut off, is nobody's trouble.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, graceful.shutdown()).await;
}

type AcceptedConnection = (TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit);

async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> Option<AcceptedConnection> {
    let place = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => Some((stream, peer, place)),
        Err(_) => {
            // The system has no room for another one just now.
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

/// The token that a request has, if it has any; none inside if it is not written as one is.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<Option<&str>> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok();
    let parts = value.and_then(|value| value.split_once(' '));
    Some(parts.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer")).map(|(_, token)| token))
}

/// Until the process is asked to end. What is being answered is answered.
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
