//! A minimal HTML tokenizer that accepts any input.
//!
//! A dedicated crate extracts the text of a page. This module reads page heads and bookmarks, and
//! estimates beforehand whether a page is too deep or too large for that crate.

use std::borrow::Cow;
use std::collections::HashMap;

/// Elements without an end tag, or whose end tag is often omitted. They do not add depth.
const UNNESTED_ELEMENTS: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr", "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "option",
    "html", "head", "body", "!doctype",
];

/// Formatting elements, which may overlap with others.
const FORMATTING_ELEMENTS: &[&str] = &[
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];
/// In these elements `<x/>` closes itself.
const FOREIGN_ELEMENTS: &[&str] = &["svg", "math"];

/// A tag, a comment, or the text up to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HtmlToken<'a> {
    /// `<name …>`: the name and the attributes.
    Open(&'a str, &'a str),
    /// `</name>`
    Close(&'a str),
    /// The text between `<!--` and `-->`.
    Comment(&'a str),
    Text(&'a str),
}

/// Splits a page into tokens. The content of scripts and styles is skipped.
pub(crate) fn tokenize(html: &str) -> impl Iterator<Item = HtmlToken<'_>> {
    let mut rest = html;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = next_token(rest);
        rest = match piece {
            HtmlToken::Open(name, _) if is_raw_text(name) => skip_raw_text(after, name),
            _ => after,
        };
        Some(piece)
    })
}

fn next_token(rest: &str) -> (HtmlToken<'_>, &str) {
    if let Some(comment) = rest.strip_prefix("<!--") {
        let (inside, after) = comment.split_once("-->").unwrap_or((comment, ""));
        return (HtmlToken::Comment(inside), after);
    }
    let is_tag = |text: &str| {
        text[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!')
    };
    if !(rest.starts_with('<') && is_tag(rest)) {
        let ends =
            rest.match_indices('<').map(|(at, _)| at).find(|at| *at > 0 && is_tag(&rest[*at..]));
        let (text, after) = rest.split_at(ends.unwrap_or(rest.len()));
        return (HtmlToken::Text(text), after);
    }
    let end = tag_end(rest);
    let (inside, after) = (&rest[1..end], rest.get(end + 1..).unwrap_or_default());
    let is_closing = inside.starts_with('/');
    let inside = inside.trim_start_matches('/');
    let name_end = inside.find(|c: char| c.is_whitespace() || c == '/').unwrap_or(inside.len());
    let (name, attributes) = inside.split_at(name_end);
    (if is_closing { HtmlToken::Close(name) } else { HtmlToken::Open(name, attributes) }, after)
}

/// The offset of the `>` outside quotes that ends a tag.
fn tag_end(tag: &str) -> usize {
    let mut quote = None;
    let mut after_sign = false;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), close) if open == close => quote = None,
            (None, b'"' | b'\'') if after_sign => quote = Some(byte),
            (None, b'>') => return at,
            _ => {}
        }
        after_sign = byte == b'=' || after_sign && byte.is_ascii_whitespace();
    }
    // The quote is never closed: fall back to the first `>`.
    tag.find('>').unwrap_or(tag.len())
}

fn is_raw_text(name: &str) -> bool {
    name.eq_ignore_ascii_case("script") || name.eq_ignore_ascii_case("style")
}

fn skip_raw_text<'a>(rest: &'a str, name: &str) -> &'a str {
    let is_end = |offset: usize| {
        rest[offset + 2..].get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name))
    };
    let end = rest.match_indices("</").map(|(offset, _)| offset).find(|offset| is_end(*offset));
    end.map_or("", |offset| &rest[offset..])
}

/// The value of an attribute.
pub(crate) fn attribute<'a>(attributes: &'a str, name: &str) -> Option<Cow<'a, str>> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
        let end = rest.find(|c: char| c.is_whitespace() || c == '=')?;
        let found = &rest[..end];
        rest = rest[end..].trim_start();
        let Some(value) = rest.strip_prefix('=') else { continue };
        let value = value.trim_start();
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
            _ => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
        };
        if found.eq_ignore_ascii_case(name) {
            return Some(decode_entities(value));
        }
        // No progress: the rest has no attribute name.
        rest = if after.len() < rest.len() { after } else { return None };
    }
}

/// Decodes character references.
pub(crate) fn decode_entities(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let name_end = rest.bytes().take(12).position(|byte| byte == b';');
        match name_end.and_then(|end| Some((decode_entity(&rest[1..end])?, end))) {
            Some((c, end)) => {
                out.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out.into()
}

fn decode_entity(name: &str) -> Option<char> {
    let number =
        |digits: &str, base: u32| u32::from_str_radix(digits, base).ok().and_then(char::from_u32);
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ => match name.strip_prefix('#')? {
            hex if hex.starts_with(['x', 'X']) => number(&hex[1..], 16),
            digits => number(digits, 10),
        },
    }
}

/// The open elements as a browser sees them: unmatched end tags are ignored, `<div/>` only opens,
/// and formatting continues until its own end tag.
#[derive(Default)]
struct OpenElements {
    names: Vec<String>,
    /// Number of open elements by name.
    counts: HashMap<String, usize>,
    /// Number of open formatting elements, which are not in `counts`.
    formatting: usize,
}

impl OpenElements {
    fn count(&self, name: &str) -> usize {
        self.counts.get(name).copied().unwrap_or_default()
    }

    fn open(&mut self, name: &str, is_closed: bool) {
        let is_foreign =
            FOREIGN_ELEMENTS.iter().any(|foreign| self.count(foreign) > 0 || name == *foreign);
        if UNNESTED_ELEMENTS.contains(&name) || is_closed && is_foreign {
            return;
        }
        if name == "a" {
            // A link inside a link closes the outer one.
            self.close(name);
        }
        *self.counts.entry(name.to_owned()).or_default() += 1;
        if FORMATTING_ELEMENTS.contains(&name) {
            self.formatting += 1;
        } else {
            self.names.push(name.to_owned());
        }
    }

    fn close(&mut self, name: &str) {
        let Some(count) = self.counts.get_mut(name).filter(|count| **count > 0) else { return };
        if FORMATTING_ELEMENTS.contains(&name) {
            *count -= 1;
            self.formatting -= 1;
            return;
        }
        while let Some(last) = self.names.pop() {
            if let Some(count) = self.counts.get_mut(&last) {
                *count -= 1;
            }
            if last == name {
                break;
            }
        }
    }
}

/// Returns the maximum depth of a page and the number of its elements.
pub(crate) fn depth_and_count(html: &str) -> (usize, usize) {
    let (mut open, mut deepest, mut count) = (OpenElements::default(), 0, 0);
    for piece in tokenize(html) {
        match piece {
            HtmlToken::Open(name, rest) => {
                // A browser reopens the active formatting in every element.
                count += 1 + open.formatting;
                open.open(&name.to_ascii_lowercase(), rest.ends_with('/'));
                deepest = deepest.max(open.names.len() + open.formatting);
            }
            HtmlToken::Close(name) => open.close(&name.to_ascii_lowercase()),
            HtmlToken::Comment(_) | HtmlToken::Text(_) => {}
        }
    }
    (deepest, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_html_is_tokenized() {
        let html = "<a href=\"x>y\" B='2'>t < 3</a><script>if (a<b) '</p>'</script><!-- c --><p>";
        let tokens: Vec<_> = tokenize(html).collect();
        assert_eq!(
            tokens,
            [
                HtmlToken::Open("a", " href=\"x>y\" B='2'"),
                HtmlToken::Text("t < 3"),
                HtmlToken::Close("a"),
                HtmlToken::Open("script", ""),
                HtmlToken::Close("script"),
                HtmlToken::Comment(" c "),
                HtmlToken::Open("p", ""),
            ]
        );
        assert_eq!(attribute(" href=\"x>y\" B='2' c", "b").as_deref(), Some("2"));
        assert_eq!(attribute(" = = =", "b"), None);
        assert_eq!(tokenize("<").count(), 1);
        assert_eq!(tokenize("<a href=\"").count(), 1);
        assert_eq!(decode_entities("a &amp; &#233; &#x41; &bogus; &"), "a & é A &bogus; &");
    }

    #[test]
    fn depth_is_counted_like_a_browser() {
        assert_eq!(depth_and_count(&"<div>".repeat(1000)).0, 1000);
        assert_eq!(depth_and_count(&"<p>text".repeat(1000)).0, 0);
        assert_eq!(depth_and_count("<div><p>a</div><div></div>").0, 1);
        assert_eq!(depth_and_count(&"<div/>".repeat(1000)).0, 1000);
        assert_eq!(depth_and_count(&"<div></b></p>".repeat(1000)).0, 1000);
        assert_eq!(depth_and_count(&format!("<svg>{}</svg>", "<path d='x'/>".repeat(1000))).0, 1);
        assert_eq!(depth_and_count(&"<div><span></div>".repeat(1000)).0, 2);
        assert_eq!(depth_and_count(&"<b><i>x</b>".repeat(1000)).0, 1001);
        assert_eq!(depth_and_count(&"<a name=x>".repeat(1000)).0, 1);
        assert_eq!(
            depth_and_count(&format!("{}{}", "<font>".repeat(100), "<p>".repeat(1000))).1,
            100 * 101 / 2 + 1000 * 101
        );
    }
}
