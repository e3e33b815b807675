//! Document metadata: from frontmatter, a sidecar file, a JSON line, or the head of a page.

use serde_json::{Map, Value};
use sp_formats::text::truncate;

use crate::knowledge::date::parse_date;

/// Keys that tools use, without `-`, `_` and spaces. The first one present is used.
const URL_KEYS: &[&str] = &[
    "url",
    "sourceurl",
    "canonicalurl",
    "canonical",
    "source",
    "link",
    "permalink",
    "href",
    "uri",
];
const TITLE_KEYS: &[&str] = &["title", "name", "headline"];
const KIND_KEYS: &[&str] = &["kind", "type"];
#[rustfmt::skip]
const CAPTURED_KEYS: &[&str] = &[
    "capturedat", "captured", "savedat", "saved", "clippedat", "clipped", "dateadded", "addedat",
    "added", "createdat", "created", "date", "timeadded", "timestamp",
];
const PUBLISHED_KEYS: &[&str] =
    &["publishedat", "published", "datepublished", "publishdate", "pubdate"];
const TAGS_KEYS: &[&str] = &["tags", "tag", "keywords", "topics"];
const HIGHLIGHTS_KEYS: &[&str] = &["highlights", "quotes", "annotations"];
const TEXT_KEYS: &[&str] = &["text", "content", "markdown", "body"];
const HTML_KEYS: &[&str] = &["html", "contenthtml"];
const DESCRIPTION_KEYS: &[&str] = &["description", "summary", "excerpt", "note", "notes"];
/// Keys for the text of a highlight object.
const HIGHLIGHT_TEXT_KEYS: &[&str] = &["text", "quote", "highlight", "content", "note"];
/// Limits per document.
const MAX_TAGS: usize = 64;
const MAX_HIGHLIGHTS: usize = 500;
const MAX_TITLE_LEN: usize = 300;
const MAX_WORD_LEN: usize = 64;

/// Metadata of a document; missing values are `None` or empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DocumentMeta {
    pub url: Option<String>,
    pub title: Option<String>,
    pub kind: Option<String>,
    pub captured: Option<String>,
    pub published: Option<String>,
    pub tags: Vec<String>,
    pub highlights: Vec<String>,
    pub text: Option<String>,
    pub html: Option<String>,
    pub description: Option<String>,
    /// An invalid date, as `(key, value)`.
    pub bad_date: Option<(String, String)>,
}

impl DocumentMeta {
    /// All values in a fixed order, for
    /// [`FolderDefaults::values`](crate::knowledge::FolderDefaults::values).
    pub(crate) fn values(&self) -> serde_json::Value {
        serde_json::json!([
            [self.url, self.title, self.kind, self.captured, self.published],
            [self.tags, self.highlights],
            [self.text, self.html, self.description, self.bad_date],
        ])
    }

    /// Reads an object.
    pub(crate) fn from_json(value: &Value) -> Self {
        let Value::Object(members) = value else { return Self::default() };
        let fields = MetaFields::new(members);
        let mut bad_date = None;
        let mut moment = |names: &[&str]| {
            let (name, value) = fields.first(names)?;
            let found = parse_date(value);
            if found.is_none() {
                bad_date = Some((name.to_owned(), display_value(value)));
            }
            found
        };
        Self {
            captured: moment(CAPTURED_KEYS),
            published: moment(PUBLISHED_KEYS),
            url: fields.url(),
            title: fields.text(TITLE_KEYS).map(|title| to_single_line(&title, MAX_TITLE_LEN)),
            kind: fields
                .text(KIND_KEYS)
                .map(|kind| to_single_line(&kind, MAX_WORD_LEN).to_lowercase()),
            tags: fields.tags(),
            highlights: fields.highlights(),
            text: fields.text(TEXT_KEYS),
            html: fields.text(HTML_KEYS),
            description: fields.text(DESCRIPTION_KEYS),
            bad_date,
        }
    }

    /// Fills in missing values from `other`.
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
            description: self.description.or_else(|| other.description.clone()),
            bad_date: self.bad_date.or_else(|| other.bad_date.clone()),
        }
    }
}

/// The members of an object, under normalized keys.
struct MetaFields<'a> {
    /// `(normalized key, key, value)`, without empty values.
    members: Vec<(String, &'a str, &'a Value)>,
}

impl<'a> MetaFields<'a> {
    fn new(members: &'a Map<String, Value>) -> Self {
        let says = |value: &Value| {
            !value.is_null() && value.as_str().is_none_or(|text| !text.trim().is_empty())
        };
        let said = members.iter().filter(|(_, value)| says(value));
        Self {
            members: said.map(|(key, value)| (normalize_key(key), key.as_str(), value)).collect(),
        }
    }

    /// The first of `names` with a value.
    fn first(&self, names: &[&str]) -> Option<(&'a str, &'a Value)> {
        names.iter().find_map(|name| {
            self.members
                .iter()
                .find(|(plain, ..)| plain == name)
                .map(|(_, key, value)| (*key, *value))
        })
    }

    fn text(&self, names: &[&str]) -> Option<String> {
        self.first(names).and_then(|(_, value)| value.as_str()).map(str::to_owned)
    }

    /// The first value that looks like a URL: `source` is often the title of a book.
    fn url(&self) -> Option<String> {
        let text = |name: &&str| self.text(&[*name]).filter(|text| text.contains("://"));
        URL_KEYS.iter().find_map(text).or_else(|| self.text(&["url"]))
    }

    fn tags(&self) -> Vec<String> {
        let words: Vec<String> = match self.first(TAGS_KEYS) {
            Some((_, Value::String(text))) => text.split([',', ';']).map(str::to_owned).collect(),
            Some((_, Value::Array(items))) => {
                items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        words.iter().filter_map(|word| normalize_tag(word)).take(MAX_TAGS).collect()
    }

    fn highlights(&self) -> Vec<String> {
        let one = |item: &Value| match item {
            Value::String(text) => Some(text.clone()),
            Value::Object(members) => MetaFields::new(members).text(HIGHLIGHT_TEXT_KEYS),
            _ => None,
        };
        match self.first(HIGHLIGHTS_KEYS) {
            Some((_, Value::Array(items))) => {
                items.iter().filter_map(one).take(MAX_HIGHLIGHTS).collect()
            }
            Some((_, Value::String(text))) => vec![text.clone()],
            _ => Vec::new(),
        }
    }
}

/// Normalizes a tag: lowercase, without the leading `#`.
pub(crate) fn normalize_tag(word: &str) -> Option<String> {
    let word = word.trim().trim_start_matches('#').to_lowercase();
    let is_tag =
        !word.is_empty() && word.len() <= MAX_WORD_LEN && !word.chars().any(char::is_control);
    is_tag.then_some(word)
}

/// The key without separators.
fn normalize_key(key: &str) -> String {
    key.chars()
        .filter(|c| !matches!(c, '-' | '_' | ' ' | ':'))
        .flat_map(char::to_lowercase)
        .collect()
}

/// Joins the words with single spaces, truncates to `most` characters and removes hidden
/// characters.
pub(crate) fn to_single_line(text: &str, most: usize) -> String {
    let visible: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let visible: String =
        visible.chars().filter(|c| !sp_formats::printable::is_hidden(*c)).collect();
    let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    truncate(&line, most).into_owned()
}

fn display_value(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    to_single_line(&text, MAX_WORD_LEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cp_12_metadata_is_found_under_the_keys_of_common_tools() {
        let meta = DocumentMeta::from_json(&serde_json::json!({
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
    fn book_title_is_not_a_url_and_bad_date_is_reported() {
        let meta = DocumentMeta::from_json(
            &serde_json::json!({"source": "A Book", "link": "https://example.com/b", "created": "soon"}),
        );
        assert_eq!(meta.url.as_deref(), Some("https://example.com/b"));
        assert_eq!(meta.bad_date, Some(("created".into(), "soon".into())));
        assert_eq!(DocumentMeta::from_json(&Value::from(3)), DocumentMeta::default());
    }
}
