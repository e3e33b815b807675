//! Scans Markdown: sentences as instructions, code blocks as commands to run.

use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Tag, TagEnd};
use sp_formats::markdown::events;

use super::code_block::{command_lines, language_of, looks_like_command, without_prompts};
use super::evidence::{Evidence, Origin, Scope};
use super::finding::{AuditClass, Confidence, Detection, Risk};
use super::flow::ScriptLanguage;
use super::prose::{ProseContext, SentenceScanner, is_cautionary_title};
use super::scripts::scan_script;
use super::sensitive::{is_collector, is_tracker};
use super::word_filter::WordFilter;
use crate::hosts::{external_host, host_ranges};

/// Code after a sentence with one of these words is meant to be run.
const RUN_WORDS: &[&str] = &[
    "run",
    "execute",
    "type",
    "invoke",
    "paste",
    "call",
    "launch",
    "start with",
    "first",
    "then",
    "via",
    "using",
    "enter",
];
/// How much text before inline code is searched for [`RUN_WORDS`].
const RUN_REACH: usize = 48;

/// Code after one of these is not meant to be run.
const WARNINGS: &[&str] = &[
    "never ",
    "don't ",
    "do not ",
    "avoid",
    "❌",
    "instead of",
    "refuse",
    "block",
    "not run",
    "detect",
    "dangerous",
    "malicious",
    "such as",
    "like ",
    "e.g.",
    "attack",
    "reject",
    "forbid",
    "prohibit",
    "unsafe",
];

/// What is known about a document before its body is read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DocumentTopic {
    pub body_start: usize,
    pub is_security_topic: bool,
}

/// A code block that is being read.
struct OpenCodeBlock {
    language: String,
    ranges: Vec<Range<usize>>,
}

/// The state between the events of a document.
struct MarkdownScanner<'a, 'e> {
    text: &'a str,
    evidence: &'e mut Evidence,
    topic: DocumentTopic,
    /// Whether the heading of each level is cautionary.
    headings: [bool; 7],
    heading: Option<(HeadingLevel, usize)>,
    /// Whether the last paragraph warned of what follows.
    paragraph_warns: bool,
    in_comment: bool,
    /// Code is scanned after the sentences, which borrow the evidence.
    code: Vec<CodePart>,
}

/// Code in a document, and how it is meant.
struct CodePart {
    language: String,
    range: Range<usize>,
    ranges: Vec<Range<usize>>,
    is_inline: bool,
    is_cautionary: bool,
    is_imperative: bool,
}

/// Scans a document.
pub(super) fn scan_markdown(text: &str, topic: DocumentTopic, evidence: &mut Evidence) {
    let mut scanner = MarkdownScanner {
        text,
        evidence,
        topic,
        headings: [false; 7],
        heading: None,
        paragraph_warns: false,
        in_comment: false,
        code: Vec::new(),
    };
    scanner.scan_frontmatter();
    let unread = scanner.scan_body();
    let code = std::mem::take(&mut scanner.code);
    code.iter().for_each(|part| scanner.scan_code(part));
    if let Some(start) = unread {
        scanner.scan_rest(start);
    }
}

impl<'a> MarkdownScanner<'a, '_> {
    fn sentences(&mut self) -> SentenceScanner<'a, '_> {
        let mut sentences = SentenceScanner::new(self.text, self.evidence);
        sentences.context.is_security_topic = self.topic.is_security_topic;
        sentences
    }

    /// The frontmatter is part of every session, line by line.
    fn scan_frontmatter(&mut self) {
        let end = self.topic.body_start;
        let text = self.text;
        let mut sentences = self.sentences();
        let mut start = 0;
        for line in text[..end].split_inclusive('\n') {
            let indent = line.find(|c: char| c != '#' && !c.is_whitespace()).unwrap_or(0);
            let value = line.find(": ").map_or(indent, |at| at + 2);
            sentences.push(start + value..start + line.trim_end().len().max(value), false);
            if !line.starts_with(' ') {
                sentences.end_block();
            }
            start += line.len();
        }
        sentences.end_block();
    }

    /// Text that the Markdown parser does not read, because no human writes it.
    fn scan_rest(&mut self, start: usize) {
        let text = self.text;
        let mut sentences = self.sentences();
        let mut at = start;
        for line in text[start..].split_inclusive('\n') {
            sentences.push(at..at + line.len(), false);
            sentences.end_block();
            at += line.len();
        }
        let scope = Scope::new(Origin::Fence, start);
        scan_script(ScriptLanguage::Shell, &text[start..], &scope, self.evidence);
    }

    /// Reads the body, and returns where reading stopped.
    fn scan_body(&mut self) -> Option<usize> {
        let text = self.text;
        let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
        let topic = self.topic;
        let Self { evidence, headings, heading, paragraph_warns, in_comment, code, .. } = self;
        let mut state = BodyState {
            text,
            headings,
            heading,
            paragraph_warns,
            in_comment,
            code,
            open: None,
            text_run: None,
        };
        let mut images = Vec::new();
        let mut hidden = Vec::new();
        let mut all = events(text, topic.body_start, options);
        let mut sentences = SentenceScanner::new(text, evidence);
        sentences.context.is_security_topic = topic.is_security_topic;
        for (event, range) in all.by_ref() {
            match &event {
                Event::Start(Tag::Image { .. } | Tag::Link { .. }) => images.push(range.clone()),
                Event::Html(_) | Event::InlineHtml(_) => {
                    state.read_html(&mut sentences, &range, &mut hidden);
                }
                _ => {}
            }
            state.read(&mut sentences, event, range);
        }
        sentences.end_block();
        let unread = all.unread_from();
        images.iter().for_each(|range| self.scan_link(range));
        hidden.iter().for_each(|range| self.report_hidden_html(range));
        unread
    }

    /// Links and images whose address contains data.
    fn scan_link(&mut self, range: &Range<usize>) {
        let text = self.text;
        let is_image = text[range.start..].starts_with('!');
        let written = &text[range.clone()];
        let Some(open) = written.find("](") else { return };
        let target = written[open + 2..].trim_end_matches(')');
        let Some(host) = host_ranges(target).find_map(|host| external_host(&target[host])) else {
            return;
        };
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let query = query.split([' ', ')']).next().unwrap_or_default();
        let has_placeholder = query.contains(['{', '$', '<', '[']) || query.contains("%7B");
        let detection = if is_image && has_placeholder {
            Detection::new(
                AuditClass::Exfiltration,
                Risk::High,
                Confidence::Likely,
                format!("loads an image from `{host}` with data in its address"),
            )
        } else if is_image && (is_tracker(&host) || is_collector(&host)) {
            Detection::new(
                AuditClass::Tracker,
                Risk::Medium,
                Confidence::Likely,
                format!("loads an image from `{host}`, which counts who reads it"),
            )
        } else if is_collector(&host) && has_placeholder {
            Detection::new(
                AuditClass::Exfiltration,
                Risk::Medium,
                Confidence::Likely,
                format!("links to `{host}` with data in the address"),
            )
        } else {
            return;
        };
        let scope = Scope::new(Origin::Prose, 0);
        self.evidence.report(&scope, range, detection);
    }

    fn report_hidden_html(&mut self, range: &Range<usize>) {
        let scope = Scope::new(Origin::Prose, 0);
        let detection = Detection::new(
            AuditClass::Hidden,
            Risk::Medium,
            Confidence::Likely,
            "hides text with a style",
        );
        self.evidence.report(&scope, range, detection);
    }

    fn scan_code(&mut self, part: &CodePart) {
        let origin =
            if part.is_inline && !part.is_imperative { Origin::InlineCode } else { Origin::Fence };
        let is_quoted = part.is_inline && !part.is_imperative;
        let mut scope = Scope::new(origin, 0).cautionary(part.is_cautionary || is_quoted);
        scope.is_security_topic = self.topic.is_security_topic;
        if part.is_inline {
            let inside = self.text[part.range.clone()].trim_matches('`');
            if looks_like_command(inside) {
                let offset = self.text[part.range.clone()].find(|c| c != '`').unwrap_or(0);
                let scope = Scope { base: part.range.start + offset, ..scope };
                scan_script(ScriptLanguage::Shell, inside, &scope, self.evidence);
            }
            return;
        }
        // Blocks in lists are indented: their lines are separate ranges.
        let is_whole = part.ranges.windows(2).all(|pair| pair[0].end == pair[1].start);
        let (Some(first), Some(last)) = (part.ranges.first(), part.ranges.last()) else { return };
        let range = first.start..last.end;
        let mut content = self.text[range.clone()].to_owned();
        if !is_whole {
            // Quote marks between the lines are not code; spaces keep all positions.
            for pair in part.ranges.windows(2) {
                let gap = pair[0].end - range.start..pair[1].start - range.start;
                let blank: String = content[gap.clone()].bytes().map(|_| ' ').collect();
                content.replace_range(gap, &blank);
            }
        }
        let scope = Scope { base: range.start, ..scope };
        self.scan_block(&part.language, &content, &scope, range);
    }

    fn scan_block(&mut self, language: &str, content: &str, scope: &Scope, range: Range<usize>) {
        let script = match language {
            "bash" | "sh" | "shell" | "zsh" | "console" | "terminal" | "shell-session"
            | "shellsession" | "fish" | "ksh" | "bat" | "cmd" => ScriptLanguage::Shell,
            "python" | "py" | "python3" | "ipython" => ScriptLanguage::Python,
            "js" | "javascript" | "jsx" | "node" | "mjs" | "cjs" => ScriptLanguage::JavaScript,
            "ts" | "typescript" | "tsx" => ScriptLanguage::TypeScript,
            "json" | "jsonc" | "json5" => {
                super::config_files::scan_json(content, scope, self.evidence);
                return;
            }
            "" | "text" | "txt" | "plaintext" | "markdown" | "md" | "prompt" => {
                let commands = command_lines(content);
                if !commands.trim().is_empty() {
                    scan_script(ScriptLanguage::Shell, &commands, scope, self.evidence);
                }
                self.scan_quoted_prose(content, scope, range);
                return;
            }
            _ => {
                super::other_languages::scan_lines(content, scope, self.evidence);
                return;
            }
        };
        let content = if script == ScriptLanguage::Shell {
            without_prompts(content)
        } else {
            content.to_owned()
        };
        scan_script(script, &content, scope, self.evidence);
    }

    /// Text in a block may be a template that an agent fills in, or a quotation.
    fn scan_quoted_prose(&mut self, content: &str, scope: &Scope, range: Range<usize>) {
        let text = self.text;
        let mut sentences = self.sentences();
        sentences.context = ProseContext {
            is_quoted: true,
            is_cautionary: scope.is_cautionary,
            ..sentences.context
        };
        let mut at = range.start;
        for line in content.split_inclusive('\n') {
            let end = (at + line.len()).min(text.len());
            if text.is_char_boundary(at) && text.is_char_boundary(end) {
                sentences.push(at..end, false);
            }
            if line.trim().is_empty() {
                sentences.end_block();
            }
            at = end;
        }
        sentences.end_block();
    }
}

/// The part of the state that events change.
struct BodyState<'a, 's> {
    text: &'a str,
    headings: &'s mut [bool; 7],
    heading: &'s mut Option<(HeadingLevel, usize)>,
    paragraph_warns: &'s mut bool,
    in_comment: &'s mut bool,
    code: &'s mut Vec<CodePart>,
    open: Option<OpenCodeBlock>,
    /// Text that may continue in the next event.
    text_run: Option<Range<usize>>,
}

impl BodyState<'_, '_> {
    fn is_cautionary(&self) -> bool {
        self.headings.contains(&true)
    }

    fn read(
        &mut self,
        sentences: &mut SentenceScanner<'_, '_>,
        event: Event<'_>,
        range: Range<usize>,
    ) {
        if !matches!(event, Event::Text(_)) {
            self.flush_text(sentences);
        }
        match event {
            Event::Start(Tag::Heading { level, .. }) => *self.heading = Some((level, range.start)),
            Event::End(TagEnd::Heading(level)) => self.end_heading(sentences, level, range.end),
            Event::End(TagEnd::Paragraph | TagEnd::Item) => {
                *self.paragraph_warns = warns(&self.text[range]);
                sentences.end_block();
            }
            Event::Start(Tag::Table(_)) => sentences.context.is_quoted = true,
            Event::End(TagEnd::Table) => {
                sentences.end_block();
                sentences.context.is_quoted = false;
            }
            Event::End(TagEnd::TableCell | TagEnd::BlockQuote(_)) => sentences.end_block(),
            Event::Start(Tag::CodeBlock(kind)) => {
                sentences.end_block();
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => language_of(info),
                    CodeBlockKind::Indented => String::new(),
                };
                self.open = Some(OpenCodeBlock { language, ranges: Vec::new() });
            }
            Event::End(TagEnd::CodeBlock) => self.end_code(range),
            Event::Text(_) => match &mut self.open {
                Some(open) => open.ranges.push(range),
                None => self.push_text(sentences, range),
            },
            Event::Code(_) => {
                sentences.push(range.clone(), true);
                let is_cautionary = self.is_cautionary() || self.is_negated_before(&range);
                let is_imperative = self.asks_to_run(&range);
                self.code.push(CodePart {
                    language: String::new(),
                    ranges: Vec::new(),
                    is_inline: true,
                    is_cautionary,
                    is_imperative,
                    range,
                });
            }
            _ => {}
        }
    }

    /// The parser cuts text at every character that could be markup, also inside of a path.
    fn push_text(&mut self, sentences: &mut SentenceScanner<'_, '_>, range: Range<usize>) {
        match &mut self.text_run {
            Some(run) if run.end == range.start => run.end = range.end,
            _ => {
                self.flush_text(sentences);
                self.text_run = Some(range);
            }
        }
    }

    fn flush_text(&mut self, sentences: &mut SentenceScanner<'_, '_>) {
        if let Some(run) = self.text_run.take() {
            sentences.context.is_cautionary = self.headings.contains(&true);
            sentences.push(run, false);
        }
    }

    fn end_heading(
        &mut self,
        sentences: &mut SentenceScanner<'_, '_>,
        level: HeadingLevel,
        end: usize,
    ) {
        let start = self.heading.take().map_or(end, |(_, start)| start);
        let at = (level as usize).min(6);
        self.headings[at] = is_cautionary_title(&self.text[start..end]);
        self.headings[at + 1..].fill(false);
        *self.paragraph_warns = false;
        sentences.end_block();
    }

    fn end_code(&mut self, range: Range<usize>) {
        let Some(OpenCodeBlock { language, ranges }) = self.open.take() else { return };
        let is_cautionary = self.is_cautionary() || *self.paragraph_warns;
        self.code.push(CodePart {
            language,
            range,
            ranges,
            is_inline: false,
            is_cautionary,
            is_imperative: true,
        });
    }

    /// Whether the text directly before a position warns: `❌`, `Never run`, `BAD:`.
    fn is_negated_before(&self, range: &Range<usize>) -> bool {
        static FILTER: LazyLock<WordFilter> =
            LazyLock::new(|| WordFilter::of(WARNINGS.iter().copied()));
        let start = self.text.floor_char_boundary(range.start.saturating_sub(2 * RUN_REACH));
        let before = self.text[start..range.start].to_lowercase();
        FILTER.may_match(&before) && WARNINGS.iter().any(|word| before.contains(word))
    }

    fn asks_to_run(&self, range: &Range<usize>) -> bool {
        let start = self.text.floor_char_boundary(range.start.saturating_sub(RUN_REACH));
        let before = self.text[start..range.start].to_lowercase();
        before.split(|c: char| !c.is_alphanumeric()).any(|word| RUN_WORDS.contains(&word))
    }

    /// HTML: comments are instructions that people do not see.
    fn read_html(
        &mut self,
        sentences: &mut SentenceScanner<'_, '_>,
        range: &Range<usize>,
        hidden: &mut Vec<Range<usize>>,
    ) {
        let mut at = range.start;
        while at < range.end {
            let rest = &self.text[at..range.end];
            if *self.in_comment {
                let end = rest.find("-->").map_or(range.end, |end| at + end);
                sentences.context.is_hidden = true;
                sentences.push(at..end, false);
                *self.in_comment = end == range.end;
                if !*self.in_comment {
                    sentences.end_block();
                    sentences.context.is_hidden = false;
                }
                at = (end + 3).min(range.end.max(end));
            } else {
                let end = rest.find("<!--").map_or(range.end, |end| at + end);
                let tag = &self.text[at..end];
                if hides_text(tag) {
                    hidden.push(at..end);
                }
                if tag.contains(' ') && !tag.trim_start().starts_with('<')
                    || tag.contains('>') && !tag.trim_end().ends_with('>')
                {
                    sentences.push(at..end, false);
                }
                *self.in_comment = end < range.end;
                sentences.end_block();
                at = if *self.in_comment { end + 4 } else { range.end };
            }
        }
    }
}

/// Whether a tag has a style that makes its text invisible.
fn hides_text(tag: &str) -> bool {
    let compact: String =
        tag.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
    let is_invisible = [
        "display:none",
        "visibility:hidden",
        "font-size:0",
        "font-size:1px",
        "opacity:0;",
        "opacity:0\"",
        "color:white",
        "color:#fff",
        "color:transparent",
    ]
    .iter()
    .any(|style| compact.contains(style));
    compact.contains("style=")
        && is_invisible
        && !compact.starts_with("<svg")
        && !compact.starts_with("<script")
        && !compact.starts_with("<img")
}

/// Whether a paragraph announces code that is not meant to be run.
fn warns(paragraph: &str) -> bool {
    let last = paragraph
        .trim_end()
        .rsplit(['.', '\n'])
        .find(|sentence| !sentence.trim().is_empty())
        .unwrap_or_default();
    is_cautionary_title(last)
}
