//! Canonical JSON: the same content always has the same bytes. Keys are sorted and there is no
//! white space.

use std::fmt::Write;

use super::number::is_canonical_number;
use super::string_literal::plain_prefix_len;
use super::{JsonKind, JsonValue};

/// How numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonNumberFormat {
    /// The shortest text that reads back as the same `f64`. A number that does not fit into an
    /// `f64` exactly stays as written.
    Lossless,
    /// As `serde_json` writes them: integers of up to 64 bits unchanged, everything else as the
    /// shortest text of the nearest `f64`. Fails for a number that is out of range.
    Rounded,
    /// Unchanged.
    AsWritten,
}

/// Writes a value with its keys sorted by bytes and without the top-level member `without` (none if
/// empty). Returns `None` if `numbers` rejects a number.
pub fn canonicalize(
    value: JsonValue<'_>,
    without: &str,
    numbers: JsonNumberFormat,
) -> Option<String> {
    let mut text = String::with_capacity(value.raw().len());
    write_canonical(value, without, numbers, &mut text)?;
    Some(text)
}

fn write_canonical(
    value: JsonValue<'_>,
    without: &str,
    numbers: JsonNumberFormat,
    text: &mut String,
) -> Option<()> {
    match value.kind() {
        JsonKind::Object => return write_object(value, without, numbers, text),
        JsonKind::Array => {
            text.push('[');
            for (index, item) in value.items().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_canonical(item, "", numbers, text)?;
            }
            text.push(']');
        }
        // A string without escapes is canonical already.
        JsonKind::Text if !value.raw().as_bytes().contains(&b'\\') => text.push_str(value.raw()),
        JsonKind::Text => push_quoted(&value.text().unwrap_or_default(), text),
        JsonKind::Number
            if numbers != JsonNumberFormat::Rounded && is_canonical_number(value.raw()) =>
        {
            text.push_str(value.raw());
        }
        JsonKind::Number => text.push_str(&format_number(value.raw(), numbers)?),
        JsonKind::Bool | JsonKind::Null => text.push_str(value.raw()),
    }
    Some(())
}

/// Writes the members of an object, sorted by key.
fn write_object(
    object: JsonValue<'_>,
    without: &str,
    numbers: JsonNumberFormat,
    text: &mut String,
) -> Option<()> {
    let mut members: Vec<_> =
        object.members().map(|(key, value)| (key.text().unwrap_or_default(), value)).collect();
    members.retain(|(key, _)| without.is_empty() || key != without);
    members.sort_by(|a, b| a.0.cmp(&b.0));
    text.push('{');
    for (index, (key, value)) in members.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        push_quoted(&key, text);
        text.push(':');
        write_canonical(value, "", numbers, text)?;
    }
    text.push('}');
    Some(())
}

/// Returns `text` as a JSON string literal with only the escapes that JSON requires.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    push_quoted(text, &mut quoted);
    quoted
}

/// Appends `written` as a JSON string literal.
pub fn push_quoted(written: &str, text: &mut String) {
    let special = |text: &str| {
        let passed = plain_prefix_len(text.as_bytes());
        let found = text.as_bytes()[passed..]
            .iter()
            .position(|byte| matches!(byte, 0..0x20 | b'"' | b'\\'));
        found.map(|at| passed + at)
    };
    text.push('"');
    let mut rest = written;
    while let Some(at) = special(rest) {
        text.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            0x08 => text.push_str("\\b"),
            0x0c => text.push_str("\\f"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            // Writing to a `String` cannot fail.
            control => drop(write!(text, "\\u{control:04x}")),
        }
        rest = &rest[at + 1..];
    }
    text.push_str(rest);
    text.push('"');
}

fn format_number(raw: &str, numbers: JsonNumberFormat) -> Option<String> {
    let read =
        || serde_json::from_str::<serde_json::Number>(raw).ok().map(|number| number.to_string());
    match numbers {
        JsonNumberFormat::AsWritten => Some(raw.into()),
        JsonNumberFormat::Rounded => read(),
        JsonNumberFormat::Lossless
            if raw.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') =>
        {
            Some(raw.into())
        }
        JsonNumberFormat::Lossless => {
            // An `f64` distinguishes 17 significant digits; more would be lost.
            let mantissa = raw.split(['e', 'E']).next().unwrap_or(raw);
            let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
            let parsed =
                raw.parse::<f64>().ok().filter(|number| number.is_finite() && digits <= 17);
            let is_underflow =
                parsed == Some(0.0) && mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
            match parsed {
                Some(parsed) if !is_underflow => {
                    serde_json::Number::from_f64(parsed).map(|number| number.to_string())
                }
                _ => Some(raw.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::JsonDocument;
    use sp_tree::Limits;

    fn lossless(text: &str) -> String {
        let json = JsonDocument::parse(text, &Limits::default()).unwrap();
        canonicalize(json.root(), "", JsonNumberFormat::Lossless).unwrap()
    }

    #[test]
    fn pk_09_same_content_has_same_bytes() {
        assert_eq!(
            lossless("{ \"b\": 1.50, \"a\": [true, null], \"\\u0041\": \"\\u00e9\\/\" }"),
            "{\"A\":\"é/\",\"a\":[true,null],\"b\":1.5}"
        );
        assert_eq!(lossless("[1.0, 1e0, 10.0e-1]"), "[1.0,1.0,1.0]");
        // Sorted by code point, which for UTF-8 is the order of the bytes.
        assert_eq!(
            lossless("{\"\u{ffff}\":1,\"\u{10000}\":2,\"é\":3,\"z\":4}"),
            "{\"z\":4,\"é\":3,\"\u{ffff}\":1,\"\u{10000}\":2}"
        );
        assert_eq!(lossless("\"\\u0001\\u001f\\u007f\\b\""), "\"\\u0001\\u001f\u{7f}\\b\"");
    }

    #[test]
    fn pk_09_numbers_that_do_not_fit_f64_stay_as_written() {
        for number in
            ["12345678901234567890123", "1E400", "1e-400", "0.1234567890123456789", "-0", "1"]
        {
            assert_eq!(lossless(number), number);
        }
    }

    #[test]
    fn pk_12_numbers_are_rounded_like_serde_json() {
        let rounded = |text: &str| {
            let json = JsonDocument::parse(text, &Limits::default()).unwrap();
            canonicalize(json.root(), "signature", JsonNumberFormat::Rounded)
        };
        assert_eq!(
            rounded("{\"signature\":1,\"b\":{\"signature\":2},\"a\":1e0}").unwrap(),
            "{\"a\":1.0,\"b\":{\"signature\":2}}"
        );
        assert_eq!(
            rounded("[18446744073709551615,-1,0.2425281724644782]").unwrap(),
            "[18446744073709551615,-1,0.2425281724644782]"
        );
        assert_eq!(rounded("1E400"), None);
    }
}
