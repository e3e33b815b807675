//! URLs of documents, normalized so that a page has the same URL however it was reached.

use sp_formats::context_pack::crockford_digits;
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
    if text.len() > MAX_URL_LEN || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return None;
    }
    let (scheme, rest) = text.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let port = match scheme.as_str() {
        "https" => ":443",
        "http" => ":80",
        _ => return None,
    };
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default().to_lowercase();
    let host = host.strip_suffix(port).unwrap_or(&host).trim_end_matches('.');
    if !is_host(host) {
        return None;
    }
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = path.trim_end_matches('/');
    let kept: Vec<&str> =
        query.split('&').filter(|part| !part.is_empty() && !is_tracking(part)).collect();
    let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    let path = if path.is_empty() { "/" } else { path };
    Some(percent_encode(&format!("{scheme}://{host}{path}{query}")))
}

fn is_host(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (host, "0"),
    };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_');
    let is_inner = |inner: &str| {
        inner.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':' || byte == b'.')
    };
    let is_v6 =
        name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).is_some_and(is_inner);
    (is_v6 || !name.is_empty() && name.chars().all(is_name)) && port.parse::<u16>().is_ok()
}

fn is_tracking(parameter: &str) -> bool {
    let name = parameter.split('=').next().unwrap_or_default().to_ascii_lowercase();
    name.starts_with("utm_") || TRACKING_PARAMETERS.contains(&name.as_str())
}

/// Percent-encodes characters that are not allowed in a URL.
fn percent_encode(address: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    let one = |byte: u8| {
        if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    address.bytes().map(one).collect()
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
