//! URLs of documents, normalized so that a page has the same URL however it was reached.

use sp_formats::context_pack::crockford_digits;
use sp_formats::percent::{self, WHOLE_URL};
use sp_formats::web_url::WebUrl;
use sp_tree::Digest;

/// Tracking parameters.
#[rustfmt::skip]
const TRACKING_PARAMETERS: &[&str] = &[
    "fbclid", "gclid", "gclsrc", "dclid", "msclkid", "mc_cid", "mc_eid", "igshid", "yclid",
    "_hsenc", "_hsmi", "mkt_tok", "ref_src", "ref_url", "vero_id", "wt_mc", "oly_enc_id",
    "oly_anon_id", "twclid", "ttclid",
];
/// Longer URLs are rejected.
const MAX_URL_LEN: usize = 2048;
/// Length of the hash in a source ID.
const ID_LEN: u32 = 16;

/// Normalizes a URL for a pack: without tracking parameters, credentials and fragment. Returns
/// `None` unless it is an `http` or `https` URL.
pub fn normalize_url(text: &str) -> Option<String> {
    let text = text.trim();
    if text.len() > MAX_URL_LEN {
        return None;
    }
    let url = WebUrl::parse(text).ok()?;
    let host = url.host().trim_end_matches('.');
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let path = url.path().trim_end_matches('/');
    let parameters = url.query().unwrap_or_default().split('&');
    let kept: Vec<&str> =
        parameters.filter(|part| !part.is_empty() && !is_tracking(part)).collect();
    let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    let path = if path.is_empty() { "/" } else { path };
    let normalized = format!("{}://{host}{port}{path}{query}", url.scheme());
    (!host.is_empty()).then(|| percent::encode(normalized, WHOLE_URL))
}

fn is_tracking(parameter: &str) -> bool {
    let name = parameter.split('=').next().unwrap_or_default().to_ascii_lowercase();
    name.starts_with("utm_") || TRACKING_PARAMETERS.contains(&name.as_str())
}

/// The URL without scheme and `www.`, for comparing.
pub fn url_identity(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.strip_prefix("www.").unwrap_or(rest)
}

/// Returns the source ID for a URL, which footnotes refer to. It must never change.
pub fn source_id(address: &str) -> String {
    let hash = Digest::of(url_identity(address).as_bytes());
    let number =
        hash.as_bytes()[..10].iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    format!("src_{}", crockford_digits(number, ID_LEN))
}

/// The URL of a Markdown file below the URL of its folder, following static site generators.
pub(crate) fn page_url(base: &str, path: &str) -> Option<String> {
    let path = path
        .rsplit_once('.')
        .map_or(path, |(stem, ending)| if ending.contains('/') { path } else { stem });
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_index =
        ["index", "readme", "_index"].iter().any(|known| name.eq_ignore_ascii_case(known));
    let path = if is_index { folder } else { path };
    normalize_url(&format!("{}/{}", base.trim_end_matches('/'), path.replace(' ', "%20")))
}

/// Guesses the document kind from its URL.
pub(crate) fn guess_kind(address: &str) -> &'static str {
    let rest = url_identity(address);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let path = path.to_ascii_lowercase();
    let is_at = |hosts: &[&str]| {
        hosts.iter().any(|known| host == *known || host.ends_with(&format!(".{known}")))
    };
    if is_at(&["github.com", "gitlab.com", "codeberg.org", "bitbucket.org"]) {
        let is_talk = ["/issues", "/pull", "/discussions", "/merge_requests"]
            .iter()
            .any(|part| path.contains(part));
        return if is_talk { "discussion" } else { "repo" };
    }
    if is_at(&["youtube.com", "youtu.be", "vimeo.com"]) {
        return "video";
    }
    if is_at(&["arxiv.org", "doi.org", "acm.org"]) || path.ends_with(".pdf") {
        return "paper";
    }
    if is_at(&["stackoverflow.com", "stackexchange.com", "reddit.com", "news.ycombinator.com"]) {
        return "discussion";
    }
    let is_docs_host = ["docs.", "doc.", "developer.", "developers.", "learn."]
        .iter()
        .any(|s| host.starts_with(s));
    let is_docs_path =
        ["docs/", "doc/", "reference/", "manual/", "api/"].iter().any(|part| path.contains(part));
    if is_docs_host || is_docs_path || is_at(&["readthedocs.io", "docs.rs"]) {
        "docs"
    } else {
        "article"
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cp_13_equivalent_urls_have_one_form_and_one_id() {
        let normalized = "https://docs.example.com/a/b?page=2";
        for url in [
            "https://docs.example.com/a/b?page=2",
            " HTTPS://Docs.Example.com:443/a/b/?utm_source=x&page=2&fbclid=1#top",
            "https://user:secret@docs.example.com/a/b?page=2",
        ] {
            assert_eq!(normalize_url(url).as_deref(), Some(normalized), "{url}");
        }
        assert_eq!(source_id("https://www.example.com/a"), source_id("http://example.com/a"));
        assert_ne!(source_id("https://example.com/a"), source_id("https://example.com/b"));
        assert!(sp_formats::context_pack::is_source_id(&source_id(normalized)));
        assert_eq!(
            normalize_url("https://example.com/ü{x}").as_deref(),
            Some("https://example.com/%C3%BC%7Bx%7D")
        );
        assert_eq!(normalize_url("https://example.com").as_deref(), Some("https://example.com/"));
        // Browsers save the Punycode of a name, people write the name.
        assert_eq!(
            normalize_url("https://bücher.example/a").as_deref(),
            Some("https://xn--bcher-kva.example/a")
        );
        // The path is part of the source ID, so it stays as it was written.
        assert_eq!(
            normalize_url("https://h/a/../b%2e?c=%2F").as_deref(),
            Some("https://h/a/../b%2e?c=%2F")
        );
    }

    proptest! {
        #[test]
        fn normalized_url_is_printable_and_stays_the_same(text in sp_testkit::url_like()) {
            let Some(url) = normalize_url(&text) else { return Ok(()) };
            prop_assert!(url.starts_with("https://") || url.starts_with("http://"));
            prop_assert!(url.bytes().all(|byte| byte.is_ascii_graphic()));
            let forbidden = ['#', '\\', '<', '>', '"', '`', '{', '|', '}', '^'];
            prop_assert!(!url.contains(forbidden), "{}", url);
            prop_assert_eq!(normalize_url(&url), Some(url.clone()));
            let host = url.split('/').nth(2).unwrap_or_default();
            prop_assert!(!host.contains('@'), "{}", url);
        }
    }

    #[test]
    fn invalid_urls_are_rejected() {
        for url in [
            "",
            "example.com",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "https://",
            "https://a b/",
            "http://x:y/",
            "https:///a",
            "https://./",
            "https://a,b/",
            "https://h\\@evil.example/",
            "https://h/a\tb",
        ] {
            assert_eq!(normalize_url(url), None, "{url}");
        }
    }

    #[test]
    fn documentation_file_maps_to_page_url() {
        for (path, expected) in [
            ("guide/intro.md", "https://example.com/docs/guide/intro"),
            ("guide/index.md", "https://example.com/docs/guide"),
            ("README.md", "https://example.com/docs"),
            ("v1.2/a b.html", "https://example.com/docs/v1.2/a%20b"),
        ] {
            assert_eq!(page_url("https://example.com/docs/", path).as_deref(), Some(expected));
        }
    }

    #[test]
    fn kind_is_guessed_from_url() {
        for (url, kind) in [
            ("https://github.com/o/r", "repo"),
            ("https://github.com/o/r/issues/1", "discussion"),
            ("https://docs.example.com/x", "docs"),
            ("https://example.com/blog/x", "article"),
            ("https://example.com/a.pdf", "paper"),
        ] {
            assert_eq!(guess_kind(url), kind, "{url}");
        }
    }
}
