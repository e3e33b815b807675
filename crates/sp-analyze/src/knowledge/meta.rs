//! What is known of a document besides its text: from frontmatter, a file beside it, a line of JSON or a page's head.

use serde_json::{Map, Value};

use crate::knowledge::date::date;

/// Under which names tools keep what is known, without `-`, `_` and blanks. The first that is there counts.
const URL: &[&str] = &["url", "sourceurl", "canonicalurl", "canonical", "source", "link", "permalink", "href", "uri"];
const TITLE: &[&str] = &["title", "name", "headline"];
const KIND: &[&str] = &["kind", "type"];
#[rustfmt::skip]
const CAPTURED: &[&str] = &[
    "capturedat", "captured", "savedat", "saved", "clippedat", "clipped", "dateadded", "addedat", "added",
    "createdat", "created", "date", "timeadded", "timestamp",
];
const PUBLISHED: &[&str] = &["publishedat", "published", "datepublished", "publishdate", "pubdate"];
const TAGS: &[&str] = &["tags", "tag", "keywords", "topics"];
const HIGHLIGHTS: &[&str] = &["highlights", "quotes", "annotations"];
const TEXT: &[&str] = &["text", "content", "markdown", "body"];
const HTML: &[&str] = &["html", "contenthtml"];
const ABOUT: &[&str] = &["description", "summary", "excerpt", "note", "notes"];
/// In an object with what somebody marked, the words stand under one of these.
const MARKED: &[&str] = &["text", "quote", "highlight", "content", "note"];
/// Of one document so much is taken.
const MOST_TAGS: usize = 64;
const MOST_HIGHLIGHTS: usize = 500;
const LONGEST_TITLE: usize = 300;
const LONGEST_WORD: usize = 64;

/// What is known of a document. What is missing is none or empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    pub url: Option<String>,
    pub title: Option<String>,
    pub kind: Option<String>,
    pub captured: Option<String>,
    pub published: Option<String>,
    pub tags: Vec<String>,
    pub highlights: Vec<String>,
    pub text: Option<String>,
    pub html: Option<String>,
    /// What the document is about, in somebody's words.
    pub about: Option<String>,
    /// A date that is none: under which name, and what stands there.
    pub bad_date: Option<(String, String)>,
}

impl Meta {
    /// Every value in a fixed order, without names: see [`Folder::values`](crate::knowledge::Folder::values).
    pub(crate) fn values(&self) -> serde_json::Value {
        serde_json::json!([
            [self.url, self.title, self.kind, self.captured, self.published],
            [self.tags, self.highlights],
            [self.text, self.html, self.about, self.bad_date],
        ])
    }

    /// What an object says.
    pub(crate) fn of(value: &Value) -> Self {
        let Value::Object(members) = value else { return Self::default() };
        let fields = Fields::new(members);
        let mut bad_date = None;
        let mut moment = |names: &[&str]| {
            let (name, value) = fields.first(names)?;
            let found = date(value);
            if found.is_none() {
                bad_date = Some((name.to_owned(), shown(value)));
            }
            found
        };
        Self {
            captured: moment(CAPTURED),
            published: moment(PUBLISHED),
            url: fields.address(),
            title: fields.text(TITLE).map(|title| on_one_line(&title, LONGEST_TITLE)),
            kind: fields.text(KIND).map(|kind| on_one_line(&kind, LONGEST_WORD).to_lowercase()),
            tags: fields.tags(),
            highlights: fields.highlights(),
            text: fields.text(TEXT),
            html: fields.text(HTML),
            about: fields.text(ABOUT),
            bad_date,
        }
    }

    /// This, and what only the other knows.
    pub(crate) fn or(self, other: &Self) -> Self {
        let all = |mut mine: Vec<String>, theirs: &[String]| {
            theirs.iter().for_each(|one| {
                if !mine.contains(one) {
                    mine.push(one.clone());
                }
            });
            mine
        };
        Self {
            url: self.url.or_else(|| other.url.clone()),
            title: self.title.or_else(|| other.title.clone()),
            kind: self.kind.or_else(|| other.kind.clone()),
            captured: self.captured.or_else(|| other.captured.clone()),
            published: self.published.or_else(|| other.published.clone()),
            tags: all(self.tags, &other.tags),
            highlights: all(self.highlights, &other.highlights),
            text: self.text.or_else(|| other.text.clone()),
            html: self.html.or_else(|| other.html.clone()),
            about: self.about.or_else(|| other.about.clone()),
            bad_date: self.bad_date.or_else(|| other.bad_date.clone()),
        }
    }
}

/// The members of an object, by names that tools write in different ways.
struct Fields<'a> {
    /// The name without what tools put between its words, the name, and what stands there. What says nothing is
    /// left out.
    members: Vec<(String, &'a str, &'a Value)>,
}

impl<'a> Fields<'a> {
    fn new(members: &'a Map<String, Value>) -> Self {
        let says = |value: &Value| !value.is_null() && value.as_str().is_none_or(|text| !text.trim().is_empty());
        let said = members.iter().filter(|(_, value)| says(value));
        Self { members: said.map(|(key, value)| (plain(key), key.as_str(), value)).collect() }
    }

    /// The first of some names that says something.
    fn first(&self, names: &[&str]) -> Option<(&'a str, &'a Value)> {
        names.iter().find_map(|name| {
            self.members.iter().find(|(plain, ..)| plain == name).map(|(_, key, value)| (*key, *value))
        })
    }

    fn text(&self, names: &[&str]) -> Option<String> {
        self.first(names).and_then(|(_, value)| value.as_str()).map(str::to_owned)
    }

    /// The first that looks like an address: `source` is often the name of a book.
    fn address(&self) -> Option<String> {
        let text = |name: &&str| self.text(&[*name]).filter(|text| text.contains("://"));
        URL.iter().find_map(text).or_else(|| self.text(&["url"]))
    }

    fn tags(&self) -> Vec<String> {
        let words: Vec<String> = match self.first(TAGS) {
            Some((_, Value::String(text))) => text.split([',', ';']).map(str::to_owned).collect(),
            Some((_, Value::Array(items))) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        words.iter().filter_map(|word| tag(word)).take(MOST_TAGS).collect()
    }

    fn highlights(&self) -> Vec<String> {
        let one = |item: &Value| match item {
            Value::String(text) => Some(text.clone()),
            Value::Object(members) => Fields::new(members).text(MARKED),
            _ => None,
        };
        match self.first(HIGHLIGHTS) {
            Some((_, Value::Array(items))) => items.iter().filter_map(one).take(MOST_HIGHLIGHTS).collect(),
            Some((_, Value::String(text))) => vec![text.clone()],
            _ => Vec::new(),
        }
    }
}

/// A tag as it is kept: in lower case, without the sign before it.
pub(crate) fn tag(word: &str) -> Option<String> {
    let word = word.trim().trim_start_matches('#').to_lowercase();
    let is_tag = !word.is_empty() && word.len() <= LONGEST_WORD && !word.chars().any(char::is_control);
    is_tag.then_some(word)
}

/// The name of a member without what tools put between its words.
fn plain(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '-' | '_' | ' ' | ':')).flat_map(char::to_lowercase).collect()
}

/// Words with one blank between them, so many characters at the most, and nothing that does not show.
pub(crate) fn on_one_line(text: &str, most: usize) -> String {
    let visible: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let visible: String = visible.chars().filter(|c| !sp_formats::printable::is_hidden(*c)).collect();
    let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    on_one_line(&text, LONGEST_WORD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cp_12_what_tools_know_is_found_under_the_names_that_they_use() {
        let meta = Meta::of(&serde_json::json!({
            "Source": "https://example.com/a", "title": "A\n title", "date-added": "2026-04-22",
            "published": 1_776_848_651, "tags": "Rust, #CLI", "type": "Docs",
            "highlights": [{"text": "One."}, "Two.", 3],
        }));
        assert_eq!(meta.url.as_deref(), Some("https://example.com/a"));
        assert_eq!(meta.title.as_deref(), Some("A title"));
        assert_eq!(meta.kind.as_deref(), Some("docs"));
        assert_eq!(meta.captured.as_deref(), Some("2026-04-22T00:00:00Z"));
        assert_eq!(meta.published.as_deref(), Some("2026-04-22T09:04:11Z"));
        assert_eq!(meta.tags, ["rust", "cli"]);
        assert_eq!(meta.highlights, ["One.", "Two."]);
        assert_eq!(meta.bad_date, None);
    }

    #[test]
    fn a_book_is_no_address_and_a_bad_date_is_told() {
        let meta =
            Meta::of(&serde_json::json!({"source": "A Book", "link": "https://example.com/b", "created": "soon"}));
        assert_eq!(meta.url.as_deref(), Some("https://example.com/b"));
        assert_eq!(meta.bad_date, Some(("created".into(), "soon".into())));
        assert_eq!(Meta::of(&Value::from(3)), Meta::default());
    }
}
