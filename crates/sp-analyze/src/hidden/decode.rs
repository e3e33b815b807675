//! Decodes messages in hidden characters.

use sp_formats::text::truncate;

use super::HiddenKind;

/// Longer messages are truncated.
const MAX_DECODED_CHARS: usize = 400;

/// Decodes a run of hidden characters; `None` if it contains no readable text.
pub(super) fn decode(run: &str, kind: HiddenKind) -> Option<String> {
    let decoded = match kind {
        HiddenKind::Tag => decode_tags(run),
        HiddenKind::VariationSelector => decode_selectors(run)?,
        HiddenKind::ZeroWidth => decode_bits(run)?,
        _ => return None,
    };
    let is_readable = decoded.chars().any(|c| !c.is_control() && !c.is_whitespace());
    is_readable.then(|| truncate(&decoded, MAX_DECODED_CHARS).into_owned())
}

/// The low seven bits of a tag character are an ASCII character.
fn decode_tags(run: &str) -> String {
    let ascii = run.chars().filter_map(|c| char::from_u32(u32::from(c) - 0xE0000));
    ascii
        .filter(|c| !c.is_control() || matches!(c, '\t' | '\n'))
        .take(MAX_DECODED_CHARS + 1)
        .collect()
}

/// Each variation selector encodes a byte; together they may be UTF-8.
fn decode_selectors(run: &str) -> Option<String> {
    let byte = |c: char| match c {
        '\u{FE00}'..='\u{FE0F}' => u32::from(c) - 0xFE00,
        _ => u32::from(c) - 0xE0100 + 16,
    };
    // UTF-8 has at most four bytes per character.
    let most = 4 * MAX_DECODED_CHARS + 4;
    let bytes: Vec<u8> =
        run.chars().take(most).filter_map(|c| u8::try_from(byte(c)).ok()).collect();
    decode_utf8(bytes, most)
}

fn decode_utf8(bytes: Vec<u8>, most: usize) -> Option<String> {
    let was_cut = bytes.len() == most;
    String::from_utf8(bytes)
        .or_else(|error| {
            let (why, bytes) = (error.utf8_error(), error.as_bytes());
            // The limit may have split the last character.
            let is_whole = was_cut && why.error_len().is_none();
            is_whole
                .then(|| String::from_utf8_lossy(&bytes[..why.valid_up_to()]).into_owned())
                .ok_or(error)
        })
        .ok()
}

/// Two different zero-width characters encode bits, in groups of eight. Either may be the 1.
fn decode_bits(run: &str) -> Option<String> {
    let first = run.chars().next()?;
    let other = run.chars().find(|c| *c != first)?;
    if !run.chars().all(|c| c == first || c == other) || !run.chars().count().is_multiple_of(8) {
        return None;
    }
    let read = |one: char| {
        let bits: Vec<u8> =
            run.chars().take(8 * (MAX_DECODED_CHARS + 1)).map(|c| u8::from(c == one)).collect();
        let bytes = bits.chunks(8).map(|eight| eight.iter().fold(0, |byte, bit| byte << 1 | bit));
        let decoded: String = bytes.map(char::from).collect();
        decoded
            .chars()
            .all(|c| c.is_ascii_graphic() || matches!(c, ' ' | '\n' | '\t'))
            .then_some(decoded)
    };
    read(first.max(other)).or_else(|| read(first.min(other)))
}
