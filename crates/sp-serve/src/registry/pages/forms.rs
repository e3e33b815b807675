//! Protection of forms against cross-site requests, and of redirects.

use axum::http::{HeaderMap, header};
use sp_tree::Digest;

use super::visitor::PageVisitor;
use crate::registry::error::ResponseError;

/// Checks that a form was sent by a page of this host. All browsers send `Origin` with forms.
pub(super) fn check_same_origin(headers: &HeaderMap) -> Result<(), ResponseError> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let from =
        text(header::ORIGIN).and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    match (from, text(header::HOST)) {
        (Some(from), Some(host)) if from.eq_ignore_ascii_case(host) => Ok(()),
        _ => Err(ResponseError::invalid_form()),
    }
}

/// Checks that a form was sent by a page of this session.
pub(super) fn check_form_token(
    visit: &PageVisitor,
    headers: &HeaderMap,
    token: &str,
) -> Result<(), ResponseError> {
    check_same_origin(headers)?;
    let expected = &visit.layout.form_token;
    // Compares hashes, so that timing reveals nothing.
    let matches = Digest::of(token.as_bytes()) == Digest::of(expected.as_bytes());
    if matches && visit.session.is_some() { Ok(()) } else { Err(ResponseError::invalid_form()) }
}

/// Returns `next` if it is a path on this host, otherwise `/`.
pub(super) fn safe_redirect_path(next: Option<&str>) -> &str {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    match next {
        Some(next)
            if next.len() <= 512
                && next.starts_with('/')
                && !next.starts_with("//")
                && next.bytes().all(is_plain) =>
        {
            next
        }
        _ => "/",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_stay_on_this_host() {
        for next in ["/", "/packages/acme/notes?x=1#y", "/search?q=a%0d%0ab"] {
            assert_eq!(safe_redirect_path(Some(next)), next);
        }
        let long = format!("/{}", "x".repeat(600));
        for next in [
            "",
            "//evil",
            "/\\evil",
            "https://evil",
            "javascript:x",
            "evil",
            "/a\r\nb",
            "/\t/evil",
            "/ä",
            "\\\\evil",
            &long,
        ] {
            assert_eq!(safe_redirect_path(Some(next)), "/", "{next}");
        }
        assert_eq!(safe_redirect_path(None), "/");
    }
}
