//! Speaks to a registry: within a size and a time, again where the network failed, never elsewhere.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use sp_formats::printable::printable;
use sp_formats::redact::redact_secrets;
use sp_formats::registry::{API_PREFIX, RegistryErrorResponse, SHA256_HEADER, YANKED_HEADER};
use ureq::SendBody;

use super::partial_download::PartialDownload;
use crate::context::{Context, Event, Network, POLL_INTERVAL};
use crate::error::{Error, FailureKind, Result};
use crate::http::{BodyError, ResponseBody, call_cancellable, single_server_client};

const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest response, other than a package, that is read.
const MAX_RESPONSE_BYTES: u64 = 16 * 1024 * 1024;
/// How long it is waited before it is tried again.
const RETRY_DELAYS: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3)];

/// So often a download that breaks off is gone on with.
const MAX_DOWNLOAD_ATTEMPTS: usize = 100;
const CHUNK_BYTES: usize = 64 * 1024;

/// What is asked for.
pub(crate) struct RegistryRequest<'a> {
    method: ureq::http::Method,
    path: &'a str,
    body: &'a [u8],
    content_type: &'static str,
}

impl<'a> RegistryRequest<'a> {
    fn new(method: ureq::http::Method, path: &'a str) -> Self {
        Self { method, path, body: b"", content_type: "application/json" }
    }

    pub(crate) fn get(path: &'a str) -> Self {
        Self::new(ureq::http::Method::GET, path)
    }

    pub(crate) fn put(path: &'a str, body: &'a [u8]) -> Self {
        Self::new(ureq::http::Method::PUT, path).with_body(body)
    }

    pub(crate) fn post(path: &'a str) -> Self {
        Self::new(ureq::http::Method::POST, path)
    }

    pub(crate) fn delete(path: &'a str) -> Self {
        Self::new(ureq::http::Method::DELETE, path)
    }

    /// The same with a body.
    pub(crate) fn with_body(self, body: &'a [u8]) -> Self {
        Self { body, ..self }
    }

    /// The same with a body of another type than JSON.
    pub(crate) fn with_content_type(self, content_type: &'static str) -> Self {
        Self { content_type, ..self }
    }
}

/// A body on its way: it tells how far it is.
struct UploadBody<'a> {
    context: &'a Context<'a>,
    address: &'a str,
    body: &'a [u8],
    sent: usize,
}

impl Read for UploadBody<'_> {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        self.context.check_cancelled().map_err(io::Error::other)?;
        let mut rest = &self.body[self.sent..];
        let count = rest.read(block)?;
        self.sent += count;
        let (done, total) = (self.sent as u64, self.body.len() as u64);
        self.context.emit(Event::Sending { to: self.address, done, total });
        Ok(count)
    }
}

type SendAttempt = std::result::Result<ureq::http::Response<ureq::Body>, Error>;

/// What a registry says, and how.
struct ResponseWithStatus {
    status: u16,
    response: RegistryResponse,
}

impl ResponseWithStatus {
    fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// What stands beside the bytes of a version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DownloadHeaders {
    /// What they hash to.
    pub sha256: Option<String>,
    /// Whether they were yanked.
    pub yanked: Option<bool>,
}

impl DownloadHeaders {
    fn from_headers(headers: &ureq::http::HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        Self {
            sha256: text(SHA256_HEADER).map(str::to_owned),
            yanked: text(YANKED_HEADER).and_then(|v| v.parse().ok()),
        }
    }
}

/// What a registry says.
pub(crate) struct RegistryResponse {
    text: String,
    address: String,
    is_created: bool,
}

impl RegistryResponse {
    /// Whether what was sent was not there before.
    pub(crate) fn is_created(&self) -> bool {
        self.is_created
    }

    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.text).map_err(|why| {
            Error::new(
                FailureKind::Data,
                format!("`{}` answers something else than a registry does", self.address),
            )
            .because(why)
            .hint("check the address")
        })
    }
}

/// A registry that is spoken to.
pub(crate) struct RegistryClient<'a> {
    context: &'a Context<'a>,
    agent: ureq::Agent,
    address: String,
    token: Option<String>,
}

impl<'a> RegistryClient<'a> {
    pub(crate) fn new(
        context: &'a Context<'a>,
        address: &str,
        token: Option<&str>,
    ) -> Result<Self> {
        if context.network == Network::Offline {
            return Err(Error::new(
                FailureKind::Environment,
                format!("`{address}` cannot be reached with `--offline`"),
            )
            .hint("leave it out"));
        }
        let agent = single_server_client(address, TIMEOUT);
        Ok(Self { context, agent, address: address.into(), token: token.map(str::to_owned) })
    }

    /// Where the registry is.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Asks, and again if the network failed or the registry could not answer just then.
    pub(crate) fn execute(&self, asked: &RegistryRequest<'_>) -> Result<RegistryResponse> {
        let answer = self.execute_with_retries(asked)?;
        if answer.is_success() {
            Ok(answer.response)
        } else {
            Err(self.rejected_error(answer.status, &answer.response.text))
        }
    }

    /// Asks for something that may not be there.
    pub(super) fn execute_optional(
        &self,
        asked: &RegistryRequest<'_>,
    ) -> Result<Option<RegistryResponse>> {
        let answer = self.execute_with_retries(asked)?;
        match answer.status {
            404 => Ok(None),
            _ if answer.is_success() => Ok(Some(answer.response)),
            status => Err(self.rejected_error(status, &answer.response.text)),
        }
    }

    /// The bytes of a version, from where an earlier try ended. It goes on as long as something comes.
    pub(super) fn download(
        &self,
        path: &str,
        partial: &mut PartialDownload<'_>,
    ) -> Result<DownloadHeaders> {
        let mut pauses = RETRY_DELAYS.iter();
        for _ in 0..MAX_DOWNLOAD_ATTEMPTS {
            let before = partial.len();
            let error = match self.try_download(path, partial) {
                Ok(done) => return done,
                Err(error) => error,
            };
            if partial.len() > before {
                pauses = RETRY_DELAYS.iter();
            }
            let Some(pause) = pauses.next() else { return Err(error) };
            self.wait_before_retry(&error, *pause)?;
        }
        Err(self.unreachable_error("it breaks off again and again"))
    }

    fn try_download(
        &self,
        path: &str,
        partial: &mut PartialDownload<'_>,
    ) -> std::result::Result<Result<DownloadHeaders>, Error> {
        let mut request = self.build_request(&RegistryRequest::get(path));
        if let Some((range, only_if)) = partial.range_headers() {
            request = request.header("range", range).header("if-range", only_if);
        }
        let response = match self.send_once(request, b"") {
            Ok(response) => response?,
            Err(error) => return Ok(Err(error)),
        };
        let status = response.status().as_u16();
        match status {
            200 => partial.restart(),
            206 => {}
            416 => {
                partial.restart();
                return Err(self.unreachable_error("it has no such part"));
            }
            502..=504 => return Err(self.unreachable_error(&format!("it answered {status}"))),
            _ => {
                let text =
                    ResponseBody::new(response, MAX_RESPONSE_BYTES).read_text().unwrap_or_default();
                return Ok(Err(self.rejected_error(status, &text)));
            }
        }
        let marks = DownloadHeaders::from_headers(response.headers());
        // One byte more than is missing, so that the size is judged where it is known.
        let mut body = ResponseBody::new(response, partial.remaining().saturating_add(1));
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            match body.read(&mut buffer) {
                Ok(0) if partial.is_complete() => return Ok(Ok(marks)),
                Ok(0) => return Err(self.unreachable_error("it ended too early")),
                Ok(read) => {
                    if let Err(error) = partial.append(&buffer[..read]) {
                        return Ok(Err(error));
                    }
                }
                Err(why) => return Err(self.unreachable_error(&why.to_string())),
            }
        }
    }

    fn execute_with_retries(&self, asked: &RegistryRequest<'_>) -> Result<ResponseWithStatus> {
        let mut pauses = RETRY_DELAYS.iter();
        loop {
            let (error, pause) = match (self.try_once(asked), pauses.next()) {
                (Ok(answer), _) => return answer,
                (Err(error), None) => return Err(error),
                (Err(error), Some(pause)) => (error, pause),
            };
            self.wait_before_retry(&error, *pause)?;
        }
    }

    fn wait_before_retry(&self, error: &Error, pause: Duration) -> Result<()> {
        self.context.emit(Event::Detail(format!("{error}; it is tried again")));
        let until = Instant::now() + pause;
        while Instant::now() < until {
            self.context.check_cancelled()?;
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// The answer, or why it may be worth to try again.
    fn try_once(
        &self,
        asked: &RegistryRequest<'_>,
    ) -> std::result::Result<Result<ResponseWithStatus>, Error> {
        let response = match self.send_once(self.build_request(asked), asked.body) {
            Ok(response) => response?,
            Err(error) => return Ok(Err(error)),
        };
        let status = response.status();
        let text = match ResponseBody::new(response, MAX_RESPONSE_BYTES).read_text() {
            Ok(text) => text,
            // The next try would get the same.
            Err(why @ BodyError::TooLarge { .. }) => {
                return Ok(Err(self.too_large_error(asked, why)));
            }
            Err(why) => return Err(self.unreachable_error(&why.to_string())),
        };
        match status.as_u16() {
            502..=504 => Err(self.unreachable_error(&format!("it answered {status}"))),
            status => {
                let told = RegistryResponse {
                    text,
                    address: self.address.clone(),
                    is_created: status == 201,
                };
                Ok(Ok(ResponseWithStatus { status, response: told }))
            }
        }
    }

    fn build_request(&self, asked: &RegistryRequest<'_>) -> ureq::http::request::Builder {
        let url = format!("{}{API_PREFIX}/{}", self.address, asked.path);
        let request = ureq::http::Request::builder().method(asked.method.clone()).uri(&url);
        let request = request.header("content-type", asked.content_type);
        match &self.token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    /// What cannot even be written is no better the next time; what did not get through may be.
    fn send_once(&self, request: ureq::http::request::Builder, body: &[u8]) -> Result<SendAttempt> {
        self.context.check_cancelled()?;
        let run = |request: ureq::http::request::Builder| {
            // The length is known, so that the registry can refuse before it has read all.
            let request = request.header("content-length", body.len());
            let mut sent =
                UploadBody { context: self.context, address: &self.address, body, sent: 0 };
            self.agent.run(request.body(SendBody::from_reader(&mut sent))?)
        };
        let answer = match body.is_empty() {
            true => {
                let agent = self.agent.clone();
                call_cancellable(self.context, move || agent.run(request.body(())?))?
            }
            false => run(request),
        };
        match answer {
            Ok(response) => Ok(Ok(response)),
            Err(ureq::Error::Http(why)) => Err(self.unreachable_error(&why.to_string())),
            Err(why) => Ok(Err(self.unreachable_error(&why.to_string()))),
        }
    }

    fn too_large_error(&self, asked: &RegistryRequest<'_>, why: BodyError) -> Error {
        let path = asked.path.split('?').next().unwrap_or_default();
        Error::new(
            FailureKind::Data,
            format!("cannot read the response of `{}{API_PREFIX}/{path}`", self.address),
        )
        .because(why)
        .hint("check that the address is that of a registry; the limit cannot be raised")
    }

    fn unreachable_error(&self, why: &str) -> Error {
        Error::new(FailureKind::Environment, format!("`{}` cannot be reached", self.address))
            .because(redact_secrets(why))
            .hint("check the address, and that the registry runs; `--offline` uses what the store has")
    }

    fn rejected_error(&self, code: u16, text: &str) -> Error {
        let told: Option<RegistryErrorResponse> = serde_json::from_str(text).ok();
        let kind = match code {
            401 | 403 => FailureKind::Trust,
            400 | 413 => FailureKind::Data,
            404 | 409 => FailureKind::Request,
            _ => FailureKind::Environment,
        };
        let why = told
            .as_ref()
            .map_or_else(|| format!("it answered {code}"), |told| told.message.clone());
        let error = Error::new(kind, format!("`{}` refused it", self.address))
            .because(printable(&why).into_owned());
        let help = told.and_then(|told| told.help).map(|help| printable(&help).into_owned());
        match (code, help) {
            (401, _) => {
                error.hint(format!("`sp login {}` with a token that may do this", self.address))
            }
            (_, Some(help)) => error.hint(help),
            _ => error,
        }
    }
}
