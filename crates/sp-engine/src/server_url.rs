//! URLs of servers that a user names: a registry, or the receiver of a package.
//!
//! A URL without a scheme is https, except on this machine. Plain http is accepted for loopback
//! addresses only, so that tokens and packages never cross the network unencrypted.

use std::borrow::Cow;

use sp_formats::printable::printable;
use sp_formats::redact::{QueryAllowlist, redact_url};
use sp_formats::web_url::{PlainHttp, UrlPolicy};

use crate::error::{Error, ErrorCode, Result};

/// Callers append a path. User and password are displayed nowhere.
const SERVER_URL_POLICY: UrlPolicy =
    UrlPolicy { userinfo: true, query: false, http: PlainHttp::Loopback };

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
    let has_scheme = target.contains("://");
    let with_scheme =
        if has_scheme { Cow::Borrowed(target) } else { Cow::Owned(format!("https://{target}")) };
    let url = SERVER_URL_POLICY.check(&with_scheme).map_err(|why| {
        Error::new(
            ErrorCode::InvalidUrl,
            format!("invalid target `{}`", printable(&display_server_url(target))),
        )
        .because(why)
        .hint("specify a host such as `agent.example` or `127.0.0.1:8765`")
    })?;
    let scheme = if !has_scheme && url.is_loopback() { "http" } else { url.scheme() };
    Ok(format!("{scheme}://{}{}", url.authority(), url.rest().trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sp_testkit::url_like;

    use super::*;
    use crate::http::Uri;

    proptest! {
        #[test]
        fn se_05_http_client_reads_the_server_that_was_checked(text in url_like()) {
            let Ok(address) = normalize_server_url(&text) else { return Ok(()) };
            let checked = SERVER_URL_POLICY.check(&address).unwrap();
            // What the client cannot read is never requested.
            let Ok(uri) = address.parse::<Uri>() else { return Ok(()) };
            prop_assert_eq!(uri.scheme_str(), Some(checked.scheme()));
            let authority = uri.authority().unwrap();
            prop_assert_eq!(authority.as_str(), checked.authority());
            let is_same_host = authority.host().eq_ignore_ascii_case(checked.host());
            prop_assert!(is_same_host || authority.host().starts_with('['));
            let port = authority.port_u16().filter(|port| ![80, 443].contains(port));
            prop_assert_eq!(port, checked.port().filter(|port| ![80, 443].contains(port)));
            prop_assert!(checked.is_https() || is_loopback_name(authority.host()));
            prop_assert_eq!(uri.query(), None);
        }
    }

    /// The definition of this machine, on the text that the client connects to.
    fn is_loopback_name(host: &str) -> bool {
        let bare = host.trim_matches(['[', ']']);
        bare.eq_ignore_ascii_case("localhost")
            || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}
