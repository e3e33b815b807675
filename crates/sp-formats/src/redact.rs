//! URLs as they are printed, recorded and locked: without secrets.
//!
//! A URL can contain a secret before the `@` of its host, in its query, in its fragment and, if it
//! grants access to a context pack, in its path (`/s/{kid}.{exp}.{sig}/`). The name of a query
//! parameter does not show whether its value is a secret (`sig`, `Policy`, `key`, `jwt`,
//! `X-Amz-Signature`), so all parameters are removed except for those that the user declared
//! harmless: see [`QueryAllowlist`].
//!
//! - [`redact_url`] is for a value that is a URL.
//! - [`redact_secrets`] is for prose that may contain URLs, such as the error of another program.
//! - [`mask_secrets`] is for text whose spans must stay valid, such as a line of a file.
//!
//! ```
//! use sp_formats::redact::{QueryAllowlist, redact_secrets, redact_url};
//!
//! let url = "https://me:token@example.com/x.zip?ref=v1&sig=abc#top";
//! assert_eq!(redact_url(url, &QueryAllowlist::default()), "https://example.com/x.zip");
//! assert_eq!(redact_url(url, &QueryAllowlist::new(["ref"])), "https://example.com/x.zip?ref=v1");
//! assert_eq!(redact_secrets("cannot open 'https://h/x?sig=abc'"), "cannot open 'https://h/x'");
//! ```

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// Replaces a secret in a path.
const REDACTED: &str = "…";

/// The names of query parameters whose values are not secret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryAllowlist(BTreeSet<String>);

impl QueryAllowlist {
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }

    /// Allows every parameter that a URL has: for a URL that was recorded without its secrets.
    pub fn from_url(url: &str) -> Self {
        Self::new(query_params(url).map(parameter_name))
    }

    pub fn extend(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
    }

    fn allows(&self, parameter: &str) -> bool {
        self.0.contains(parameter_name(parameter))
    }
}

fn parameter_name(parameter: &str) -> &str {
    parameter.split_once('=').map_or(parameter, |(name, _)| name)
}

/// The query parameters of a URL in order.
fn query_params(url: &str) -> impl Iterator<Item = &str> {
    let url = url.split('#').next().unwrap_or_default();
    let query = url.split_once('?').map(|(_, query)| query);
    query.into_iter().flat_map(|query| query.split('&')).filter(|parameter| !parameter.is_empty())
}

/// Returns a URL without user, query, fragment and signature, but with the allowed parameters.
pub fn redact_url(url: &str, allowed: &QueryAllowlist) -> String {
    let (scheme, rest) =
        url.split_once("://").map_or((None, url), |(scheme, rest)| (Some(scheme), rest));
    // A password may contain any character but a slash, so the user is searched before the query.
    let authority = rest.split('/').next().unwrap_or_default();
    let user = scheme.and(authority.rfind('@')).map_or(0, |at| at + 1);
    let rest = &rest[user..];
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let query: Vec<&str> =
        query_params(rest).filter(|parameter| allowed.allows(parameter)).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    let scheme = scheme.map(|scheme| format!("{scheme}://")).unwrap_or_default();
    format!("{scheme}{}{mark}{}", redact_signature(path), query.join("&"))
}

/// Whether [`redact_url`] removes something that may be needed to fetch the URL.
pub fn omits_query(url: &str, allowed: &QueryAllowlist) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    redact_signature(path) != path || query_params(url).any(|parameter| !allowed.allows(parameter))
}

/// Returns a path without the signature in `/s/{kid}.{exp}.{sig}/`.
fn redact_signature(path: &str) -> Cow<'_, str> {
    match find_signature(path) {
        Some(span) => Cow::Owned(format!("{}{REDACTED}{}", &path[..span.start], &path[span.end..])),
        None => Cow::Borrowed(path),
    }
}

fn find_signature(path: &str) -> Option<Range<usize>> {
    let mut from = 0;
    while let Some(start) = path[from..].find("/s/").map(|start| from + start + "/s/".len()) {
        let end = path[start..].find(['/', '?', '#']).map_or(path.len(), |length| start + length);
        if path[start..end].matches('.').count() == 2 {
            return Some(start..end);
        }
        from = start - 1;
    }
    None
}

/// What kind of secret a part of a URL may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UrlSecretKind {
    /// Before the `@` of the host.
    UserInfo,
    /// In the path.
    Signature,
    /// A query or fragment, including its `?` or `#`.
    Query,
}

/// Removes everything that may be a secret from the URLs in a text.
pub fn redact_secrets(text: &str) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut done = 0;
    for (span, secret) in find_secrets(text) {
        redacted.push_str(&text[done..span.start]);
        done = span.end;
        match secret {
            // The `@` is removed too.
            UrlSecretKind::UserInfo => done += 1,
            UrlSecretKind::Signature => redacted.push_str(REDACTED),
            UrlSecretKind::Query => {}
        }
    }
    redacted.push_str(&text[done..]);
    redacted
}

/// Overwrites everything that may be a secret in the URLs of a text. Each character is replaced by
/// one of the same length, so that spans and columns stay valid.
pub fn mask_secrets(text: &str) -> Cow<'_, str> {
    let secrets = find_secrets(text);
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut done = 0;
    for (span, secret) in secrets {
        let start = span.start + usize::from(secret == UrlSecretKind::Query);
        masked.push_str(&text[done..start]);
        masked.extend(text[start..span.end].chars().map(mask_char));
        done = span.end;
    }
    masked.push_str(&text[done..]);
    Cow::Owned(masked)
}

/// Returns a mark with as many bytes as the character.
fn mask_char(c: char) -> char {
    match c.len_utf8() {
        1 => '*',
        2 => '·',
        3 => '•',
        _ => '🞄',
    }
}

/// Finds everything that may be a secret, in order and without overlaps, in linear time.
fn find_secrets(text: &str) -> Vec<(Range<usize>, UrlSecretKind)> {
    let users = find_userinfo(text);
    let user_at = |start: usize| {
        users.binary_search_by_key(&start, |user| user.start).ok().map(|at| users[at].end)
    };
    let (mut found, mut queries) = (Vec::new(), Vec::new());
    for word in url_candidates(text) {
        let part = &text[word.clone()];
        let host = part.find("://").map(|at| at + "://".len());
        // A password may contain `?` and `#`.
        let from = host.map(|host| user_at(word.start + host).map_or(host, |end| end - word.start));
        let inside = |span: Range<usize>| word.start + span.start..word.start + span.end;
        queries.extend(query_in_word(part, from).map(inside));
        found.extend(signature_in_word(part).map(|span| (inside(span), UrlSecretKind::Signature)));
    }
    found.extend(users.into_iter().map(|span| (span, UrlSecretKind::UserInfo)));
    found.retain(|(span, _)| !span.is_empty() && !overlaps(&queries, span));
    found.extend(queries.into_iter().map(|span| (span, UrlSecretKind::Query)));
    found.sort_by_key(|(span, _)| span.start);
    found
}

/// Whether `other` overlaps one of these spans, which are sorted and disjoint.
fn overlaps(spans: &[Range<usize>], other: &Range<usize>) -> bool {
    let first = spans.partition_point(|span| span.end <= other.start);
    spans.get(first).is_some_and(|span| span.start < other.end)
}

/// Finds what is before the `@` of a URL, or looks like a password there.
fn find_userinfo(text: &str) -> Vec<Range<usize>> {
    let is_end =
        |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'\'' | b'"' | b'`' | b'/');
    let mut found = Vec::new();
    let mut done = 0;
    while let Some(at) = text[done..].find('@').map(|at| done + at) {
        // A run without spaces, quotes and slashes: an authority, an scp-like address, or a plain
        // word.
        let start =
            text.as_bytes()[done..at].iter().rposition(is_end).map_or(done, |at| done + at + 1);
        let end =
            text.as_bytes()[at..].iter().position(is_end).map_or(text.len(), |length| at + length);
        let run = &text.as_bytes()[start..end];
        if let Some(at) = run.iter().rposition(|byte| *byte == b'@')
            && (text[..start].ends_with("://") || run[..at].contains(&b':'))
        {
            found.push(start..start + at);
        }
        done = end;
    }
    found
}

/// Shorter words have no scheme, no signature, and no path with a parameter.
const MIN_CANDIDATE_LEN: usize = 3;

/// The runs without white space, quotes and angle brackets, on lines that can contain a URL with
/// secrets.
fn url_candidates(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_end = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | '<' | '>');
    let has_marks = |line: &&str| {
        line.len() >= MIN_CANDIDATE_LEN
            && (line.contains("://")
                || line.contains('?')
                || line.contains('#')
                || line.contains("/s/"))
    };
    let words = text.split('\n').filter(has_marks).flat_map(move |line| line.split(is_end));
    words.filter(|word| word.len() >= MIN_CANDIDATE_LEN).map(move |word| {
        let start = word.as_ptr().addr() - text.as_ptr().addr();
        start..start + word.len()
    })
}

/// The query and fragment of the URL in a word, whose host starts at `from`. Without a scheme,
/// there must be a path and a parameter.
fn query_in_word(word: &str, from: Option<usize>) -> Option<Range<usize>> {
    let start = match from {
        Some(from) => from + word[from..].find(['?', '#'])?,
        None => {
            let offset = word.find(['?', '#'])?;
            (word[..offset].contains('/') && word[offset..].contains('=')).then_some(offset)?
        }
    };
    Some(start..word.len())
}

fn signature_in_word(word: &str) -> Option<Range<usize>> {
    (word.contains("://") || word.starts_with("/s/")).then(|| find_signature(word)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn se_07_masked_text_keeps_bytes_and_columns() {
        let text = "see https://me:pä\u{20ac}\u{1f511}s@h/x?k=ü#€ end";
        let masked = mask_secrets(text);
        assert_eq!(masked, "see https://****·•🞄*@h/x?**·*• end");
        assert_eq!((masked.len(), masked.chars().count()), (text.len(), text.chars().count()));
    }

    #[test]
    fn se_07_url_is_redacted_to_host_and_path() {
        let allowlist = QueryAllowlist::new(["ref", "v"]);
        for (url, expected, expected_with_allowlist) in [
            ("https://h/x.zip", "https://h/x.zip", "https://h/x.zip"),
            ("https://me:s@h/x.zip", "https://h/x.zip", "https://h/x.zip"),
            ("https://me:s?e#c@h/x.zip", "https://h/x.zip", "https://h/x.zip"),
            ("https://h/x.zip?sig=s&ref=v1&v#f", "https://h/x.zip", "https://h/x.zip?ref=v1&v"),
            ("https://h/x.zip?ref=a#?v=s", "https://h/x.zip", "https://h/x.zip?ref=a"),
            ("https://h/x.zip?", "https://h/x.zip", "https://h/x.zip"),
            (
                "https://h/s/k1.17.sig/packs/x.zip",
                "https://h/s/…/packs/x.zip",
                "https://h/s/…/packs/x.zip",
            ),
            ("h/x?Ref=s", "h/x", "h/x"),
            ("", "", ""),
        ] {
            assert_eq!(redact_url(url, &QueryAllowlist::default()), expected, "{url}");
            assert_eq!(redact_url(url, &allowlist), expected_with_allowlist, "{url}");
        }
        assert_eq!(
            redact_url("https://h/x?a=1&b", &QueryAllowlist::from_url("https://h/x?a=2&b#c")),
            "https://h/x?a=1&b"
        );
    }

    #[test]
    fn omitted_query_is_detected() {
        let allowlist = QueryAllowlist::new(["ref"]);
        for (url, expected) in [
            ("https://h/x.zip", false),
            ("https://me@h/x.zip#top", false),
            ("https://h/x.zip?ref=1", false),
            ("https://h/x.zip?ref=1&sig=2", true),
            ("https://h/x.zip?sig", true),
            ("https://h/s/k1.17.sig/x.zip", true),
        ] {
            assert_eq!(omits_query(url, &allowlist), expected, "{url}");
        }
    }

    #[test]
    fn se_07_prose_keeps_everything_but_secrets() {
        for (text, expected) in [
            (
                "unable to access 'https://me:s@h/x?sig=s/': no",
                "unable to access 'https://h/x': no",
            ),
            ("https only: http://h/p/pack.json?exp=1&sig=x", "https only: http://h/p/pack.json"),
            ("bad uri: /p?sig=x is missing host", "bad uri: /p is missing host"),
            ("bad uri: /s/k1.17.x/packs/", "bad uri: /s/…/packs/"),
            ("moved to http://h/s/k1.17.x/packs/ now", "moved to http://h/s/…/packs/ now"),
            ("see https://h/a#b and https://h/c#d.", "see https://h/a and https://h/c"),
            ("what? nothing, and/or? a=b", "what? nothing, and/or? a=b"),
            ("mail me@example.com", "mail me@example.com"),
            ("at github.com/a/b#key=s and a/b.md#heading", "at github.com/a/b and a/b.md#heading"),
            ("at https://h/x?u=a:b@c", "at https://h/x"),
            ("at https://me:s?e#c@h/x?y", "at https://h/x"),
            ("git@host:a/b.git", "git@host:a/b.git"),
            ("", ""),
        ] {
            assert_eq!(redact_secrets(text), expected, "{text}");
        }
    }

    #[test]
    fn se_04_many_urls_take_linear_time() {
        // A quadratic search would take hours.
        let text = "https://me:s@h/x?sig=s ".repeat(200_000);
        assert_eq!(redact_secrets(&text), "https://h/x ".repeat(200_000));
    }

    #[test]
    fn se_07_masking_keeps_the_length() {
        for (text, expected) in [
            ("  - repo: https://me:s@h/x?sig=s#é", "  - repo: https://****@h/x?******·"),
            ("see `http://h/s/k1.17.x/p`", "see `http://h/s/*******/p`"),
            ("[a](b.md#c) and s/1.2.3/x/", "[a](b.md#c) and s/1.2.3/x/"),
        ] {
            assert_eq!(mask_secrets(text), expected);
            assert_eq!(mask_secrets(text).len(), text.len());
        }
    }
}
