//! Functions that turn data into text: base64, hexadecimal, character codes, string building.

use super::CallArgument;
use crate::audit::value::{ScriptValue, Taint, decode_base64, decode_hex, rot13};

/// The value of a call that decodes, or changes a string; `None` if the function does neither.
pub(super) fn decode_call(
    path: &str,
    receiver: &ScriptValue,
    arguments: &[CallArgument],
) -> Option<ScriptValue> {
    let name = path.rsplit('.').next().unwrap_or(path);
    let first = arguments.first();
    let value = first.map(|argument| argument.value.clone()).unwrap_or_default();
    let second = arguments
        .get(1)
        .map(|argument| argument.value.text.to_ascii_lowercase())
        .unwrap_or_default();
    Some(match name {
        "b64decode" | "urlsafe_b64decode" | "standard_b64decode" | "decodebytes" | "a2b_base64"
        | "atob" => value.decoded(decode_base64),
        "b32decode" | "b16decode" | "a85decode" | "b85decode" => value.decoded(|_| None),
        "unhexlify" | "fromhex" | "a2b_hex" => value.decoded(decode_hex),
        "from" if path.ends_with("Buffer.from") => match second.as_str() {
            "base64" | "base64url" => value.decoded(decode_base64),
            "hex" => value.decoded(decode_hex),
            _ => {
                match first.and_then(|first| first.items.as_deref()).and_then(from_character_codes)
                {
                    Some(text) => ScriptValue::constant(text).with_taint(Taint::DECODED),
                    None => value,
                }
            }
        },
        "decode" if path == "codecs.decode" => match second.as_str() {
            "rot13" | "rot_13" => value.decoded(|text| Some(rot13(text))),
            "base64" => value.decoded(decode_base64),
            "hex" => value.decoded(decode_hex),
            _ => value,
        },
        "decompress" | "gunzipSync" | "inflateSync" | "inflateRawSync" | "brotliDecompressSync" => {
            let is_known = value.is_constant && value.taint.has(Taint::DECODED);
            if is_known {
                value
            } else {
                ScriptValue {
                    is_constant: false,
                    text: String::new(),
                    ..value.with_taint(Taint::DECODED)
                }
            }
        }
        "loads" if path.starts_with("marshal.") => ScriptValue {
            is_constant: false,
            text: String::new(),
            ..value.with_taint(Taint::DECODED)
        },
        "unquote" | "unquote_plus" | "decodeURIComponent" | "unescape" => {
            value.decoded(percent_decode)
        }
        "fromCharCode" | "fromCodePoint" => from_codes(arguments),
        "chr" => match from_character_codes(std::slice::from_ref(&value)) {
            Some(text) => ScriptValue::constant(text).with_taint(Taint::DECODED),
            None => ScriptValue {
                is_constant: false,
                text: String::new(),
                ..value.with_taint(Taint::DECODED)
            },
        },
        "bytes" | "bytearray" => {
            match first.and_then(|first| first.items.as_deref()).and_then(from_character_codes) {
                Some(text) => ScriptValue::constant(text).with_taint(Taint::DECODED),
                None => value,
            }
        }
        "map" if value.taint.has(Taint::DECODED) => {
            ScriptValue { text: String::new(), is_constant: false, ..value }
        }
        _ => return edit_text(path, receiver, arguments),
    })
}

/// The value of a call that changes or combines strings.
fn edit_text(
    path: &str,
    receiver: &ScriptValue,
    arguments: &[CallArgument],
) -> Option<ScriptValue> {
    let name = path.rsplit('.').next().unwrap_or(path);
    let first = arguments.first();
    let value = first.map(|argument| argument.value.clone()).unwrap_or_default();
    Some(match name {
        "join" if path.ends_with("path.join") || path.ends_with("posix.join") => return None,
        "join" => join(path, receiver, first),
        "reverse" | "reversed" => {
            let from = if receiver.text.is_empty() { &value } else { receiver };
            from.decoded(|text| Some(text.chars().rev().collect()))
        }
        "replace" | "replaceAll"
            if receiver.is_constant
                && arguments.len() >= 2
                && value.is_constant
                && arguments[1].value.is_constant
                && !value.text.is_empty() =>
        {
            ScriptValue {
                text: receiver.text.replace(&value.text, &arguments[1].value.text),
                ..receiver.clone()
            }
        }
        "decode" | "encode" | "toString" | "strip" | "trim" | "lower" | "upper" | "format"
        | "rstrip" | "lstrip" | "splitlines" | "split" | "read" | "text" | "json" | "concat"
        | "String" | "str" | "trimEnd" | "hexdigest" => {
            let mut all = receiver.clone();
            if matches!(name, "format" | "concat" | "String" | "str") {
                all.append(&value);
            }
            // Splitting into characters and joining them again is not a change.
            all.is_constant &= !matches!(name, "format" | "splitlines" | "json" | "read" | "text");
            all
        }
        _ => return None,
    })
}

/// `"".join(parts)`, `parts.join("")`, `os.path.join(a, b)` and `path.join(a, b)`.
fn join(path: &str, receiver: &ScriptValue, first: Option<&CallArgument>) -> ScriptValue {
    let Some(first) = first else { return receiver.clone() };
    match &first.items {
        Some(items) => {
            let mut all = ScriptValue { is_constant: true, ..ScriptValue::default() };
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    all.append(receiver);
                }
                all.append(item);
            }
            let is_pieces = items.len() > 4 && items.iter().all(|item| item.text.len() <= 3);
            if is_pieces { all.with_taint(Taint::DECODED) } else { all }
        }
        // The elements of the receiver are its text, separated by spaces.
        None if !path.starts_with("()") && receiver.taint != Taint::NONE => receiver.clone(),
        None if first.value.text.is_empty() => receiver.clone(),
        None => {
            let mut all = first.value.clone();
            all.absorb(receiver);
            all
        }
    }
}

fn from_codes(arguments: &[CallArgument]) -> ScriptValue {
    let values: Vec<ScriptValue> = arguments
        .iter()
        .flat_map(|argument| argument.items.clone().unwrap_or_else(|| vec![argument.value.clone()]))
        .collect();
    match from_character_codes(&values) {
        Some(text) => ScriptValue::constant(text).with_taint(Taint::DECODED),
        None => ScriptValue::default().with_taint(Taint::DECODED),
    }
}

/// The text of character codes in decimal or hexadecimal.
pub(super) fn from_character_codes(values: &[ScriptValue]) -> Option<String> {
    let parse = |value: &ScriptValue| {
        let text = value.text.trim();
        let code = match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        code.filter(|_| value.is_constant).and_then(char::from_u32)
    };
    if values.is_empty() { None } else { values.iter().map(parse).collect() }
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let decoded = (*first == b'%')
            .then(|| tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).ok()
}
