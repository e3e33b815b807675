//! The parser: from text to slots in one pass, without recursion and within [`Limits`].

use std::collections::HashSet;
use std::ops::Range;

use sp_tree::Limits;

use super::compact_digest::{CompactDigest, CompactHasher};
use super::error::JsonError;
use super::slots::{JsonContainer, JsonCursor, JsonSlot};
use super::string_literal::{plain_prefix_len, strip_quotes, unescape};
use crate::text::truncate_printable;

/// Longer numbers are rejected; they are never meant.
const MAX_NUMBER_LEN: usize = 1024;
/// Objects with fewer keys are checked for duplicates pairwise, without a hash set.
const MAX_LINEAR_KEYS: usize = 16;
/// Longer keys are truncated in messages.
const MAX_SHOWN_CHARS: usize = 60;

/// An object or array whose end has not been reached.
struct OpenJsonContainer {
    slot: usize,
    container: usize,
    /// The number of keys of an object; `None` for an array.
    keys: Option<u64>,
    /// Whether any key has an escape.
    has_escapes: bool,
}

pub(super) struct JsonParser<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    pub(super) slots: Vec<JsonSlot>,
    pub(super) containers: Vec<JsonContainer>,
    open: Vec<OpenJsonContainer>,
    limits: &'t Limits,
    /// Key spans of the object that was closed last, kept to reuse the allocation.
    keys: Vec<Range<usize>>,
    /// The top-level member whose value is hashed; empty for none.
    hashed_member: &'t str,
    hashing: Option<CompactHasher>,
    pub(super) compact: Option<CompactDigest>,
}

type JsonParseResult<T = ()> = Result<T, JsonError>;

impl<'t> JsonParser<'t> {
    pub(super) fn new(text: &'t str, hashed_member: &'t str, limits: &'t Limits) -> Self {
        // Unused capacity is never touched, while growing would copy.
        let slots = Vec::with_capacity(text.len() / 8);
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            slots,
            containers: Vec::new(),
            open: Vec::new(),
            limits,
            keys: Vec::new(),
            hashed_member,
            hashing: None,
            compact: None,
        }
    }

    pub(super) fn parse_document(&mut self) -> JsonParseResult {
        if self.text.starts_with('\u{feff}') {
            return self.fail(
                0..3,
                "unexpected byte-order mark",
                "save the file as UTF-8 without a byte-order mark",
            );
        }
        self.skip_whitespace();
        self.parse_value()?;
        while let Some(open) = self.open.last() {
            match open.keys {
                Some(keys) => self.member_or_end(keys)?,
                None => self.item_or_end()?,
            }
        }
        self.skip_whitespace();
        if self.at < self.bytes.len() {
            let rest = self.at..self.bytes.len();
            return self.fail(
                rest,
                "trailing data after the JSON value",
                "remove the trailing data",
            );
        }
        Ok(())
    }

    /// Parses the next member of the innermost object, or its end.
    fn member_or_end(&mut self, keys: u64) -> JsonParseResult {
        if self.read_separator(b'}', keys == 0)? {
            return self.close_container();
        }
        if keys >= self.limits.json_keys {
            let message = format!("an object has more than {} keys", self.limits.json_keys);
            return self.fail(
                self.at..self.at,
                message,
                "if you trust the file, raise the limit with `--limit json-keys=<number>`",
            );
        }
        if self.peek() != Some(b'"') {
            return self.expected("a key in double quotes");
        }
        let key = self.parse_string()?;
        let escaped = self.bytes[key.clone()].contains(&b'\\');
        self.push_slot(key.clone())?;
        self.skip_whitespace();
        if self.peek() != Some(b':') {
            return self.expected("`:`");
        }
        self.at += 1;
        self.skip_whitespace();
        if let Some(open) = self.open.last_mut() {
            open.keys = Some(keys + 1);
            open.has_escapes |= escaped;
        }
        if self.open.len() == 1
            && !self.hashed_member.is_empty()
            && unescape(strip_quotes(&self.text[key])) == self.hashed_member
        {
            self.hashing = Some(CompactHasher::new(self.at));
        }
        self.parse_value()
    }

    /// Parses the next item of the innermost array, or its end.
    fn item_or_end(&mut self) -> JsonParseResult {
        let first = self.open.last().is_some_and(|open| open.slot + 1 == self.slots.len());
        if self.read_separator(b']', first)? { self.close_container() } else { self.parse_value() }
    }

    /// Returns whether the innermost object or array ends here; otherwise consumes the separator
    /// before the next element.
    fn read_separator(&mut self, end: u8, first: bool) -> JsonParseResult<bool> {
        self.skip_whitespace();
        match self.peek() {
            Some(byte) if byte == end => {
                self.at += 1;
                Ok(true)
            }
            Some(b',') if !first => {
                self.at += 1;
                self.skip_whitespace();
                Ok(false)
            }
            _ if first => Ok(false),
            _ => self.expected(&format!("`,` or `{}`", char::from(end))),
        }
    }

    /// Parses a scalar, or the opening bracket of an object or array.
    fn parse_value(&mut self) -> JsonParseResult {
        let start = self.at;
        match self.peek() {
            Some(b'{') => self.open_container(Some(0)),
            Some(b'[') => self.open_container(None),
            Some(b'"') => {
                let span = self.parse_string()?;
                self.push_slot(span)?;
                self.finish_value();
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => {
                self.parse_number()?;
                self.push_slot(start..self.at)?;
                self.finish_value();
                Ok(())
            }
            Some(b't') => self.parse_literal("true"),
            Some(b'f') => self.parse_literal("false"),
            Some(b'n') => self.parse_literal("null"),
            _ => self.expected("a value"),
        }
    }

    fn open_container(&mut self, keys: Option<u64>) -> JsonParseResult {
        if self.open.len() as u64 >= self.limits.json_depth {
            let message =
                format!("the JSON is nested more than {} levels deep", self.limits.json_depth);
            return self.fail(self.at..self.at + 1, message, "reduce the nesting");
        }
        self.open.push(OpenJsonContainer {
            slot: self.slots.len(),
            container: self.containers.len(),
            keys,
            has_escapes: false,
        });
        self.containers.push(JsonContainer {
            slot: self.slots.len() as u32,
            end: JsonCursor { slot: 0, container: 0 },
        });
        self.push_slot(self.at..self.at + 1)?;
        self.at += 1;
        Ok(())
    }

    fn close_container(&mut self) -> JsonParseResult {
        let Some(open) = self.open.pop() else { return Ok(()) };
        self.containers[open.container].end =
            JsonCursor { slot: self.slots.len() as u32, container: self.containers.len() as u32 };
        self.slots[open.slot].end = self.at as u32;
        if open.keys.is_some_and(|keys| keys > 1) {
            self.reject_duplicate_keys(&open)?;
        }
        self.finish_value();
        Ok(())
    }

    /// Rejects duplicate keys: different readers would pick different values.
    fn reject_duplicate_keys(&mut self, object: &OpenJsonContainer) -> JsonParseResult {
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        let mut index =
            JsonCursor { slot: object.slot as u32 + 1, container: object.container as u32 + 1 };
        while let Some(slot) = self.slots.get(index.slot as usize) {
            keys.push(slot.start as usize + 1..slot.end as usize - 1);
            // A key is a scalar, and the next slot is its value.
            index = JsonCursor { slot: index.slot + 1, ..index }.after(&self.containers);
        }
        let name = |span: &Range<usize>| unescape(&self.text[span.clone()]);
        let duplicate = if keys.len() < MAX_LINEAR_KEYS && !object.has_escapes {
            let raw = |span: &Range<usize>| &self.bytes[span.clone()];
            (1..keys.len())
                .find(|&index| keys[..index].iter().any(|other| raw(other) == raw(&keys[index])))
        } else {
            let mut seen = HashSet::with_capacity(keys.len());
            keys.iter().position(|key| !seen.insert(name(key)))
        };
        let found = duplicate.map(|index| (keys[index].clone(), name(&keys[index]).into_owned()));
        self.keys = keys;
        match found {
            None => Ok(()),
            Some((span, key)) => {
                let message =
                    format!("duplicate key `{}`", truncate_printable(&key, MAX_SHOWN_CHARS));
                self.fail(span.start - 1..span.end + 1, message, "remove the duplicate")
            }
        }
    }

    /// Called after every complete value. Finishes the digest with the hashed member's value.
    fn finish_value(&mut self) {
        if self.open.len() == 1
            && let Some(hashing) = self.hashing.take()
        {
            self.compact = Some(hashing.finish(self.bytes, self.at));
        }
    }

    fn push_slot(&mut self, span: Range<usize>) -> JsonParseResult {
        if self.slots.len() as u64 >= self.limits.json_values {
            let message = format!("the JSON contains more than {} values", self.limits.json_values);
            return self.fail(
                span,
                message,
                "if you trust the file, raise the limit with `--limit json-values=<number>`",
            );
        }
        self.slots.push(JsonSlot { start: span.start as u32, end: span.end as u32 });
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_whitespace(&mut self) {
        if !matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            return;
        }
        let start = self.at;
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
        if let Some(hashing) = &mut self.hashing {
            hashing.skip(self.bytes, start..self.at);
        }
    }

    fn parse_literal(&mut self, word: &str) -> JsonParseResult {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return self.expected("a value");
        }
        let start = self.at;
        self.at += word.len();
        self.push_slot(start..self.at)?;
        self.finish_value();
        Ok(())
    }

    fn parse_string(&mut self) -> JsonParseResult<Range<usize>> {
        let start = self.at;
        self.at += 1;
        loop {
            self.at += plain_prefix_len(&self.bytes[self.at..]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(start..self.at);
                }
                Some(b'\\') => self.parse_escape()?,
                Some(byte) if byte < 0x20 => {
                    let help = "use an escape sequence, such as `\\n`";
                    return self.fail(
                        self.at..self.at + 1,
                        "unescaped control character in a string",
                        help,
                    );
                }
                Some(_) => self.at += 1,
                None => {
                    return self.fail(
                        start..start + 1,
                        "unterminated string",
                        "add the closing `\"`",
                    );
                }
            }
        }
    }

    fn parse_escape(&mut self) -> JsonParseResult {
        let start = self.at;
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let first = self.parse_unicode_escape(start)?;
                match first {
                    0xd800..=0xdbff if self.bytes[self.at..].starts_with(b"\\u") => {
                        let second = self.parse_unicode_escape(self.at)?;
                        if !(0xdc00..=0xdfff).contains(&second) {
                            return self.lone_surrogate(start);
                        }
                    }
                    0xd800..=0xdfff => return self.lone_surrogate(start),
                    _ => {}
                }
            }
            _ => {
                return self.fail(
                    start..start + 1,
                    "invalid escape sequence",
                    "use `\\\\` for a backslash",
                );
            }
        }
        Ok(())
    }

    /// Parses `\uXXXX` at `start`.
    fn parse_unicode_escape(&mut self, start: usize) -> JsonParseResult<u16> {
        let digits = self
            .bytes
            .get(start + 2..start + 6)
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let unit = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|hex| u16::from_str_radix(hex, 16).ok());
        self.at = start + 6;
        match unit {
            Some(unit) => Ok(unit),
            None => self.fail(
                start..start + 2,
                "`\\u` requires four hex digits",
                "add four hex digits after `\\u`",
            ),
        }
    }

    fn lone_surrogate(&self, start: usize) -> JsonParseResult {
        self.fail(
            start..start + 6,
            "unpaired surrogate",
            "write both surrogates, or the character itself",
        )
    }

    fn parse_number(&mut self) -> JsonParseResult {
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
                "invalid JSON number",
                "use a notation such as `1`, `0.5` or `1e3`",
            );
        }
        if self.at - start > MAX_NUMBER_LEN {
            let message = format!(
                "a number has {} characters; the maximum is {MAX_NUMBER_LEN}",
                self.at - start
            );
            return self.fail(start..start + 1, message, "use a shorter number, or a string");
        }
        Ok(())
    }

    fn expected<T>(&self, what: &str) -> JsonParseResult<T> {
        let next = self.text[self.at..].chars().next();
        let span = self.at..self.at + next.map_or(0, char::len_utf8);
        match next {
            Some(c) => {
                let found = crate::printable::printable(c.encode_utf8(&mut [0; 4])).into_owned();
                self.fail(
                    span,
                    format!("expected {what}, found `{found}`"),
                    "fix the JSON syntax here",
                )
            }
            None => self.fail(
                span,
                format!("expected {what}, found the end of the file"),
                "the file is truncated; get a complete copy",
            ),
        }
    }

    fn fail<T>(
        &self,
        span: Range<usize>,
        message: impl Into<String>,
        help: &'static str,
    ) -> JsonParseResult<T> {
        Err(JsonError { span, message: message.into(), help })
    }
}
