//! Markdown: events, sections by heading, frontmatter, and fenced YAML blocks.
//!
//! All Markdown is parsed by [`events()`], which bounds time and memory, so hostile files are safe.
//! Spans are byte offsets into the original text. Nothing here renders Markdown.
//!
//! ```
//! use sp_formats::markdown::sections;
//!
//! let text = "# Build\n\nRun it.\n\n## Cache\n\nDelete it.\n";
//! let sections = sections(text, 0);
//! assert_eq!(sections[1].title, "Cache");
//! assert_eq!(text[sections[1].body.clone()].trim(), "Delete it.");
//! ```

mod events;

use std::ops::Range;

pub use events::{LinkDefinition, MarkdownEvents, events};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Tag, TagEnd};
use sp_tree::Limits;

use crate::report::Report;
use crate::rules::CheckRule;
use crate::rules::safety::SE_04;
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
    let mut offset = start;
    let mut lines = text[start..].split_inclusive('\n');
    let first = lines.next()?;
    if first.trim_end() != "---" {
        return None;
    }
    offset += first.len();
    let begin = offset;
    for line in lines {
        if line.trim_end() == "---" {
            return Some((begin..offset, offset + line.len()));
        }
        offset += line.len();
    }
    None
}

/// Returns every section of the Markdown from `start` on.
pub fn sections(text: &str, start: usize) -> Vec<MarkdownSection> {
    read_sections(text, start).0
}

/// Returns every section from `start` on, and where reading stopped: see [`events()`].
pub(crate) fn read_sections(text: &str, start: usize) -> (Vec<MarkdownSection>, Option<usize>) {
    let mut reader = SectionReader { text, ..SectionReader::default() };
    let mut events = events(text, start, Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES);
    for (event, range) in events.by_ref() {
        reader.read(event, range);
    }
    (reader.sections, events.unread_from())
}

/// Collects sections from the events of a Markdown parser.
#[derive(Default)]
struct SectionReader<'t> {
    text: &'t str,
    sections: Vec<MarkdownSection>,
    /// The open sections by index, each deeper than the previous one.
    open: Vec<usize>,
    /// The title of the heading that is being read.
    title: Option<String>,
    /// The YAML block that is being read.
    block: Option<Range<usize>>,
}

impl SectionReader<'_> {
    fn read(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(Tag::Heading { level, .. }) if self.sections.len() < MAX_SECTIONS => {
                self.start_section(level, range);
            }
            Event::End(TagEnd::Heading(_)) => {
                if let (Some(title), Some(section)) = (self.title.take(), self.sections.last_mut())
                {
                    section.title = title.trim().into();
                }
            }
            Event::Text(words) | Event::Code(words) if self.title.is_some() => {
                self.title.get_or_insert_default().push_str(&words);
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if is_yaml(&info) => {
                self.block = Some(range.end..range.end);
            }
            Event::Text(_) => {
                if let Some(block) = &mut self.block {
                    *block = block.start.min(range.start)..range.end;
                }
            }
            Event::End(TagEnd::CodeBlock) => self.finish_block(),
            _ => {}
        }
    }

    fn start_section(&mut self, level: HeadingLevel, heading: Range<usize>) {
        self.close_sections(level, heading.start);
        self.open.push(self.sections.len());
        self.title = Some(String::new());
        self.sections.push(MarkdownSection {
            title: String::new(),
            body: heading.end..self.text.len(),
            heading,
            yaml_blocks: Vec::new(),
            level,
        });
    }

    /// Closes the open sections that a heading of this level ends. There is at most one per level.
    fn close_sections(&mut self, level: HeadingLevel, end: usize) {
        let sections = &mut self.sections;
        self.open.retain(|index| {
            let section = &mut sections[*index];
            let ends = section.level >= level;
            if ends {
                section.body.end = end.max(section.body.start);
            }
            !ends
        });
    }

    fn finish_block(&mut self) {
        if let Some(block) = self.block.take() {
            for index in &self.open {
                self.sections[*index].yaml_blocks.push(block.clone());
            }
        }
    }
}

/// Reports that the Markdown was only read up to this byte.
pub(crate) fn report_unread(unread_from: Option<usize>, report: &mut Report) {
    if let Some(offset) = unread_from {
        report
            .warning(
                &SE_04,
                offset..offset,
                "the Markdown after this point was ignored: it has too many formatting marks or \
                 is nested too deeply",
            )
            .help("split the file, or remove content that is not meant for reading");
    }
}

fn is_yaml(info: &str) -> bool {
    matches!(info.split_whitespace().next(), Some("yaml" | "yml"))
}

/// Returns the YAML below each heading with this title, in order. Reports what is not YAML.
pub(crate) fn read_yaml_blocks(
    text: &str,
    start: usize,
    title: &str,
    rules: YamlBlockRules<'_>,
    report: &mut Report,
) -> Vec<YamlNode> {
    let (sections, unread_from) = read_sections(text, start);
    // The function runs once per title, but this is reported once.
    if !report.findings.iter().any(|finding| finding.check.id == SE_04.id) {
        report_unread(unread_from, report);
    }
    let matching = sections.iter().filter(|section| is_same_title(&section.title, title));
    let mut nodes = Vec::new();
    let max_nodes = rules.limits.yaml_nodes;
    // The limits apply to all blocks of a file together.
    let mut node_count = 0;
    for block in matching.flat_map(|section| &section.yaml_blocks) {
        let Some(node) = rules.parse_block(text, block, title, report) else { continue };
        node_count += yaml::count_nodes(&node);
        if node_count > max_nodes {
            let message = format!("the blocks below `{title}` contain more than {max_nodes} nodes");
            report
                .error(rules.check, block.clone(), message)
                .help("reduce their size, or raise the limit with `--limit yaml-nodes=<number>`");
            break;
        }
        nodes.push(node);
    }
    nodes
}

/// The limits for YAML blocks, and the check under which problems are reported.
#[derive(Clone, Copy)]
pub(crate) struct YamlBlockRules<'l> {
    pub check: &'static CheckRule,
    pub limits: &'l Limits,
}

impl YamlBlockRules<'_> {
    /// Parses a block. Spans refer to the file.
    fn parse_block(
        self,
        text: &str,
        block: &Range<usize>,
        title: &str,
        report: &mut Report,
    ) -> Option<YamlNode> {
        let in_file = |span: &Range<usize>| block.start + span.start..block.start + span.end;
        match yaml::parse(&text[block.clone()], self.limits) {
            Ok(mut node) => {
                node.map_spans(&in_file);
                Some(node)
            }
            Err(error) => {
                let message = format!("invalid YAML in the block below `{title}`: {error}");
                report
                    .error(self.check, in_file(&error.span), message)
                    .help("fix the YAML syntax, or quote the value");
                None
            }
        }
    }
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
        let parsed = sections(text, 0);
        let titles_and_bodies: Vec<(&str, &str)> = parsed
            .iter()
            .map(|section| (section.title.as_str(), &text[section.body.clone()]))
            .collect();
        assert_eq!(
            titles_and_bodies,
            [
                ("A", "one\n## B\n```yaml\nx: 1\n```\n"),
                ("B", "```yaml\nx: 1\n```\n"),
                ("C", "three\n"),
            ]
        );
        assert_eq!(&text[parsed[0].yaml_blocks[0].clone()], "x: 1\n");
        assert_eq!(parsed[0].yaml_blocks, parsed[1].yaml_blocks);
    }
}
