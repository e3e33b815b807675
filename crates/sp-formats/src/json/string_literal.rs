//! JSON string literals: quotes, escapes, and the bytes that need neither.

use std::borrow::Cow;

pub(super) fn strip_quotes(raw: &str) -> &str {
    &raw[1..raw.len() - 1]
}

/// Resolves the escapes of a string whose syntax was checked when it was parsed.
pub(super) fn unescape(raw: &str) -> Cow<'_, str> {
    if !raw.as_bytes().contains(&b'\\') {
        return Cow::Borrowed(raw);
    }
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let escape = rest.as_bytes()[at + 1];
        let mut length = 2;
        text.push(match escape {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = |from: usize| {
                    rest.get(from..from + 4).and_then(|hex| u16::from_str_radix(hex, 16).ok())
                };
                let first = unit(at + 2).unwrap_or_default();
                let pair = (0xd800..0xdc00).contains(&first);
                length = if pair { 12 } else { 6 };
                let units = [first, if pair { unit(at + 8).unwrap_or_default() } else { 0 }];
                let mut chars =
                    char::decode_utf16(units.into_iter().take(if pair { 2 } else { 1 }));
                chars.next().and_then(Result::ok).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            other => char::from(other),
        });
        rest = &rest[at + length..];
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Returns the length of a prefix, in steps of eight bytes, that contains no quote, backslash or
/// control character.
pub(super) fn plain_prefix_len(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES * 0x80;
    // Nonzero if any of the eight bytes is zero.
    let zero = |eight: u64| eight.wrapping_sub(ONES) & !eight & HIGH;
    let special = |eight: u64| {
        let below = eight.wrapping_sub(ONES * 0x20) & !eight & HIGH;
        below | zero(eight ^ (ONES * u64::from(b'"'))) | zero(eight ^ (ONES * u64::from(b'\\')))
    };
    let eights = bytes.chunks_exact(8).map(|eight| eight.try_into().map_or(0, u64::from_le_bytes));
    eights.take_while(|eight| special(*eight) == 0).count() * 8
}
