//! Bookmarks as browsers export them: a page of links, with folders, tags and dates.

use serde_json::Value;

use super::Give;
use crate::knowledge::date::date;
use crate::knowledge::html::{Piece, attribute, decoded, pieces};
use crate::knowledge::markdown::Text;
use crate::knowledge::meta::{Meta, on_one_line, tag};

const FIRST_LINE: &str = "<!doctype netscape-bookmark-file-1";

/// Whether a page is a file of bookmarks.
pub(super) fn is_one(text: &str) -> bool {
    let start = text.trim_start();
    start.get(..FIRST_LINE.len()).is_some_and(|start| start.eq_ignore_ascii_case(FIRST_LINE))
}

/// Reads bookmarks. What a bookmark leads to may lie beside it as a saved page: then the two are one document.
pub(super) fn read(text: &str, give: &mut Give<'_>) {
    let mut reader = Reader::default();
    for piece in pieces(text) {
        match piece {
            Piece::Open(name, rest) => reader.open(&name.to_ascii_lowercase(), rest),
            Piece::Close(name) => reader.close(&name.to_ascii_lowercase()),
            Piece::Text(text) => reader.text(text),
            Piece::Comment(_) => {}
        }
        if let Some(done) = reader.done.take() {
            bookmark(done, give);
        }
    }
    if let Some(last) = reader.current.take() {
        bookmark(last, give);
    }
}

fn bookmark(meta: Meta, give: &mut Give<'_>) {
    // A bookmark without words is known by its title.
    let about = meta.about.clone().or_else(|| meta.title.clone());
    // `javascript:` and places inside the browser are no documents, and nobody wants to hear of them.
    if meta.url.as_deref().is_some_and(|url| url.starts_with("http")) {
        give.document(None, Meta { about, ..meta }, Text::default());
    }
}

/// Where text belongs.
#[derive(Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    Title,
    About,
    Folder,
}

#[derive(Default)]
struct Reader {
    folders: Vec<String>,
    /// The folder whose list has not begun.
    next_folder: String,
    current: Option<Meta>,
    done: Option<Meta>,
    place: Place,
}

impl Reader {
    fn open(&mut self, name: &str, rest: &str) {
        match name {
            "dl" => {
                let folder = std::mem::take(&mut self.next_folder);
                self.folders.push(folder);
            }
            "h3" => {
                self.finish();
                self.next_folder.clear();
                self.place = Place::Folder;
            }
            "a" => {
                self.finish();
                self.current = Some(self.link(rest));
                self.place = Place::Title;
            }
            "dd" => self.place = Place::About,
            "dt" => self.place = Place::Nowhere,
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "dl" => {
                self.finish();
                self.folders.pop();
            }
            "a" | "h3" => self.place = Place::Nowhere,
            _ => {}
        }
    }

    fn link(&self, rest: &str) -> Meta {
        let words = attribute(rest, "tags").unwrap_or_default();
        let folders = self.folders.iter().filter_map(|folder| tag(folder));
        let moment = attribute(rest, "add_date").map(|text| Value::from(text.as_ref()));
        let captured = moment.as_ref().and_then(date);
        let bad_date = match (&moment, &captured) {
            (Some(value), None) => Some(("ADD_DATE".to_owned(), on_one_line(value.as_str().unwrap_or_default(), 40))),
            _ => None,
        };
        Meta {
            url: attribute(rest, "href").map(|href| href.trim().to_owned()),
            captured,
            bad_date,
            tags: words.split(',').filter_map(tag).chain(folders).collect(),
            ..Meta::default()
        }
    }

    fn text(&mut self, text: &str) {
        let text = on_one_line(&decoded(text), 2000);
        if text.is_empty() {
            return;
        }
        match (&self.place, &mut self.current) {
            (Place::Folder, _) => self.next_folder.push_str(&text),
            (Place::Title, Some(meta)) => meta.title.get_or_insert_default().push_str(&text),
            (Place::About, Some(meta)) => meta.about.get_or_insert_default().push_str(&text),
            _ => {}
        }
    }

    fn finish(&mut self) {
        self.done = self.current.take();
        self.place = Place::Nowhere;
    }
}
