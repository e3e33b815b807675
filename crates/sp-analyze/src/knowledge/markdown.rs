//! Markdown as sections and sentences, with what Obsidian adds to it.

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream};

use crate::knowledge::document::{Block, Section, Sort};
use crate::knowledge::html::{Piece, pieces};
use crate::knowledge::meta::{on_one_line, tag};
use crate::knowledge::page::is_hidden;
use crate::knowledge::sentence::{code_span, escaped, sentences};

/// Lists and quotes in each other deeper than this are made to hurt.
const DEEPEST: usize = 100;
/// Of code so much is searched.
const MOST_CODE: usize = 256 * 1024;
const LONGEST_TITLE: usize = 200;
/// What stands below such headings says nothing of the subject.
#[rustfmt::skip]
const IDLE_HEADINGS: &[&str] = &[
    "table of contents", "contents", "related", "related posts", "related articles", "see also", "references",
    "further reading", "license", "licence", "comments", "share", "subscribe", "about the author", "acknowledgements",
    "footnotes", "on this page", "navigation", "links", "backlinks",
];

/// What a Markdown text says.
#[derive(Debug, Default)]
pub(crate) struct Text {
    /// Its first heading of the first level.
    pub title: Option<String>,
    pub sections: Vec<Section>,
    pub tags: Vec<String>,
    pub code: String,
}

/// Whether lists and quotes stand in each other so deep that nobody wrote it.
pub(crate) fn is_too_deep(text: &str) -> bool {
    let is_far = |line: &str| line.len() - line.trim_start().len() > 20 * DEEPEST && !line.trim().is_empty();
    text.lines().any(|line| marks(line) > DEEPEST && !is_rule(line) || is_far(line))
}

/// How many lists and quotes begin, or go on, at the start of a line.
fn marks(line: &str) -> usize {
    let mut rest = line.trim_start();
    let mut count = 0;
    while let Some(mark) = mark(rest) {
        count += 1;
        rest = rest[mark..].trim_start();
    }
    count
}

/// How long the mark of a quote or an item is that a text begins with.
fn mark(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let length = match text.as_bytes().get(digits)? {
        b'>' if digits == 0 => return Some(1),
        b'-' | b'*' | b'+' if digits == 0 => 1,
        b'.' | b')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    text[length..].chars().next().is_none_or(char::is_whitespace).then_some(length)
}

/// Whether a line is drawn with dashes or stars that stand apart.
fn is_rule(line: &str) -> bool {
    let mut marks = line.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let first = marks.next();
    matches!(first, Some(b'-' | b'*')) && marks.all(|byte| Some(byte) == first)
}

/// Reads a Markdown text.
pub(crate) fn read(text: &str) -> Text {
    let text = without_comments(text);
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_WIKILINKS;
    let mut reader = Reader::default();
    // A parser cuts text wherever a mark might have been.
    for event in TextMergeStream::new(Parser::new_ext(&text, options)) {
        reader.take(event);
    }
    reader.flush();
    reader.text.sections.retain(|section| !section.blocks.is_empty() && !is_idle(&section.title));
    reader.text
}

fn is_idle(title: &str) -> bool {
    let title = title.trim_end_matches([':', '.']).to_lowercase();
    IDLE_HEADINGS.contains(&title.as_str())
}

/// The text without what Obsidian takes for a comment: from `%%` to `%%`.
fn without_comments(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains("%%") {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split("%%");
    out.push_str(parts.next().unwrap_or_default());
    while let Some(inside) = parts.next() {
        match parts.next() {
            Some(after) => out.push_str(after),
            // One alone is no comment.
            None => out.extend(["%%", inside]),
        }
    }
    out.into()
}

#[derive(Default)]
struct Reader {
    text: Text,
    /// What has been read of a block, as Markdown on one line; a line feed where a line ended.
    buffer: String,
    /// Whether a heading is read, and of which level.
    heading: Option<usize>,
    /// The lists that are open: whether each is numbered.
    lists: Vec<bool>,
    /// Whether the item that is read is still to be done.
    todo: Option<bool>,
    /// The quotes that are open: what each turned out to be.
    quotes: Vec<Option<Sort>>,
    /// How many things are open whose text is left out.
    hidden: usize,
    /// Whether a block of code, or a table, is open: its words are searched only.
    in_code: bool,
    /// An element in a paragraph that does not show, and how often it stands in itself.
    unshown: Option<(String, usize)>,
}

impl Reader {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::InlineHtml(html) => self.inline_html(&html),
            Event::TaskListMarker(done) => self.todo = Some(!done),
            _ if self.hidden > 0 || self.unshown.is_some() => {}
            Event::Text(words) if self.in_code => self.code(&words),
            Event::Text(words) => self.words(&words),
            Event::Code(code) if self.in_code => self.code(&code),
            Event::Code(code) => self.buffer.push_str(&code_span(&code)),
            Event::SoftBreak | Event::HardBreak => self.buffer.push('\n'),
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
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
                    self.code(info);
                }
            }
            Tag::Image { .. } | Tag::FootnoteDefinition(_) | Tag::HtmlBlock | Tag::MetadataBlock(_) => self.hidden += 1,
            // `![[note]]` is an image, and `[[note|words]]` says its words.
            Tag::Link { link_type: LinkType::WikiLink { has_pothole: false }, .. } => {}
            Tag::Paragraph => self.flush(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
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
                self.text.code.push('\n');
            }
            TagEnd::TableCell => self.code(" "),
            TagEnd::Image | TagEnd::FootnoteDefinition | TagEnd::HtmlBlock | TagEnd::MetadataBlock(_) => {
                self.hidden = self.hidden.saturating_sub(1);
            }
            _ => {}
        }
    }

    fn code(&mut self, words: &str) {
        if self.text.code.len() < MOST_CODE {
            self.text.code.push_str(words);
            self.text.code.push(' ');
        }
    }

    /// A tag in a paragraph: what stands in a script, or in an element that does not show, is not said.
    fn inline_html(&mut self, html: &str) {
        let is_unshown = |name: &str, rest: &str| {
            ["script", "style", "template"].iter().any(|known| name.eq_ignore_ascii_case(known)) || is_hidden(rest)
        };
        for piece in pieces(html) {
            match (piece, &mut self.unshown) {
                (Piece::Open(name, rest), None) if is_unshown(name, rest) && !rest.ends_with('/') => {
                    self.unshown = Some((name.to_ascii_lowercase(), 1));
                }
                (Piece::Open(name, _), Some((open, depth))) if name.eq_ignore_ascii_case(open) => *depth += 1,
                (Piece::Close(name), Some((open, depth))) if name.eq_ignore_ascii_case(open) => *depth -= 1,
                _ => {}
            }
        }
        self.unshown = self.unshown.take().filter(|(_, depth)| *depth > 0);
    }

    /// Words of a block, without the tags and marks that Obsidian knows.
    fn words(&mut self, words: &str) {
        if !words.contains(['#', '=', '^']) {
            self.buffer.push_str(&escaped(words));
            return;
        }
        let words = words.replace("==", "");
        let mut rest = words.as_str();
        while let Some(at) = rest.find(['#', '^']) {
            let (before, mark) = rest.split_at(at);
            let end = mark[1..]
                .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '/')))
                .map_or(mark.len(), |end| end + 1);
            let stands_alone = before.is_empty() && (self.buffer.is_empty() || self.buffer.ends_with(['\n', ' ']))
                || before.ends_with(' ');
            let word = &mark[1..end];
            let is_tag = mark.starts_with('#') && word.starts_with(char::is_alphabetic);
            let is_block_id = mark.starts_with('^') && !word.is_empty() && end == mark.len();
            self.buffer.push_str(&escaped(before));
            match stands_alone && (is_tag || is_block_id) {
                true if is_tag => self.text.tags.extend(tag(word)),
                true => {}
                false => self.buffer.push_str(&escaped(&mark[..end])),
            }
            rest = &mark[end..];
        }
        self.buffer.push_str(&escaped(rest));
    }

    fn end_heading(&mut self) {
        let title = on_one_line(&std::mem::take(&mut self.buffer), LONGEST_TITLE);
        let level = self.heading.take();
        if level == Some(1) && self.text.title.is_none() && !title.is_empty() {
            self.text.title = Some(crate::knowledge::sentence::plain(&title));
        }
        self.text.sections.push(Section { title, blocks: Vec::new() });
    }

    /// Ends a block.
    fn flush(&mut self) {
        if self.heading.is_some() {
            return;
        }
        let buffer = std::mem::take(&mut self.buffer);
        let words = self.callout(buffer.trim()).unwrap_or_else(|| buffer.trim().to_owned());
        let sentences = sentences(&words);
        if sentences.is_empty() {
            return;
        }
        let sort = self.sort();
        let Some(sort) = sort else { return };
        if self.text.sections.is_empty() {
            self.text.sections.push(Section::default());
        }
        if let Some(section) = self.text.sections.last_mut() {
            section.blocks.push(Block { sort, sentences });
        }
    }

    /// What sort of block is read; none for what is done already.
    fn sort(&self) -> Option<Sort> {
        let in_box = self.quotes.iter().rev().find_map(|sort| *sort);
        match (self.todo, self.lists.last()) {
            (Some(true), _) => Some(Sort::Todo),
            (Some(false), _) => None,
            _ if in_box.is_some() => in_box,
            (None, Some(true)) => Some(Sort::Step),
            (None, Some(false)) => Some(Sort::Item),
            (None, None) => Some(Sort::Text),
        }
    }

    /// What stands in a box behind `[!warning] Title`, if a quote is one; the title is no sentence.
    fn callout(&mut self, words: &str) -> Option<String> {
        let open = self.quotes.last_mut()?;
        let rest = words.strip_prefix("\\[!")?;
        let (kind, rest) = rest.split_once("\\]")?;
        *open = Some(match kind.to_ascii_lowercase().as_str() {
            "warning" | "caution" | "danger" | "error" | "bug" | "failure" | "fail" | "missing" | "attention" => {
                Sort::Warning
            }
            "tip" | "hint" | "important" | "success" | "check" | "done" => Sort::Tip,
            "quote" | "cite" => Sort::Highlight,
            _ => Sort::Text,
        });
        let (_, below) = rest.split_once('\n').unwrap_or_default();
        Some(below.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &str) -> Vec<(Sort, Vec<String>)> {
        read(text)
            .sections
            .into_iter()
            .flat_map(|section| section.blocks)
            .map(|block| (block.sort, block.sentences))
            .collect()
    }

    #[test]
    fn cp_12_a_vault_is_read_with_links_tags_boxes_and_todos() {
        let text = "# Retries\n\nUse [[Backoff|back-off]] and [[Jitter]] #net/http here. %%not this%%Then stop. ^abc\n\n\
                    > [!warning] Careful\n> Never retry a `POST`.\n\n- [ ] Add a limit\n- [x] Read it\n\n1. First step\n2. Second\n\n![[image.png]]\n\n==Marked words== stay.\n";
        let read = read(text);
        assert_eq!(read.title.as_deref(), Some("Retries"));
        assert_eq!(read.tags, ["net/http"]);
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            blocks(text),
            [
                (Sort::Text, owned(&["Use back-off and Jitter here.", "Then stop."])),
                (Sort::Warning, owned(&["Never retry a `POST`."])),
                (Sort::Todo, owned(&["Add a limit"])),
                (Sort::Step, owned(&["First step"])),
                (Sort::Step, owned(&["Second"])),
                (Sort::Text, owned(&["Marked words stay."])),
            ]
        );
    }

    #[test]
    fn cp_12_scripts_comments_and_footnotes_are_no_words_of_a_document() {
        let text = "Good <script>evil()</script><span style='display:none'>un<span>shown</span> words</span> text [^src_x].\n\n<div>raw</div>\n\n<!-- hidden -->\n\n[^src_x]: note\n\n```js\nlet code = 1;\n```\n";
        let read = read(text);
        let all: Vec<String> = read.sections.into_iter().flat_map(|s| s.blocks).flat_map(|b| b.sentences).collect();
        assert_eq!(all, ["Good text ."]);
        assert!(read.code.contains("let code"));
    }

    #[test]
    fn what_is_nested_without_end_is_known_before_it_is_read() {
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
