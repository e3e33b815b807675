//! Formats numbers, sizes and dates.

/// Adds thousands separators.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

pub(super) fn pluralize(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

pub(super) fn size(bytes: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..1024 => pluralize(bytes, "byte", "bytes"),
        1024..1_048_576 => format!("{} KiB", tenths(1024)),
        _ => format!("{} MiB", tenths(1_048_576)),
    }
}

/// The date of an RFC 3339 timestamp.
pub(super) fn date(time: &str) -> &str {
    time.get(..10).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_counts_sizes_and_dates() {
        assert_eq!(
            (count(0), count(999), count(1_234_567)),
            ("0".into(), "999".into(), "1,234,567".into())
        );
        assert_eq!(
            (size(1), size(1536), size(3_670_016)),
            ("1 byte".into(), "1.5 KiB".into(), "3.5 MiB".into())
        );
        assert_eq!(date("2026-04-01T00:00:00Z"), "2026-04-01");
    }
}
