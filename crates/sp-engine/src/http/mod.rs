//! The HTTP client. All requests of the engine are sent by an [`HttpClient`].
//!
//! Timeouts, redirects, proxies, TLS, the user agent, the maximum size of a response, cancellation
//! and the mapping of errors are here. A caller passes an [`HttpPolicy`] with the peer and the
//! timeouts, and turns an [`HttpError`] into an error that describes what failed. No other module
//! uses `ureq`; `clippy.toml` bans its calls.
//!
//! A method that can be cancelled returns two results: the outer error is the cancellation, the
//! inner one that of the request.

mod body;
mod error;
mod outgoing;

use std::io::Read;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use sp_formats::web_url::WebUrl;
#[cfg(test)]
pub(crate) use ureq::http::Uri;
pub(crate) use ureq::http::request::Builder as RequestBuilder;
pub(crate) use ureq::http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{AsSendBody, SendBody};

pub(crate) use self::body::ResponseBody;
pub(crate) use self::error::{HttpError, HttpTimeout};
pub use self::outgoing::{
    AddressReach, OutgoingError, OutgoingForm, OutgoingLimits, OutgoingResponse, fetch_json,
    post_form,
};
use crate::context::{Context, Network, POLL_INTERVAL};
use crate::error::{Error, ErrorCode, Result};

const USER_AGENT: &str = "sp";
const MAX_REDIRECTS: u32 = 5;
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// The timeout of a request after the deadline. Zero would mean no timeout.
const MIN_TIMEOUT: Duration = Duration::from_millis(1);

/// The servers that a client may contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HttpPeer {
    /// One server, which may get a token, a key or a package. Redirects are not followed. Plain
    /// HTTP is allowed only to this machine, and without a proxy.
    OneServer,
    /// Any server of a public file. Redirects are followed, but never from https to http.
    AnyServer,
}

/// How long a client waits for a whole response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HttpTimeLimit {
    /// For each request.
    Request(Duration),
    /// For all requests of the client.
    Client(Duration),
}

/// What differs between the callers of the client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HttpPolicy {
    pub peer: HttpPeer,
    pub time_limit: HttpTimeLimit,
    /// Maximum time without a byte from the server.
    pub stall_timeout: Option<Duration>,
    /// What to do instead with `--offline`.
    pub offline_hint: &'static str,
}

impl HttpPolicy {
    /// For a server that the user named, and that has this long for each response.
    pub(crate) fn one_server(timeout: Duration, offline_hint: &'static str) -> Self {
        Self {
            peer: HttpPeer::OneServer,
            time_limit: HttpTimeLimit::Request(timeout),
            stall_timeout: None,
            offline_hint,
        }
    }
}

/// A response whose body was not read yet.
pub(crate) struct HttpResponse(ureq::http::Response<ureq::Body>);

impl HttpResponse {
    pub(crate) fn status(&self) -> StatusCode {
        self.0.status()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// Returns a reader of at most `max_bytes` bytes.
    pub(crate) fn into_body(self, max_bytes: u64) -> ResponseBody {
        ResponseBody::new(self.0, max_bytes)
    }

    /// Reads the body to its end.
    pub(crate) fn read(self, max_bytes: u64) -> HttpReply {
        let (status, headers) = (self.status(), self.headers().clone());
        HttpReply { status, headers, body: self.into_body(max_bytes).read_all() }
    }
}

/// A response that was read to its end, if that was possible.
pub(crate) struct HttpReply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: std::result::Result<Vec<u8>, HttpError>,
}

impl HttpReply {
    /// Returns the body as text.
    pub(crate) fn into_text(self) -> std::result::Result<String, HttpError> {
        String::from_utf8(self.body?).map_err(|e| HttpError::Failed(e.utf8_error().to_string()))
    }
}

/// Sends requests to one server, or fetches files.
pub(crate) struct HttpClient<'a> {
    context: &'a Context<'a>,
    agent: ureq::Agent,
    time_limit: HttpTimeLimit,
    created: Instant,
}

impl<'a> HttpClient<'a> {
    /// Creates a client for the server of `url`. Fails with `--offline`; the error has
    /// `display_url`.
    pub(crate) fn new(
        context: &'a Context<'a>,
        url: &str,
        display_url: &str,
        policy: HttpPolicy,
    ) -> Result<Self> {
        if context.network == Network::Offline {
            return Err(Error::new(
                ErrorCode::Offline,
                format!("cannot reach `{display_url}` with `--offline`"),
            )
            .hint(policy.offline_hint));
        }
        let time_limit = policy.time_limit;
        let agent = config(url, policy).into();
        Ok(Self { context, agent, time_limit, created: Instant::now() })
    }

    /// Sends a request without a body.
    pub(crate) fn open(
        &self,
        request: RequestBuilder,
    ) -> Result<std::result::Result<HttpResponse, HttpError>> {
        self.run_cancellable(request, (), |response| response)
    }

    /// Sends a request, and reads the response to its end.
    pub(crate) fn fetch(
        &self,
        request: RequestBuilder,
        body: Vec<u8>,
        max_bytes: u64,
    ) -> Result<std::result::Result<HttpReply, HttpError>> {
        let read = move |response: HttpResponse| response.read(max_bytes);
        if body.is_empty() {
            self.run_cancellable(request, (), read)
        } else {
            self.run_cancellable(request, body, read)
        }
    }

    /// Sends a request whose body is read from `body`, and reads the response to its end. The
    /// reader stops the upload by returning an error.
    pub(crate) fn upload(
        &self,
        request: RequestBuilder,
        mut body: impl Read,
        max_bytes: u64,
    ) -> std::result::Result<HttpReply, HttpError> {
        let request = self.configure(request, SendBody::from_reader(&mut body))?;
        Ok(HttpResponse(self.agent.run(request)?).read(max_bytes))
    }

    /// Runs a request on another thread, and stops waiting for it when the operation is cancelled.
    /// An abandoned request ends at its own timeout.
    fn run_cancellable<T: Send + 'static>(
        &self,
        request: RequestBuilder,
        body: impl AsSendBody + Send + 'static,
        finish: impl FnOnce(HttpResponse) -> T + Send + 'static,
    ) -> Result<std::result::Result<T, HttpError>> {
        self.context.check_cancelled()?;
        let request = match self.configure(request, body) {
            Ok(request) => request,
            Err(error) => return Ok(Err(error)),
        };
        let (agent, (sender, receiver)) = (self.agent.clone(), mpsc::channel());
        std::thread::spawn(move || {
            let response = agent.run(request).map_err(HttpError::from);
            let finished = response.map(|response| finish(HttpResponse(response)));
            // Sending fails if the operation was cancelled in the meantime.
            drop(sender.send(finished));
        });
        loop {
            match receiver.recv_timeout(POLL_INTERVAL) {
                Ok(response) => return Ok(response),
                Err(RecvTimeoutError::Timeout) => self.context.check_cancelled()?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::new(
                        ErrorCode::TaskFailed,
                        "a request task failed unexpectedly",
                    ));
                }
            }
        }
    }

    /// Builds a request with the time that is left for it.
    fn configure<B: AsSendBody>(
        &self,
        request: RequestBuilder,
        body: B,
    ) -> std::result::Result<Request<B>, HttpError> {
        let timeout = match self.time_limit {
            HttpTimeLimit::Request(limit) => limit,
            HttpTimeLimit::Client(limit) => limit.saturating_sub(self.created.elapsed()),
        };
        let request = request.body(body).map_err(|e| HttpError::Invalid(e.to_string()))?;
        let timeout = Some(timeout.max(MIN_TIMEOUT));
        Ok(self.agent.configure_request(request).timeout_global(timeout).build())
    }
}

/// Configures `ureq`. The root certificates are those of the platform, which include those of a
/// company.
#[expect(clippy::disallowed_methods, reason = "the one place that configures the client")]
fn config(url: &str, policy: HttpPolicy) -> ureq::config::Config {
    let url = WebUrl::parse(url).ok();
    let config = ureq::Agent::config_builder()
        .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
        .user_agent(USER_AGENT)
        .http_status_as_error(false)
        .timeout_per_read(policy.stall_timeout);
    let config = match policy.peer {
        HttpPeer::OneServer => {
            let is_local = url.is_some_and(|url| url.is_loopback());
            let config = config.max_redirects(0).https_only(!is_local);
            if is_local { config.proxy(None) } else { config }
        }
        HttpPeer::AnyServer => config
            .max_redirects(MAX_REDIRECTS)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .https_only(url.is_none_or(|url| url.is_https())),
    };
    config.build()
}
