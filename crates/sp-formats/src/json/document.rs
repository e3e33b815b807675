//! A JSON text that was read, and its values, which know their bytes.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use sp_tree::{Digest, Limits};
use thiserror::Error;

use super::parser::JsonParser;

/// Why a text is not JSON that we take.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct JsonError {
    /// Which bytes are to blame.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: &'static str,
}

/// A text that was read, and where its values are.
#[derive(Debug, Clone)]
pub struct JsonDocument {
    text: Arc<str>,
    slots: Vec<JsonSlot>,
    containers: Vec<JsonContainer>,
}

/// Where a value is. A key is a value before its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonSlot {
    pub start: u32,
    pub end: u32,
}

/// An object or a list, by its slot, and what comes after all that is in it. Most values have
/// nothing in them, so this stands apart: there may be millions of values.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonContainer {
    pub slot: u32,
    pub end: JsonCursor,
}

/// Where something starts: its slot, and the first nest that is there or behind it. With both, a
/// walk over values never searches, since nests are in the order of their slots.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonCursor {
    pub slot: u32,
    pub container: u32,
}

impl JsonCursor {
    /// The nest that starts here, if one does.
    fn container(self, nests: &[JsonContainer]) -> Option<&JsonContainer> {
        nests.get(self.container as usize).filter(|nest| nest.slot == self.slot)
    }

    /// What comes after the value that is here and all that is in it.
    pub(super) fn after(self, nests: &[JsonContainer]) -> Self {
        self.container(nests).map_or(Self { slot: self.slot + 1, ..self }, |nest| nest.end)
    }
}

/// What kind of value it is.
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
    /// The kind in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "a list",
            Self::Text => "text",
            Self::Number => "a number",
            Self::Bool => "a truth value",
            Self::Null => "null",
        }
    }
}

/// What a value is without the white space outside its strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactDigest {
    /// The digest of those bytes.
    pub digest: Digest,
    /// How many there are.
    pub size: u64,
}

/// A value of a text.
#[derive(Debug, Clone, Copy)]
pub struct JsonValue<'j> {
    json: &'j JsonDocument,
    at: JsonCursor,
}

impl JsonDocument {
    /// Reads a text.
    pub fn parse(text: impl Into<Arc<str>>, limits: &Limits) -> Result<Self, JsonError> {
        Self::parse_hashing(text, "", limits).map(|(json, _)| json)
    }

    /// Reads a text and, in the same pass, hashes the value of a member of its top, white space left out.
    pub fn parse_hashing(
        text: impl Into<Arc<str>>,
        member: &str,
        limits: &Limits,
    ) -> Result<(Self, Option<CompactDigest>), JsonError> {
        let text = text.into();
        if u32::try_from(text.len()).is_err() {
            return Err(JsonError {
                span: 0..0,
                message: "it has 4 GiB or more".into(),
                help: "make it smaller",
            });
        }
        let mut parser = JsonParser::new(&text, member, limits);
        parser.parse_document()?;
        let (slots, nests, compact) = (parser.slots, parser.containers, parser.compact);
        Ok((Self { text, slots, containers: nests }, compact))
    }

    /// The value at the top.
    pub fn root(&self) -> JsonValue<'_> {
        JsonValue { json: self, at: JsonCursor { slot: 0, container: 0 } }
    }

    /// The text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }
}

impl<'j> JsonValue<'j> {
    fn slot(self) -> JsonSlot {
        self.json.slots[self.at.slot as usize]
    }

    /// Its bytes.
    pub fn span(self) -> Range<usize> {
        let slot = self.slot();
        slot.start as usize..slot.end as usize
    }

    /// Its text, as it stands there.
    pub fn raw(self) -> &'j str {
        &self.json.text[self.span()]
    }

    /// What kind it is.
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

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == JsonKind::Null
    }

    /// The text of a string, its escapes resolved.
    pub fn text(self) -> Option<Cow<'j, str>> {
        (self.kind() == JsonKind::Text).then(|| unescape(inside(self.raw())))
    }

    /// The truth of a truth value.
    pub fn as_bool(self) -> Option<bool> {
        (self.kind() == JsonKind::Bool).then(|| self.raw() == "true")
    }

    /// A number, as near as it can be held.
    pub fn as_f64(self) -> Option<f64> {
        Some(self.raw())
            .filter(|_| self.kind() == JsonKind::Number)
            .and_then(|raw| raw.parse().ok())
    }

    /// A number that is written as a whole one and is not negative.
    pub fn as_u64(self) -> Option<u64> {
        Some(self.raw())
            .filter(|_| self.kind() == JsonKind::Number)
            .and_then(|raw| raw.parse().ok())
    }

    /// The keys and values of an object, in the order in which they stand; nothing for anything else.
    pub fn members(self) -> impl Iterator<Item = (JsonValue<'j>, JsonValue<'j>)> {
        let mut inside = self.children(JsonKind::Object);
        std::iter::from_fn(move || Some((inside.next()?, inside.next()?)))
    }

    /// The values of a list; nothing for anything else.
    pub fn items(self) -> impl Iterator<Item = JsonValue<'j>> {
        self.children(JsonKind::Array)
    }

    /// The value of a member.
    pub fn get(self, key: &str) -> Option<JsonValue<'j>> {
        self.members().find(|(name, _)| name.eq_str(key)).map(|(_, value)| value)
    }

    /// The values of several members, found in one pass.
    pub fn get_many<const N: usize>(self, keys: [&str; N]) -> [Option<JsonValue<'j>>; N] {
        let mut found = [None; N];
        for (key, value) in self.members() {
            let own = inside(key.raw());
            let plain = keys.iter().position(|key| *key == own);
            let at = plain.or_else(|| {
                let own = Some(own).filter(|own| own.as_bytes().contains(&b'\\')).map(unescape)?;
                keys.iter().position(|key| *key == own)
            });
            if let Some(at) = at {
                found[at] = Some(value);
            }
        }
        found
    }

    /// Whether it is this text.
    pub fn eq_str(self, text: &str) -> bool {
        if self.kind() != JsonKind::Text {
            return false;
        }
        let own = inside(self.raw());
        // An escape is longer than what it stands for, so what is no longer has none that could matter.
        own == text
            || own.len() > text.len() && own.as_bytes().contains(&b'\\') && unescape(own) == text
    }

    fn children(self, kind: JsonKind) -> impl Iterator<Item = JsonValue<'j>> {
        let nests = &self.json.containers;
        let end = match self.at.container(nests) {
            Some(nest) if self.kind() == kind => nest.end.slot,
            _ => 0,
        };
        let mut at = JsonCursor { slot: self.at.slot + 1, container: self.at.container + 1 };
        std::iter::from_fn(move || {
            let value = JsonValue { json: self.json, at };
            (at.slot < end).then(|| {
                at = at.after(nests);
                value
            })
        })
    }
}

/// What stands between the quotes.
pub(super) fn inside(raw: &str) -> &str {
    &raw[1..raw.len() - 1]
}

/// Text with its escapes resolved; it was checked when it was read.
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let [first, none, second] = root.get_many(["éé\n", "b", "a"]);
        assert!(
            first.is_some_and(|value| value.kind() == JsonKind::Object)
                && none.is_none()
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
    fn pk_01_what_is_not_json_is_refused_where_it_stands() {
        for (text, at, message) in [
            ("", 0, "expected a value, found the end"),
            ("\u{feff}{}", 0, "there is a byte-order mark"),
            ("{} {}", 3, "there is more after the JSON value"),
            ("{\"a\":1,}", 7, "expected a key in double quotes, found `}`"),
            ("[1,]", 3, "expected a value, found `]`"),
            ("[1 2]", 3, "expected `,` or `]`, found `2`"),
            ("{\"a\" 1}", 5, "expected `:`, found `1`"),
            ("{\"a\":1,\"\\u0061\":2}", 7, "the key `a` stands here for a second time"),
            ("NaN", 0, "expected a value, found `N`"),
            ("01", 0, "this is no number of JSON"),
            ("-", 0, "this is no number of JSON"),
            ("1.", 0, "this is no number of JSON"),
            ("\"\u{1}\"", 1, "a control character stands in a string"),
            ("\"\\x\"", 1, "this is no escape of JSON"),
            ("\"\\ud800\"", 1, "half a pair of surrogates is no character"),
            ("\"\\ud800\\u0041\"", 1, "half a pair of surrogates is no character"),
            ("\"abc", 0, "this string has no end"),
            ("nul", 0, "expected a value, found `n`"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.span.start, error.message.as_str()), (at, message), "{text}");
        }
    }

    #[test]
    fn se_14_each_ceiling_holds_at_the_limit_and_breaks_one_past_it() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(&deep(128)).is_ok());
        assert_eq!(
            parse(&deep(129)).unwrap_err().message,
            "it is nested more than 128 levels deep"
        );
        assert!(parse(&"1".repeat(1024)).is_ok());
        assert!(parse(&"1".repeat(1025)).is_err());
        let limits = Limits { json_keys: 20, json_values: 43, ..Limits::default() };
        let object = |keys: usize| {
            let members: Vec<String> = (0..keys).map(|key| format!("\"{key}\":0")).collect();
            format!("{{{}}}", members.join(","))
        };
        assert!(JsonDocument::parse(object(20), &limits).is_ok());
        assert!(
            JsonDocument::parse(object(21), &limits).unwrap_err().message.contains("more keys")
        );
        let list = |items: usize| format!("[{}0]", "0,".repeat(items - 1));
        assert!(JsonDocument::parse(list(42), &limits).is_ok());
        assert!(
            JsonDocument::parse(list(43), &limits).unwrap_err().message.contains("more values")
        );
        assert!(
            parse(&object(40).replace("\"39\"", "\"3\""))
                .unwrap_err()
                .message
                .contains("second time")
        );
    }

    #[test]
    fn pk_08_white_space_outside_strings_is_left_out_of_the_hash_and_nothing_else() {
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
