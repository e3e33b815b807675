//! Why a request failed, without the types of `ureq`.

use std::io;

use sp_tree::ByteSize;
use thiserror::Error as ThisError;

/// A time limit that was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ThisError)]
pub(crate) enum HttpTimeout {
    #[error("the connection timed out")]
    Connect,
    #[error("the server stopped sending data")]
    Stall,
    #[error("the response took too long")]
    Total,
}

/// Why there is no response, or why its body could not be read.
#[derive(Debug, ThisError)]
pub(crate) enum HttpError {
    #[error(transparent)]
    Timeout(HttpTimeout),
    #[error("the decompressed response is larger than {}", ByteSize(*max_bytes))]
    TooLarge { max_bytes: u64 },
    /// Too many redirects, or one to plain HTTP.
    #[error("{0}")]
    Redirected(String),
    /// The host is in a network that the request must not reach.
    #[error("the host has an address that is not public")]
    PrivateAddress,
    /// The request cannot be sent, now or later.
    #[error("{0}")]
    Invalid(String),
    #[error("the server closed the connection")]
    Closed,
    /// The connection failed, or the response is not HTTP.
    #[error("{0}")]
    Failed(String),
}

impl From<ureq::Error> for HttpError {
    fn from(error: ureq::Error) -> Self {
        match error {
            ureq::Error::Timeout(timeout) => Self::Timeout(timeout.into()),
            ureq::Error::RequireHttpsOnly(_) | ureq::Error::TooManyRedirects => {
                Self::Redirected(error.to_string())
            }
            ureq::Error::Http(_) => Self::Invalid(error.to_string()),
            ureq::Error::Io(error) => error.into(),
            error => Self::Failed(error.to_string()),
        }
    }
}

impl From<ureq::Timeout> for HttpTimeout {
    fn from(timeout: ureq::Timeout) -> Self {
        match timeout {
            ureq::Timeout::Resolve | ureq::Timeout::Connect => Self::Connect,
            ureq::Timeout::PerRead | ureq::Timeout::PerWrite => Self::Stall,
            _ => Self::Total,
        }
    }
}

impl From<io::Error> for HttpError {
    /// Unwraps an error that a [`ResponseBody`](super::ResponseBody) returned through
    /// [`Read`](io::Read).
    fn from(error: io::Error) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(error) => return error,
            Err(error) => error,
        };
        match error.downcast::<ureq::Error>() {
            Ok(error) => error.into(),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Self::Closed,
            Err(error) => Self::Failed(error.to_string()),
        }
    }
}
