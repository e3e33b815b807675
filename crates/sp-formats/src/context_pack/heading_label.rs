//! Footnote labels in headings, which is how `sources.md` defines sources.

use std::ops::Range;

use crate::markdown::MarkdownSection;

/// A footnote label such as `[^src_1]` at the start of a heading.
pub(super) struct HeadingLabel<'t> {
    pub id: &'t str,
    pub span: Range<usize>,
    /// The text after the label.
    pub rest: &'t str,
}

/// Returns the footnote label that a heading starts with.
pub(super) fn heading_label<'t>(
    text: &'t str,
    section: &MarkdownSection,
) -> Option<HeadingLabel<'t>> {
    let heading = text[section.heading.clone()].trim_end();
    let words = heading.trim_start_matches('#').trim_start();
    let start = section.heading.start + heading.len() - words.len();
    let (id, rest) = words.strip_prefix("[^")?.split_once(']')?;
    let rest = if heading.starts_with('#') {
        rest.trim_end_matches('#')
    } else {
        // A setext heading: drop the line that underlines it.
        rest.rsplit_once('\n').map_or("", |(rest, _)| rest)
    };
    Some(HeadingLabel {
        id,
        span: start..start + "[^".len() + id.len() + "]".len(),
        rest: rest.trim(),
    })
}
