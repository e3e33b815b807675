//! `llms.txt`: a list of links to what a site says, with a few words on each.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::Give;
use crate::knowledge::markdown::Text;
use crate::knowledge::meta::{Meta, on_one_line, tag};

pub(super) fn read(text: &str, give: &mut Give<'_>) {
    let Some(beside) = give.sidecar() else { return };
    let mut reader = Reader::default();
    for event in Parser::new(text) {
        reader.take(event);
        if let Some(link) = reader.done.take() {
            let about = Some(on_one_line(link.words.trim_start_matches([':', ' ', '-']), 2000));
            let about = about.filter(|about| !about.is_empty()).or_else(|| Some(link.title.clone()));
            let meta = Meta {
                url: Some(link.url),
                title: Some(link.title),
                kind: Some("docs".into()),
                tags: tag(&link.section).into_iter().collect(),
                about,
                ..Meta::default()
            };
            // The address beside the file is that of the file itself.
            give.document(None, meta.or(&Meta { url: None, title: None, ..beside.clone() }), Text::default());
        }
    }
}

#[derive(Default)]
struct Link {
    url: String,
    title: String,
    words: String,
    section: String,
}

#[derive(Default)]
struct Reader {
    section: String,
    in_heading: bool,
    in_link: bool,
    current: Option<Link>,
    done: Option<Link>,
}

impl Reader {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                self.section.clear();
                self.in_heading = true;
            }
            Event::End(TagEnd::Heading(_)) => self.in_heading = false,
            Event::Start(Tag::Link { dest_url, .. }) if self.current.is_none() => {
                let section = self.section.clone();
                self.current = Some(Link { url: dest_url.into_string(), section, ..Link::default() });
                self.in_link = true;
            }
            Event::End(TagEnd::Link) => self.in_link = false,
            Event::Start(Tag::Item) | Event::End(TagEnd::Item) => self.done = self.current.take(),
            Event::Text(words) | Event::Code(words) => self.words(&words),
            Event::SoftBreak => self.words(" "),
            _ => {}
        }
    }

    fn words(&mut self, words: &str) {
        match &mut self.current {
            _ if self.in_heading => self.section.push_str(words),
            Some(link) if self.in_link => link.title.push_str(words),
            Some(link) => link.words.push_str(words),
            None => {}
        }
    }
}
