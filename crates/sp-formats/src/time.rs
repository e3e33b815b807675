//! RFC 3339 timestamps.

use std::time::Duration;

use jiff::Timestamp;

use crate::text::pluralize;

pub fn is_timestamp(text: &str) -> bool {
    parse(text).is_some()
}

/// Parses an RFC 3339 timestamp. Other notations are rejected.
pub fn parse(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let is = |at: usize, allowed: &[u8]| bytes.get(at).is_some_and(|byte| allowed.contains(byte));
    let form = text.len() <= 40
        && digits(0..4)
        && is(4, b"-")
        && digits(5..7)
        && is(7, b"-")
        && digits(8..10)
        && is(10, b"Tt ")
        && digits(11..13)
        && is(13, b":")
        && digits(14..16)
        && is(16, b":")
        && digits(17..19)
        && !text.contains('[');
    form.then(|| text.parse().ok()).flatten()
}

/// Formats a timestamp with the offset `+00:00` and 0, 3, 6 or 9 fractional digits, as many as
/// needed.
pub fn format_with_offset(time: Timestamp) -> String {
    format!("{}+00:00", format_without_zone(time))
}

/// Formats a timestamp with `Z` and whole seconds. The fraction is cut off.
pub fn format_seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Formats a timestamp with `Z` and 0, 3, 6 or 9 fractional digits, as many as needed.
pub fn format_utc(time: Timestamp) -> String {
    format!("{}Z", format_without_zone(time))
}

/// Describes a time as people do: `2 days ago`, `just now` or `in 3 hours`.
///
/// ```
/// use sp_formats::time::{parse, relative};
///
/// let now = parse("2026-09-21T14:13:20Z").unwrap();
/// let then = parse("2026-09-19T10:00:00Z").unwrap();
/// assert_eq!(relative(then, now), "2 days ago");
/// assert_eq!(relative(now, then), "in 2 days");
/// assert_eq!(relative(now, now), "just now");
/// ```
pub fn relative(time: Timestamp, now: Timestamp) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    let seconds = now.as_second().saturating_sub(time.as_second());
    let (count, unit) = match seconds.saturating_abs() {
        0..MINUTE => return "just now".into(),
        distance @ MINUTE..HOUR => (distance / MINUTE, "minute"),
        distance @ HOUR..DAY => (distance / HOUR, "hour"),
        distance if distance < 14 * DAY => (distance / DAY, "day"),
        distance if distance < 60 * DAY => (distance / (7 * DAY), "week"),
        distance if distance < 730 * DAY => (distance / (30 * DAY), "month"),
        distance => (distance / (365 * DAY), "year"),
    };
    let distance = pluralize(count, unit);
    if seconds < 0 { format!("in {distance}") } else { format!("{distance} ago") }
}

/// Describes an RFC 3339 time as [`relative`] does. Any other text is returned unchanged.
pub fn relative_text(text: &str, now: Timestamp) -> String {
    parse(text).map_or_else(|| text.to_owned(), |time| relative(time, now))
}

/// Parses a duration: a whole number with the unit `s`, `m`, `h` or `d`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return None,
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = number.parse().ok().filter(|_| is_number)?;
    number.checked_mul(seconds).map(Duration::from_secs)
}

fn format_without_zone(time: Timestamp) -> String {
    let nanos = time.subsec_nanosecond();
    let form = match nanos {
        0 => "%Y-%m-%dT%H:%M:%S",
        nanos if nanos % 1_000_000 == 0 => "%Y-%m-%dT%H:%M:%S%.3f",
        nanos if nanos % 1000 == 0 => "%Y-%m-%dT%H:%M:%S%.6f",
        _ => "%Y-%m-%dT%H:%M:%S%.9f",
    };
    time.strftime(form).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_relative_to_now() {
        let now = parse("2026-09-21T14:13:20Z").unwrap();
        for (seconds, expected) in [
            (0, "just now"),
            (59, "just now"),
            (60, "1 minute ago"),
            (3599, "59 minutes ago"),
            (3600, "1 hour ago"),
            (86_399, "23 hours ago"),
            (86_400, "1 day ago"),
            (13 * 86_400, "13 days ago"),
            (14 * 86_400, "2 weeks ago"),
            (60 * 86_400, "2 months ago"),
            (729 * 86_400, "24 months ago"),
            (730 * 86_400, "2 years ago"),
            (-30, "just now"),
            (-7200, "in 2 hours"),
        ] {
            let time = Timestamp::from_second(now.as_second() - seconds).unwrap();
            assert_eq!(relative(time, now), expected, "{seconds}");
        }
        assert_eq!(relative_text("now\u{1b}[7m", now), "now\u{1b}[7m");
    }

    #[test]
    fn only_rfc_3339_is_parsed() {
        for good in [
            "2026-05-22T00:00:00Z",
            "2026-05-22t00:00:00.5+02:00",
            "2026-11-15T08:07:08.558883710Z",
        ] {
            assert!(is_timestamp(good), "{good}");
        }
        for bad in [
            "",
            "2026-05-22",
            "2026-05-22T00:00Z",
            "20260522T000000Z",
            "2026-05-22T00:00:00",
            "2026-13-01T00:00:00Z",
            "2026-05-22T00:00:00Z[UTC]",
        ] {
            assert!(!is_timestamp(bad), "{bad}");
        }
    }

    #[test]
    fn durations_have_a_unit() {
        for (text, seconds) in [("0s", 0), ("30m", 1800), ("1h", 3600), ("7d", 604_800)] {
            assert_eq!(parse_duration(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for bad in ["", "1", "h", "1w", "-1h", "+1h", "1.5h", "1 h", "é", "99999999999999999999s"]
        {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn pk_14_timestamp_has_as_many_digits_as_needed() {
        for (text, expected) in [
            ("2026-11-15T08:07:08.558883710Z", "2026-11-15T08:07:08.558883710+00:00"),
            ("2026-11-15T10:07:08.5+02:00", "2026-11-15T08:07:08.500+00:00"),
            ("2026-11-15T08:07:08Z", "2026-11-15T08:07:08+00:00"),
        ] {
            assert_eq!(format_with_offset(parse(text).unwrap()), expected);
            let utc = expected.replace("+00:00", "Z");
            assert_eq!(format_utc(parse(text).unwrap()), utc);
            assert_eq!(format_seconds(parse(text).unwrap()), format!("{}Z", &utc[..19]));
        }
    }
}
