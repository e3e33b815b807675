//! Percent-encoding: every set of characters that is encoded, and the ways to decode.
//!
//! Which characters stay as they are is part of a format, so the sets are defined here and nowhere
//! else. The codec is the crate `percent-encoding`.
//!
//! ```
//! use sp_formats::percent::{COMPONENT, URI_PATH, decode, decode_lossy, encode};
//!
//! assert_eq!(encode("a b/ü", COMPONENT), "a%20b%2F%C3%BC");
//! assert_eq!(encode("a b/ü", URI_PATH), "a%20b/%C3%BC");
//! assert_eq!(decode("a%20b").as_deref(), Some("a b"));
//! assert_eq!(decode("100%"), None);
//! assert_eq!(decode_lossy("100%"), "100%");
//! ```

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// Everything but the unreserved characters of RFC 3986: for one segment of a path, or one value
/// of a query.
pub const COMPONENT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// For the path of a file in a `file:` URL or a relative reference.
pub const FILE_PATH: &AsciiSet = &COMPONENT.remove(b'/');
/// For paths in the URIs of skills, packs and packages over MCP, where `@` and `+` are common.
pub const URI_PATH: &AsciiSet = &FILE_PATH.remove(b'@').remove(b'+');
/// For a whole URL: only what must not be in one. Escapes that are there already stay.
pub const WHOLE_URL: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Encodes the characters of `set`, and everything that is not ASCII.
pub fn encode(text: impl AsRef<[u8]>, set: &'static AsciiSet) -> String {
    percent_encode(text.as_ref(), set).to_string()
}

/// Decodes text. Returns `None` if an escape is incomplete, or if the result is not UTF-8.
pub fn decode(text: &str) -> Option<String> {
    let is_escape = |rest: &str| {
        rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let is_complete = text.split('%').skip(1).all(is_escape);
    if is_complete { decode_utf8(text) } else { None }
}

/// Decodes text. Incomplete escapes stay as they are. Returns `None` if the result is not UTF-8.
pub fn decode_utf8(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(Cow::into_owned)
}

/// Decodes text. Incomplete escapes stay as they are, and bytes that are not UTF-8 are replaced.
pub fn decode_lossy(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sets_keep_exactly_these_characters() {
        let kept = |set: &'static AsciiSet| {
            let ascii = (0_u8..128).map(char::from).filter(|c| !c.is_ascii_alphanumeric());
            ascii.filter(|c| encode(c.to_string(), set).len() == 1).collect::<String>()
        };
        assert_eq!(kept(COMPONENT), "-._~");
        assert_eq!(kept(FILE_PATH), "-./_~");
        assert_eq!(kept(URI_PATH), "+-./@_~");
        assert_eq!(kept(WHOLE_URL), "!#$%&'()*+,-./:;=?@[]_~");
    }

    #[test]
    fn incomplete_escapes_and_invalid_text_are_no_names() {
        for text in ["%", "%4", "%zz", "a%+1", "%%41", "%ff", "%c3"] {
            assert_eq!(decode(text), None, "{text}");
        }
        assert_eq!(decode("%C3%bc%25").as_deref(), Some("ü%"));
        assert_eq!(decode_lossy("%zz%41%ff"), "%zzA\u{fffd}");
    }

    proptest! {
        #[test]
        fn encoded_text_is_ascii_and_decodes_to_itself(text in "\\PC{0,40}|(?s:.{0,40})") {
            for set in [COMPONENT, FILE_PATH, URI_PATH] {
                let encoded = encode(&text, set);
                prop_assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic()));
                prop_assert_eq!(decode_lossy(&encoded), text.as_str());
                prop_assert_eq!(decode(&encoded), Some(text.clone()));
            }
        }
    }
}
