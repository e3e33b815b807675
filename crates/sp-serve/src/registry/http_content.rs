//! Conditional and range requests (RFC 9110).
//!
//! [`HttpContent`] describes what can be served; the headers of a request decide whether the
//! response is complete, partial, or not modified. A request for several ranges gets the complete
//! content, which the RFC allows.

use std::ops::Range;

use axum::body::{Body, Bytes};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};
use sp_tree::Digest;

use crate::registry::error::ApiResult;
use crate::registry::object_store::ObjectStore;

pub(crate) struct HttpContent {
    /// Also the `ETag`.
    pub digest: Digest,
    pub length: u64,
    pub content_type: &'static str,
    /// RFC 3339.
    pub last_modified: Option<String>,
    pub bytes: HttpContentBytes,
}

pub(crate) enum HttpContentBytes {
    /// An object store, by digest.
    Stored(ObjectStore),
    /// Shared by all requests, or small.
    InMemory(Bytes),
}

/// The kind of response that the headers of a request ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConditionalOutcome {
    Full,
    Range(Range<u64>),
    /// The range is outside the content.
    NotSatisfiable,
    NotModified,
    PreconditionFailed,
}

impl HttpContent {
    fn etag(&self) -> String {
        format!("\"{}\"", self.digest.hex())
    }

    fn last_modified_at(&self) -> Option<Timestamp> {
        self.last_modified.as_ref()?.parse().ok()
    }

    /// Evaluates the conditions and the range of a request.
    pub(crate) fn evaluate(&self, method: &Method, headers: &HeaderMap) -> ConditionalOutcome {
        let (etag, modified) = (self.etag(), self.last_modified_at());
        let date =
            |name: HeaderName| header_value(headers, &name).and_then(|text| parse_http_date(&text));
        let later = |since: Timestamp| modified.is_some_and(|at| at > since);
        let is_other = match header_value(headers, &header::IF_MATCH) {
            Some(tags) => !matches_any_tag(&tags, |tag| tag == etag),
            None => date(header::IF_UNMODIFIED_SINCE).is_some_and(later),
        };
        if is_other {
            return ConditionalOutcome::PreconditionFailed;
        }
        let is_same = match header_value(headers, &header::IF_NONE_MATCH) {
            Some(known) => {
                matches_any_tag(&known, |tag| tag.strip_prefix("W/").unwrap_or(tag) == etag)
            }
            None => {
                modified.is_some()
                    && date(header::IF_MODIFIED_SINCE).is_some_and(|since| !later(since))
            }
        };
        if is_same {
            return ConditionalOutcome::NotModified;
        }
        // A range is only useful if the client has the rest of the same content.
        let fits = match header_value(headers, &header::IF_RANGE) {
            Some(text) if text.starts_with('"') => text == etag,
            Some(text) => modified.is_some() && parse_http_date(&text) == modified,
            None => true,
        };
        match header_value(headers, &header::RANGE) {
            Some(range) if fits && *method == Method::GET => part(&range, self.length),
            _ => ConditionalOutcome::Full,
        }
    }

    /// Builds the response. Bytes are read only if they are needed.
    pub(crate) async fn respond(self, method: &Method, headers: &HeaderMap) -> ApiResult<Response> {
        let part = self.evaluate(method, headers);
        let mut response = match &part {
            ConditionalOutcome::NotModified => StatusCode::NOT_MODIFIED.into_response(),
            ConditionalOutcome::PreconditionFailed => {
                return Ok(StatusCode::PRECONDITION_FAILED.into_response());
            }
            ConditionalOutcome::NotSatisfiable => {
                let all = [(header::CONTENT_RANGE, format!("bytes */{}", self.length))];
                return Ok((StatusCode::RANGE_NOT_SATISFIABLE, all).into_response());
            }
            ConditionalOutcome::Full if *method == Method::HEAD => {
                [(header::CONTENT_LENGTH, self.length.to_string())].into_response()
            }
            ConditionalOutcome::Full => self.body(0..self.length).await?.into_response(),
            ConditionalOutcome::Range(range) => self.partial_response(range).await?,
        };
        let headers = response.headers_mut();
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        if part != ConditionalOutcome::NotModified {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        }
        self.add_validators(headers);
        Ok(response)
    }

    /// Adds the headers that later conditional requests refer to.
    fn add_validators(&self, headers: &mut HeaderMap) {
        let date = self
            .last_modified_at()
            .and_then(|time| DateTimePrinter::new().timestamp_to_rfc9110_string(&time).ok());
        for (name, value) in [(header::ETAG, Some(self.etag())), (header::LAST_MODIFIED, date)] {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
                headers.insert(name, value);
            }
        }
    }

    async fn partial_response(&self, range: &Range<u64>) -> ApiResult<Response> {
        let content_range = format!("bytes {}-{}/{}", range.start, range.end - 1, self.length);
        let body = self.body(range.clone()).await?;
        Ok((StatusCode::PARTIAL_CONTENT, [(header::CONTENT_RANGE, content_range)], body)
            .into_response())
    }

    async fn body(&self, part: Range<u64>) -> ApiResult<Body> {
        match &self.bytes {
            HttpContentBytes::InMemory(bytes) => {
                let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                Ok(Body::from(bytes.slice(index(part.start)..index(part.end))))
            }
            HttpContentBytes::Stored(objects) => {
                Ok(Body::new(objects.body(self.digest, self.length, part).await?))
            }
        }
    }
}

/// Returns the value of a header; several lines are joined.
fn header_value(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let lines: Vec<&str> =
        headers.get_all(name).iter().filter_map(|line| line.to_str().ok()).collect();
    (!lines.is_empty()).then(|| lines.join(","))
}

/// Whether a list of entity tags contains a match.
fn matches_any_tag(list: &str, fits: impl Fn(&str) -> bool) -> bool {
    list.split(',').map(str::trim).any(|tag| tag == "*" || fits(tag))
}

fn parse_http_date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok()
}

/// Parses a `Range` header. Anything that is not a single byte range selects the complete content.
fn part(range: &str, length: u64) -> ConditionalOutcome {
    let spec = range.split_once('=').filter(|(unit, _)| unit.eq_ignore_ascii_case("bytes"));
    let Some((first, last)) = spec.and_then(|(_, spec)| spec.trim().split_once('-')) else {
        return ConditionalOutcome::Full;
    };
    let end = match last {
        "" => Some(length),
        last => parse_number(last).map(|last| last.saturating_add(1).min(length)),
    };
    match (parse_number(first), parse_number(last), end) {
        // A suffix: the last `count` bytes.
        (None, Some(count), _) if first.is_empty() && count > 0 && length > 0 => {
            ConditionalOutcome::Range(length.saturating_sub(count)..length)
        }
        (None, Some(_), _) if first.is_empty() => ConditionalOutcome::NotSatisfiable,
        (Some(first), Some(last), _) if first > last => ConditionalOutcome::Full,
        (Some(first), _, Some(_)) if first >= length => ConditionalOutcome::NotSatisfiable,
        (Some(first), _, Some(end)) => ConditionalOutcome::Range(first..end),
        _ => ConditionalOutcome::Full,
    }
}

/// Parses a number. Numbers that overflow are larger than any file.
fn parse_number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cp_16_parses_single_ranges_and_ignores_others() {
        for (range, expected) in [
            ("bytes=0-0", ConditionalOutcome::Range(0..1)),
            ("bytes=2-4", ConditionalOutcome::Range(2..5)),
            ("bytes=2-", ConditionalOutcome::Range(2..10)),
            ("Bytes=2-999", ConditionalOutcome::Range(2..10)),
            ("bytes=9-99999999999999999999999", ConditionalOutcome::Range(9..10)),
            ("bytes=-3", ConditionalOutcome::Range(7..10)),
            ("bytes=-30", ConditionalOutcome::Range(0..10)),
            ("bytes=10-", ConditionalOutcome::NotSatisfiable),
            ("bytes=10-12", ConditionalOutcome::NotSatisfiable),
            ("bytes=99999999999999999999999-", ConditionalOutcome::NotSatisfiable),
            ("bytes=-0", ConditionalOutcome::NotSatisfiable),
            ("bytes=4-2", ConditionalOutcome::Full),
            ("bytes=0-1,3-4", ConditionalOutcome::Full),
            ("bytes=a-b", ConditionalOutcome::Full),
            ("bytes=+1-2", ConditionalOutcome::Full),
            ("bytes=-", ConditionalOutcome::Full),
            ("bytes", ConditionalOutcome::Full),
            ("lines=0-1", ConditionalOutcome::Full),
        ] {
            assert_eq!(part(range, 10), expected, "{range}");
        }
        assert_eq!(part("bytes=0-", 0), ConditionalOutcome::NotSatisfiable);
        assert_eq!(part("bytes=-1", 0), ConditionalOutcome::NotSatisfiable);
    }

    #[test]
    fn cp_16_conditions_compare_etag_and_modification_time() {
        let content = HttpContent {
            digest: Digest::of(b"0123456789"),
            length: 10,
            content_type: "text/plain",
            last_modified: Some("2026-09-21T14:13:20Z".into()),
            bytes: HttpContentBytes::InMemory(Bytes::from_static(b"0123456789")),
        };
        let (tag, modified) = (content.etag(), "Mon, 21 Sep 2026 14:13:20 GMT");
        let (before, after) = ("Mon, 21 Sep 2026 14:13:19 GMT", "Mon, 21 Sep 2026 14:13:21 GMT");
        let range = ("range", "bytes=0-1");
        let weak = format!("W/{tag}");
        let listed = format!("\"x\", {tag}");
        for (headers, expected) in [
            (vec![], ConditionalOutcome::Full),
            (vec![("if-none-match", tag.as_str())], ConditionalOutcome::NotModified),
            (vec![("if-none-match", &weak)], ConditionalOutcome::NotModified),
            (vec![("if-none-match", &listed)], ConditionalOutcome::NotModified),
            (vec![("if-none-match", "*")], ConditionalOutcome::NotModified),
            (vec![("if-none-match", "\"x\"")], ConditionalOutcome::Full),
            (
                vec![("if-none-match", "\"x\""), ("if-modified-since", after)],
                ConditionalOutcome::Full,
            ),
            (vec![("if-modified-since", modified)], ConditionalOutcome::NotModified),
            (vec![("if-modified-since", after)], ConditionalOutcome::NotModified),
            (vec![("if-modified-since", before)], ConditionalOutcome::Full),
            (vec![("if-modified-since", "yesterday")], ConditionalOutcome::Full),
            (vec![("if-match", &tag)], ConditionalOutcome::Full),
            (vec![("if-match", &weak)], ConditionalOutcome::PreconditionFailed),
            (vec![("if-match", "\"x\"")], ConditionalOutcome::PreconditionFailed),
            (vec![("if-unmodified-since", before)], ConditionalOutcome::PreconditionFailed),
            (vec![("if-unmodified-since", modified)], ConditionalOutcome::Full),
            (vec![range], ConditionalOutcome::Range(0..2)),
            (vec![range, ("if-range", &tag)], ConditionalOutcome::Range(0..2)),
            (vec![range, ("if-range", modified)], ConditionalOutcome::Range(0..2)),
            (vec![range, ("if-range", &weak)], ConditionalOutcome::Full),
            (vec![range, ("if-range", "\"x\"")], ConditionalOutcome::Full),
            (vec![range, ("if-range", after)], ConditionalOutcome::Full),
            (vec![range, ("if-none-match", &tag)], ConditionalOutcome::NotModified),
            (vec![range, range], ConditionalOutcome::Full),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in &headers {
                map.append(
                    HeaderName::from_bytes(name.as_bytes()).unwrap(),
                    HeaderValue::from_str(value).unwrap(),
                );
            }
            assert_eq!(content.evaluate(&Method::GET, &map), expected, "{headers:?}");
        }
        let mut map = HeaderMap::new();
        map.insert(header::RANGE, HeaderValue::from_static("bytes=0-1"));
        assert_eq!(content.evaluate(&Method::HEAD, &map), ConditionalOutcome::Full);
    }
}
