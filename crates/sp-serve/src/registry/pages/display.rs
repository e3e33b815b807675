//! Formats dates.

/// The date of an RFC 3339 timestamp.
pub(super) fn date(time: &str) -> &str {
    time.get(..10).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_is_the_start_of_a_timestamp() {
        assert_eq!(date("2026-04-01T00:00:00Z"), "2026-04-01");
        assert_eq!(date("2026"), "2026");
    }
}
