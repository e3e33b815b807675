//! The HTTP connections to an object storage.
//!
//! `object_store` signs requests and interprets responses. This module sends them with the HTTP and
//! TLS libraries of the rest of this crate, so that there is one TLS configuration, and limits how
//! long a response may pause.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::time::{Sleep, sleep};

use super::storage_health::REQUEST_TIMEOUT;

/// Bounds the memory of a download whose client does not read.
const READ_BUFFER_BYTES: usize = 16 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Servers close idle connections after about as long.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// Creates clients. All share one pool of connections.
#[derive(Debug, Clone)]
pub(super) struct S3Connector(S3Client);

impl S3Connector {
    pub(super) fn new() -> Result<Self, rustls::Error> {
        let mut tcp = TcpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls_config()?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .http1_read_buf_exact_size(READ_BUFFER_BYTES)
            .build(https);
        Ok(Self(S3Client(client)))
    }
}

/// Uses the certificates that the operating system trusts.
fn tls_config() -> Result<ClientConfig, rustls::Error> {
    let provider = rustls::crypto::ring::default_provider().into();
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?;
    Ok(config.with_no_client_auth())
}

impl HttpConnector for S3Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.0.clone()))
    }
}

#[derive(Debug, Clone)]
struct S3Client(Client<HttpsConnector<TcpConnector>, HttpRequestBody>);

#[async_trait]
impl HttpService for S3Client {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let response = self.0.request(request).await.map_err(client_error)?;
        Ok(response.map(|body| HttpResponseBody::new(TimedBody { body, timer: None })))
    }
}

fn client_error(error: hyper_util::client::legacy::Error) -> HttpError {
    let kind = if error.is_connect() {
        HttpErrorKind::Connect
    } else {
        let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref());
        cause.map_or(HttpErrorKind::Unknown, transfer_error_kind)
    };
    HttpError::new(kind, error)
}

fn transfer_error_kind(error: &hyper::Error) -> HttpErrorKind {
    if error.is_timeout() {
        HttpErrorKind::Timeout
    } else if error.is_closed() || error.is_incomplete_message() || error.is_canceled() {
        HttpErrorKind::Interrupted
    } else {
        HttpErrorKind::Unknown
    }
}

/// A response body that fails if it pauses for too long while it is read.
struct TimedBody {
    body: Incoming,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.timer = None;
            let failed = |error: hyper::Error| HttpError::new(transfer_error_kind(&error), error);
            return Poll::Ready(frame.map(|frame| frame.map_err(failed)));
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(REQUEST_TIMEOUT)));
        ready!(timer.as_mut().poll(cx));
        let paused = std::io::Error::new(std::io::ErrorKind::TimedOut, "the response stopped");
        Poll::Ready(Some(Err(HttpError::new(HttpErrorKind::Timeout, paused))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
