//! The syntax of single values in a context pack: IDs, versions, times and URLs.

use super::SPEC_VERSION;
use crate::time;
use crate::web_url::split_scheme;

/// Whether `text` is a ULID or UUID, optionally prefixed with `pk_`.
pub fn is_pack_id(text: &str) -> bool {
    let id = text.strip_prefix("pk_").unwrap_or(text);
    let is_ulid = id.len() == 26
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() && !b"ILOUilou".contains(&byte))
        && id.starts_with(|first: char| ('0'..='7').contains(&first));
    let groups: Vec<&str> = id.split('-').collect();
    let is_uuid = groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()));
    is_ulid || is_uuid
}

/// Whether `text` is a supported version of the specification. Patch versions are compatible.
pub(super) fn is_known_spec_version(text: &str) -> bool {
    let patch = text.strip_prefix(SPEC_VERSION).and_then(|rest| rest.strip_prefix('.'));
    text == SPEC_VERSION
        || patch.is_some_and(|patch| {
            patch.parse::<u32>().is_ok_and(|number| number.to_string() == patch)
        })
}

/// Whether `text` is `src_` followed by letters, digits, `_` and `-`.
pub fn is_source_id(text: &str) -> bool {
    text.strip_prefix("src_").is_some_and(|rest| {
        rest.starts_with(|first: char| first.is_ascii_alphanumeric())
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    })
}

/// Whether `text` is a timestamp such as `2026-04-24T14:22:03Z`.
pub(super) fn is_time(text: &str) -> bool {
    text.as_bytes().get(10) == Some(&b'T') && time::parse(text).is_some()
}

/// Whether `text` is a timestamp or a date such as `2026-04-24`.
pub(super) fn is_day_or_time(text: &str) -> bool {
    let is_day = text.len() == "2026-04-24".len() && text.parse::<jiff::civil::Date>().is_ok();
    is_day || is_time(text)
}

/// Whether `text` is an absolute URL; `http` and `https` need a host.
pub(super) fn is_url(text: &str) -> bool {
    let is_no_part =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"' | '\\');
    let Some((scheme, rest)) = split_scheme(text) else { return false };
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let is_somewhere = match rest.strip_prefix("//") {
        Some(place) if is_web => {
            place.starts_with(|first: char| !matches!(first, '/' | '?' | '#' | ':'))
        }
        Some(place) => !place.is_empty(),
        None => !is_web && !rest.is_empty(),
    };
    is_somewhere && !text.contains(is_no_part)
}

#[cfg(test)]
mod tests;
