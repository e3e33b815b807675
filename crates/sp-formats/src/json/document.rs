//! A parsed JSON text and its values, each of which knows its span.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use sp_tree::Limits;

use super::compact_digest::CompactDigest;
use super::error::JsonError;
use super::parser::JsonParser;
use super::slots::{JsonContainer, JsonCursor, JsonSlot};
use super::string_literal::{strip_quotes, unescape};

/// A parsed JSON text.
#[derive(Debug, Clone)]
pub struct JsonDocument {
    text: Arc<str>,
    slots: Vec<JsonSlot>,
    containers: Vec<JsonContainer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    Text,
    /// `1`
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

impl JsonKind {
    /// The kind as a noun phrase, for messages.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "a list",
            Self::Text => "a string",
            Self::Number => "a number",
            Self::Bool => "a boolean",
            Self::Null => "null",
        }
    }
}

/// A value in a [`JsonDocument`]. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct JsonValue<'j> {
    json: &'j JsonDocument,
    at: JsonCursor,
}

impl JsonDocument {
    pub fn parse(text: impl Into<Arc<str>>, limits: &Limits) -> Result<Self, JsonError> {
        Self::parse_hashing(text, "", limits).map(|(json, _)| json)
    }

    /// Parses a text and, in the same pass, hashes the value of the top-level member `member`
    /// without insignificant white space. An empty `member` hashes nothing.
    pub fn parse_hashing(
        text: impl Into<Arc<str>>,
        member: &str,
        limits: &Limits,
    ) -> Result<(Self, Option<CompactDigest>), JsonError> {
        let text = text.into();
        if u32::try_from(text.len()).is_err() {
            return Err(JsonError {
                span: 0..0,
                message: "the JSON text is 4 GiB or larger".into(),
                help: "reduce the size of the file",
            });
        }
        let mut parser = JsonParser::new(&text, member, limits);
        parser.parse_document()?;
        let JsonParser { slots, containers, compact, .. } = parser;
        Ok((Self { text, slots, containers }, compact))
    }

    pub fn root(&self) -> JsonValue<'_> {
        JsonValue { json: self, at: JsonCursor { slot: 0, container: 0 } }
    }

    pub fn text(&self) -> &Arc<str> {
        &self.text
    }
}

impl<'j> JsonValue<'j> {
    fn slot(self) -> JsonSlot {
        self.json.slots[self.at.slot as usize]
    }

    /// The bytes of the value in the text.
    pub fn span(self) -> Range<usize> {
        let slot = self.slot();
        slot.start as usize..slot.end as usize
    }

    /// The value as it is written.
    pub fn raw(self) -> &'j str {
        &self.json.text[self.span()]
    }

    pub fn kind(self) -> JsonKind {
        match self.json.text.as_bytes()[self.slot().start as usize] {
            b'{' => JsonKind::Object,
            b'[' => JsonKind::Array,
            b'"' => JsonKind::Text,
            b't' | b'f' => JsonKind::Bool,
            b'n' => JsonKind::Null,
            _ => JsonKind::Number,
        }
    }

    pub fn is_null(self) -> bool {
        self.kind() == JsonKind::Null
    }

    /// The content of a string with its escapes resolved; `None` for other kinds.
    pub fn text(self) -> Option<Cow<'j, str>> {
        (self.kind() == JsonKind::Text).then(|| unescape(strip_quotes(self.raw())))
    }

    pub fn as_bool(self) -> Option<bool> {
        (self.kind() == JsonKind::Bool).then(|| self.raw() == "true")
    }

    /// The `f64` nearest to a number.
    pub fn as_f64(self) -> Option<f64> {
        Some(self.raw())
            .filter(|_| self.kind() == JsonKind::Number)
            .and_then(|raw| raw.parse().ok())
    }

    /// A number that is written as a non-negative integer and fits.
    pub fn as_u64(self) -> Option<u64> {
        Some(self.raw())
            .filter(|_| self.kind() == JsonKind::Number)
            .and_then(|raw| raw.parse().ok())
    }

    /// The keys and values of an object in document order; empty for other kinds.
    pub fn members(self) -> impl Iterator<Item = (JsonValue<'j>, JsonValue<'j>)> {
        let mut children = self.children(JsonKind::Object);
        std::iter::from_fn(move || Some((children.next()?, children.next()?)))
    }

    /// The items of an array; empty for other kinds.
    pub fn items(self) -> impl Iterator<Item = JsonValue<'j>> {
        self.children(JsonKind::Array)
    }

    /// The value of a member of an object.
    pub fn get(self, key: &str) -> Option<JsonValue<'j>> {
        self.members().find(|(name, _)| name.eq_str(key)).map(|(_, value)| value)
    }

    /// The values of several members, found in one pass.
    pub fn get_many<const N: usize>(self, keys: [&str; N]) -> [Option<JsonValue<'j>>; N] {
        let mut found = [None; N];
        for (key, value) in self.members() {
            let name = strip_quotes(key.raw());
            let index = keys.iter().position(|key| *key == name).or_else(|| {
                let name =
                    Some(name).filter(|name| name.as_bytes().contains(&b'\\')).map(unescape)?;
                keys.iter().position(|key| *key == name)
            });
            if let Some(index) = index {
                found[index] = Some(value);
            }
        }
        found
    }

    /// Whether the value is a string with this content.
    pub fn eq_str(self, text: &str) -> bool {
        if self.kind() != JsonKind::Text {
            return false;
        }
        let raw = strip_quotes(self.raw());
        // An escape is longer than the character it encodes, so a literal that is not longer than
        // `text` cannot match through its escapes.
        raw == text
            || raw.len() > text.len() && raw.as_bytes().contains(&b'\\') && unescape(raw) == text
    }

    fn children(self, kind: JsonKind) -> impl Iterator<Item = JsonValue<'j>> {
        let containers = &self.json.containers;
        let end = match self.at.container(containers) {
            Some(container) if self.kind() == kind => container.end.slot,
            _ => 0,
        };
        let mut cursor = JsonCursor { slot: self.at.slot + 1, container: self.at.container + 1 };
        std::iter::from_fn(move || {
            let value = JsonValue { json: self.json, at: cursor };
            (cursor.slot < end).then(|| {
                cursor = cursor.after(containers);
                value
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sp_tree::Digest;

    fn parse(text: &str) -> Result<JsonDocument, JsonError> {
        JsonDocument::parse(text, &Limits::default())
    }

    #[test]
    fn pk_01_values_keep_their_bytes() {
        let text = "{ \"a\" : [1.0, 1E400 , 12345678901234567890], \"é\\u00e9\\n\": {\"x\": null, \"y\": true} }";
        let json = parse(text).unwrap();
        let root = json.root();
        let raws: Vec<&str> = root.get("a").unwrap().items().map(JsonValue::raw).collect();
        assert_eq!(raws, ["1.0", "1E400", "12345678901234567890"]);
        let inner = root.get("éé\n").unwrap();
        assert_eq!(inner.raw(), "{\"x\": null, \"y\": true}");
        assert!(inner.get("x").unwrap().is_null());
        assert_eq!(inner.get("y").unwrap().as_bool(), Some(true));
        assert_eq!(root.members().count(), 2);
        let [first, missing, second] = root.get_many(["éé\n", "b", "a"]);
        assert!(
            first.is_some_and(|value| value.kind() == JsonKind::Object)
                && missing.is_none()
                && second.is_some()
        );
        assert!(
            parse("\"a\\u0062\"").unwrap().root().eq_str("ab")
                && !parse("\"ab\"").unwrap().root().eq_str("a\\u0062")
        );
        assert!(
            !parse("\"ab\"").unwrap().root().eq_str("a")
                && !parse("12").unwrap().root().eq_str("12")
        );
        assert_eq!(parse("\"\\ud83d\\ude80 \\/\"").unwrap().root().text().unwrap(), "🚀 /");
    }

    #[test]
    fn pk_01_invalid_json_is_rejected_at_its_position() {
        for (text, start, message) in [
            ("", 0, "expected a value, found the end of the file"),
            ("\u{feff}{}", 0, "unexpected byte-order mark"),
            ("{} {}", 3, "trailing data after the JSON value"),
            ("{\"a\":1,}", 7, "expected a key in double quotes, found `}`"),
            ("[1,]", 3, "expected a value, found `]`"),
            ("[1 2]", 3, "expected `,` or `]`, found `2`"),
            ("{\"a\" 1}", 5, "expected `:`, found `1`"),
            ("{\"a\":1,\"\\u0061\":2}", 7, "duplicate key `a`"),
            ("NaN", 0, "expected a value, found `N`"),
            ("01", 0, "invalid JSON number"),
            ("-", 0, "invalid JSON number"),
            ("1.", 0, "invalid JSON number"),
            ("\"\u{1}\"", 1, "unescaped control character in a string"),
            ("\"\\x\"", 1, "invalid escape sequence"),
            ("\"\\ud800\"", 1, "unpaired surrogate"),
            ("\"\\ud800\\u0041\"", 1, "unpaired surrogate"),
            ("\"abc", 0, "unterminated string"),
            ("nul", 0, "expected a value, found `n`"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.span.start, error.message.as_str()), (start, message), "{text}");
        }
    }

    #[test]
    fn se_14_limits_accept_the_maximum_and_reject_one_more() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(&deep(128)).is_ok());
        assert!(parse(&deep(129)).unwrap_err().message.contains("128"));
        assert!(parse(&"1".repeat(1024)).is_ok());
        assert!(parse(&"1".repeat(1025)).is_err());
        let limits = Limits { json_keys: 20, json_values: 43, ..Limits::default() };
        let object = |keys: usize| {
            let members: Vec<String> = (0..keys).map(|key| format!("\"{key}\":0")).collect();
            format!("{{{}}}", members.join(","))
        };
        assert!(JsonDocument::parse(object(20), &limits).is_ok());
        assert!(
            JsonDocument::parse(object(21), &limits)
                .unwrap_err()
                .message
                .contains("more than 20 keys")
        );
        let list = |items: usize| format!("[{}0]", "0,".repeat(items - 1));
        assert!(JsonDocument::parse(list(42), &limits).is_ok());
        assert!(
            JsonDocument::parse(list(43), &limits)
                .unwrap_err()
                .message
                .contains("more than 43 values")
        );
        let duplicate = object(40).replace("\"39\"", "\"3\"");
        assert!(parse(&duplicate).unwrap_err().message.contains("`3`"));
    }

    #[test]
    fn pk_08_compact_digest_ignores_only_white_space_outside_strings() {
        let hash = |text: &str| {
            JsonDocument::parse_hashing(text, "content", &Limits::default()).unwrap().1
        };
        let compact = "{\"b\":[1.0,\"x  y\\n\"],\"a\":1e0}";
        let spaced = "{\"b\" :\r\n\t[ 1.0 , \"x  y\\n\" ] ,\n \"a\": 1e0 }";
        let expected = Some(CompactDigest {
            digest: Digest::of(compact.as_bytes()),
            size: compact.len() as u64,
        });
        assert_eq!(hash(&format!("{{\"content\": {spaced} , \"z\": 1}}")), expected);
        assert_eq!(
            hash(&format!("{{\"z\":{{\"content\":1}},\"c\\u006fntent\":{compact}}}")),
            expected
        );
        assert_eq!(hash("{\"a\":1}"), None);
        let long = format!("[\"{}\", {}]", "x".repeat(40_000), "1, ".repeat(30_000) + "2");
        let stripped = long.replace(' ', "");
        let expected =
            CompactDigest { digest: Digest::of(stripped.as_bytes()), size: stripped.len() as u64 };
        assert_eq!(hash(&format!("{{\"content\":{long}}}")), Some(expected));
    }
}
