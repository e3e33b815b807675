//! JSON with comments, trailing commas and a byte-order mark, as people write it by hand.

/// Returns the text as plain JSON. Removed bytes become spaces, so spans stay valid.
pub fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut offset = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    bytes[..offset].fill(b' ');
    // The last comma if nothing follows it yet, and whether a value precedes the next token.
    let (mut comma, mut value_before) = (None, false);
    while offset < bytes.len() {
        let end = match (bytes[offset], bytes.get(offset + 1)) {
            (b'"', _) => string_end(&bytes, offset),
            (b'/', Some(b'/')) => blank_comment(&mut bytes, offset, b"\n"),
            (b'/', Some(b'*')) => blank_comment(&mut bytes, offset, b"*/"),
            _ => offset + 1,
        };
        match bytes[offset] {
            b',' => comma = Some(offset).filter(|_| value_before),
            b'}' | b']' => comma.take().into_iter().for_each(|comma| bytes[comma] = b' '),
            byte if !byte.is_ascii_whitespace() => comma = None,
            _ => {}
        }
        if !bytes[offset].is_ascii_whitespace() {
            value_before = !matches!(bytes[offset], b',' | b':' | b'{' | b'[');
        }
        offset = end;
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Returns where the string that starts here ends.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut offset = start + 1;
    while offset < bytes.len() && bytes[offset] != b'"' {
        offset += if bytes[offset] == b'\\' { 2 } else { 1 };
    }
    offset + 1
}

/// Overwrites a comment with spaces and returns where it ends.
fn blank_comment(bytes: &mut [u8], start: usize, end: &[u8]) -> usize {
    let found = bytes[start + 2..].windows(end.len()).position(|window| window == end);
    let stop =
        found.map_or(bytes.len(), |found| start + 2 + found + if end == b"*/" { 2 } else { 0 });
    bytes[start..stop].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    stop
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::JsonDocument;
    use sp_tree::Limits;

    #[test]
    fn comments_and_trailing_commas_become_spaces_and_spans_stay_valid() {
        let text = "\u{feff}{ // é\n \"a\": \"// no\", /* x\n */ \"b\": [1, 2,], \"c\\\"\": {\"d\": 1,},\n}\n";
        let plain = without_comments(text);
        assert_eq!(plain.len(), text.len());
        let json = JsonDocument::parse(plain, &Limits::default()).unwrap();
        assert!(json.root().get("a").unwrap().eq_str("// no"));
        assert_eq!(json.root().get("b").unwrap().items().count(), 2);
        assert_eq!(&text[json.root().get("c\"").unwrap().span()], "{\"d\": 1,}");
    }

    #[test]
    fn json_that_is_invalid_without_comments_is_invalid_with_them() {
        for text in [
            "{,}",
            "[,]",
            "[1,,]",
            "{\"a\":,}",
            "{\"a\" 1}",
            "{\"a\": 1",
            "{ /* no end }",
            "[1 // x ]",
        ] {
            assert!(
                JsonDocument::parse(without_comments(text), &Limits::default()).is_err(),
                "{text}"
            );
        }
    }
}
