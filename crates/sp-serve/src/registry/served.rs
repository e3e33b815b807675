//! Bytes as they are served: all of them, a part, or only that they are still the same (RFC 9110).
//!
//! One range is answered. Several at once are answered with everything, which is allowed and never surprises.

use std::ops::Range;

use axum::body::{Body, Bytes};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};
use sp_tree::{Digest, FileError};

use crate::registry::refusal::Refusal;
use crate::registry::state::State;

/// Something that can be served.
pub(crate) struct Served {
    /// What tells its bytes from all others.
    pub digest: Digest,
    pub length: u64,
    pub content_type: &'static str,
    /// When it came, as in a record.
    pub modified: Option<String>,
    pub bytes: Held,
}

/// Where the bytes come from.
pub(crate) enum Held {
    /// The objects, by the digest.
    Objects,
    /// They are here.
    Here(Bytes),
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    All,
    Some(Range<u64>),
    /// No byte of it is in the range.
    Nothing,
    /// It is what whoever asks has.
    Same,
    /// It is not what whoever asks wants it to be.
    Other,
}

impl Served {
    fn etag(&self) -> String {
        format!("\"{}\"", self.digest.hex())
    }

    fn modified(&self) -> Option<Timestamp> {
        self.modified.as_ref()?.parse().ok()
    }

    /// Which part of it a request asks for.
    pub(crate) fn part(&self, method: &Method, headers: &HeaderMap) -> Part {
        let (etag, modified) = (self.etag(), self.modified());
        let date = |name: HeaderName| header(headers, &name).and_then(|text| timestamp(&text));
        let later = |since: Timestamp| modified.is_some_and(|at| at > since);
        let is_other = match header(headers, &header::IF_MATCH) {
            Some(wanted) => !names(&wanted, |tag| tag == etag),
            None => date(header::IF_UNMODIFIED_SINCE).is_some_and(later),
        };
        if is_other {
            return Part::Other;
        }
        let is_same = match header(headers, &header::IF_NONE_MATCH) {
            Some(known) => names(&known, |tag| tag.strip_prefix("W/").unwrap_or(tag) == etag),
            None => modified.is_some() && date(header::IF_MODIFIED_SINCE).is_some_and(|since| !later(since)),
        };
        if is_same {
            return Part::Same;
        }
        // A part of other bytes than one has fits nothing.
        let fits = match header(headers, &header::IF_RANGE) {
            Some(text) if text.starts_with('"') => text == etag,
            Some(text) => modified.is_some() && timestamp(&text) == modified,
            None => true,
        };
        match header(headers, &header::RANGE) {
            Some(range) if fits && *method == Method::GET => part(&range, self.length),
            _ => Part::All,
        }
    }

    /// Serves it. Bytes are read only if they are asked for.
    pub(crate) async fn answer(
        self,
        state: &State,
        (method, headers): (&Method, &HeaderMap),
    ) -> Result<Response, Refusal> {
        let part = self.part(method, headers);
        let mut response = match &part {
            Part::Same => StatusCode::NOT_MODIFIED.into_response(),
            Part::Other => return Ok(StatusCode::PRECONDITION_FAILED.into_response()),
            Part::Nothing => {
                let all = [(header::CONTENT_RANGE, format!("bytes */{}", self.length))];
                return Ok((StatusCode::RANGE_NOT_SATISFIABLE, all).into_response());
            }
            Part::All if *method == Method::HEAD => [(header::CONTENT_LENGTH, self.length.to_string())].into_response(),
            Part::All => Body::from(self.read(state).await?).into_response(),
            Part::Some(range) => self.some(state, range).await?,
        };
        let head = response.headers_mut();
        head.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        if part != Part::Same {
            head.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        }
        let date = self.modified().and_then(|at| DateTimePrinter::new().timestamp_to_rfc9110_string(&at).ok());
        for (name, value) in [(header::ETAG, Some(self.etag())), (header::LAST_MODIFIED, date)] {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
                head.insert(name, value);
            }
        }
        Ok(response)
    }

    async fn some(&self, state: &State, range: &Range<u64>) -> Result<Response, Refusal> {
        let bytes = self.read(state).await?;
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
        let told = format!("bytes {}-{}/{}", range.start, range.end - 1, self.length);
        let body = Body::from(bytes.slice(place(range.start)..place(range.end)));
        Ok((StatusCode::PARTIAL_CONTENT, [(header::CONTENT_RANGE, told)], body).into_response())
    }

    async fn read(&self, state: &State) -> Result<Bytes, Refusal> {
        if let Held::Here(bytes) = &self.bytes {
            return Ok(bytes.clone());
        }
        if let Some(bytes) = state.objects.recent(&self.digest) {
            return Ok(bytes);
        }
        let (objects, digest) = (state.objects.clone(), self.digest);
        let read = tokio::task::spawn_blocking(move || objects.fetch(&digest)).await;
        let gone = || FileError::new("read", self.digest.hex(), std::io::Error::from(std::io::ErrorKind::NotFound));
        let bytes = read.map_err(|_| gone())??;
        Ok(bytes.ok_or_else(gone)?)
    }
}

/// The value of a header, those of several lines as one.
fn header(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let lines: Vec<&str> = headers.get_all(name).iter().filter_map(|line| line.to_str().ok()).collect();
    (!lines.is_empty()).then(|| lines.join(","))
}

/// Whether a list of tags names one that fits.
fn names(list: &str, fits: impl Fn(&str) -> bool) -> bool {
    list.split(',').map(str::trim).any(|tag| tag == "*" || fits(tag))
}

fn timestamp(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok()
}

/// The part that a range names. What is no range, or several, means everything.
fn part(range: &str, length: u64) -> Part {
    let spec = range.split_once('=').filter(|(unit, _)| unit.eq_ignore_ascii_case("bytes"));
    let Some((first, last)) = spec.and_then(|(_, spec)| spec.trim().split_once('-')) else { return Part::All };
    let end = match last {
        "" => Some(length),
        last => number(last).map(|last| last.saturating_add(1).min(length)),
    };
    match (number(first), number(last), end) {
        // The last bytes, however few there are.
        (None, Some(count), _) if first.is_empty() && count > 0 && length > 0 => {
            Part::Some(length.saturating_sub(count)..length)
        }
        (None, Some(_), _) if first.is_empty() => Part::Nothing,
        (Some(first), Some(last), _) if first > last => Part::All,
        (Some(first), _, Some(_)) if first >= length => Part::Nothing,
        (Some(first), _, Some(end)) => Part::Some(first..end),
        _ => Part::All,
    }
}

/// A number; one that is too large for us is larger than any file.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cp_16_one_range_is_a_part_and_what_is_none_is_everything() {
        for (range, expected) in [
            ("bytes=0-0", Part::Some(0..1)),
            ("bytes=2-4", Part::Some(2..5)),
            ("bytes=2-", Part::Some(2..10)),
            ("Bytes=2-999", Part::Some(2..10)),
            ("bytes=9-99999999999999999999999", Part::Some(9..10)),
            ("bytes=-3", Part::Some(7..10)),
            ("bytes=-30", Part::Some(0..10)),
            ("bytes=10-", Part::Nothing),
            ("bytes=10-12", Part::Nothing),
            ("bytes=99999999999999999999999-", Part::Nothing),
            ("bytes=-0", Part::Nothing),
            ("bytes=4-2", Part::All),
            ("bytes=0-1,3-4", Part::All),
            ("bytes=a-b", Part::All),
            ("bytes=+1-2", Part::All),
            ("bytes=-", Part::All),
            ("bytes", Part::All),
            ("lines=0-1", Part::All),
        ] {
            assert_eq!(part(range, 10), expected, "{range}");
        }
        assert_eq!(part("bytes=0-", 0), Part::Nothing);
        assert_eq!(part("bytes=-1", 0), Part::Nothing);
    }

    #[test]
    fn cp_16_conditions_are_held_against_tag_and_time() {
        let served = Served {
            digest: Digest::of(b"0123456789"),
            length: 10,
            content_type: "text/plain",
            modified: Some("2026-09-21T14:13:20Z".into()),
            bytes: Held::Objects,
        };
        let (tag, at) = (served.etag(), "Mon, 21 Sep 2026 14:13:20 GMT");
        let (before, after) = ("Mon, 21 Sep 2026 14:13:19 GMT", "Mon, 21 Sep 2026 14:13:21 GMT");
        let range = ("range", "bytes=0-1");
        let weak = format!("W/{tag}");
        let listed = format!("\"x\", {tag}");
        for (headers, expected) in [
            (vec![], Part::All),
            (vec![("if-none-match", tag.as_str())], Part::Same),
            (vec![("if-none-match", &weak)], Part::Same),
            (vec![("if-none-match", &listed)], Part::Same),
            (vec![("if-none-match", "*")], Part::Same),
            (vec![("if-none-match", "\"x\"")], Part::All),
            (vec![("if-none-match", "\"x\""), ("if-modified-since", after)], Part::All),
            (vec![("if-modified-since", at)], Part::Same),
            (vec![("if-modified-since", after)], Part::Same),
            (vec![("if-modified-since", before)], Part::All),
            (vec![("if-modified-since", "yesterday")], Part::All),
            (vec![("if-match", &tag)], Part::All),
            (vec![("if-match", &weak)], Part::Other),
            (vec![("if-match", "\"x\"")], Part::Other),
            (vec![("if-unmodified-since", before)], Part::Other),
            (vec![("if-unmodified-since", at)], Part::All),
            (vec![range], Part::Some(0..2)),
            (vec![range, ("if-range", &tag)], Part::Some(0..2)),
            (vec![range, ("if-range", at)], Part::Some(0..2)),
            (vec![range, ("if-range", &weak)], Part::All),
            (vec![range, ("if-range", "\"x\"")], Part::All),
            (vec![range, ("if-range", after)], Part::All),
            (vec![range, ("if-none-match", &tag)], Part::Same),
            (vec![range, range], Part::All),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in &headers {
                map.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap());
            }
            assert_eq!(served.part(&Method::GET, &map), expected, "{headers:?}");
        }
        let mut map = HeaderMap::new();
        map.insert(header::RANGE, HeaderValue::from_static("bytes=0-1"));
        assert_eq!(served.part(&Method::HEAD, &map), Part::All);
    }
}
