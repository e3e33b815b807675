//! Values that the evaluators of scripts compute: a text as far as it is known, and where it comes
//! from.

use std::io::Read;
use std::ops::{BitOr, BitOrAssign};

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use flate2::read::{GzDecoder, ZlibDecoder};

/// Longer values are truncated: evaluation must not multiply the input.
const MAX_TEXT_LEN: usize = 64 * 1024;
/// Maximum length of decompressed text.
const MAX_INFLATED_LEN: u64 = 256 * 1024;

/// Where the content of a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Taint(u8);

impl Taint {
    pub(super) const NONE: Self = Self(0);
    /// From the network.
    pub(super) const FETCHED: Self = Self(1);
    /// From a file with credentials.
    pub(super) const CREDENTIAL: Self = Self(1 << 1);
    /// From the environment as a whole, or from a variable with a secret.
    pub(super) const ENVIRONMENT: Self = Self(1 << 2);
    /// About the user or the machine.
    pub(super) const PERSONAL: Self = Self(1 << 3);
    /// Decoded, decrypted or put together from pieces.
    pub(super) const DECODED: Self = Self(1 << 4);
    /// From files outside of the skill.
    pub(super) const FILES: Self = Self(1 << 5);

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Taint {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Taint {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// The value of a word or an expression.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ScriptValue {
    /// The text. Unknown parts are missing, and unknown variables are `$NAME`.
    pub text: String,
    /// Whether nothing is missing from the text.
    pub is_constant: bool,
    pub taint: Taint,
    /// What the tainted content is, for messages.
    pub source: Option<String>,
}

impl ScriptValue {
    pub(super) fn constant(text: impl Into<String>) -> Self {
        Self { text: bounded(text.into()), is_constant: true, ..Self::default() }
    }

    pub(super) fn unknown(text: impl Into<String>) -> Self {
        Self { text: bounded(text.into()), ..Self::default() }
    }

    pub(super) fn tainted(taint: Taint, source: impl Into<String>) -> Self {
        Self { taint, source: Some(source.into()), ..Self::default() }
    }

    pub(super) fn with_taint(mut self, taint: Taint) -> Self {
        self.taint |= taint;
        self
    }

    /// Takes over where another value comes from.
    pub(super) fn absorb(&mut self, other: &Self) {
        self.taint |= other.taint;
        if self.source.is_none() || other.taint.has(Taint::CREDENTIAL | Taint::ENVIRONMENT) {
            self.source = other.source.clone().or(self.source.take());
        }
    }

    /// Appends another value.
    pub(super) fn append(&mut self, other: &Self) {
        if self.text.len() + other.text.len() <= MAX_TEXT_LEN {
            self.text.push_str(&other.text);
        } else {
            self.is_constant = false;
        }
        self.is_constant &= other.is_constant;
        self.absorb(other);
    }

    /// The value after decoding its text; unknown if that is not possible.
    pub(super) fn decoded(&self, decode: impl Fn(&str) -> Option<String>) -> Self {
        let text = self.is_constant.then(|| decode(&self.text)).flatten();
        Self {
            is_constant: text.is_some(),
            text: text.map(bounded).unwrap_or_default(),
            taint: self.taint | Taint::DECODED,
            source: self.source.clone(),
        }
    }
}

fn bounded(mut text: String) -> String {
    if text.len() > MAX_TEXT_LEN {
        text.truncate(text.floor_char_boundary(MAX_TEXT_LEN));
    }
    text
}

/// Decodes base64 in either alphabet, with or without padding and line breaks. Compressed content
/// is decompressed.
pub(super) fn decode_base64(text: &str) -> Option<String> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let is_url_safe = text.contains(['-', '_']);
    let alphabet = if is_url_safe { alphabet::URL_SAFE } else { alphabet::STANDARD };
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let bytes = GeneralPurpose::new(&alphabet, config).decode(compact).ok()?;
    readable(&bytes)
}

/// Decodes hexadecimal digits, with or without `0x`, `\x` and separators.
pub(super) fn decode_hex(text: &str) -> Option<String> {
    let text = text.replace("0x", "").replace("\\x", "");
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b':' | b',' | b'-'))
        .map(|byte| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    if digits.len() < 2 || !digits.len().is_multiple_of(2) {
        return None;
    }
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    readable(&bytes)
}

/// Converts bytes to text, decompressing them first if necessary.
pub(super) fn readable(bytes: &[u8]) -> Option<String> {
    let inflated = match bytes {
        [0x1F, 0x8B, ..] => read_some(GzDecoder::new(bytes)),
        [0x78, 0x01 | 0x5E | 0x9C | 0xDA, ..] => read_some(ZlibDecoder::new(bytes)),
        _ => None,
    };
    let text = String::from_utf8(inflated.unwrap_or_else(|| bytes.to_vec())).ok()?;
    is_readable(&text).then_some(text)
}

fn read_some(reader: impl Read) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    // Truncated input is decoded as far as possible.
    let _ = reader.take(MAX_INFLATED_LEN).read_to_end(&mut bytes);
    (!bytes.is_empty()).then_some(bytes)
}

/// Whether nearly all characters of a text are printable.
pub(super) fn is_readable(text: &str) -> bool {
    let control = text.chars().filter(|c| c.is_control() && !c.is_whitespace()).count();
    !text.is_empty() && control * 20 <= text.len()
}

/// Decodes backslash escapes, as in `\x41`, `\u0041`, `\101` and `\n`.
pub(super) fn unescape(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        output.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let (c, length) = decode_escape(rest);
        output.extend(c);
        rest = &rest[length..];
    }
    output.push_str(rest);
    output
}

/// The character of the escape that follows a backslash, and the length of the escape.
fn decode_escape(rest: &str) -> (Option<char>, usize) {
    let Some(first) = rest.chars().next() else { return (Some('\\'), 0) };
    let number =
        |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    let fixed = |length: usize| {
        let digits = rest.get(1..=length);
        digits.and_then(|digits| number(digits, 16)).map(|c| (Some(c), length + 1))
    };
    match first {
        'x' => fixed(2).unwrap_or((Some('x'), 1)),
        'u' if rest.starts_with("u{") => {
            let digits = rest[2..].split('}').next().filter(|digits| digits.len() <= 6);
            let c = digits.and_then(|digits| number(digits, 16));
            c.map_or((Some('u'), 1), |c| (Some(c), digits.map_or(0, str::len) + 3))
        }
        'u' => fixed(4).unwrap_or((Some('u'), 1)),
        'U' => fixed(8).unwrap_or((Some('U'), 1)),
        '0'..='7' => {
            let length =
                rest.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
            (number(&rest[..length], 8), length)
        }
        'n' => (Some('\n'), 1),
        't' => (Some('\t'), 1),
        'r' => (Some('\r'), 1),
        'e' => (Some('\u{1b}'), 1),
        '\n' => (None, 1),
        c => (Some(c), c.len_utf8()),
    }
}

/// Rotates the letters by thirteen.
pub(super) fn rot13(text: &str) -> String {
    let rotate = |c: char| match c {
        'a'..='m' | 'A'..='M' => char::from_u32(u32::from(c) + 13).unwrap_or(c),
        'n'..='z' | 'N'..='Z' => char::from_u32(u32::from(c) - 13).unwrap_or(c),
        c => c,
    };
    text.chars().map(rotate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn au_04_texts_are_decoded() {
        assert_eq!(decode_base64("aGVsbG8gd29ybGQ=").as_deref(), Some("hello world"));
        assert_eq!(decode_base64("aGVsbG8g\nd29ybGQ").as_deref(), Some("hello world"));
        assert_eq!(decode_base64("////"), None);
        assert_eq!(decode_hex("68 65:6c6c 6f").as_deref(), Some("hello"));
        assert_eq!(decode_hex("\\x68\\x69").as_deref(), Some("hi"));
        assert_eq!(decode_hex("686"), None);
        assert_eq!(unescape(r"\x68\u0069\u{21}\041\n\q\"), "hi!!\nq\\");
        assert_eq!(rot13("Uryyb"), "Hello");
    }

    #[test]
    fn au_10_values_are_bounded() {
        let mut value = ScriptValue::constant("x".repeat(MAX_TEXT_LEN));
        value.append(&ScriptValue::constant("y"));
        assert_eq!(value.text.len(), MAX_TEXT_LEN);
        assert!(!value.is_constant);
    }
}
