//! Footnotes `[^src_…]`, wherever they stand outside of code and of comments.
//!
//! A parser of Markdown sees a footnote only where the same file defines it, and here another file does.
//! So the text itself is searched, and the parser tells only what is code.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Tag};

use super::manifest::is_source_id;
use crate::markdown::events;

/// A footnote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFootnote {
    /// The source that it names.
    pub id: String,
    /// Where it stands, with its brackets.
    pub span: Range<usize>,
}

/// Something that is code, and whose words mean nothing here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeRegion {
    pub range: Range<usize>,
    pub kind: CodeRegionKind,
}

/// How code is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeRegionKind {
    /// A fenced block that is called `text`.
    Text,
    /// Another block, fenced or indented.
    Block,
    /// Between backticks in a line.
    Inline,
    /// A comment, which nobody is shown.
    Comment,
}

const FOOTNOTE_PREFIX: &str = "[^src_";

/// Every footnote of the Markdown from `start` on.
pub fn footnotes(text: &str, start: usize) -> Vec<SourceFootnote> {
    footnotes_outside_code(&code_regions(text, start), text, start)
}

/// Every footnote from `start` on that stands in none of the code.
pub(super) fn footnotes_outside_code(
    code: &[CodeRegion],
    text: &str,
    start: usize,
) -> Vec<SourceFootnote> {
    let mut found = Vec::new();
    let mut at = start;
    while let Some(next) = text[at..].find(FOOTNOTE_PREFIX).map(|next| at + next) {
        at = next + FOOTNOTE_PREFIX.len();
        // No further than an id goes: a bracket at the end of the file would be looked for again and again.
        let end = at + text[at..].bytes().take_while(|byte| is_id_byte(*byte)).count();
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

/// The code in which a byte stands.
pub(super) fn region_at(code: &[CodeRegion], at: usize) -> Option<&CodeRegion> {
    let after = code.partition_point(|code| code.range.end <= at);
    code.get(after).filter(|code| code.range.contains(&at))
}

/// The comments in a piece of HTML. What stands behind one is said.
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

/// Fenced and indented blocks, what stands between backticks, and comments, in the order of the text.
pub(super) fn code_regions(text: &str, start: usize) -> Vec<CodeRegion> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    let mut found: Vec<CodeRegion> = Vec::new();
    for (event, range) in events(text, start, options) {
        let sort = match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info)))
                if info.split_whitespace().next() == Some("text") =>
            {
                CodeRegionKind::Text
            }
            Event::Start(Tag::CodeBlock(_)) => CodeRegionKind::Block,
            Event::Code(_) => CodeRegionKind::Inline,
            // What a comment holds is not said.
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
        found.push(CodeRegion { range, kind: sort });
    }
    found.sort_by_key(|code| code.range.start);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cp_10_footnotes_in_code_do_not_count() {
        let text = "a [^src_1] `[^src_2]` \\[^src_3]\n\n```\n[^src_4]\n```\n\n    [^src_5]\n\n[^src_6]: b\n[^src_]x [^other] [^src_7";
        let ids: Vec<String> = footnotes(text, 0).into_iter().map(|one| one.id).collect();
        assert_eq!(ids, ["src_1", "src_6"]);
        let hidden = "<!-- [^src_1]\n\n## [^src_2]\n-->\n\na <!-- [^src_3] --> [^src_4]\n";
        let ids: Vec<String> = footnotes(hidden, 0).into_iter().map(|one| one.id).collect();
        assert_eq!(ids, ["src_4"]);
    }

    #[test]
    fn cp_10_what_is_no_label_is_no_footnote() {
        let text = "[^src_ä] [^src_a b] [^src_a.b] [^src_-a] [^SRC_a] [^src_a[^src_b] \\\\[^src_c] [src_d] [^src_e\n]";
        let ids: Vec<String> = footnotes(text, 0).into_iter().map(|one| one.id).collect();
        assert_eq!(ids, ["src_b", "src_c"]);
    }

    #[test]
    fn se_04_brackets_that_never_close_cost_little() {
        let start = std::time::Instant::now();
        assert_eq!(footnotes(&format!("{}]", "[^src_".repeat(100_000)), 0), []);
        assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
    }

    #[test]
    fn a_place_is_that_of_the_footnote() {
        let text = "ä [^src_a-b_1], [^src_x]";
        let shown: Vec<&str> = footnotes(text, 0).into_iter().map(|one| &text[one.span]).collect();
        assert_eq!(shown, ["[^src_a-b_1]", "[^src_x]"]);
    }
}
