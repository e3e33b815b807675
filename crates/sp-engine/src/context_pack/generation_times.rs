//! The creation time and the time window of a generated context pack.

use jiff::{Span, Timestamp, ToSpan, tz::TimeZone};
use sp_formats::time;

use super::build_request::ContextPackBuildRequest;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};

/// The creation time and the start of the time window.
pub(super) struct GenerationTimes {
    pub generated_at: String,
    pub now: Timestamp,
    pub since: Option<String>,
}

impl GenerationTimes {
    pub(super) fn of(context: &Context<'_>, request: &ContextPackBuildRequest) -> Result<Self> {
        let now = match &request.generated_at {
            None => context.now,
            Some(text) => time::parse(text).ok_or_else(|| {
                let message = format!("invalid time in `--generated-at`: `{text}`");
                Error::new(ErrorCode::InvalidTime, message)
                    .hint("use the format `2026-04-24T14:22:03Z`")
            })?,
        };
        let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
        let since = request.since.as_deref().map(|text| parse_since(text, now)).transpose()?;
        Ok(Self { generated_at: time::format_utc(now), now, since })
    }
}

/// Returns the start of the named date, or of the date that is the given span before `now`.
fn parse_since(text: &str, now: Timestamp) -> Result<String> {
    let invalid = || {
        Error::new(
            ErrorCode::InvalidTime,
            format!("invalid duration or date in `--since`: `{text}`"),
        )
        .hint("use a duration such as `90d`, `12w`, `6m` or `1y`, or a date such as `2026-04-24`")
    };
    let today = now.to_zoned(TimeZone::UTC).date();
    let day = match text.parse::<jiff::civil::Date>() {
        Ok(day) => day,
        Err(_) => {
            today.checked_sub(parse_span(text).ok_or_else(invalid)?).map_err(|_| invalid())?
        }
    };
    let start = day.to_zoned(TimeZone::UTC).map_err(|_| invalid())?;
    Ok(time::format_utc(start.timestamp()))
}

fn parse_span(text: &str) -> Option<Span> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u16 = number.parse().ok()?;
    let number = i64::from(number);
    match unit {
        "d" => Some(number.days()),
        "w" => Some(number.weeks()),
        "m" => Some(number.months()),
        "y" => Some(number.years()),
        _ => None,
    }
}
