//! Entries of the request log.

use std::fmt;
use std::net::IpAddr;

use serde::Serialize;
use sp_formats::registry::{PUBLISH_TOKEN_PREFIX, READ_TOKEN_PREFIX};
use sp_formats::trusted_publisher::TRUSTED_TOKEN_PREFIX;

use crate::registry::redact;

/// What is logged about a request. Contains no secrets.
#[derive(Debug, Clone, Serialize)]
pub struct RequestLogEntry {
    /// When the request arrived.
    pub at: String,
    /// The request ID, which the response also contains.
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<IpAddr>,
    pub method: String,
    /// The path without its query, and without tokens and signatures.
    pub path: String,
    /// 0 if the client disconnected before the response.
    pub status: u16,
    pub milliseconds: u64,
    /// The owner of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The internal cause of an error.
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
        // Escaped, so that every entry is one line.
        self.error.as_ref().map_or(Ok(()), |error| write!(out, " {error:?}"))
    }
}

/// Replaces secrets.
const REDACTED: &str = "…";

pub(crate) fn contains_token(text: &str) -> bool {
    [PUBLISH_TOKEN_PREFIX, READ_TOKEN_PREFIX, TRUSTED_TOKEN_PREFIX]
        .iter()
        .any(|prefix| text.contains(prefix))
}

/// Removes tokens and signatures from a path.
pub(crate) fn redact_path(path: &str) -> String {
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
    fn se_07_secrets_are_removed_from_logged_paths() {
        for (path, expected) in [
            ("/s/abc123/notes/pack.json", "/s/…/notes/pack.json"),
            ("/s/", "/s/"),
            ("/api/v1/ctxp_00ff/x", "/api/v1/…/x"),
            ("/api/v1/packages/s/notes/index.json", "/api/v1/packages/s/notes/index.json"),
        ] {
            assert_eq!(redact_path(path), expected);
        }
    }
}
