//! Fetching files from URLs, with limits on size and time.
//!
//! A [`WebClient`] is created for one operation; all of its requests share one deadline. An archive
//! is downloaded to a temporary file ([`WebClient::download`]), other files are streamed
//! ([`WebClient::get`]). URLs may contain secrets: messages use [`WebAddress::display_url`] only.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sp_formats::redact::redact_secrets;
use sp_formats::text::ByteSize;
use sp_formats::workspace::{LockedArchive, WebSource};
use sp_tree::{Digest, Hasher};

use crate::context::Event;
use crate::downloads::{DownloadedFile, archive_path};
use crate::error::{Error, ErrorCode, Result};
use crate::http::{
    CONNECT_TIMEOUT, HttpClient, HttpError, HttpPeer, HttpPolicy, HttpResponse, HttpTimeLimit,
    HttpTimeout, Request, ResponseBody, StatusCode,
};
use crate::session::Session;

const BUFFER_BYTES: usize = 64 * 1024;
const OFFLINE_HINT: &str =
    "run the command without `--offline`, or download the file and specify its path";

/// A URL, and its form without secrets for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WebAddress {
    pub url: String,
    pub display_url: String,
}

impl WebAddress {
    pub(crate) fn from_source(source: &WebSource) -> Self {
        Self { url: source.url.clone(), display_url: source.to_string() }
    }
}

/// Finds the archive of a source in the cache. Used if the lockfile does not record the query of
/// its URL, so that it cannot be fetched again.
pub(super) fn locked_archive(
    session: &Session<'_>,
    source: &WebSource,
    locked: &LockedArchive,
) -> Result<PathBuf> {
    let path = locked.digest.and_then(|digest| cached_archive(session, &digest));
    path.ok_or_else(|| {
        let entry = &locked.entry;
        Error::new(
            ErrorCode::SourceNotReproducible,
            format!("cannot fetch the source of `{entry}` again"),
        )
        .because(format!(
            "the lockfile has `{source}` without its query string, and the archive is not in the \
             cache"
        ))
        .hint(format!("specify the full URL: `sp bag add {entry} --source <URL>`"))
        .hint("use `--keep-query <NAME>` to record a query parameter that is not a secret")
    })
}

/// Finds the archive with this digest in the cache.
pub(super) fn cached_archive(session: &Session<'_>, digest: &Digest) -> Option<PathBuf> {
    let path = archive_path(session.context, digest);
    file_digest(&path, session.limits.zip_bytes).is_ok_and(|found| found == *digest).then_some(path)
}

/// Computes the digest of a file of at most `max_bytes` bytes.
pub(crate) fn file_digest(path: &Path, max_bytes: u64) -> std::io::Result<Digest> {
    let mut file = File::open(path)?.take(max_bytes);
    let (mut hasher, mut block) = (Hasher::default(), vec![0; BUFFER_BYTES]);
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hasher.finish()),
            count => hasher.update(&block[..count]),
        }
    }
}

/// Fetches files. All requests must complete within `download-seconds`.
pub(crate) struct WebClient<'a> {
    session: &'a Session<'a>,
    http: HttpClient<'a>,
}

impl<'a> WebClient<'a> {
    /// Creates a client for a URL and files beside it. Fails with `--offline`.
    pub(crate) fn new(session: &'a Session<'a>, address: &WebAddress) -> Result<Self> {
        let limits = &session.limits;
        let policy = HttpPolicy {
            peer: HttpPeer::AnyServer,
            time_limit: HttpTimeLimit::Client(Duration::from_secs(limits.download_seconds)),
            stall_timeout: Some(Duration::from_secs(limits.stall_seconds)),
            offline_hint: OFFLINE_HINT,
        };
        let http = HttpClient::new(session.context, &address.url, &address.display_url, policy)?;
        Ok(Self { session, http })
    }

    /// Requests a file of at most `max_bytes` bytes. Returns `None` if it does not exist.
    pub(crate) fn get_optional(
        &self,
        address: &WebAddress,
        max_bytes: u64,
    ) -> Result<Option<ResponseBody>> {
        let response = self.request(address)?;
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        self.successful_body(address, response, max_bytes).map(Some)
    }

    /// Requests a file of at most `max_bytes` bytes.
    pub(crate) fn get(&self, address: &WebAddress, max_bytes: u64) -> Result<ResponseBody> {
        let response = self.request(address)?;
        self.successful_body(address, response, max_bytes)
    }

    /// Reads a file of at most `max_bytes` bytes into memory. Returns `None` if it does not exist.
    pub(crate) fn read_optional(
        &self,
        address: &WebAddress,
        max_bytes: u64,
    ) -> Result<Option<Vec<u8>>> {
        let Some(mut body) = self.get_optional(address, max_bytes)? else { return Ok(None) };
        let mut bytes = Vec::new();
        body.read_to_end(&mut bytes).map_err(|error| match HttpError::from(error) {
            HttpError::TooLarge { max_bytes } => too_large_error(address, max_bytes),
            error => self.body_error(address, error),
        })?;
        Ok(Some(bytes))
    }

    fn request(&self, address: &WebAddress) -> Result<HttpResponse> {
        self.session.context.emit(Event::Fetching { repo: &address.display_url, progress: None });
        let response = self.http.open(Request::get(&address.url))?;
        response.map_err(|error| self.request_error(address, &error))
    }

    fn successful_body(
        &self,
        address: &WebAddress,
        response: HttpResponse,
        max_bytes: u64,
    ) -> Result<ResponseBody> {
        let status = response.status();
        if status.is_client_error() || status.is_server_error() {
            let error = HttpError::Failed(format!("HTTP status {}", status.as_u16()));
            return Err(self.request_error(address, &error));
        }
        Ok(response.into_body(max_bytes))
    }

    /// Downloads a file of at most `zip-bytes` bytes into the cache.
    pub(crate) fn download(&self, address: &WebAddress) -> Result<DownloadedFile> {
        let (context, limit) = (self.session.context, self.session.limits.zip_bytes);
        let mut body = self.get(address, limit)?;
        if body.content_length().is_some_and(|length| length > limit) {
            return Err(too_large_error(address, limit));
        }
        let (mut download, mut file) = DownloadedFile::create(context)?;
        let mut hasher = Hasher::default();
        let mut block = vec![0; BUFFER_BYTES];
        let mut fetched = 0u64;
        loop {
            context.check_cancelled()?;
            let count = match body.read(&mut block).map_err(HttpError::from) {
                Ok(0) => break,
                Ok(count) => count,
                Err(HttpError::TooLarge { max_bytes }) => {
                    return Err(too_large_error(address, max_bytes));
                }
                Err(error) => return Err(self.body_error(address, error)),
            };
            fetched += count as u64;
            file.write(&block[..count])?;
            hasher.update(&block[..count]);
            let progress = ByteSize(fetched).to_string();
            context.emit(Event::Fetching { repo: &address.display_url, progress: Some(&progress) });
        }
        context.emit(Event::Fetched { repo: &address.display_url });
        download.digest = hasher.finish();
        Ok(download)
    }

    fn request_error(&self, address: &WebAddress, error: &HttpError) -> Error {
        let code = match error {
            HttpError::Timeout(timeout) => return self.timeout_error(address, *timeout),
            HttpError::Redirected(_) => ErrorCode::Redirected,
            _ => ErrorCode::Network,
        };
        let reason = error.to_string().replace(&address.url, &address.display_url);
        Error::new(code, format!("cannot fetch `{}`", address.display_url))
            // The reason may contain this URL or the target of a redirect, with secrets.
            .because(redact_secrets(&reason))
            .hint("check the URL and your access, or specify a local copy")
    }

    /// Returns the error for a body that could not be read to its end.
    pub(crate) fn body_error(&self, address: &WebAddress, error: HttpError) -> Error {
        if let HttpError::Timeout(timeout) = error {
            return self.timeout_error(address, timeout);
        }
        Error::new(ErrorCode::Network, format!("cannot fetch `{}`", address.display_url))
            .because(error)
            .hint("run the command again, or download the file and specify its path")
    }

    /// Returns the error for an exceeded timeout.
    fn timeout_error(&self, address: &WebAddress, timeout: HttpTimeout) -> Error {
        let limits = &self.session.limits;
        let (code, reason, limit) = match timeout {
            HttpTimeout::Stall => (
                ErrorCode::Stalled,
                format!("the server sent no data for {} s", limits.stall_seconds),
                Some("stall-seconds"),
            ),
            HttpTimeout::Connect => (
                ErrorCode::Network,
                format!("the connection timed out after {} s", CONNECT_TIMEOUT.as_secs()),
                None,
            ),
            HttpTimeout::Total => (
                ErrorCode::Network,
                format!("the download did not finish within {} s", limits.download_seconds),
                Some("download-seconds"),
            ),
        };
        let error =
            Error::new(code, format!("cannot fetch `{}`", address.display_url)).because(reason);
        match limit {
            Some(limit) => error.hint(format!(
                "run the command again, or raise the limit with `--limit {limit}=<seconds>`"
            )),
            None => error.hint("check the URL and your access, or specify a local copy"),
        }
    }
}

fn too_large_error(address: &WebAddress, limit: u64) -> Error {
    Error::new(
        ErrorCode::LimitExceeded,
        format!("`{}` exceeds the limit of {limit} bytes", address.display_url),
    )
    .hint("raise the limit with `--limit zip-bytes=<bytes>` if you trust the source")
}
