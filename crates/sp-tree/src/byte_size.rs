//! Sizes for people.

use std::fmt;

/// A number of bytes, displayed with a binary unit: `1 byte`, `512 bytes`, `1.5 KiB`, `10 MiB`.
///
/// It is rounded to one digit after the point. A multiple of the unit has none, so `10 MiB` is an
/// exact size and `10.0 MiB` is not. JSON output has exact numbers instead.
///
/// ```
/// use sp_tree::ByteSize;
///
/// assert_eq!(ByteSize(1536).to_string(), "1.5 KiB");
/// assert_eq!(format!("{:>8}", ByteSize(10 << 20)), "  10 MiB");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

/// A size that exceeds a limit: `2 MiB, which exceeds the limit of 1 MiB`.
///
/// If rounding hides the difference, both are numbers of bytes.
///
/// ```
/// use sp_tree::OverLimit;
///
/// let text = OverLimit { bytes: 2_000_001, limit: 2_000_000 }.to_string();
/// assert_eq!(text, "2000001 bytes, which exceeds the limit of 2000000 bytes");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverLimit {
    pub bytes: u64,
    pub limit: u64,
}

impl fmt::Display for OverLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, limit } = *self;
        let [mut size, mut allowed] = [bytes, limit].map(|bytes| ByteSize(bytes).to_string());
        if size == allowed {
            [size, allowed] = [bytes, limit].map(|bytes| format!("{bytes} bytes"));
        }
        write!(f, "{size}, which exceeds the limit of {allowed}")
    }
}

const UNITS: [(&str, u128); 3] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
/// For everything that is larger.
const LARGEST_UNIT: (&str, u128) = ("TiB", 1 << 40);

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match self.0 {
            1 => "1 byte".into(),
            bytes @ 0..1024 => format!("{bytes} bytes"),
            bytes => format_with_unit(bytes),
        })
    }
}

fn format_with_unit(bytes: u64) -> String {
    let bytes = u128::from(bytes);
    let tenths = |unit_bytes: u128| (bytes * 10 + unit_bytes / 2) / unit_bytes;
    let (unit, unit_bytes) = UNITS
        .into_iter()
        .find(|(_, unit_bytes)| tenths(*unit_bytes) < 10_240)
        .unwrap_or(LARGEST_UNIT);
    let (whole, tenth) = (tenths(unit_bytes) / 10, tenths(unit_bytes) % 10);
    if bytes.is_multiple_of(unit_bytes) {
        format!("{whole} {unit}")
    } else {
        format!("{whole}.{tenth} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_over_a_limit_is_never_shown_as_the_limit() {
        for (bytes, limit, expected) in [
            (2 << 20, 1 << 20, "2 MiB, which exceeds the limit of 1 MiB"),
            (1025, 1024, "1.0 KiB, which exceeds the limit of 1 KiB"),
            (2_000_001, 2_000_000, "2000001 bytes, which exceeds the limit of 2000000 bytes"),
        ] {
            assert_eq!(OverLimit { bytes, limit }.to_string(), expected);
        }
    }

    #[test]
    fn sizes_have_binary_units_and_one_digit() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (1025, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1587, "1.5 KiB"),
            (1588, "1.6 KiB"),
            (1024 * 1024 - 52, "1023.9 KiB"),
            (1024 * 1024 - 51, "1.0 MiB"),
            (1024 * 1024, "1 MiB"),
            (3_670_016, "3.5 MiB"),
            (1 << 30, "1 GiB"),
            (5 << 40, "5 TiB"),
            (u64::MAX, "16777216.0 TiB"),
        ] {
            assert_eq!(ByteSize(bytes).to_string(), expected);
        }
    }
}
