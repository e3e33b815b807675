//! The HTTP client: configuration, bounded response bodies, cancellation.
//!
//! All requests of the engine go through this module. `clippy.toml` bans the calls of `ureq` that
//! would go around it.

use std::io::{self, Read};
use std::net::IpAddr;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use sp_tree::ByteSize;
use thiserror::Error as ThisError;
use ureq::config::ConfigBuilder;
use ureq::http::{Response, Uri};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::typestate::AgentScope;

use crate::context::{Context, POLL_INTERVAL};
use crate::error::{Error, ErrorCode};

/// Returns the configuration of every client: user agent, and the root certificates of the
/// platform, which include those of a company.
pub(crate) fn client_config() -> ConfigBuilder<AgentScope> {
    ureq::Agent::config_builder()
        .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
        .user_agent("sp")
}

/// Returns a client for sending a token, a key or a package to one server.
///
/// It follows no redirects. Plain HTTP is allowed only to this machine, and without a proxy.
pub(crate) fn single_server_client(url: &str, timeout: Duration) -> ureq::Agent {
    let is_local = url.parse::<Uri>().is_ok_and(|uri| uri.host().is_some_and(is_loopback));
    let config =
        client_config().timeout_global(Some(timeout)).max_redirects(0).http_status_as_error(false);
    let config = config.https_only(!is_local);
    if is_local { config.proxy(None).build().into() } else { config.build().into() }
}

/// Why a response body could not be read.
#[derive(Debug, ThisError)]
pub(crate) enum BodyError {
    #[error("the response is larger than {} after decompression", ByteSize(*max_bytes))]
    TooLarge { max_bytes: u64 },
    #[error("the response was not complete in time")]
    Timeout(ureq::Timeout),
    /// The connection failed, or the content encoding is invalid.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for BodyError {
    /// Unwraps an error that a [`ResponseBody`] returned through [`Read`].
    fn from(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(error) => error,
            Err(error) => match error.downcast::<ureq::Error>() {
                Ok(ureq::Error::Timeout(timeout)) => Self::Timeout(timeout),
                Ok(error) => Self::Io(io::Error::other(error)),
                Err(error) => Self::Io(error),
            },
        }
    }
}

/// A response body that yields at most `max_bytes` bytes and fails with [`BodyError::TooLarge`]
/// beyond that.
///
/// This is the only way to read a response: `clippy.toml` bans ureq's own readers. Their limit
/// counts the bytes on the wire, and 2 MB of gzip can decompress to 2 GB. This one counts
/// decompressed bytes.
pub(crate) struct ResponseBody {
    reader: ureq::BodyReader<'static>,
    content_length: Option<u64>,
    max_bytes: u64,
    received: u64,
}

impl ResponseBody {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads a response body")]
    pub(crate) fn new(response: Response<ureq::Body>, max_bytes: u64) -> Self {
        let body = response.into_body();
        let content_length = body.content_length();
        Self {
            reader: body.into_with_config().limit(u64::MAX).reader(),
            content_length,
            max_bytes,
            received: 0,
        }
    }

    /// Returns the length that the server announced, unless the body is compressed.
    pub(crate) fn content_length(&self) -> Option<u64> {
        self.content_length
    }

    /// Reads the body to its end.
    pub(crate) fn read_all(mut self) -> Result<Vec<u8>, BodyError> {
        let mut bytes = Vec::new();
        match self.content_length.filter(|length| *length > self.max_bytes) {
            Some(_) => Err(BodyError::TooLarge { max_bytes: self.max_bytes }),
            None => {
                self.read_to_end(&mut bytes)?;
                Ok(bytes)
            }
        }
    }

    /// Reads the body to its end as UTF-8.
    pub(crate) fn read_text(self) -> Result<String, BodyError> {
        let bytes = self.read_all()?;
        String::from_utf8(bytes)
            .map_err(|e| BodyError::Io(io::Error::new(io::ErrorKind::InvalidData, e)))
    }
}

impl Read for ResponseBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Reading one byte more than allowed detects a body that is too long.
        let left = (self.max_bytes - self.received).saturating_add(1);
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.reader.read(&mut buffer[..length])?;
        let received = self.received + count as u64;
        if received > self.max_bytes {
            return Err(io::Error::other(BodyError::TooLarge { max_bytes: self.max_bytes }));
        }
        self.received = received;
        Ok(count)
    }
}

/// Runs a request on another thread, and stops waiting for it when the operation is cancelled. An
/// abandoned request ends at its own timeout.
pub(crate) fn call_cancellable<T: Send + 'static>(
    context: &Context<'_>,
    request: impl FnOnce() -> Result<T, ureq::Error> + Send + 'static,
) -> crate::error::Result<Result<T, ureq::Error>> {
    context.check_cancelled()?;
    let (sender, receiver) = mpsc::channel();
    // Sending fails if the operation was cancelled in the meantime.
    std::thread::spawn(move || drop(sender.send(request())));
    loop {
        match receiver.recv_timeout(POLL_INTERVAL) {
            Ok(response) => return Ok(response),
            Err(RecvTimeoutError::Timeout) => context.check_cancelled()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::new(ErrorCode::TaskFailed, "a request ended unexpectedly"));
            }
        }
    }
}

/// Whether a host name or address is that of this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(length: usize, max_bytes: u64) -> ResponseBody {
        let body = ureq::Body::builder().data(vec![b'x'; length]);
        ResponseBody::new(Response::new(body), max_bytes)
    }

    #[test]
    fn se_14_body_at_the_limit_is_accepted_and_one_byte_more_is_refused() {
        for limit in [0, 1, 100_000] {
            let length = usize::try_from(limit).unwrap();
            assert_eq!(body(length, limit).read_all().unwrap().len(), length);
            let error = body(length + 1, limit).read_all().unwrap_err();
            assert!(
                matches!(error, BodyError::TooLarge { max_bytes } if max_bytes == limit),
                "{error:?}"
            );
        }
    }

    #[test]
    fn too_large_error_survives_reads_of_any_block_size() {
        for block in [1, 7, 4096] {
            let (mut body, mut buffer, mut received) = (body(1000, 999), vec![0; block], 0);
            let error = loop {
                match body.read(&mut buffer) {
                    Ok(count) => received += count,
                    Err(error) => break BodyError::from(error),
                }
            };
            assert!(received <= 999, "{received}");
            assert!(matches!(error, BodyError::TooLarge { max_bytes: 999 }), "{error:?}");
        }
    }
}
