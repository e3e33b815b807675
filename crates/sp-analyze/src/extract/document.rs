//! Prose documents: each section becomes a note whose kind follows from its title.

use std::ops::Range;

use sp_formats::markdown::{MarkdownSection, sections};

use crate::extract::file_extract::{ExtractedNote, FileExtract};
use crate::extract::line_range::LineRange;
use crate::extract::source_text::SourceText;
use crate::extract::text::{collapse_whitespace, truncate_text};

/// Longer sections are split.
const MAX_PIECE_LEN: usize = 1_400;
/// A section with more pieces is truncated.
const MAX_PIECES: usize = 8;
/// Shorter pieces are dropped.
const MIN_PIECE_LEN: usize = 6;
const MAX_MENTIONS: usize = 40;

/// Words in a section title with the kind and category they imply. The first match wins.
const TITLE_KINDS: &[(&[&str], &str, &str)] = &[
    (
        &[
            "gotcha",
            "pitfall",
            "caveat",
            "known issue",
            "troubleshoot",
            "limitation",
            "common mistake",
            "common error",
            "common problem",
            "warning",
            "watch out",
            "quirk",
            "footgun",
            "known problem",
        ],
        "gotcha",
        "warning",
    ),
    (
        &["rationale", "decision", "why ", "alternatives", "trade-off", "tradeoff", "non-goal"],
        "decision",
        "design",
    ),
    (
        &[
            "convention",
            "style",
            "guideline",
            "naming",
            "commit message",
            "pull request",
            "code review",
            "best practice",
            "rules",
            "how we work",
            "do not",
            "don't",
            "principle",
        ],
        "convention",
        "practice",
    ),
    (
        &["security", "vulnerab", "disclosure", "supported versions", "threat model"],
        "policy",
        "security",
    ),
    (
        &[
            "install",
            "setup",
            "set up",
            "getting started",
            "quick start",
            "quickstart",
            "usage",
            "build",
            "running",
            "how to run",
            "test",
            "develop",
            "deploy",
            "release",
            "commands",
            "debug",
            "lint",
        ],
        "fact",
        "command",
    ),
    (
        &[
            "structure",
            "layout",
            "architecture",
            "director",
            "modules",
            "crates",
            "packages",
            "overview",
            "components",
            "design",
            "how it works",
            "internals",
        ],
        "fact",
        "layout",
    ),
    (
        &["requirement", "dependenc", "prerequisite", "stack", "compatib", "platform"],
        "fact",
        "stack",
    ),
    (&["config", "environment variable", "options", "settings", "flags"], "fact", "configuration"),
];
/// Sections without information for people who work on the project.
const SKIPPED_TITLES: &[&str] = &[
    "license",
    "licence",
    "contributors",
    "acknowledg",
    "table of contents",
    "contents",
    "sponsor",
    "credits",
    "authors",
    "star history",
    "thanks",
    "code of conduct",
    "donat",
    "community",
    "backers",
    "copyright",
    "badges",
    "who uses",
    "used by",
    "see also",
    "changelog",
    "question",
    "filing ",
    "getting help",
    "need help",
    "get help",
    "reporting bugs",
    "reporting a bug",
    "report a bug",
    "help wanted",
    "contact",
];

/// Adds the sections of a document.
pub(crate) fn read(source: SourceText<'_>, kind: &'static str, found: &mut FileExtract) {
    if source.path.ends_with(".rst") {
        let text = rst_to_markdown(source.text);
        return read_markdown(SourceText { text: &text, ..source }, kind, found);
    }
    read_markdown(source, kind, found);
}

/// Rewrites reStructuredText headings as Markdown headings. Byte offsets do not change.
pub(crate) fn rst_to_markdown(text: &str) -> String {
    let is_rule = |line: &str| {
        let line = line.trim_end();
        let first = line.bytes().next();
        line.len() >= 3
            && first.is_some_and(|first| {
                b"=-~^\"'`*+#:._".contains(&first) && line.bytes().all(|byte| byte == first)
            })
    };
    let mut out = String::with_capacity(text.len());
    // The first underline character in the document marks its title.
    let mut highest: Option<u8> = None;
    let mut before = "";
    for line in text.split_inclusive('\n') {
        let is_below_title = is_rule(line) && !before.trim().is_empty() && !is_rule(before);
        if is_below_title {
            let own = line.as_bytes()[0];
            let mark = if *highest.get_or_insert(own) == own { "=" } else { "-" };
            out += &mark.repeat(line.trim_end().len());
            out += &line[line.trim_end().len()..];
        } else if is_rule(line) {
            // An overline is not a paragraph.
            out += &" ".repeat(line.trim_end().len());
            out += &line[line.trim_end().len()..];
        } else {
            out += line;
        }
        before = line;
    }
    out
}

fn read_markdown(source: SourceText<'_>, kind: &'static str, found: &mut FileExtract) {
    let start = front_matter_end(source.text);
    for piece in titled_sections(source.text, start) {
        let title = piece.titles.last().map_or(String::new(), |title| title.to_lowercase());
        if SKIPPED_TITLES.iter().any(|idle| title.starts_with(idle)) {
            continue;
        }
        let (kind, category) = section_kind(&title, kind);
        for (number, range) in split_paragraphs(source.text, piece.body.clone())
            .into_iter()
            .enumerate()
            .take(MAX_PIECES)
        {
            let text = clean_text(&source.text[range.clone()]);
            if text.chars().filter(|c| c.is_alphanumeric()).count() < MIN_PIECE_LEN {
                continue;
            }
            let heading = format_heading(&piece.titles, number);
            let content =
                if heading.is_empty() { text.clone() } else { format!("{heading}\n\n{text}") };
            let mut lines = source.line_range(&range);
            if number == 0 {
                lines.first = source.line_range(&piece.heading).first;
            }
            let mut note = ExtractedNote::new(kind, category, content, lines);
            note.mentions = find_mentions(&text);
            found.add_note(note);
        }
    }
    add_admonitions(source, found);
    add_directives(source, found);
}

/// The kind and category of a section.
fn section_kind(title: &str, document: &'static str) -> (&'static str, &'static str) {
    let found =
        TITLE_KINDS.iter().find(|(words, ..)| words.iter().any(|word| title.contains(word)));
    match (found, document) {
        // Every section of a rules document is a rule, except that warnings stay warnings.
        (Some((_, "gotcha", category)), _) => ("gotcha", category),
        (Some((_, _, category)), "convention" | "policy" | "gotcha") => (document, category),
        (Some((_, kind, category)), _) => (kind, category),
        (None, "policy") => (document, "security"),
        (None, "convention") => (document, "practice"),
        (None, "gotcha") => (document, "warning"),
        (None, _) => (document, "overview"),
    }
}

/// The text of a section without its subsections, and the titles that lead to it.
struct TitledSection<'t> {
    titles: Vec<&'t str>,
    heading: Range<usize>,
    body: Range<usize>,
}

/// Lists all sections in document order, each without its subsections.
fn titled_sections(text: &str, start: usize) -> Vec<TitledSection<'_>> {
    let found: Vec<MarkdownSection> = sections(text, start);
    let shown = |range: Range<usize>| {
        text[range]
            .trim()
            .trim_start_matches('#')
            .lines()
            .next()
            .unwrap_or_default()
            .trim()
            .trim_end_matches('#')
            .trim()
    };
    let first = found.first().map_or(text.len(), |section| section.heading.start);
    let mut pieces = vec![TitledSection {
        titles: Vec::new(),
        heading: start..start,
        body: start..first.max(start),
    }];
    let mut above: Vec<usize> = Vec::new();
    for (index, section) in found.iter().enumerate() {
        above.retain(|over| found[*over].body.end > section.heading.start);
        above.push(index);
        let next = found.get(index + 1).map_or(text.len(), |next| next.heading.start);
        let titles = above.iter().map(|index| shown(found[*index].heading.clone())).collect();
        let body = section.body.start..next.max(section.body.start);
        pieces.push(TitledSection { titles, heading: section.heading.clone(), body });
    }
    pieces
}

/// Omits the document title if there are titles below it.
fn format_heading(titles: &[&str], number: usize) -> String {
    let told = if titles.len() > 1 { &titles[1..] } else { titles };
    let more = if number > 0 { " (continued)" } else { "" };
    let text = told.join(" › ");
    if text.is_empty() { text } else { format!("{text}{more}") }
}

/// The offset where the text starts after the front matter.
pub(crate) fn front_matter_end(text: &str) -> usize {
    let mut offset = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        offset += line.len();
        match (number, line.trim_end() == "---") {
            (0, false) => return 0,
            (0, true) | (_, false) => {}
            (_, true) => return offset,
        }
    }
    0
}

/// Splits a text at paragraph boundaries, never inside a fenced block.
fn split_paragraphs(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    if range.len() <= MAX_PIECE_LEN {
        return vec![range];
    }
    let (mut pieces, mut start, mut at, mut fenced, mut last_stop) =
        (Vec::new(), range.start, range.start, false, None);
    for line in text[range.clone()].split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        at += line.len();
        if line.trim().is_empty() && !fenced {
            last_stop = Some(at);
        }
        if at - start > MAX_PIECE_LEN
            && let Some(stop) = last_stop.take().filter(|stop| *stop > start)
        {
            pieces.push(start..stop);
            start = stop;
        }
    }
    pieces.push(start..range.end);
    // Text without paragraphs is split at line ends.
    pieces.into_iter().flat_map(|piece| split_lines(text, piece)).collect()
}

fn split_lines(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let (mut pieces, mut start, mut at) = (Vec::new(), range.start, range.start);
    for line in text[range.clone()].split_inclusive('\n') {
        if at + line.len() - start > 2 * MAX_PIECE_LEN && at > start {
            pieces.push(start..at);
            start = at;
        }
        at += line.len();
    }
    pieces.push(start..range.end);
    pieces
}

/// Removes badges, comments and markup that only affects rendering.
fn clean_text(text: &str) -> String {
    let mut output: Vec<&str> = Vec::new();
    let (mut fenced, mut hidden) = (false, false);
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            fenced = !fenced;
        }
        if !fenced {
            hidden |= trimmed.starts_with("<!--");
            let was_hidden = hidden;
            hidden &= !trimmed.contains("-->");
            if was_hidden || is_decoration(trimmed) {
                continue;
            }
        }
        if trimmed.is_empty() && output.last().is_none_or(|last| last.trim().is_empty()) {
            continue;
        }
        output.push(line.trim_end());
    }
    truncate_text(&output.join("\n"), 2 * MAX_PIECE_LEN)
}

/// Whether a line is a badge, an image, a horizontal rule or layout HTML.
fn is_decoration(line: &str) -> bool {
    let is_rule = line.len() >= 3
        && (line.bytes().all(|byte| byte == b'-') || line.bytes().all(|byte| byte == b'='));
    let is_tag = line.starts_with('<')
        && line.ends_with('>')
        && !line.starts_with("<details")
        && !line.contains("</summary");
    line.starts_with("[![")
        || line.starts_with("![")
        || (line.starts_with('[') && line.contains("]: http"))
        || is_rule
        || is_tag
}

/// Names and paths in backticks.
fn find_mentions(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        for word in line.split('`').skip(1).step_by(2) {
            let word = word.trim_end_matches("()").trim_start_matches("./").trim_end_matches('/');
            let is_name = (3..=100).contains(&word.len()) && !word.contains(char::is_whitespace);
            if is_name && found.len() < MAX_MENTIONS && !found.iter().any(|known| known == word) {
                found.push(word.to_owned());
            }
        }
    }
    found
}

/// Adds admonitions such as `> [!WARNING]`.
fn add_admonitions(source: SourceText<'_>, found: &mut FileExtract) {
    let lines: Vec<&str> = source.text.lines().collect();
    let mut index = 0;
    while index < lines.len() {
        let start = index;
        index += 1;
        let Some(rest) = lines[start].trim_start().strip_prefix("> [!") else { continue };
        let Some((word, _)) = rest.split_once(']') else { continue };
        while lines.get(index).is_some_and(|line| line.trim_start().starts_with('>')) {
            index += 1;
        }
        if !matches!(word, "WARNING" | "CAUTION" | "IMPORTANT") {
            continue;
        }
        let said: Vec<&str> = lines[start + 1..index]
            .iter()
            .map(|line| line.trim_start().trim_start_matches('>').trim())
            .collect();
        let text = said.join(" ");
        if text.split_whitespace().count() > 3 {
            let mut note = ExtractedNote::new(
                "gotcha",
                "warning",
                text.trim(),
                LineRange { first: start + 1, last: index },
            );
            note.mentions = find_mentions(&note.content);
            found.add_note(note);
        }
    }
}

/// Adds directives such as `.. warning::` with their indented body.
fn add_directives(source: SourceText<'_>, found: &mut FileExtract) {
    let lines: Vec<&str> = source.text.lines().collect();
    for (start, line) in lines.iter().enumerate() {
        let words =
            [".. warning::", ".. caution::", ".. danger::", ".. important::", ".. attention::"];
        let Some(rest) = words.iter().find_map(|word| line.trim_start().strip_prefix(word)) else {
            continue;
        };
        let depth = line.len() - line.trim_start().len();
        let is_below =
            |line: &&&str| line.trim().is_empty() || line.len() - line.trim_start().len() > depth;
        let below: Vec<&str> =
            lines[start + 1..].iter().take_while(is_below).map(|line| line.trim()).collect();
        let text = format!("{rest} {}", below.join(" "));
        let text = collapse_whitespace(&text);
        if text.split_whitespace().count() > 3 {
            let last =
                start + 1 + below.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1);
            let content = truncate_text(&text, MAX_PIECE_LEN);
            found.add_note(ExtractedNote::new(
                "gotcha",
                "warning",
                content,
                LineRange { first: start + 1, last },
            ));
        }
    }
}
