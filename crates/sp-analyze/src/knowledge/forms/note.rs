//! Notes and saved pages: one document a file.

use sp_formats::markdown::frontmatter;
use sp_formats::yaml;
use sp_tree::Limits;

use super::{Give, MOST_BYTES};
use crate::knowledge::markdown::{self, is_too_deep};
use crate::knowledge::meta::Meta;
use crate::knowledge::page;

/// A note, with what stands between its first `---` lines; a skill is one, too.
pub(super) fn read(text: &str, is_skill: bool, give: &mut Give<'_>) {
    let (front, body) = frontmatter(text).map_or((None, 0), |(block, body)| (Some(block), body));
    let mut meta = Meta::default();
    if let Some(block) = front {
        match yaml::parse(&text[block], &Limits::default()) {
            Ok(node) => meta = of_note(&node.to_json(), is_skill),
            Err(error) => return give.skip(None, format!("its frontmatter cannot be read: {}", error.message)),
        }
    }
    if is_too_deep(&text[body..]) {
        return give.skip(None, "its lists and quotes stand in each other too deep");
    }
    let Some(beside) = give.sidecar() else { return };
    give.document(None, meta.or(&beside), markdown::read(&text[body..]));
}

/// What frontmatter says. Of a skill more is known under `metadata`.
fn of_note(value: &serde_json::Value, is_skill: bool) -> Meta {
    // The text of a note stands below its frontmatter.
    let meta = Meta { text: None, html: None, ..Meta::of(value) };
    if !is_skill {
        return meta;
    }
    let more = value.get("metadata").map(Meta::of).unwrap_or_default();
    Meta { kind: Some("skill".into()), ..meta.or(&more) }
}

/// A saved page.
pub(super) fn page(html: &str, give: &mut Give<'_>) {
    if html.len() as u64 > MOST_BYTES {
        return give.skip(None, format!("it has more than {} MB", MOST_BYTES / (1024 * 1024)));
    }
    if let Some(why) = page::refusal(html) {
        return give.skip(None, why);
    }
    let Some(beside) = give.sidecar() else { return };
    let head = page::head(html);
    let (title, article) = page::article(html);
    // Who looked for the article found its title without the name of the site.
    let head = Meta { title: title.or(head.title), about: None, ..head };
    if is_too_deep(&article) {
        return give.skip(None, "its lists and quotes stand in each other too deep");
    }
    give.document(None, beside.or(&head), markdown::read(&article));
}
