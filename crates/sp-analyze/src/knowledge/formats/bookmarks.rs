//! Bookmarks as browsers export them: an HTML list of links with folders, tags and dates.

use serde_json::Value;

use super::DocumentCollector;
use crate::knowledge::date::parse_date;
use crate::knowledge::html::{HtmlToken, attribute, decode_entities, tokenize};
use crate::knowledge::markdown::MarkdownContent;
use crate::knowledge::meta::{DocumentMeta, normalize_tag, to_single_line};

const DOCTYPE: &str = "<!doctype netscape-bookmark-file-1";

pub(super) fn is_bookmark_file(text: &str) -> bool {
    let start = text.trim_start();
    start.get(..DOCTYPE.len()).is_some_and(|start| start.eq_ignore_ascii_case(DOCTYPE))
}

/// Reads bookmarks. A saved page with the same URL is merged with its bookmark later.
pub(super) fn read(text: &str, give: &mut DocumentCollector<'_>) {
    let mut reader = BookmarkReader::default();
    for piece in tokenize(text) {
        match piece {
            HtmlToken::Open(name, rest) => reader.open_tag(&name.to_ascii_lowercase(), rest),
            HtmlToken::Close(name) => reader.close_tag(&name.to_ascii_lowercase()),
            HtmlToken::Text(text) => reader.push_text(text),
            HtmlToken::Comment(_) => {}
        }
        if let Some(done) = reader.finished.take() {
            push_bookmark(done, give);
        }
    }
    if let Some(last) = reader.current.take() {
        push_bookmark(last, give);
    }
}

fn push_bookmark(meta: DocumentMeta, give: &mut DocumentCollector<'_>) {
    // A bookmark without a description is described by its title.
    let about = meta.description.clone().or_else(|| meta.title.clone());
    // `javascript:` and browser-internal URLs are not documents and not worth reporting.
    if meta.url.as_deref().is_some_and(|url| url.starts_with("http")) {
        give.push_document(
            None,
            DocumentMeta { description: about, ..meta },
            MarkdownContent::default(),
        );
    }
}

/// The element that text belongs to.
#[derive(Default, PartialEq, Eq)]
enum BookmarkTextTarget {
    #[default]
    Ignored,
    Title,
    Description,
    Folder,
}

#[derive(Default)]
struct BookmarkReader {
    folders: Vec<String>,
    /// The folder whose list has not started yet.
    next_folder: String,
    current: Option<DocumentMeta>,
    finished: Option<DocumentMeta>,
    text_target: BookmarkTextTarget,
}

impl BookmarkReader {
    fn open_tag(&mut self, name: &str, rest: &str) {
        match name {
            "dl" => {
                let folder = std::mem::take(&mut self.next_folder);
                self.folders.push(folder);
            }
            "h3" => {
                self.finish_bookmark();
                self.next_folder.clear();
                self.text_target = BookmarkTextTarget::Folder;
            }
            "a" => {
                self.finish_bookmark();
                self.current = Some(self.bookmark_meta(rest));
                self.text_target = BookmarkTextTarget::Title;
            }
            "dd" => self.text_target = BookmarkTextTarget::Description,
            "dt" => self.text_target = BookmarkTextTarget::Ignored,
            _ => {}
        }
    }

    fn close_tag(&mut self, name: &str) {
        match name {
            "dl" => {
                self.finish_bookmark();
                self.folders.pop();
            }
            "a" | "h3" => self.text_target = BookmarkTextTarget::Ignored,
            _ => {}
        }
    }

    fn bookmark_meta(&self, rest: &str) -> DocumentMeta {
        let words = attribute(rest, "tags").unwrap_or_default();
        let folders = self.folders.iter().filter_map(|folder| normalize_tag(folder));
        let moment = attribute(rest, "add_date").map(|text| Value::from(text.as_ref()));
        let captured = moment.as_ref().and_then(parse_date);
        let bad_date = match (&moment, &captured) {
            (Some(value), None) => Some((
                "ADD_DATE".to_owned(),
                to_single_line(value.as_str().unwrap_or_default(), 40),
            )),
            _ => None,
        };
        DocumentMeta {
            url: attribute(rest, "href").map(|href| href.trim().to_owned()),
            captured,
            bad_date,
            tags: words.split(',').filter_map(normalize_tag).chain(folders).collect(),
            ..DocumentMeta::default()
        }
    }

    fn push_text(&mut self, text: &str) {
        let text = to_single_line(&decode_entities(text), 2000);
        if text.is_empty() {
            return;
        }
        match (&self.text_target, &mut self.current) {
            (BookmarkTextTarget::Folder, _) => self.next_folder.push_str(&text),
            (BookmarkTextTarget::Title, Some(meta)) => {
                meta.title.get_or_insert_default().push_str(&text);
            }
            (BookmarkTextTarget::Description, Some(meta)) => {
                meta.description.get_or_insert_default().push_str(&text);
            }
            _ => {}
        }
    }

    fn finish_bookmark(&mut self) {
        self.finished = self.current.take();
        self.text_target = BookmarkTextTarget::Ignored;
    }
}
