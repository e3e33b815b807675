//! URLs with the scheme `http` or `https`: read by one parser, and kept as they were written.
//!
//! The crate `url` implements the URL standard and decides what the scheme, the user, the host and
//! the port are. It also repairs what it reads: it drops tabs and line feeds, takes `\` for `/`,
//! decodes escapes in a host, and reads `0x7f.1` as `127.0.0.1`. The text of a URL is recorded,
//! displayed and sent to servers, so two readings of one text would be a way around a check. That
//! is why a [`WebUrl`]
//!
//! - refuses control characters and white space everywhere, and `\` before the path;
//! - gives `url` only the part before the path, and never changes the rest;
//! - knows whether its host is written as `url` reads it. [`UrlPolicy::check`] requires that.
//!
//! Addresses for git (`git_repo`) have a syntax of their own, which git reads again. URLs inside
//! other text are found by `redact`.
//!
//! ```
//! use sp_formats::web_url::{PlainHttp, UrlPolicy, WebUrlError};
//!
//! let policy = UrlPolicy { userinfo: false, query: false, http: PlainHttp::Loopback };
//! let url = policy.check("https://example.com:8443/api/").unwrap();
//! assert_eq!((url.host(), url.path()), ("example.com", "/api/"));
//! assert!(policy.check("http://127.0.0.1:8080").is_ok());
//! assert_eq!(policy.check("http://example.com").unwrap_err(), WebUrlError::PlainHttp);
//! assert_eq!(policy.check("https://me:key@example.com").unwrap_err(), WebUrlError::Userinfo);
//! assert_eq!(policy.check("http://0x7f.1").unwrap_err(), WebUrlError::UnusualHost);
//! ```

use thiserror::Error;
use url::{Host, Url};

/// Why text is not the URL of a server or of a file on the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WebUrlError {
    #[error("it is empty or contains whitespace")]
    WhiteSpace,
    #[error("it has no scheme")]
    NoScheme,
    #[error("its scheme is not `https` or `http`")]
    Scheme,
    #[error("it has no host")]
    NoHost,
    #[error("its host or port is invalid")]
    InvalidHost,
    /// Other programs could read another host.
    #[error("its host is not in the standard notation")]
    UnusualHost,
    #[error("it contains a user name or password")]
    Userinfo,
    #[error("it contains a query or fragment")]
    Query,
    #[error("unencrypted http is allowed only for localhost")]
    PlainHttp,
}

/// To which hosts plain HTTP is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainHttp {
    /// To this machine.
    Loopback,
    Anywhere,
}

/// What a URL may contain.
#[derive(Debug, Clone, Copy)]
pub struct UrlPolicy {
    pub userinfo: bool,
    /// A query or a fragment.
    pub query: bool,
    pub http: PlainHttp,
}

impl UrlPolicy {
    /// Reads a URL, and refuses it if it contains something else.
    pub fn check<'t>(&self, text: &'t str) -> Result<WebUrl<'t>, WebUrlError> {
        let url = WebUrl::parse(text)?;
        if !self.userinfo && url.has_userinfo() {
            return Err(WebUrlError::Userinfo);
        }
        if !url.has_usual_host() {
            return Err(WebUrlError::UnusualHost);
        }
        if !self.query && (url.query().is_some() || url.fragment().is_some()) {
            return Err(WebUrlError::Query);
        }
        if self.http == PlainHttp::Loopback && !url.is_https() && !url.is_loopback() {
            return Err(WebUrlError::PlainHttp);
        }
        Ok(url)
    }
}

/// A URL with the scheme `http` or `https` and a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebUrl<'t> {
    /// Scheme, user, host and port.
    origin: Url,
    /// User, host and port as written.
    authority: &'t str,
    /// Path, query and fragment as written.
    rest: &'t str,
}

impl<'t> WebUrl<'t> {
    /// Reads a URL, whatever its host is.
    pub fn parse(text: &'t str) -> Result<Self, WebUrlError> {
        if text.is_empty() || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(WebUrlError::WhiteSpace);
        }
        let (scheme, after_scheme) = text.split_once("://").ok_or(WebUrlError::NoScheme)?;
        if !["https", "http"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return Err(WebUrlError::Scheme);
        }
        let end = after_scheme.find(['/', '?', '#']).unwrap_or(after_scheme.len());
        let (authority, rest) = after_scheme.split_at(end);
        if host_and_port(authority).is_empty() {
            return Err(WebUrlError::NoHost);
        }
        if authority.contains('\\') {
            return Err(WebUrlError::InvalidHost);
        }
        #[expect(clippy::disallowed_methods, reason = "the one place that reads a URL")]
        let origin = Url::parse(&text[..text.len() - rest.len()]);
        let origin = origin.map_err(|_| WebUrlError::InvalidHost)?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        match origin.host() {
            Some(Host::Domain(name)) if name.chars().all(is_name) => {}
            Some(Host::Ipv4(_) | Host::Ipv6(_)) => {}
            _ => return Err(WebUrlError::InvalidHost),
        }
        Ok(Self { origin, authority, rest })
    }

    /// The scheme, in lower case.
    pub fn scheme(&self) -> &str {
        self.origin.scheme()
    }

    pub fn is_https(&self) -> bool {
        self.scheme() == "https"
    }

    /// The host in its normal form: in lower case, and in Punycode.
    pub fn host(&self) -> &str {
        self.origin.host_str().unwrap_or_default()
    }

    /// The port, unless it is that of the scheme.
    pub fn port(&self) -> Option<u16> {
        self.origin.port()
    }

    /// User, host and port as written.
    pub fn authority(&self) -> &'t str {
        self.authority
    }

    /// Path, query and fragment as written.
    pub fn rest(&self) -> &'t str {
        self.rest
    }

    /// The path as written; may be empty.
    pub fn path(&self) -> &'t str {
        let end = self.rest.find(['?', '#']).unwrap_or(self.rest.len());
        &self.rest[..end]
    }

    /// The query without its `?`.
    pub fn query(&self) -> Option<&'t str> {
        let before_fragment = self.rest.split('#').next().unwrap_or_default();
        before_fragment.split_once('?').map(|(_, query)| query)
    }

    /// The fragment without its `#`.
    pub fn fragment(&self) -> Option<&'t str> {
        self.rest.split_once('#').map(|(_, fragment)| fragment)
    }

    pub fn has_userinfo(&self) -> bool {
        self.authority.contains('@')
    }

    /// Whether the host is this machine.
    pub fn is_loopback(&self) -> bool {
        match self.origin.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }

    /// Whether host and port are written so that every program reads the same.
    pub fn has_usual_host(&self) -> bool {
        let written = host_and_port(self.authority);
        let (host, port) = match written.find(']') {
            Some(end) => written.split_at(end + 1),
            None => written.split_at(written.find(':').unwrap_or(written.len())),
        };
        let is_port = match port.strip_prefix(':') {
            Some(digits) => digits.parse() == Ok(self.origin.port_or_known_default().unwrap_or(0)),
            None => port.is_empty(),
        };
        // Every notation of an IPv6 address is in brackets, and means the same everywhere.
        is_port && (host.starts_with('[') || host.eq_ignore_ascii_case(self.host()))
    }
}

/// Splits a URI of any kind after its scheme; `None` if it does not start with one.
pub fn split_scheme(text: &str) -> Option<(&str, &str)> {
    text.split_once(':').filter(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

/// Whether text starts with `https://` or `http://`.
pub fn has_web_scheme(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http")
    })
}

fn host_and_port(authority: &str) -> &str {
    authority.rsplit('@').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ANYTHING: UrlPolicy =
        UrlPolicy { userinfo: true, query: true, http: PlainHttp::Anywhere };
    const STRICT: UrlPolicy =
        UrlPolicy { userinfo: false, query: false, http: PlainHttp::Loopback };

    #[test]
    fn url_is_split_and_kept() {
        let url = WebUrl::parse("HTTPS://me:s@Example.COM:443/a/../b%2F?q=1?#f#g").unwrap();
        assert_eq!((url.scheme(), url.host(), url.port()), ("https", "example.com", None));
        assert_eq!((url.authority(), url.path()), ("me:s@Example.COM:443", "/a/../b%2F"));
        assert_eq!((url.query(), url.fragment()), (Some("q=1?"), Some("f#g")));
        assert!(url.has_userinfo() && url.has_usual_host() && !url.is_loopback());
        let bare = WebUrl::parse("http://h?q").unwrap();
        assert_eq!((bare.path(), bare.query(), bare.rest()), ("", Some("q"), "?q"));
    }

    #[test]
    fn se_05_host_that_others_could_read_differently_is_refused() {
        for (text, error) in [
            ("", WebUrlError::WhiteSpace),
            ("https://h/a b", WebUrlError::WhiteSpace),
            ("https://h\t.example/", WebUrlError::WhiteSpace),
            ("ht\ntps://h/", WebUrlError::WhiteSpace),
            ("https:h/x", WebUrlError::NoScheme),
            ("//h/x", WebUrlError::NoScheme),
            ("file:///etc/passwd", WebUrlError::Scheme),
            ("://h/x", WebUrlError::Scheme),
            ("git@h:a/b.git", WebUrlError::NoScheme),
            ("https://", WebUrlError::NoHost),
            ("https:////h/x", WebUrlError::NoHost),
            ("https://me@/x", WebUrlError::NoHost),
            ("http://127.0.0.1\\@evil.example/", WebUrlError::InvalidHost),
            ("https://a,b/", WebUrlError::InvalidHost),
            ("https://h:99999/", WebUrlError::InvalidHost),
            ("https://h:x/", WebUrlError::InvalidHost),
            ("https://[::1/", WebUrlError::InvalidHost),
            ("https://%2f/", WebUrlError::InvalidHost),
            ("http://127.1/", WebUrlError::UnusualHost),
            ("http://0x7f.0.0.1/", WebUrlError::UnusualHost),
            ("http://2130706433/", WebUrlError::UnusualHost),
            ("http://%3127.0.0.1/", WebUrlError::UnusualHost),
            ("http://１２７.0.0.1/", WebUrlError::UnusualHost),
            ("https://bücher.example/", WebUrlError::UnusualHost),
            ("https://h:/x", WebUrlError::UnusualHost),
        ] {
            assert_eq!(ANYTHING.check(text).unwrap_err(), error, "{text:?}");
        }
    }

    #[test]
    fn plain_http_is_for_this_machine() {
        for local in [
            "http://localhost",
            "http://LocalHost:1/x",
            "http://127.0.0.1:8080",
            "http://127.255.0.3",
            "http://[::1]:1",
            "http://[0:0:0:0:0:0:0:1]",
        ] {
            assert!(STRICT.check(local).is_ok(), "{local}");
        }
        for remote in [
            "http://h",
            "http://localhost.example",
            "http://127.0.0.1.example",
            "http://10.0.0.1",
            "http://0.0.0.0",
            "http://[::]",
            "http://[::ffff:127.0.0.1]",
        ] {
            assert_eq!(STRICT.check(remote).unwrap_err(), WebUrlError::PlainHttp, "{remote}");
        }
        assert_eq!(STRICT.check("https://h/?").unwrap_err(), WebUrlError::Query);
        assert_eq!(STRICT.check("https://h#").unwrap_err(), WebUrlError::Query);
        let disguised = "http://127.0.0.1@evil.example";
        assert_eq!(STRICT.check(disguised).unwrap_err(), WebUrlError::Userinfo);
        assert!(!WebUrl::parse(disguised).unwrap().is_loopback());
    }

    proptest! {
        #[test]
        #[expect(clippy::disallowed_methods, reason = "compares the part with the whole")]
        fn whole_text_and_its_parts_have_the_same_origin(text in sp_testkit::url_like()) {
            let Ok(url) = ANYTHING.check(&text) else { return Ok(()) };
            let whole = Url::parse(&text).unwrap();
            prop_assert_eq!(whole.origin(), url.origin.origin());
            prop_assert_eq!(whole.username(), url.origin.username());
            prop_assert!(text.ends_with(&[url.authority(), url.rest()].concat()));
        }
    }
}
