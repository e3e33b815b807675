//! Parses Markdown, including Obsidian extensions, into sections and sentences.

use pulldown_cmark::{
    CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream,
};

use crate::knowledge::document::{KnowledgeBlock, KnowledgeBlockKind, KnowledgeSection};
use crate::knowledge::html::{HtmlToken, tokenize};
use crate::knowledge::meta::{normalize_tag, to_single_line};
use crate::knowledge::sentence::{code_span, escape_markdown, split_sentences};
use crate::knowledge::web_page::is_hidden;

/// Deeper nesting of lists and quotes is considered malicious.
const MAX_DEPTH: usize = 100;
/// How much code is kept for searching.
const MAX_CODE_BYTES: usize = 256 * 1024;
const MAX_TITLE_LEN: usize = 200;
/// Headings of sections that say nothing about the subject.
#[rustfmt::skip]
const BOILERPLATE_HEADINGS: &[&str] = &[
    "table of contents", "contents", "related", "related posts", "related articles", "see also",
    "references", "further reading", "license", "licence", "comments", "share", "subscribe",
    "about the author", "acknowledgements", "footnotes", "on this page", "navigation", "links",
    "backlinks",
];

/// The content of a Markdown text.
#[derive(Debug, Default)]
pub(crate) struct MarkdownContent {
    /// The first level-1 heading.
    pub title: Option<String>,
    pub sections: Vec<KnowledgeSection>,
    pub tags: Vec<String>,
    pub code: String,
}

/// Whether lists and quotes are nested too deeply.
pub(crate) fn is_too_deep(text: &str) -> bool {
    let is_far = |line: &str| {
        line.len() - line.trim_start().len() > 20 * MAX_DEPTH && !line.trim().is_empty()
    };
    text.lines()
        .any(|line| nesting_depth(line) > MAX_DEPTH && !is_thematic_break(line) || is_far(line))
}

/// The number of lists and quotes that a line starts or continues.
fn nesting_depth(line: &str) -> usize {
    let mut rest = line.trim_start();
    let mut count = 0;
    while let Some(mark) = marker_len(rest) {
        count += 1;
        rest = rest[mark..].trim_start();
    }
    count
}

/// The length of the quote or list marker at the start of a text.
fn marker_len(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let length = match text.as_bytes().get(digits)? {
        b'>' if digits == 0 => return Some(1),
        b'-' | b'*' | b'+' if digits == 0 => 1,
        b'.' | b')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    text[length..].chars().next().is_none_or(char::is_whitespace).then_some(length)
}

/// Whether a line is a thematic break such as `* * *`.
fn is_thematic_break(line: &str) -> bool {
    let mut marks = line.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let first = marks.next();
    matches!(first, Some(b'-' | b'*')) && marks.all(|byte| Some(byte) == first)
}

/// Parses a Markdown text.
pub(crate) fn parse(text: &str) -> MarkdownContent {
    let text = strip_comments(text);
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_WIKILINKS;
    let mut reader = MarkdownReader::default();
    // The parser splits text at every potential marker.
    for event in TextMergeStream::new(Parser::new_ext(&text, options)) {
        reader.handle_event(event);
    }
    reader.flush();
    reader
        .content
        .sections
        .retain(|section| !section.blocks.is_empty() && !is_boilerplate(&section.title));
    reader.content
}

fn is_boilerplate(title: &str) -> bool {
    let title = title.trim_end_matches([':', '.']).to_lowercase();
    BOILERPLATE_HEADINGS.contains(&title.as_str())
}

/// Removes Obsidian comments: `%% … %%`.
fn strip_comments(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains("%%") {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split("%%");
    out.push_str(parts.next().unwrap_or_default());
    while let Some(inside) = parts.next() {
        match parts.next() {
            Some(after) => out.push_str(after),
            // An unmatched `%%` is text.
            None => out.extend(["%%", inside]),
        }
    }
    out.into()
}

#[derive(Default)]
struct MarkdownReader {
    content: MarkdownContent,
    /// The current block as single-line Markdown, with line feeds where lines ended.
    buffer: String,
    /// Level of the current heading.
    heading: Option<usize>,
    /// Open lists; true if ordered.
    lists: Vec<bool>,
    /// Whether the current item is an open to-do.
    todo: Option<bool>,
    /// Open quotes with their callout kind.
    quotes: Vec<Option<KnowledgeBlockKind>>,
    /// Number of open elements whose text is skipped.
    hidden_depth: usize,
    /// Whether a code block or table is open, which is only searched.
    in_code: bool,
    /// A hidden inline element, and how many of that name are nested in it.
    hidden_element: Option<(String, usize)>,
}

impl MarkdownReader {
    fn handle_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start_tag(&tag),
            Event::End(tag) => self.end_tag(tag),
            Event::InlineHtml(html) => self.inline_html(&html),
            Event::TaskListMarker(done) => self.todo = Some(!done),
            _ if self.hidden_depth > 0 || self.hidden_element.is_some() => {}
            Event::Text(words) if self.in_code => self.push_code(&words),
            Event::Text(words) => self.push_text(&words),
            Event::Code(code) if self.in_code => self.push_code(&code),
            Event::Code(code) => self.buffer.push_str(&code_span(&code)),
            Event::SoftBreak | Event::HardBreak => self.buffer.push('\n'),
            _ => {}
        }
    }

    fn start_tag(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.flush();
                self.heading = Some(*level as usize);
            }
            Tag::List(first) => {
                self.flush();
                self.lists.push(first.is_some());
            }
            Tag::Item => {
                self.flush();
                self.todo = None;
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.quotes.push(None);
            }
            Tag::Table(_) => {
                self.flush();
                self.in_code = true;
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.in_code = true;
                if let CodeBlockKind::Fenced(info) = kind {
                    self.push_code(info);
                }
            }
            Tag::Image { .. }
            | Tag::FootnoteDefinition(_)
            | Tag::HtmlBlock
            | Tag::MetadataBlock(_) => self.hidden_depth += 1,
            // `![[note]]` embeds a file; `[[note|words]]` displays its words.
            Tag::Link { link_type: LinkType::WikiLink { has_pothole: false }, .. } => {}
            Tag::Paragraph => self.flush(),
            _ => {}
        }
    }

    fn end_tag(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => self.end_heading(),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
            }
            TagEnd::Item => {
                self.flush();
                self.todo = None;
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.quotes.pop();
            }
            TagEnd::Paragraph => self.flush(),
            TagEnd::Table | TagEnd::CodeBlock => {
                self.in_code = false;
                self.content.code.push('\n');
            }
            TagEnd::TableCell => self.push_code(" "),
            TagEnd::Image
            | TagEnd::FootnoteDefinition
            | TagEnd::HtmlBlock
            | TagEnd::MetadataBlock(_) => {
                self.hidden_depth = self.hidden_depth.saturating_sub(1);
            }
            _ => {}
        }
    }

    fn push_code(&mut self, words: &str) {
        if self.content.code.len() < MAX_CODE_BYTES {
            self.content.code.push_str(words);
            self.content.code.push(' ');
        }
    }

    /// Handles an inline tag: the content of scripts and hidden elements is skipped.
    fn inline_html(&mut self, html: &str) {
        let is_unshown = |name: &str, rest: &str| {
            ["script", "style", "template"].iter().any(|known| name.eq_ignore_ascii_case(known))
                || is_hidden(rest)
        };
        for piece in tokenize(html) {
            match (piece, &mut self.hidden_element) {
                (HtmlToken::Open(name, rest), None)
                    if is_unshown(name, rest) && !rest.ends_with('/') =>
                {
                    self.hidden_element = Some((name.to_ascii_lowercase(), 1));
                }
                (HtmlToken::Open(name, _), Some((open, depth)))
                    if name.eq_ignore_ascii_case(open) =>
                {
                    *depth += 1;
                }
                (HtmlToken::Close(name), Some((open, depth)))
                    if name.eq_ignore_ascii_case(open) =>
                {
                    *depth -= 1;
                }
                _ => {}
            }
        }
        self.hidden_element = self.hidden_element.take().filter(|(_, depth)| *depth > 0);
    }

    /// Appends text to the block, without Obsidian tags and markers.
    fn push_text(&mut self, words: &str) {
        if !words.contains(['#', '=', '^']) {
            self.buffer.push_str(&escape_markdown(words));
            return;
        }
        let words = words.replace("==", "");
        let mut rest = words.as_str();
        while let Some(at) = rest.find(['#', '^']) {
            let (before, mark) = rest.split_at(at);
            let end = mark[1..]
                .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '/')))
                .map_or(mark.len(), |end| end + 1);
            let stands_alone = before.is_empty()
                && (self.buffer.is_empty() || self.buffer.ends_with(['\n', ' ']))
                || before.ends_with(' ');
            let word = &mark[1..end];
            let is_tag = mark.starts_with('#') && word.starts_with(char::is_alphabetic);
            let is_block_id = mark.starts_with('^') && !word.is_empty() && end == mark.len();
            self.buffer.push_str(&escape_markdown(before));
            if stands_alone && is_tag {
                self.content.tags.extend(normalize_tag(word));
            } else if !(stands_alone && is_block_id) {
                self.buffer.push_str(&escape_markdown(&mark[..end]));
            }
            rest = &mark[end..];
        }
        self.buffer.push_str(&escape_markdown(rest));
    }

    fn end_heading(&mut self) {
        let title = to_single_line(&std::mem::take(&mut self.buffer), MAX_TITLE_LEN);
        let level = self.heading.take();
        if level == Some(1) && self.content.title.is_none() && !title.is_empty() {
            self.content.title = Some(crate::knowledge::sentence::to_plain_text(&title));
        }
        self.content.sections.push(KnowledgeSection { title, blocks: Vec::new() });
    }

    /// Ends the current block.
    fn flush(&mut self) {
        if self.heading.is_some() {
            return;
        }
        let buffer = std::mem::take(&mut self.buffer);
        let words = self.parse_callout(buffer.trim()).unwrap_or_else(|| buffer.trim().to_owned());
        let sentences = split_sentences(&words);
        if sentences.is_empty() {
            return;
        }
        let sort = self.block_kind();
        let Some(sort) = sort else { return };
        if self.content.sections.is_empty() {
            self.content.sections.push(KnowledgeSection::default());
        }
        if let Some(section) = self.content.sections.last_mut() {
            section.blocks.push(KnowledgeBlock { sort, sentences });
        }
    }

    /// The kind of the current block; `None` for a completed to-do.
    fn block_kind(&self) -> Option<KnowledgeBlockKind> {
        let in_box = self.quotes.iter().rev().find_map(|sort| *sort);
        match (self.todo, self.lists.last()) {
            (Some(true), _) => Some(KnowledgeBlockKind::Todo),
            (Some(false), _) => None,
            _ if in_box.is_some() => in_box,
            (None, Some(true)) => Some(KnowledgeBlockKind::Step),
            (None, Some(false)) => Some(KnowledgeBlockKind::Item),
            (None, None) => Some(KnowledgeBlockKind::Text),
        }
    }

    /// If the quote starts with `[!warning] Title`, records the callout and returns the text after
    /// it. The title is not a sentence.
    fn parse_callout(&mut self, words: &str) -> Option<String> {
        let open = self.quotes.last_mut()?;
        let rest = words.strip_prefix("\\[!")?;
        let (kind, rest) = rest.split_once("\\]")?;
        *open = Some(match kind.to_ascii_lowercase().as_str() {
            "warning" | "caution" | "danger" | "error" | "bug" | "failure" | "fail" | "missing"
            | "attention" => KnowledgeBlockKind::Warning,
            "tip" | "hint" | "important" | "success" | "check" | "done" => KnowledgeBlockKind::Tip,
            "quote" | "cite" => KnowledgeBlockKind::Highlight,
            _ => KnowledgeBlockKind::Text,
        });
        let (_, below) = rest.split_once('\n').unwrap_or_default();
        Some(below.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &str) -> Vec<(KnowledgeBlockKind, Vec<String>)> {
        parse(text)
            .sections
            .into_iter()
            .flat_map(|section| section.blocks)
            .map(|block| (block.sort, block.sentences))
            .collect()
    }

    #[test]
    fn cp_12_obsidian_links_tags_callouts_and_todos_are_parsed() {
        let text = "# Retries\n\nUse [[Backoff|back-off]] and [[Jitter]] #net/http here. %%not this%%Then stop. ^abc\n\n\
                    > [!warning] Careful\n> Never retry a `POST`.\n\n- [ ] Add a limit\n- [x] Read it\n\n1. First step\n2. Second\n\n![[image.png]]\n\n==Marked words== stay.\n";
        let parsed = parse(text);
        assert_eq!(parsed.title.as_deref(), Some("Retries"));
        assert_eq!(parsed.tags, ["net/http"]);
        let owned =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            blocks(text),
            [
                (KnowledgeBlockKind::Text, owned(&["Use back-off and Jitter here.", "Then stop."])),
                (KnowledgeBlockKind::Warning, owned(&["Never retry a `POST`."])),
                (KnowledgeBlockKind::Todo, owned(&["Add a limit"])),
                (KnowledgeBlockKind::Step, owned(&["First step"])),
                (KnowledgeBlockKind::Step, owned(&["Second"])),
                (KnowledgeBlockKind::Text, owned(&["Marked words stay."])),
            ]
        );
    }

    #[test]
    fn cp_12_scripts_comments_and_footnotes_are_not_content() {
        let text = "Good <script>evil()</script><span style='display:none'>un<span>shown</span> words</span> text [^src_x].\n\n<div>raw</div>\n\n<!-- hidden -->\n\n[^src_x]: note\n\n```js\nlet code = 1;\n```\n";
        let parsed = parse(text);
        let sentences: Vec<String> = parsed
            .sections
            .into_iter()
            .flat_map(|section| section.blocks)
            .flat_map(|block| block.sentences)
            .collect();
        assert_eq!(sentences, ["Good text ."]);
        assert!(parsed.code.contains("let code"));
    }

    #[test]
    fn excessive_nesting_is_detected_before_parsing() {
        assert!(is_too_deep(&">".repeat(1000)));
        assert!(is_too_deep(&format!("{}x", "- ".repeat(500))));
        assert!(is_too_deep(&format!("{}- x", " ".repeat(5000))));
        assert!(is_too_deep(&format!("{}x", "1. ".repeat(500))));
        assert!(is_too_deep(&"+ ".repeat(500)));
        assert!(!is_too_deep(&"-".repeat(1000)));
        assert!(!is_too_deep(&"- ".repeat(1000)));
        assert!(!is_too_deep(&"3.14159 ".repeat(1000)));
        assert!(!is_too_deep("> > - a\n    - b\n"));
    }
}
