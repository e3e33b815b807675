//! URLs of servers that a user names: a registry, or the receiver of a package.
//!
//! A URL without a scheme is https, except on this machine. Plain http is accepted for loopback
//! addresses only, so that tokens and packages never cross the network unencrypted.

use sp_formats::printable::printable;
use sp_formats::redact::{QueryAllowlist, redact_url};

use crate::error::{Error, ErrorCode, Result};
use crate::http::is_loopback;

/// Returns the URL without its user, password and query, for messages.
pub(crate) fn display_server_url(target: &str) -> String {
    // Credentials are recognized only after a scheme, which a target need not have.
    if target.contains("://") {
        return redact_url(target, &QueryAllowlist::default());
    }
    redact_url(&format!("https://{target}"), &QueryAllowlist::default())
        .trim_start_matches("https://")
        .to_owned()
}

/// Returns the base URL of a server, with a scheme and without a trailing slash.
pub(crate) fn normalize_server_url(target: &str) -> Result<String> {
    let invalid = |why: &str| {
        Error::new(
            ErrorCode::InvalidUrl,
            format!("invalid target `{}`", printable(&display_server_url(target))),
        )
        .because(why.to_owned())
        .hint("name a host such as `agent.example` or `127.0.0.1:8765`")
    };
    if target.is_empty() || target.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(invalid("it is empty, or has white space in it"));
    }
    let (scheme, rest) = match target.split_once("://") {
        Some((scheme, rest)) => (Some(scheme.to_ascii_lowercase()), rest),
        None => (None, target),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host_of(authority);
    if host.is_empty() {
        return Err(invalid("it has no host"));
    }
    // Callers append a path.
    if rest[authority.rfind('@').map_or(0, |index| index + 1)..].contains(['?', '#']) {
        return Err(invalid("it has a query or a fragment"));
    }
    let is_local = is_loopback(host);
    let scheme = match scheme.as_deref() {
        None if is_local => "http",
        None | Some("https") => "https",
        Some("http") if is_local => "http",
        Some("http") => return Err(invalid("http would show the package to everybody on the way")),
        Some(_) => return Err(invalid("only https is spoken, and http on this machine")),
    };
    Ok(format!("{scheme}://{}", rest.trim_end_matches('/')))
}

/// Returns the host of an authority, without user, port and brackets.
fn host_of(authority: &str) -> &str {
    let host = authority.rsplit('@').next().unwrap_or_default();
    match host.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}
