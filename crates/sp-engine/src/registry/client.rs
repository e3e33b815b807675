//! Sends requests to one registry, with a timeout, a maximum response size and retries.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use sp_formats::printable::printable;
use sp_formats::redact::redact_secrets;
use sp_formats::registry::{API_PREFIX, RegistryErrorResponse, SHA256_HEADER, YANKED_HEADER};

use super::partial_download::PartialDownload;
use crate::context::{Context, Event, POLL_INTERVAL};
use crate::error::{Error, ErrorCode, Result};
use crate::http::{
    HeaderMap, HttpClient, HttpError, HttpPolicy, HttpReply, HttpResponse, Method, Request,
    RequestBuilder,
};

/// The default timeout of a request.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest response, other than a package, that is read.
const MAX_RESPONSE_BYTES: u64 = 16 * 1024 * 1024;
/// The delays before the first, second and third retry.
const RETRY_DELAYS: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3)];

/// The maximum number of attempts for one download, even if each makes progress.
const MAX_DOWNLOAD_ATTEMPTS: usize = 100;
const CHUNK_BYTES: usize = 64 * 1024;

/// A request to a registry. The path is relative to the API prefix.
pub(crate) struct RegistryRequest<'a> {
    method: Method,
    path: &'a str,
    body: &'a [u8],
    content_type: &'static str,
}

impl<'a> RegistryRequest<'a> {
    fn new(method: Method, path: &'a str) -> Self {
        Self { method, path, body: b"", content_type: "application/json" }
    }

    pub(crate) fn get(path: &'a str) -> Self {
        Self::new(Method::GET, path)
    }

    pub(crate) fn put(path: &'a str, body: &'a [u8]) -> Self {
        Self::new(Method::PUT, path).with_body(body)
    }

    pub(crate) fn post(path: &'a str) -> Self {
        Self::new(Method::POST, path)
    }

    pub(crate) fn delete(path: &'a str) -> Self {
        Self::new(Method::DELETE, path)
    }

    pub(crate) fn with_body(self, body: &'a [u8]) -> Self {
        Self { body, ..self }
    }

    /// Sets the type of the body, which is JSON by default.
    pub(crate) fn with_content_type(self, content_type: &'static str) -> Self {
        Self { content_type, ..self }
    }
}

/// A request body that reports upload progress and stops when the command is cancelled.
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

/// One attempt at a request. The outer error is worth a retry, the inner result is final.
type Attempt<T> = std::result::Result<Result<T>, Error>;

/// The metadata of a download, from its response headers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DownloadHeaders {
    pub sha256: Option<String>,
    pub yanked: Option<bool>,
}

impl DownloadHeaders {
    fn from_headers(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        Self {
            sha256: text(SHA256_HEADER).map(str::to_owned),
            yanked: text(YANKED_HEADER).and_then(|v| v.parse().ok()),
        }
    }
}

/// A response that was read completely.
pub(crate) struct RegistryResponse {
    status: u16,
    text: String,
    /// The URL of the registry, for errors.
    address: String,
}

impl RegistryResponse {
    fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns whether the request created something new.
    pub(crate) fn is_created(&self) -> bool {
        self.status == 201
    }

    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.text).map_err(|why| {
            Error::new(
                ErrorCode::InvalidResponse,
                format!("`{}` did not return a valid registry response", self.address),
            )
            .because(why)
            .hint("check that the URL is correct")
        })
    }
}

/// A client for one registry.
pub(crate) struct RegistryClient<'a> {
    context: &'a Context<'a>,
    http: HttpClient<'a>,
    address: String,
    token: Option<String>,
}

impl<'a> RegistryClient<'a> {
    pub(crate) fn new(
        context: &'a Context<'a>,
        address: &str,
        token: Option<&str>,
    ) -> Result<Self> {
        Self::with_timeout(context, address, token, REQUEST_TIMEOUT)
    }

    /// Creates a client with another timeout for each request.
    pub(crate) fn with_timeout(
        context: &'a Context<'a>,
        address: &str,
        token: Option<&str>,
        timeout: Duration,
    ) -> Result<Self> {
        let policy = HttpPolicy::one_server(timeout, "run the command without `--offline`");
        let http = HttpClient::new(context, address, address, policy)?;
        Ok(Self { context, http, address: address.into(), token: token.map(str::to_owned) })
    }

    /// Returns the URL of the registry.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Sends a request and retries network failures. A status other than 2xx is an error.
    pub(crate) fn execute(&self, request: &RegistryRequest<'_>) -> Result<RegistryResponse> {
        let response = self.execute_with_retries(request)?;
        if response.is_success() {
            Ok(response)
        } else {
            Err(self.rejected_error(response.status, &response.text))
        }
    }

    /// Sends a request once, without retries. A status other than 2xx is an error.
    pub(crate) fn probe(&self, request: &RegistryRequest<'_>) -> Result<()> {
        let response = self.try_once(request)??;
        match response.is_success() {
            true => Ok(()),
            false => Err(self.rejected_error(response.status, &response.text)),
        }
    }

    /// Like [`execute`](Self::execute), but returns `None` for 404.
    pub(crate) fn execute_optional(
        &self,
        request: &RegistryRequest<'_>,
    ) -> Result<Option<RegistryResponse>> {
        let response = self.execute_with_retries(request)?;
        match response.status {
            404 => Ok(None),
            _ if response.is_success() => Ok(Some(response)),
            status => Err(self.rejected_error(status, &response.text)),
        }
    }

    /// Downloads the missing bytes of `partial`. An interrupted download is resumed as long as each
    /// attempt makes progress.
    pub(crate) fn download(
        &self,
        path: &str,
        partial: &mut PartialDownload<'_>,
    ) -> Result<DownloadHeaders> {
        let mut delays = RETRY_DELAYS.iter();
        for _ in 0..MAX_DOWNLOAD_ATTEMPTS {
            let before = partial.len();
            let error = match self.try_download(path, partial) {
                Ok(done) => return done,
                Err(error) => error,
            };
            if partial.len() > before {
                delays = RETRY_DELAYS.iter();
            }
            let Some(delay) = delays.next() else { return Err(error) };
            self.wait_before_retry(&error, *delay)?;
        }
        Err(self.unreachable_error("the connection failed repeatedly"))
    }

    fn try_download(
        &self,
        path: &str,
        partial: &mut PartialDownload<'_>,
    ) -> Attempt<DownloadHeaders> {
        let mut request = self.build_request(&RegistryRequest::get(path));
        if let Some(headers) = partial.range_headers() {
            request = request.header("range", headers.range).header("if-range", headers.if_range);
        }
        let response = match self.http.open(request) {
            Ok(response) => response,
            Err(cancelled) => return Ok(Err(cancelled)),
        };
        let response = match self.retryable(response) {
            Ok(response) => response?,
            Err(error) => return Ok(Err(error)),
        };
        let status = response.status().as_u16();
        match status {
            200 => partial.restart(),
            206 => {}
            416 => {
                partial.restart();
                return Err(self.unreachable_error("the registry rejected the byte range"));
            }
            502..=504 => {
                return Err(self.unreachable_error(&format!("the registry returned {status}")));
            }
            _ => {
                let text = response.read(MAX_RESPONSE_BYTES).into_text().unwrap_or_default();
                return Ok(Err(self.rejected_error(status, &text)));
            }
        }
        self.read_body(response, partial)
    }

    /// Appends the body of a response to `partial`, until it is complete.
    fn read_body(
        &self,
        response: HttpResponse,
        partial: &mut PartialDownload<'_>,
    ) -> Attempt<DownloadHeaders> {
        let headers = DownloadHeaders::from_headers(response.headers());
        // One byte more than is missing, so that `append` notices a body that is too long.
        let mut body = response.into_body(partial.remaining().saturating_add(1));
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            match body.read(&mut buffer) {
                Ok(0) if partial.is_complete() => return Ok(Ok(headers)),
                Ok(0) => return Err(self.unreachable_error("the response ended too early")),
                Ok(read) => {
                    if let Err(error) = partial.append(&buffer[..read]) {
                        return Ok(Err(error));
                    }
                }
                Err(why) => return Err(self.unreachable_error(&why.to_string())),
            }
        }
    }

    fn execute_with_retries(&self, request: &RegistryRequest<'_>) -> Result<RegistryResponse> {
        let mut delays = RETRY_DELAYS.iter();
        loop {
            let (error, delay) = match (self.try_once(request), delays.next()) {
                (Ok(result), _) => return result,
                (Err(error), None) => return Err(error),
                (Err(error), Some(delay)) => (error, delay),
            };
            self.wait_before_retry(&error, *delay)?;
        }
    }

    fn wait_before_retry(&self, error: &Error, delay: Duration) -> Result<()> {
        self.context.emit(Event::Detail(format!("{error}; retrying")));
        let until = Instant::now() + delay;
        while Instant::now() < until {
            self.context.check_cancelled()?;
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    fn try_once(&self, request: &RegistryRequest<'_>) -> Attempt<RegistryResponse> {
        let response = match self.send_once(self.build_request(request), request.body) {
            Ok(response) => response?,
            Err(error) => return Ok(Err(error)),
        };
        let status = response.status;
        let text = match response.into_text() {
            Ok(text) => text,
            // A retry would get the same response.
            Err(why @ HttpError::TooLarge { .. }) => {
                return Ok(Err(self.too_large_error(request, why)));
            }
            Err(why) => return Err(self.unreachable_error(&why.to_string())),
        };
        match status.as_u16() {
            502..=504 => Err(self.unreachable_error(&format!("the registry returned {status}"))),
            status => Ok(Ok(RegistryResponse { status, text, address: self.address.clone() })),
        }
    }

    fn build_request(&self, request: &RegistryRequest<'_>) -> RequestBuilder {
        let url = format!("{}{API_PREFIX}/{}", self.address, request.path);
        let builder = Request::builder().method(request.method.clone()).uri(&url);
        let builder = builder.header("content-type", request.content_type);
        match &self.token {
            Some(token) => builder.header("authorization", format!("Bearer {token}")),
            None => builder,
        }
    }

    /// Sends a request once. The outer error is final: the command was cancelled, or the request is
    /// malformed. The inner error is worth a retry.
    fn send_once(
        &self,
        request: RequestBuilder,
        body: &[u8],
    ) -> Result<std::result::Result<HttpReply, Error>> {
        self.context.check_cancelled()?;
        let result = if body.is_empty() {
            self.http.fetch(request, Vec::new(), MAX_RESPONSE_BYTES)?
        } else {
            // With the length known, the registry can reject a large body before reading it.
            let request = request.header("content-length", body.len());
            let upload =
                UploadBody { context: self.context, address: &self.address, body, sent: 0 };
            self.http.upload(request, upload, MAX_RESPONSE_BYTES)
        };
        self.retryable(result)
    }

    /// Splits errors into those that are final, outside, and those that are worth a retry, inside.
    fn retryable<T>(
        &self,
        result: std::result::Result<T, HttpError>,
    ) -> Result<std::result::Result<T, Error>> {
        match result {
            Ok(response) => Ok(Ok(response)),
            Err(HttpError::Invalid(why)) => Err(self.unreachable_error(&why)),
            Err(why) => Ok(Err(self.unreachable_error(&why.to_string()))),
        }
    }

    fn too_large_error(&self, request: &RegistryRequest<'_>, why: HttpError) -> Error {
        let path = request.path.split('?').next().unwrap_or_default();
        Error::new(
            ErrorCode::InvalidResponse,
            format!("cannot read the response of `{}{API_PREFIX}/{path}`", self.address),
        )
        .because(why)
        .hint("check that the URL is a registry; this limit cannot be raised")
    }

    fn unreachable_error(&self, why: &str) -> Error {
        Error::new(ErrorCode::Network, format!("cannot connect to `{}`", self.address))
            .because(redact_secrets(why))
            .hint(
                "check the URL and that the registry is running, or use only the store with \
                 `--offline`",
            )
    }

    fn rejected_error(&self, status: u16, text: &str) -> Error {
        let response: Option<RegistryErrorResponse> = serde_json::from_str(text).ok();
        let code = match status {
            401 | 403 => ErrorCode::Unauthorized,
            400 | 413 | 422 => ErrorCode::RejectedRequest,
            404 | 409 => ErrorCode::RegistryRefused,
            _ => ErrorCode::Unavailable,
        };
        let why = response.as_ref().map_or_else(
            || format!("the registry returned {status}"),
            |response| response.message.clone(),
        );
        let error = Error::new(code, format!("`{}` rejected the request", self.address))
            .because(printable(&why).into_owned());
        let help =
            response.and_then(|response| response.help).map(|help| printable(&help).into_owned());
        match (status, help) {
            (401, _) => error.hint(format!(
                "run `sp login {}` with a token that has the required permission",
                self.address
            )),
            (_, Some(help)) => error.hint(help),
            _ => error,
        }
    }
}
