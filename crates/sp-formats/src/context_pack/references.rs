//! Footnotes `[^src_…]`, wherever they stand outside of code and of comments.
//!
//! A parser of Markdown sees a footnote only where the same file defines it, and here another file does.
//! So the text itself is searched, and the parser tells only what is code.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::manifest::is_source_id;

/// A footnote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The source that it names.
    pub id: String,
    /// Where it stands, with its brackets.
    pub span: Range<usize>,
}

const OPENING: &str = "[^src_";

/// Every footnote of the Markdown from `start` on.
pub fn references(text: &str, start: usize) -> Vec<Reference> {
    let code = code(text, start);
    let mut found = Vec::new();
    let mut at = start;
    while let Some(next) = text[at..].find(OPENING).map(|next| at + next) {
        at = next + OPENING.len();
        let Some(end) = text[next..].find(']').map(|end| next + end) else { break };
        let id = &text[next + "[^".len()..end];
        let is_escaped = text[..next].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
        if is_source_id(id) && !is_escaped && !is_inside(&code, next) {
            found.push(Reference { id: id.to_owned(), span: next..end + 1 });
        }
    }
    found
}

fn is_inside(ranges: &[Range<usize>], at: usize) -> bool {
    let after = ranges.partition_point(|range| range.end <= at);
    ranges.get(after).is_some_and(|range| range.contains(&at))
}

/// Fenced and indented blocks, what stands between backticks, and comments.
fn code(text: &str, start: usize) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut block: Option<usize> = None;
    for (event, range) in Parser::new_ext(&text[start..], Options::ENABLE_TABLES).into_offset_iter() {
        let range = range.start + start..range.end + start;
        match event {
            Event::Start(Tag::CodeBlock(_)) => block = Some(range.start),
            Event::End(TagEnd::CodeBlock) => ranges.extend(block.take().map(|first| first..range.end)),
            Event::Code(_) => ranges.push(range),
            // What a comment holds is not said.
            Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_)
                if text[range.clone()].trim_start().starts_with("<!--") =>
            {
                ranges.push(range);
            }
            _ => {}
        }
    }
    ranges.sort_by_key(|range| range.start);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cp_10_footnotes_in_code_do_not_count() {
        let text = "a [^src_1] `[^src_2]` \\[^src_3]\n\n```\n[^src_4]\n```\n\n    [^src_5]\n\n[^src_6]: b\n[^src_]x [^other] [^src_7";
        let ids: Vec<String> = references(text, 0).into_iter().map(|one| one.id).collect();
        assert_eq!(ids, ["src_1", "src_6"]);
        let hidden = "<!-- [^src_1]\n\n## [^src_2]\n-->\n\na <!-- [^src_3] --> [^src_4]\n";
        let ids: Vec<String> = references(hidden, 0).into_iter().map(|one| one.id).collect();
        assert_eq!(ids, ["src_4"]);
    }

    #[test]
    fn a_place_is_that_of_the_footnote() {
        let text = "ä [^src_a-b_1], [^src_x]";
        let shown: Vec<&str> = references(text, 0).into_iter().map(|one| &text[one.span]).collect();
        assert_eq!(shown, ["[^src_a-b_1]", "[^src_x]"]);
    }
}
