//! The line that tells of a request.

use std::fmt;
use std::net::IpAddr;

use serde::Serialize;
use sp_formats::registry::{PUBLISH_TOKEN_PREFIX, READ_TOKEN_PREFIX};

use crate::registry::redact;

/// What is told of a request.
#[derive(Debug, Clone, Serialize)]
pub struct RequestLogEntry {
    /// When it came.
    pub at: String,
    /// Its id, which the answer has too.
    pub id: String,
    /// Who asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<IpAddr>,
    /// The method.
    pub method: String,
    /// The path, without the query and without what opens anything.
    pub path: String,
    /// The status; 0 if the client went away before there was one.
    pub status: u16,
    /// How long it took.
    pub milliseconds: u64,
    /// Whose token it had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Why the registry could not do it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl fmt::Display for RequestLogEntry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, id, method, path, status, milliseconds, .. } = self;
        write!(out, "{at} {status} {method} {path} {milliseconds}ms {id}")?;
        if let Some(client) = &self.client {
            write!(out, " {client}")?;
        }
        if let Some(user) = &self.user {
            write!(out, " {user}")?;
        }
        // One request is one line, whatever an error says.
        self.error.as_ref().map_or(Ok(()), |error| write!(out, " {error:?}"))
    }
}

/// Stands for what opens something.
const REDACTED: &str = "…";

/// Whether a part of a path looks like a token.
pub(super) fn contains_token(text: &str) -> bool {
    [PUBLISH_TOKEN_PREFIX, READ_TOKEN_PREFIX].iter().any(|prefix| text.contains(prefix))
}

/// A path as it may be told.
pub(super) fn redact_path(path: &str) -> String {
    let path = redact::path(path);
    path.split('/')
        .map(|segment| if contains_token(segment) { REDACTED } else { segment })
        .collect::<Vec<_>>()
        .join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn se_07_what_opens_something_is_not_told() {
        for (path, told) in [
            ("/s/abc123/notes/pack.json", "/s/…/notes/pack.json"),
            ("/s/", "/s/"),
            ("/api/v1/ctxp_00ff/x", "/api/v1/…/x"),
            ("/api/v1/packages/s/notes/index.json", "/api/v1/packages/s/notes/index.json"),
        ] {
            assert_eq!(redact_path(path), told);
        }
    }
}
