//! Notes and saved web pages: one document per file.

use sp_formats::markdown::find_frontmatter;
use sp_formats::text::ByteSize;
use sp_formats::yaml;
use sp_tree::Limits;

use super::{DocumentCollector, MAX_DOCUMENT_BYTES};
use crate::knowledge::markdown::{self, is_too_deep};
use crate::knowledge::meta::DocumentMeta;
use crate::knowledge::web_page;

/// Reads a note or a skill with its frontmatter.
pub(super) fn read(text: &str, is_skill: bool, give: &mut DocumentCollector<'_>) {
    let (front, body) =
        find_frontmatter(text).map_or((None, 0), |(block, body)| (Some(block), body));
    let mut meta = DocumentMeta::default();
    if let Some(block) = front {
        match yaml::parse(&text[block], &Limits::default()) {
            Ok(node) => meta = frontmatter_meta(&node.to_json(), is_skill),
            Err(error) => {
                return give.skip(None, format!("invalid frontmatter: {}", error.message));
            }
        }
    }
    if is_too_deep(&text[body..]) {
        return give.skip(None, "lists and quotes are nested too deeply");
    }
    let Some(beside) = give.sidecar_meta() else { return };
    give.push_document(None, meta.or(&beside), markdown::parse(&text[body..]));
}

/// Metadata from the frontmatter. Skills have more of it under `metadata`.
fn frontmatter_meta(value: &serde_json::Value, is_skill: bool) -> DocumentMeta {
    // The text of a note is its body, even if the frontmatter has a key of that name.
    let meta = DocumentMeta { text: None, html: None, ..DocumentMeta::from_json(value) };
    if !is_skill {
        return meta;
    }
    let more = value.get("metadata").map(DocumentMeta::from_json).unwrap_or_default();
    DocumentMeta { kind: Some("skill".into()), ..meta.or(&more) }
}

/// Reads a saved web page.
pub(super) fn read_page(html: &str, give: &mut DocumentCollector<'_>) {
    if html.len() as u64 > MAX_DOCUMENT_BYTES {
        return give
            .skip(None, format!("the file is larger than {}", ByteSize(MAX_DOCUMENT_BYTES)));
    }
    if let Some(why) = web_page::rejection_reason(html) {
        return give.skip(None, why);
    }
    let Some(beside) = give.sidecar_meta() else { return };
    let head = web_page::parse_head(html);
    let (title, article) = web_page::extract_article(html);
    // The title of the extracted article lacks the name of the site.
    let head = DocumentMeta { title: title.or(head.title), description: None, ..head };
    if is_too_deep(&article) {
        return give.skip(None, "lists and quotes are nested too deeply");
    }
    give.push_document(None, beside.or(&head), markdown::parse(&article));
}
