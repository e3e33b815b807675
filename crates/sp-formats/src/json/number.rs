//! Numbers in canonical JSON, with a fast path for the short decimals that are most frequent.

/// Two different decimals of up to 15 characters are never the same `f64`.
const MAX_EXACT_LEN: usize = 15;
/// Short decimals have up to four decimal places.
const SHORT_SCALE: f64 = 10_000.0;

/// Appends the shortest text that reads back as the same `f64`. Integers get `.0`; a number that is
/// not finite becomes `0.0`.
pub fn push_number(number: f64, text: &mut String) {
    if let Some(digits) = short_decimal(number) {
        return text.push_str(digits.as_str());
    }
    match serde_json::Number::from_f64(number) {
        Some(number) => text.push_str(&number.to_string()),
        None => text.push_str("0.0"),
    }
}

/// The text of a number between 0 and 1, without an allocation.
struct ShortDecimal {
    digits: [u8; 6],
    length: usize,
}

impl ShortDecimal {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.digits[..self.length]).unwrap_or_default()
    }
}

/// Formats a number between 0 and 1 with up to four decimal places, which most weights are.
fn short_decimal(number: f64) -> Option<ShortDecimal> {
    if !(0.0..=1.0).contains(&number) || number.is_sign_negative() {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it lies between 0 and 10000"
    )]
    let parts = (number * SHORT_SCALE).round() as u32;
    // The quotient is the `f64` nearest to the decimal. If it differs, the number has more digits.
    if f64::from(parts) / SHORT_SCALE != number {
        return None;
    }
    let digit = |of: u32| b'0' + (parts / of % 10) as u8;
    let digits = [digit(10_000), b'.', digit(1000), digit(100), digit(10), digit(1)];
    let zeros = digits[3..].iter().rev().take_while(|digit| **digit == b'0').count();
    Some(ShortDecimal { digits, length: digits.len() - zeros })
}

/// Whether `raw` is an integer, which is never rewritten, or is written as [`push_number`] would
/// write it.
pub fn is_canonical_number(raw: &str) -> bool {
    let plain = raw.strip_prefix('-').unwrap_or(raw);
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match plain.split_once('.') {
        None => is_digits(plain),
        Some((whole, parts)) => {
            // A smaller number would be written with an exponent.
            let small = whole == "0" && parts.starts_with("0000");
            plain.len() <= MAX_EXACT_LEN
                && is_digits(whole)
                && is_digits(parts)
                && (parts == "0" || !parts.ends_with('0'))
                && !small
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn push_to_string(number: f64) -> String {
        let mut text = String::new();
        push_number(number, &mut text);
        text
    }

    fn serde_json_string(number: f64) -> String {
        serde_json::Number::from_f64(number)
            .map_or_else(|| "0.0".into(), |number| number.to_string())
    }

    #[test]
    fn pk_09_fast_path_agrees_with_serde_json() {
        for parts in 0..=10_000u32 {
            let number = f64::from(parts) / 10_000.0;
            assert_eq!(push_to_string(number), serde_json_string(number));
        }
        for number in [
            -0.0,
            -0.5,
            1.5,
            0.00001,
            1e22,
            1e-7,
            f64::NAN,
            f64::INFINITY,
            f64::MIN_POSITIVE,
            0.1 + 0.2,
        ] {
            assert_eq!(push_to_string(number), serde_json_string(number));
        }
        assert!(
            is_canonical_number("12345678901234567890123")
                && is_canonical_number("-0")
                && is_canonical_number("0.25")
        );
        for noncanonical in ["1.50", "1e0", "0.00001", "-0.000015", "0.12345678901234567", "1E5"] {
            assert!(!is_canonical_number(noncanonical), "{noncanonical}");
        }
    }

    proptest! {
        #[test]
        fn pk_09_is_canonical_number_agrees_with_push_number(raw in "-?(0|[1-9][0-9]{0,12})\\.[0-9]{1,8}", number in any::<f64>()) {
            prop_assert_eq!(push_to_string(number), serde_json_string(number));
            if is_canonical_number(&raw) {
                prop_assert_eq!(serde_json_string(raw.parse().unwrap()), raw);
            }
        }
    }
}
