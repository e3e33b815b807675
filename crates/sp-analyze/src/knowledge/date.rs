//! Parses dates as people and tools write them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde_json::Value;
use sp_formats::time;

/// Other years are errors.
const PLAUSIBLE_YEARS: std::ops::RangeInclusive<i16> = 1970..=2100;
/// Epoch values from here on are milliseconds, then microseconds.
const MIN_EPOCH_MILLIS: i64 = 100_000_000_000;
const MIN_EPOCH_MICROS: i64 = 100_000_000_000_000;
/// Unambiguous date formats.
const DATE_FORMATS: &[&str] = &[
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%Y%m%d",
    "%d %B %Y",
    "%B %d, %Y",
    "%d %b %Y",
    "%b %d, %Y",
];
const DATETIME_FORMATS: &[&str] =
    &["%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"];

/// Returns an RFC 3339 time in UTC with whole seconds; `None` if the value is not a plausible time.
pub(crate) fn parse_date(value: &Value) -> Option<String> {
    let moment = match value {
        Value::Number(number) => parse_epoch(number.as_i64()?),
        Value::String(text) => parse_text(text.trim()),
        _ => None,
    }?;
    let seconds = Timestamp::from_second(moment.as_second()).ok()?;
    PLAUSIBLE_YEARS
        .contains(&seconds.to_zoned(TimeZone::UTC).year())
        .then(|| time::format_utc(seconds))
}

fn parse_epoch(number: i64) -> Option<Timestamp> {
    match number {
        ..0 => None,
        0..MIN_EPOCH_MILLIS => Timestamp::from_second(number).ok(),
        MIN_EPOCH_MILLIS..MIN_EPOCH_MICROS => Timestamp::from_millisecond(number).ok(),
        _ => Timestamp::from_microsecond(number).ok(),
    }
}

/// Parses a text. A time without a zone is taken as UTC.
fn parse_text(text: &str) -> Option<Timestamp> {
    if text.len() > 40 {
        return None;
    }
    let in_utc = |at: DateTime| at.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    let is_number = text.len() >= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    time::parse(text)
        .or_else(|| text.parse::<Timestamp>().ok())
        .or_else(|| {
            DATE_FORMATS
                .iter()
                .find_map(|form| Date::strptime(form, text).ok())
                .and_then(|day| in_utc(day.into()))
        })
        .or_else(|| {
            DATETIME_FORMATS
                .iter()
                .find_map(|form| DateTime::strptime(form, text).ok())
                .and_then(in_utc)
        })
        .or_else(|| jiff::fmt::rfc2822::parse(text).ok().map(|zoned| zoned.timestamp()))
        .or_else(|| is_number.then(|| parse_epoch(text.parse().ok()?)).flatten())
}

/// The date at the start of a file name.
pub(crate) fn date_from_file_name(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let day = name.get(..10)?;
    let ends = name[10..].starts_with(|c: char| !c.is_ascii_digit());
    let is_day = day
        .bytes()
        .enumerate()
        .all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() });
    (ends && is_day).then(|| parse_date(&Value::from(day))).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_date_formats_are_parsed() {
        for (text, expected) in [
            ("2026-04-22", "2026-04-22T00:00:00Z"),
            ("2026-04-22T09:04:11Z", "2026-04-22T09:04:11Z"),
            ("2026-04-22T09:04:11.5+02:00", "2026-04-22T07:04:11Z"),
            ("2026-04-22 09:04", "2026-04-22T09:04:00Z"),
            ("2026/04/22", "2026-04-22T00:00:00Z"),
            ("April 22, 2026", "2026-04-22T00:00:00Z"),
            ("22 Apr 2026", "2026-04-22T00:00:00Z"),
            ("Wed, 22 Apr 2026 09:04:11 GMT", "2026-04-22T09:04:11Z"),
            ("1776848651", "2026-04-22T09:04:11Z"),
            ("1776848651000", "2026-04-22T09:04:11Z"),
        ] {
            assert_eq!(parse_date(&Value::from(text)).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(
            parse_date(&Value::from(1_776_848_651)).as_deref(),
            Some("2026-04-22T09:04:11Z")
        );
    }

    #[test]
    fn invalid_and_implausible_dates_are_rejected() {
        for invalid in
            ["", "soon", "2026-13-01", "2026-02-30", "04/05/2026", "9999-01-01", "0001-01-01", "-5"]
        {
            assert_eq!(parse_date(&Value::from(invalid)), None, "{invalid}");
        }
        assert_eq!(parse_date(&Value::from(f64::MAX)), None);
        assert_eq!(parse_date(&Value::from(i64::MAX)), None);
        assert_eq!(parse_date(&Value::Null), None);
    }

    #[test]
    fn date_is_read_from_file_name() {
        assert_eq!(
            date_from_file_name("log/2026-04-22 retries.md").as_deref(),
            Some("2026-04-22T00:00:00Z")
        );
        assert_eq!(date_from_file_name("2026-04-221.md"), None);
        assert_eq!(date_from_file_name("retries-2026-04-22.md"), None);
        assert_eq!(date_from_file_name("ä.md"), None);
    }
}
