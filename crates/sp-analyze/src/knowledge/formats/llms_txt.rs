//! `llms.txt`: a list of links with short descriptions.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::DocumentCollector;
use crate::knowledge::markdown::MarkdownContent;
use crate::knowledge::meta::{DocumentMeta, normalize_tag, to_single_line};

pub(super) fn read(text: &str, give: &mut DocumentCollector<'_>) {
    let Some(beside) = give.sidecar_meta() else { return };
    let mut reader = LlmsTxtReader::default();
    for event in Parser::new(text) {
        reader.handle_event(event);
        if let Some(link) = reader.done.take() {
            let about =
                Some(to_single_line(link.description.trim_start_matches([':', ' ', '-']), 2000));
            let about =
                about.filter(|about| !about.is_empty()).or_else(|| Some(link.title.clone()));
            let meta = DocumentMeta {
                url: Some(link.url),
                title: Some(link.title),
                kind: Some("docs".into()),
                tags: normalize_tag(&link.section).into_iter().collect(),
                description: about,
                ..DocumentMeta::default()
            };
            // The URL from the sidecar is that of the file itself.
            give.push_document(
                None,
                meta.or(&DocumentMeta { url: None, title: None, ..beside.clone() }),
                MarkdownContent::default(),
            );
        }
    }
}

#[derive(Default)]
struct LlmsTxtLink {
    url: String,
    title: String,
    description: String,
    section: String,
}

#[derive(Default)]
struct LlmsTxtReader {
    section: String,
    in_heading: bool,
    in_link: bool,
    current: Option<LlmsTxtLink>,
    done: Option<LlmsTxtLink>,
}

impl LlmsTxtReader {
    fn handle_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                self.section.clear();
                self.in_heading = true;
            }
            Event::End(TagEnd::Heading(_)) => self.in_heading = false,
            Event::Start(Tag::Link { dest_url, .. }) if self.current.is_none() => {
                let section = self.section.clone();
                self.current = Some(LlmsTxtLink {
                    url: dest_url.into_string(),
                    section,
                    ..LlmsTxtLink::default()
                });
                self.in_link = true;
            }
            Event::End(TagEnd::Link) => self.in_link = false,
            Event::Start(Tag::Item) | Event::End(TagEnd::Item) => self.done = self.current.take(),
            Event::Text(words) | Event::Code(words) => self.push_text(&words),
            Event::SoftBreak => self.push_text(" "),
            _ => {}
        }
    }

    fn push_text(&mut self, words: &str) {
        match &mut self.current {
            _ if self.in_heading => self.section.push_str(words),
            Some(link) if self.in_link => link.title.push_str(words),
            Some(link) => link.description.push_str(words),
            None => {}
        }
    }
}
