//! Footnotes `[^src_…]` outside of code and HTML comments.
//!
//! A Markdown parser recognizes a footnote only if the same file defines it, and here another file
//! does. So the text itself is searched, and the parser only determines what is code.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Tag};

use super::value_syntax::is_source_id;
use crate::markdown::events;

/// A reference to a source, or the definition of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFootnote {
    /// The source ID, such as `src_1`.
    pub id: String,
    /// The bytes of the footnote with its brackets.
    pub span: Range<usize>,
}

/// A part of the text in which footnotes don't count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeRegion {
    pub range: Range<usize>,
    pub kind: CodeRegionKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeRegionKind {
    /// A fenced block with the info string `text`.
    Text,
    /// Any other fenced or indented block.
    Block,
    /// An inline code span.
    Inline,
    /// An HTML comment.
    Comment,
}

const FOOTNOTE_PREFIX: &str = "[^src_";

/// Returns every footnote in the Markdown from `start` on.
pub fn footnotes(text: &str, start: usize) -> Vec<SourceFootnote> {
    footnotes_outside_code(&code_regions(text, start), text, start)
}

/// Returns every footnote from `start` on that is not inside one of the regions.
pub(super) fn footnotes_outside_code(
    code: &[CodeRegion],
    text: &str,
    start: usize,
) -> Vec<SourceFootnote> {
    let mut found = Vec::new();
    let mut offset = start;
    while let Some(next) = text[offset..].find(FOOTNOTE_PREFIX).map(|next| offset + next) {
        offset = next + FOOTNOTE_PREFIX.len();
        // Stop where an ID ends: searching for the bracket would be quadratic if there is none.
        let end = offset + text[offset..].bytes().take_while(|byte| is_id_byte(*byte)).count();
        let id = &text[next + "[^".len()..end];
        let is_escaped =
            text[start..next].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
        if text[end..].starts_with(']')
            && is_source_id(id)
            && !is_escaped
            && region_at(code, next).is_none()
        {
            found.push(SourceFootnote { id: id.to_owned(), span: next..end + 1 });
        }
    }
    found
}

fn is_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// The region that contains the byte `at`.
pub(super) fn region_at(code: &[CodeRegion], offset: usize) -> Option<&CodeRegion> {
    let after = code.partition_point(|code| code.range.end <= offset);
    code.get(after).filter(|code| code.range.contains(&offset))
}

/// Returns the comments in a piece of HTML; text after a comment is visible.
fn html_comments(html: &str, offset: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = html[at..].find("<!--").map(|open| at + open) {
        let end = html[open..].find("-->").map_or(html.len(), |end| open + end + "-->".len());
        found.push(offset + open..offset + end);
        at = end;
    }
    found
}

/// Returns code blocks, inline code and HTML comments in document order.
pub(super) fn code_regions(text: &str, start: usize) -> Vec<CodeRegion> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    let mut found: Vec<CodeRegion> = Vec::new();
    for (event, range) in events(text, start, options) {
        let kind = match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info)))
                if info.split_whitespace().next() == Some("text") =>
            {
                CodeRegionKind::Text
            }
            Event::Start(Tag::CodeBlock(_)) => CodeRegionKind::Block,
            Event::Code(_) => CodeRegionKind::Inline,
            // Only the comments in the HTML are hidden.
            Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_) => {
                let comments = html_comments(&text[range.clone()], range.start);
                found.extend(
                    comments
                        .into_iter()
                        .map(|range| CodeRegion { range, kind: CodeRegionKind::Comment }),
                );
                continue;
            }
            _ => continue,
        };
        found.push(CodeRegion { range, kind });
    }
    found.sort_by_key(|code| code.range.start);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cp_10_footnotes_in_code_and_comments_are_ignored() {
        let text = "a [^src_1] `[^src_2]` \\[^src_3]\n\n```\n[^src_4]\n```\n\n    [^src_5]\n\n[^src_6]: b\n[^src_]x [^other] [^src_7";
        let ids: Vec<String> = footnotes(text, 0).into_iter().map(|footnote| footnote.id).collect();
        assert_eq!(ids, ["src_1", "src_6"]);
        let commented = "<!-- [^src_1]\n\n## [^src_2]\n-->\n\na <!-- [^src_3] --> [^src_4]\n";
        let ids: Vec<String> =
            footnotes(commented, 0).into_iter().map(|footnote| footnote.id).collect();
        assert_eq!(ids, ["src_4"]);
    }

    #[test]
    fn cp_10_invalid_labels_are_not_footnotes() {
        let text = "[^src_ä] [^src_a b] [^src_a.b] [^src_-a] [^SRC_a] [^src_a[^src_b] \\\\[^src_c] [src_d] [^src_e\n]";
        let ids: Vec<String> = footnotes(text, 0).into_iter().map(|footnote| footnote.id).collect();
        assert_eq!(ids, ["src_b", "src_c"]);
    }

    #[test]
    fn se_04_unclosed_brackets_take_linear_time() {
        // A quadratic scan would exceed the time limit of the test runner.
        assert_eq!(footnotes(&format!("{}]", "[^src_".repeat(2_000_000)), 0), []);
    }

    #[test]
    fn footnote_span_includes_brackets() {
        let text = "ä [^src_a-b_1], [^src_x]";
        let labels: Vec<&str> =
            footnotes(text, 0).into_iter().map(|footnote| &text[footnote.span]).collect();
        assert_eq!(labels, ["[^src_a-b_1]", "[^src_x]"]);
    }
}
