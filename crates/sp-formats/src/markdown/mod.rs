//! Markdown: events, sections by heading, frontmatter, and fenced YAML blocks.
//!
//! All Markdown is parsed by [`events()`], which bounds time and memory, so hostile files are safe.
//! Spans are byte offsets into the original text. Nothing here renders Markdown.

mod events;

use std::ops::Range;

pub use events::{LinkDefinition, MarkdownEvents, events};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Tag, TagEnd};
use sp_tree::Limits;

use crate::checks::{CheckRule, SE_04};
use crate::report::Report;
use crate::yaml::{self, YamlNode};

/// Headings beyond this number do not start a section.
const MAX_SECTIONS: usize = 100_000;

/// A heading and the text below it, up to the next heading of the same or a higher level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkdownSection {
    /// The heading as plain text.
    pub title: String,
    pub heading: Range<usize>,
    pub body: Range<usize>,
    /// The content of each fenced YAML block, including those in subsections.
    pub yaml_blocks: Vec<Range<usize>>,
    level: HeadingLevel,
}

impl MarkdownSection {
    /// The heading level, starting at 1.
    pub fn depth(&self) -> usize {
        self.level as usize
    }
}

/// Finds the frontmatter: the span between the two `---` lines, and where the text after it starts.
pub fn find_frontmatter(text: &str) -> Option<(Range<usize>, usize)> {
    let start = text.strip_prefix('\u{feff}').map_or(0, |_| '\u{feff}'.len_utf8());
    let mut at = start;
    let mut lines = text[start..].split_inclusive('\n');
    let first = lines.next()?;
    if first.trim_end() != "---" {
        return None;
    }
    at += first.len();
    let begin = at;
    for line in lines {
        if line.trim_end() == "---" {
            return Some((begin..at, at + line.len()));
        }
        at += line.len();
    }
    None
}

/// Returns every section of the Markdown from `start` on.
pub fn sections(text: &str, start: usize) -> Vec<MarkdownSection> {
    read_sections(text, start).0
}

/// Returns every section from `start` on, and where reading stopped: see [`events()`].
pub(crate) fn read_sections(text: &str, start: usize) -> (Vec<MarkdownSection>, Option<usize>) {
    let mut sections: Vec<MarkdownSection> = Vec::new();
    // Open sections, each deeper than the previous one.
    let mut open: Vec<usize> = Vec::new();
    let mut title: Option<String> = None;
    let mut block: Option<Range<usize>> = None;
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    let mut events = events(text, start, options);
    for (event, range) in events.by_ref() {
        match event {
            Event::Start(Tag::Heading { level, .. }) if sections.len() < MAX_SECTIONS => {
                close_sections(&mut sections, &mut open, (level, range.start));
                open.push(sections.len());
                title = Some(String::new());
                let body = range.end..text.len();
                sections.push(MarkdownSection {
                    title: String::new(),
                    heading: range,
                    body,
                    yaml_blocks: Vec::new(),
                    level,
                });
            }
            Event::End(TagEnd::Heading(_)) => {
                if let (Some(title), Some(section)) = (title.take(), sections.last_mut()) {
                    section.title = title.trim().into();
                }
            }
            Event::Text(words) | Event::Code(words) if title.is_some() => {
                title.get_or_insert_default().push_str(&words);
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if is_yaml(&info) => {
                block = Some(range.end..range.end);
            }
            Event::Text(_) => {
                if let Some(block) = &mut block {
                    *block = block.start.min(range.start)..range.end;
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some(block) = block.take() {
                    open.iter().for_each(|at| sections[*at].yaml_blocks.push(block.clone()));
                }
            }
            _ => {}
        }
    }
    (sections, events.unread_from())
}

/// Reports that the Markdown was only read up to this byte.
pub(crate) fn report_unread(unread_from: Option<usize>, report: &mut Report) {
    if let Some(at) = unread_from {
        report
            .warning(
                &SE_04,
                at..at,
                "the Markdown from here on is not read: it has too many marks, or is nested too deep",
            )
            .help("split it into smaller files, or take out what is not meant for reading");
    }
}

/// Closes the open sections that a heading of this level ends. There is at most one per level.
fn close_sections(
    sections: &mut [MarkdownSection],
    open: &mut Vec<usize>,
    (level, at): (HeadingLevel, usize),
) {
    open.retain(|section| {
        let section = &mut sections[*section];
        let ends = section.level >= level;
        if ends {
            section.body.end = at.max(section.body.start);
        }
        !ends
    });
}

fn is_yaml(info: &str) -> bool {
    matches!(info.split_whitespace().next(), Some("yaml" | "yml"))
}

/// Returns the YAML below each heading with this title, in order. Reports what is not YAML.
pub(crate) fn read_yaml_blocks(
    text: &str,
    start: usize,
    title: &str,
    (check, limits): (&'static CheckRule, &Limits),
    report: &mut Report,
) -> Vec<YamlNode> {
    let (sections, unread_from) = read_sections(text, start);
    // The function runs once per title, but this is reported once.
    if !report.findings.iter().any(|finding| finding.check.id == SE_04.id) {
        report_unread(unread_from, report);
    }
    let matching = sections.iter().filter(|section| is_same_title(&section.title, title));
    let mut nodes = Vec::new();
    // The limits apply to all blocks of a file together.
    let mut node_count = 0;
    for block in matching.flat_map(|section| &section.yaml_blocks) {
        let shift = |span: &Range<usize>| block.start + span.start..block.start + span.end;
        match yaml::parse(&text[block.clone()], limits) {
            Ok(mut node) => {
                node_count += yaml::count_nodes(&node);
                if node_count > limits.yaml_nodes {
                    let message = format!(
                        "the blocks below `{title}` have more than {} nodes",
                        limits.yaml_nodes
                    );
                    report.error(check, block.clone(), message).help(
                        "make them smaller, or raise the limit with `--limit yaml-nodes=NUMBER`",
                    );
                    break;
                }
                node.map_spans(&shift);
                nodes.push(node);
            }
            Err(error) => {
                report
                    .error(
                        check,
                        shift(&error.span),
                        format!("the block below `{title}` is not YAML: {error}"),
                    )
                    .help("mend the YAML, or put the value in quotes");
            }
        }
    }
    nodes
}

fn is_same_title(title: &str, expected: &str) -> bool {
    title.trim_end_matches(':').eq_ignore_ascii_case(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_ends_at_next_heading_of_same_or_higher_level() {
        let text = "# A\none\n## B\n```yaml\nx: 1\n```\n# C\nthree\n";
        let found = sections(text, 0);
        let shown: Vec<(&str, &str)> = found
            .iter()
            .map(|section| (section.title.as_str(), &text[section.body.clone()]))
            .collect();
        assert_eq!(
            shown,
            [
                ("A", "one\n## B\n```yaml\nx: 1\n```\n"),
                ("B", "```yaml\nx: 1\n```\n"),
                ("C", "three\n"),
            ]
        );
        assert_eq!(&text[found[0].yaml_blocks[0].clone()], "x: 1\n");
        assert_eq!(found[0].yaml_blocks, found[1].yaml_blocks);
    }
}
