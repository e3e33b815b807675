//! Fetching files from URLs, with limits on size and time.
//!
//! A [`WebClient`] is created for one operation; all of its requests share one deadline. An archive
//! is downloaded to a temporary file ([`WebClient::download`]), other files are streamed
//! ([`WebClient::get`]). URLs may contain secrets: messages use [`WebAddress::display_url`] only.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sp_formats::redact::redact_secrets;
use sp_formats::text::ByteSize;
use sp_formats::workspace::{LockedArchive, WebSource};
use sp_tree::{Digest, Hasher};

use crate::context::{Event, Network};
use crate::downloads::{DownloadedFile, archive_path};
use crate::error::{Error, ErrorCode, Result};
use crate::http::{BodyError, ResponseBody, call_cancellable, client_config};
use crate::session::Session;

const MAX_REDIRECTS: u32 = 5;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// The timeout of a request after the deadline. Zero would mean no timeout.
const MIN_TIMEOUT: Duration = Duration::from_millis(1);
const BUFFER_BYTES: usize = 64 * 1024;
const NOT_FOUND: u16 = 404;

/// A URL, and its form without secrets for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WebAddress {
    pub url: String,
    pub display_url: String,
}

impl WebAddress {
    pub(super) fn from_source(source: &WebSource) -> Self {
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
    let path = locked.digest.map(|digest| archive_path(session.context, &digest));
    let is_right =
        |path: &PathBuf| file_digest(path, session.limits.zip_bytes).ok() == locked.digest;
    path.filter(is_right).ok_or_else(|| {
        let entry = &locked.entry;
        Error::new(
            ErrorCode::SourceNotReproducible,
            format!("the source of `{entry}` cannot be fetched again"),
        )
        .because(format!(
            "the lock has `{source}` without its query, and the cache does not have the archive"
        ))
        .hint(format!("name the source again: `sp bag get {entry} --source <URL>`"))
        .hint("use `--keep-query <NAME>` to record a query parameter that is not a secret")
    })
}

fn file_digest(path: &Path, max_bytes: u64) -> std::io::Result<Digest> {
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
    agent: ureq::Agent,
    deadline: Instant,
}

impl<'a> WebClient<'a> {
    /// Creates a client for an address and files beside it. Fails with `--offline`.
    pub(crate) fn new(session: &'a Session<'a>, address: &WebAddress) -> Result<Self> {
        if session.context.network == Network::Offline {
            return Err(Error::new(
                ErrorCode::Offline,
                format!("`{}` would have to be fetched", address.display_url),
            )
            .hint("run it without `--offline`, or fetch it yourself and name the file"));
        }
        let config = client_config()
            .max_redirects(MAX_REDIRECTS)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_per_read(Some(Duration::from_secs(session.limits.stall_seconds)))
            // Never follow a redirect from https to http.
            .https_only(address.url.to_ascii_lowercase().starts_with("https://"))
            .build();
        let deadline = Instant::now() + Duration::from_secs(session.limits.download_seconds);
        Ok(Self { session, agent: config.into(), deadline })
    }

    /// Requests a file of at most `max_bytes` bytes. Returns `None` if it does not exist.
    pub(crate) fn get_optional(
        &self,
        address: &WebAddress,
        max_bytes: u64,
    ) -> Result<Option<ResponseBody>> {
        match self.request(address, max_bytes)? {
            Ok(body) => Ok(Some(body)),
            Err(ureq::Error::StatusCode(NOT_FOUND)) => Ok(None),
            Err(error) => Err(self.request_error(address, &error)),
        }
    }

    /// Requests a file of at most `max_bytes` bytes.
    pub(crate) fn get(&self, address: &WebAddress, max_bytes: u64) -> Result<ResponseBody> {
        self.request(address, max_bytes)?.map_err(|error| self.request_error(address, &error))
    }

    fn request(
        &self,
        address: &WebAddress,
        max_bytes: u64,
    ) -> Result<std::result::Result<ResponseBody, ureq::Error>> {
        self.session.context.emit(Event::Fetching { repo: &address.display_url, progress: None });
        let left = self.deadline.saturating_duration_since(Instant::now()).max(MIN_TIMEOUT);
        let request = self.agent.get(&address.url).config().timeout_global(Some(left)).build();
        let response = call_cancellable(self.session.context, move || request.call())?;
        Ok(response.map(|response| ResponseBody::new(response, max_bytes)))
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
            let count = match body.read(&mut block).map_err(BodyError::from) {
                Ok(0) => break,
                Ok(count) => count,
                Err(BodyError::TooLarge { max_bytes }) => {
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

    fn request_error(&self, address: &WebAddress, error: &ureq::Error) -> Error {
        if let ureq::Error::Timeout(timeout) = error {
            return self.timeout_error(address, *timeout);
        }
        let reason = error.to_string().replace(&address.url, &address.display_url);
        let code = match error {
            ureq::Error::RequireHttpsOnly(_) | ureq::Error::TooManyRedirects => {
                ErrorCode::Redirected
            }
            _ => ErrorCode::Network,
        };
        Error::new(code, format!("cannot fetch `{}`", address.display_url))
            // The reason may contain this URL or the target of a redirect, with secrets.
            .because(redact_secrets(&reason))
            .hint("check the address and your access; a local copy can be named instead")
    }

    /// Returns the error for a body that could not be read to its end.
    pub(crate) fn body_error(&self, address: &WebAddress, error: BodyError) -> Error {
        if let BodyError::Timeout(timeout) = error {
            return self.timeout_error(address, timeout);
        }
        Error::new(ErrorCode::Network, format!("cannot fetch `{}`", address.display_url))
            .because(error)
            .hint("nothing was changed: run it again, or fetch it yourself and name the file")
    }

    /// Returns the error for an exceeded timeout.
    fn timeout_error(&self, address: &WebAddress, timeout: ureq::Timeout) -> Error {
        let limits = &self.session.limits;
        let (reason, limit) = match timeout {
            ureq::Timeout::PerRead | ureq::Timeout::PerWrite => (
                format!("the server sent nothing for {} s", limits.stall_seconds),
                Some("stall-seconds"),
            ),
            ureq::Timeout::Resolve | ureq::Timeout::Connect => {
                (format!("there was no connection within {} s", CONNECT_TIMEOUT.as_secs()), None)
            }
            _ => (
                format!("the download was not complete after {} s", limits.download_seconds),
                Some("download-seconds"),
            ),
        };
        let is_stalled = matches!(timeout, ureq::Timeout::PerRead | ureq::Timeout::PerWrite);
        let code = if is_stalled { ErrorCode::Stalled } else { ErrorCode::Network };
        let error =
            Error::new(code, format!("cannot fetch `{}`", address.display_url)).because(reason);
        match limit {
            Some(limit) => {
                error.hint(format!("run it again, or raise `--limit {limit}=<seconds>`"))
            }
            None => {
                error.hint("check the address and your access; a local copy can be named instead")
            }
        }
    }
}

fn too_large_error(address: &WebAddress, limit: u64) -> Error {
    Error::new(
        ErrorCode::LimitExceeded,
        format!("`{}` has more bytes than allowed: the limit is {limit}", address.display_url),
    )
    .hint("raise it with `--limit zip-bytes=<bytes>` if you trust the source")
}
