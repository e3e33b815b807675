//! Reading a JSON text in one pass, under a budget, into values that know their bytes.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use sp_tree::{Digest, Hasher, Limits};
use thiserror::Error;

/// More digits than this are no number that anybody means.
const MAX_NUMBER: usize = 1024;
/// Objects with fewer keys than this are compared key by key.
const FEW_KEYS: usize = 16;

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
pub struct Json {
    text: Arc<str>,
    slots: Vec<Slot>,
    nests: Vec<Nest>,
}

/// Where a value is. A key is a value before its value.
#[derive(Debug, Clone, Copy)]
struct Slot {
    start: u32,
    end: u32,
}

/// An object or a list, by its slot, and the slot that comes after all that is in it. Most values
/// have nothing in them, so this stands apart: there may be millions of values.
#[derive(Debug, Clone, Copy)]
struct Nest {
    slot: u32,
    after: u32,
}

/// The slot that comes after a value and all that is in it; the nests are in the order of their slots.
fn after(nests: &[Nest], at: usize) -> usize {
    match nests.binary_search_by_key(&(at as u32), |nest| nest.slot) {
        Ok(found) => nests[found].after as usize,
        Err(_) => at + 1,
    }
}

/// What kind of value it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    Text,
    /// `1`
    Number,
    /// `true` or `false`
    Truth,
    /// `null`
    Null,
}

impl Kind {
    /// The kind in words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "a list",
            Self::Text => "text",
            Self::Number => "a number",
            Self::Truth => "a truth value",
            Self::Null => "null",
        }
    }
}

/// What a value is without the white space outside its strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compact {
    /// The digest of those bytes.
    pub digest: Digest,
    /// How many there are.
    pub size: u64,
}

/// A value of a text.
#[derive(Debug, Clone, Copy)]
pub struct Value<'j> {
    json: &'j Json,
    at: usize,
}

impl Json {
    /// Reads a text.
    pub fn parse(text: impl Into<Arc<str>>, limits: &Limits) -> Result<Self, JsonError> {
        Self::parse_hashing(text, "", limits).map(|(json, _)| json)
    }

    /// Reads a text and, in the same pass, hashes the value of a member of its top, white space left out.
    pub fn parse_hashing(
        text: impl Into<Arc<str>>,
        member: &str,
        limits: &Limits,
    ) -> Result<(Self, Option<Compact>), JsonError> {
        let text = text.into();
        if u32::try_from(text.len()).is_err() {
            return Err(JsonError { span: 0..0, message: "it has 4 GiB or more".into(), help: "make it smaller" });
        }
        let mut parser = Parser::new(&text, member, limits);
        parser.document()?;
        let (slots, nests, compact) = (parser.slots, parser.nests, parser.compact);
        Ok((Self { text, slots, nests }, compact))
    }

    /// The value at the top.
    pub fn root(&self) -> Value<'_> {
        Value { json: self, at: 0 }
    }

    /// The text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }
}

impl<'j> Value<'j> {
    fn slot(self) -> Slot {
        self.json.slots[self.at]
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
    pub fn kind(self) -> Kind {
        match self.json.text.as_bytes()[self.slot().start as usize] {
            b'{' => Kind::Object,
            b'[' => Kind::Array,
            b'"' => Kind::Text,
            b't' | b'f' => Kind::Truth,
            b'n' => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// The text of a string, its escapes resolved.
    pub fn text(self) -> Option<Cow<'j, str>> {
        (self.kind() == Kind::Text).then(|| unescaped(inside(self.raw())))
    }

    /// The truth of a truth value.
    pub fn truth(self) -> Option<bool> {
        (self.kind() == Kind::Truth).then(|| self.raw() == "true")
    }

    /// A number, as near as it can be held.
    pub fn number(self) -> Option<f64> {
        Some(self.raw()).filter(|_| self.kind() == Kind::Number).and_then(|raw| raw.parse().ok())
    }

    /// A number that is written as a whole one and is not negative.
    pub fn whole(self) -> Option<u64> {
        Some(self.raw()).filter(|_| self.kind() == Kind::Number).and_then(|raw| raw.parse().ok())
    }

    /// The keys and values of an object, in the order in which they stand; nothing for anything else.
    pub fn members(self) -> impl Iterator<Item = (Value<'j>, Value<'j>)> {
        let mut inside = self.inside(Kind::Object);
        std::iter::from_fn(move || Some((inside.next()?, inside.next()?)))
    }

    /// The values of a list; nothing for anything else.
    pub fn items(self) -> impl Iterator<Item = Value<'j>> {
        self.inside(Kind::Array)
    }

    /// The value of a member.
    pub fn get(self, key: &str) -> Option<Value<'j>> {
        self.members().find(|(name, _)| name.is(key)).map(|(_, value)| value)
    }

    /// Whether it is this text.
    pub fn is(self, text: &str) -> bool {
        if self.kind() != Kind::Text {
            return false;
        }
        let own = inside(self.raw());
        // An escape is longer than what it stands for, so what is no longer has none that could matter.
        own == text || own.len() > text.len() && own.contains('\\') && unescaped(own) == text
    }

    fn inside(self, kind: Kind) -> impl Iterator<Item = Value<'j>> {
        let (mut at, end) = match self.kind() == kind {
            true => (self.at + 1, after(&self.json.nests, self.at)),
            false => (0, 0),
        };
        std::iter::from_fn(move || {
            let value = Value { json: self.json, at };
            (at < end).then(|| {
                let nested = matches!(value.kind(), Kind::Object | Kind::Array);
                at = if nested { after(&self.json.nests, at) } else { at + 1 };
                value
            })
        })
    }
}

/// How many bytes go by, eight at a time, before one that ends a string or needs a look.
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES * 0x80;
    // Whether some byte of eight is zero.
    let zero = |eight: u64| eight.wrapping_sub(ONES) & !eight & HIGH;
    let special = |eight: u64| {
        let below = eight.wrapping_sub(ONES * 0x20) & !eight & HIGH;
        below | zero(eight ^ (ONES * u64::from(b'"'))) | zero(eight ^ (ONES * u64::from(b'\\')))
    };
    let eights = bytes.chunks_exact(8).map(|eight| eight.try_into().map_or(0, u64::from_le_bytes));
    eights.take_while(|eight| special(*eight) == 0).count() * 8
}

/// What stands between the quotes.
fn inside(raw: &str) -> &str {
    &raw[1..raw.len() - 1]
}

/// Text with its escapes resolved; it was checked when it was read.
fn unescaped(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\\') {
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
                let unit = |from: usize| rest.get(from..from + 4).and_then(|hex| u16::from_str_radix(hex, 16).ok());
                let first = unit(at + 2).unwrap_or_default();
                let pair = (0xd800..0xdc00).contains(&first);
                length = if pair { 12 } else { 6 };
                let units = [first, if pair { unit(at + 8).unwrap_or_default() } else { 0 }];
                let mut chars = char::decode_utf16(units.into_iter().take(if pair { 2 } else { 1 }));
                chars.next().and_then(Result::ok).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            other => char::from(other),
        });
        rest = &rest[at + length..];
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// An object or a list that is being read.
struct Open {
    slot: usize,
    nest: usize,
    /// How many keys an object has; none for a list.
    keys: Option<u64>,
    /// Whether a key has an escape in it.
    escaped: bool,
}

struct Parser<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    slots: Vec<Slot>,
    nests: Vec<Nest>,
    open: Vec<Open>,
    limits: &'t Limits,
    /// The keys of the object that was read last, kept for its memory.
    keys: Vec<Range<usize>>,
    /// The member of the top whose value is hashed.
    member: &'t str,
    hashing: Option<Hashing>,
    compact: Option<Compact>,
}

/// A value that is being hashed, without its white space.
struct Hashing {
    hasher: Hasher,
    buffer: Vec<u8>,
    size: u64,
    /// Where the bytes start that were not taken yet.
    from: usize,
}

impl Hashing {
    /// Short runs are gathered, since hashing each by itself would cost more than the hash.
    const BUFFER: usize = 16 * 1024;

    fn take(&mut self, run: &[u8]) {
        self.size += run.len() as u64;
        if self.buffer.len() + run.len() > Self::BUFFER {
            self.hasher.update(&self.buffer);
            self.buffer.clear();
        }
        if run.len() > Self::BUFFER {
            self.hasher.update(run);
        } else {
            self.buffer.extend_from_slice(run);
        }
    }

    fn finish(mut self) -> Compact {
        self.hasher.update(&self.buffer);
        Compact { digest: self.hasher.finish(), size: self.size }
    }
}

type Result2<T = ()> = Result<T, JsonError>;

impl<'t> Parser<'t> {
    fn new(text: &'t str, member: &'t str, limits: &'t Limits) -> Self {
        // Room that is not used costs nothing, and room that grows is copied.
        let (bytes, slots, open) = (text.as_bytes(), Vec::with_capacity(text.len() / 8), Vec::new());
        Self {
            text,
            bytes,
            at: 0,
            slots,
            nests: Vec::new(),
            open,
            limits,
            keys: Vec::new(),
            member,
            hashing: None,
            compact: None,
        }
    }

    fn document(&mut self) -> Result2 {
        if self.text.starts_with('\u{feff}') {
            return self.fail(0..3, "there is a byte-order mark", "save it as UTF-8 without a byte-order mark");
        }
        self.white();
        self.value()?;
        while let Some(open) = self.open.last() {
            match open.keys {
                Some(keys) => self.member_or_end(keys)?,
                None => self.item_or_end()?,
            }
        }
        self.white();
        match self.at == self.bytes.len() {
            true => Ok(()),
            false => self.fail(self.at..self.bytes.len(), "there is more after the JSON value", "remove it"),
        }
    }

    /// The next member of the innermost object, or its end.
    fn member_or_end(&mut self, keys: u64) -> Result2 {
        self.white();
        let first = keys == 0;
        match self.peek() {
            Some(b'}') => {
                self.at += 1;
                return self.close();
            }
            Some(b',') if !first => {
                self.at += 1;
                self.white();
            }
            _ if first => {}
            _ => return self.expected("`,` or `}`"),
        }
        if keys >= self.limits.json_keys {
            let message = format!("an object has more keys than the limit of {}", self.limits.json_keys);
            return self.fail(self.at..self.at, message, "raise it with `--limit json-keys=<number>` if you trust it");
        }
        if self.peek() != Some(b'"') {
            return self.expected("a key in double quotes");
        }
        let key = self.string()?;
        let escaped = self.text[key.clone()].contains('\\');
        self.slot(key.clone())?;
        self.white();
        if self.peek() != Some(b':') {
            return self.expected("`:`");
        }
        self.at += 1;
        self.white();
        if let Some(open) = self.open.last_mut() {
            open.keys = Some(keys + 1);
            open.escaped |= escaped;
        }
        if self.open.len() == 1 && !self.member.is_empty() && unescaped(inside(&self.text[key])) == self.member {
            self.hashing = Some(Hashing { hasher: Hasher::default(), buffer: Vec::new(), size: 0, from: self.at });
        }
        self.value()
    }

    /// The next item of the innermost list, or its end.
    fn item_or_end(&mut self) -> Result2 {
        self.white();
        let first = self.open.last().is_some_and(|open| open.slot + 1 == self.slots.len());
        match self.peek() {
            Some(b']') => {
                self.at += 1;
                return self.close();
            }
            Some(b',') if !first => {
                self.at += 1;
                self.white();
            }
            _ if first => {}
            _ => return self.expected("`,` or `]`"),
        }
        self.value()
    }

    /// A value; of an object or a list, its beginning.
    fn value(&mut self) -> Result2 {
        let start = self.at;
        match self.peek() {
            Some(b'{') => self.begin(Some(0)),
            Some(b'[') => self.begin(None),
            Some(b'"') => {
                let span = self.string()?;
                self.slot(span)?;
                self.ended();
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                self.slot(start..self.at)?;
                self.ended();
                Ok(())
            }
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            _ => self.expected("a value"),
        }
    }

    fn begin(&mut self, keys: Option<u64>) -> Result2 {
        if self.open.len() as u64 >= self.limits.json_depth {
            let message = format!("it is nested more than {} levels deep", self.limits.json_depth);
            return self.fail(self.at..self.at + 1, message, "make it flatter");
        }
        self.open.push(Open { slot: self.slots.len(), nest: self.nests.len(), keys, escaped: false });
        self.nests.push(Nest { slot: self.slots.len() as u32, after: 0 });
        self.slot(self.at..self.at + 1)?;
        self.at += 1;
        Ok(())
    }

    fn close(&mut self) -> Result2 {
        let Some(open) = self.open.pop() else { return Ok(()) };
        self.nests[open.nest].after = self.slots.len() as u32;
        self.slots[open.slot].end = self.at as u32;
        if open.keys.is_some_and(|keys| keys > 1) {
            self.refuse_twins(&open)?;
        }
        self.ended();
        Ok(())
    }

    /// A key that stands twice in one object means two things.
    fn refuse_twins(&mut self, object: &Open) -> Result2 {
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        let mut at = object.slot + 1;
        while at < self.slots.len() {
            let slot = self.slots[at];
            keys.push(slot.start as usize + 1..slot.end as usize - 1);
            at = after(&self.nests, at + 1);
        }
        let name = |span: &Range<usize>| unescaped(&self.text[span.clone()]);
        let twin = if keys.len() < FEW_KEYS && !object.escaped {
            let raw = |span: &Range<usize>| &self.bytes[span.clone()];
            (1..keys.len()).find(|&at| keys[..at].iter().any(|other| raw(other) == raw(&keys[at])))
        } else {
            let mut seen = HashSet::with_capacity(keys.len());
            keys.iter().position(|key| !seen.insert(name(key)))
        };
        let found = twin.map(|at| (keys[at].clone(), name(&keys[at]).into_owned()));
        self.keys = keys;
        match found {
            None => Ok(()),
            Some((span, key)) => {
                let message = format!("the key `{}` stands here for a second time", shortened(&key));
                self.fail(span.start - 1..span.end + 1, message, "remove one of the two")
            }
        }
    }

    /// A whole value was read; the hash ends with the member that it is of.
    fn ended(&mut self) {
        if self.open.len() == 1
            && let Some(mut hashing) = self.hashing.take()
        {
            hashing.take(&self.bytes[hashing.from..self.at]);
            self.compact = Some(hashing.finish());
        }
    }

    fn slot(&mut self, span: Range<usize>) -> Result2 {
        if self.slots.len() as u64 >= self.limits.json_values {
            let message = format!("it has more values than the limit of {}", self.limits.json_values);
            return self.fail(span, message, "raise it with `--limit json-values=<number>` if you trust it");
        }
        self.slots.push(Slot { start: span.start as u32, end: span.end as u32 });
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn white(&mut self) {
        if !matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            return;
        }
        let start = self.at;
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
        if let Some(hashing) = &mut self.hashing {
            hashing.take(&self.bytes[hashing.from..start]);
            hashing.from = self.at;
        }
    }

    fn literal(&mut self, word: &str) -> Result2 {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return self.expected("a value");
        }
        let start = self.at;
        self.at += word.len();
        self.slot(start..self.at)?;
        self.ended();
        Ok(())
    }

    fn string(&mut self) -> Result2<Range<usize>> {
        let start = self.at;
        self.at += 1;
        loop {
            self.at += plain(&self.bytes[self.at..]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(start..self.at);
                }
                Some(b'\\') => self.escape()?,
                Some(byte) if byte < 0x20 => {
                    let help = "write it as an escape, such as `\\n`";
                    return self.fail(self.at..self.at + 1, "a control character stands in a string", help);
                }
                Some(_) => self.at += 1,
                None => return self.fail(start..start + 1, "this string has no end", "close it with `\"`"),
            }
        }
    }

    fn escape(&mut self) -> Result2 {
        let start = self.at;
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let first = self.unit(start)?;
                match first {
                    0xd800..=0xdbff if self.bytes[self.at..].starts_with(b"\\u") => {
                        let second = self.unit(self.at)?;
                        if !(0xdc00..=0xdfff).contains(&second) {
                            return self.lone(start);
                        }
                    }
                    0xd800..=0xdfff => return self.lone(start),
                    _ => {}
                }
            }
            _ => return self.fail(start..start + 1, "this is no escape of JSON", "write `\\\\` for a backslash"),
        }
        Ok(())
    }

    /// The number of `\uXXXX`, which starts here.
    fn unit(&mut self, start: usize) -> Result2<u16> {
        let digits = self.bytes.get(start + 2..start + 6).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let unit = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|hex| u16::from_str_radix(hex, 16).ok());
        self.at = start + 6;
        match unit {
            Some(unit) => Ok(unit),
            None => self.fail(start..start + 2, "`\\u` needs four hex digits", "write four hex digits behind it"),
        }
    }

    fn lone(&self, start: usize) -> Result2 {
        self.fail(start..start + 6, "half a pair of surrogates is no character", "write both halves, or the character")
    }

    fn number(&mut self) -> Result2 {
        let start = self.at;
        let digits = |parser: &mut Self| {
            let from = parser.at;
            while matches!(parser.peek(), Some(b'0'..=b'9')) {
                parser.at += 1;
            }
            parser.at > from
        };
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let zero = self.peek() == Some(b'0');
        let whole = self.at;
        let mut good = digits(self) && (!zero || self.at == whole + 1);
        if good && self.peek() == Some(b'.') {
            self.at += 1;
            good = digits(self);
        }
        if good && matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            good = digits(self);
        }
        if !good {
            return self.fail(
                start..self.at.max(start + 1),
                "this is no number of JSON",
                "write it as `1`, `0.5` or `1e3`",
            );
        }
        if self.at - start > MAX_NUMBER {
            let message = format!("a number has {} characters, more than {MAX_NUMBER}", self.at - start);
            return self.fail(start..start + 1, message, "write a shorter number, or text");
        }
        Ok(())
    }

    fn expected<T>(&self, what: &str) -> Result2<T> {
        let next = self.text[self.at..].chars().next();
        let span = self.at..self.at + next.map_or(0, char::len_utf8);
        match next {
            Some(c) => {
                let found = crate::printable::printable(c.encode_utf8(&mut [0; 4])).into_owned();
                self.fail(span, format!("expected {what}, found `{found}`"), "mend the JSON here")
            }
            None => self.fail(span, format!("expected {what}, found the end"), "the file is cut off: get it whole"),
        }
    }

    fn fail<T>(&self, span: Range<usize>, message: impl Into<String>, help: &'static str) -> Result2<T> {
        Err(JsonError { span, message: message.into(), help })
    }
}

fn shortened(key: &str) -> String {
    const SHOWN: usize = 60;
    let short: String = key.chars().take(SHOWN).collect();
    let dots = if short.len() < key.len() { "…" } else { "" };
    format!("{}{dots}", crate::printable::printable(&short))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Json, JsonError> {
        Json::parse(text, &Limits::default())
    }

    #[test]
    fn pk_01_values_keep_their_bytes() {
        let text = "{ \"a\" : [1.0, 1E400 , 12345678901234567890], \"é\\u00e9\\n\": {\"x\": null, \"y\": true} }";
        let json = parse(text).unwrap();
        let root = json.root();
        let raws: Vec<&str> = root.get("a").unwrap().items().map(Value::raw).collect();
        assert_eq!(raws, ["1.0", "1E400", "12345678901234567890"]);
        let inner = root.get("éé\n").unwrap();
        assert_eq!(inner.raw(), "{\"x\": null, \"y\": true}");
        assert!(inner.get("x").unwrap().is_null());
        assert_eq!(inner.get("y").unwrap().truth(), Some(true));
        assert_eq!(root.members().count(), 2);
        assert!(parse("\"a\\u0062\"").unwrap().root().is("ab") && !parse("\"ab\"").unwrap().root().is("a\\u0062"));
        assert!(!parse("\"ab\"").unwrap().root().is("a") && !parse("12").unwrap().root().is("12"));
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
        assert_eq!(parse(&deep(129)).unwrap_err().message, "it is nested more than 128 levels deep");
        assert!(parse(&"1".repeat(MAX_NUMBER)).is_ok());
        assert!(parse(&"1".repeat(MAX_NUMBER + 1)).is_err());
        let limits = Limits { json_keys: 20, json_values: 43, ..Limits::default() };
        let object = |keys: usize| {
            let members: Vec<String> = (0..keys).map(|key| format!("\"{key}\":0")).collect();
            format!("{{{}}}", members.join(","))
        };
        assert!(Json::parse(object(20), &limits).is_ok());
        assert!(Json::parse(object(21), &limits).unwrap_err().message.contains("more keys"));
        let list = |items: usize| format!("[{}0]", "0,".repeat(items - 1));
        assert!(Json::parse(list(42), &limits).is_ok());
        assert!(Json::parse(list(43), &limits).unwrap_err().message.contains("more values"));
        assert!(parse(&object(40).replace("\"39\"", "\"3\"")).unwrap_err().message.contains("second time"));
    }

    #[test]
    fn pk_08_white_space_outside_strings_is_left_out_of_the_hash_and_nothing_else() {
        let hash = |text: &str| Json::parse_hashing(text, "content", &Limits::default()).unwrap().1;
        let compact = "{\"b\":[1.0,\"x  y\\n\"],\"a\":1e0}";
        let spaced = "{\"b\" :\r\n\t[ 1.0 , \"x  y\\n\" ] ,\n \"a\": 1e0 }";
        let expected = Some(Compact { digest: Digest::of(compact.as_bytes()), size: compact.len() as u64 });
        assert_eq!(hash(&format!("{{\"content\": {spaced} , \"z\": 1}}")), expected);
        assert_eq!(hash(&format!("{{\"z\":{{\"content\":1}},\"c\\u006fntent\":{compact}}}")), expected);
        assert_eq!(hash("{\"a\":1}"), None);
        let long = format!("[\"{}\", {}]", "x".repeat(40_000), "1, ".repeat(30_000) + "2");
        let stripped = long.replace(' ', "");
        let expected = Compact { digest: Digest::of(stripped.as_bytes()), size: stripped.len() as u64 };
        assert_eq!(hash(&format!("{{\"content\":{long}}}")), Some(expected));
    }
}
