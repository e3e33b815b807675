//! Markdown files of a context pack: frontmatter, footnotes, and the layout checks.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use sp_tree::Limits;

use super::footnotes::{SourceFootnote, code_regions, footnotes_outside_code};
use super::heading_label::heading_label;
use super::manifest::ContextPackManifest;
use super::text_file::decode_text;
use super::value_syntax::{is_known_spec_version, is_pack_id, is_source_id};
use super::{KNOWN_FILES, SOURCES_FILE, layout};
use crate::context_pack::rules::{CP_01, CP_04, CP_07};
use crate::markdown::{MarkdownSection, find_frontmatter, read_sections, report_unread, sections};
use crate::printable::printable;
use crate::report::{Report, Severity};
use crate::text::ByteSize;
use crate::yaml::{self, YamlNode, YamlValue};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextPackDocument {
    /// The whole text, including the frontmatter.
    pub text: Arc<str>,
    /// Where the body starts, after the frontmatter.
    pub body_start: usize,
    /// References to sources.
    pub footnotes: Vec<SourceFootnote>,
    /// The sources defined by headings; only in `sources.md`.
    pub definitions: Vec<SourceFootnote>,
}

/// Returns the `##` sections of a body by title, each including its heading. A repeated title gets
/// a number.
pub fn sections_by_title(body: &str) -> BTreeMap<String, &str> {
    let mut chapters = BTreeMap::new();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for section in sections(body, 0).iter().filter(|section| section.depth() == 2) {
        // The heading as written: a Markdown parser may drop footnotes from the title.
        let heading = body[section.heading.clone()].trim_start_matches('#').trim();
        let title = heading.lines().next().unwrap_or_default().trim_end_matches('#').trim_end();
        // Counting continues from the last number, so that many equal titles stay linear.
        let number = times.entry(title).or_insert(1);
        let mut name = title.to_owned();
        while chapters.contains_key(&name) {
            *number += 1;
            name = format!("{title} ({number})");
        }
        chapters.insert(name, &body[section.heading.start..section.body.end]);
    }
    chapters
}

/// Reads a file of the pack. Returns `None` if it is not readable Markdown.
pub(super) fn read(
    path: &str,
    bytes: &[u8],
    manifest: &ContextPackManifest,
    limits: &Limits,
    report: &mut Report,
) -> Option<ContextPackDocument> {
    check_name_and_size(path, bytes, limits, report)?;
    let text = decode_text(bytes, report)?;
    let after_frontmatter = check_frontmatter(path, &text, manifest, limits, report);
    let body_start = after_frontmatter.unwrap_or(0);
    let (sections, unread_from) = read_sections(&text, body_start);
    let code = code_regions(&text, body_start);
    report_unread(unread_from, report);
    let labels = if path == SOURCES_FILE { source_labels(&text, &sections) } else { Vec::new() };
    let label_starts: BTreeSet<usize> = labels.iter().map(|label| label.span.start).collect();
    let mut footnotes = footnotes_outside_code(&code, &text, body_start);
    footnotes.retain(|footnote| !label_starts.contains(&footnote.span.start));
    let definitions = unique_definitions(labels, report);
    let parsed = layout::ParsedContextDocument {
        text: &text,
        body_start,
        sections: &sections,
        code: &code,
        footnotes: &footnotes,
    };
    // Without frontmatter the file may be anything, and a missing frontmatter is reported already.
    if after_frontmatter.is_some() {
        layout::check_layout(path, &parsed, manifest, report);
    }
    Some(ContextPackDocument { text, body_start, footnotes, definitions })
}

/// Returns `None` if the file is not Markdown or too large.
fn check_name_and_size(
    path: &str,
    bytes: &[u8],
    limits: &Limits,
    report: &mut Report,
) -> Option<()> {
    if !path.ends_with(".md") {
        report
            .whole_file(Severity::Warning, &CP_01, "context packs contain only Markdown files")
            .help("remove the file; agents do not read it");
        return None;
    }
    if !KNOWN_FILES.contains(&path) {
        report
            .whole_file(Severity::Warning, &CP_01, "unknown file name for a context pack")
            .help(format!("known files: {}", KNOWN_FILES.join(", ")));
    }
    let (size, limit) = (bytes.len() as u64, limits.markdown_bytes);
    if size > limit {
        let message = format!("the file is {}; the limit is {}", ByteSize(size), ByteSize(limit));
        report
            .whole_file(Severity::Error, &CP_01, message)
            .help("shorten the file; agents do not read files of this size");
        return None;
    }
    Some(())
}

/// Checks the frontmatter against the manifest and returns where the body starts, or `None` if
/// there is no frontmatter.
fn check_frontmatter(
    path: &str,
    text: &str,
    manifest: &ContextPackManifest,
    limits: &Limits,
    report: &mut Report,
) -> Option<usize> {
    let Some((block, body)) = find_frontmatter(text) else {
        report_missing_frontmatter(text, report);
        return None;
    };
    let Some(root) = parse_frontmatter(text, block, limits, report) else { return Some(body) };
    let first = text.find("---").unwrap_or(0);
    let opening = first..first + "---".len();
    // An invalid value in the manifest is reported there and not compared.
    let pack_id = Some(manifest.pack_id.as_str()).filter(|id| is_pack_id(id));
    let version =
        Some(manifest.spec_version.as_str()).filter(|version| is_known_spec_version(version));
    for (key, expected) in [("file", Some(path)), ("pack_id", pack_id), ("spec_version", version)] {
        match (root.get(key), expected) {
            (None, _) => report_missing_field(key, expected, opening.clone(), report),
            (Some(node), Some(expected)) => check_frontmatter_field(key, node, expected, report),
            (Some(_), None) => {}
        }
    }
    Some(body)
}

/// Returns the frontmatter as a mapping or null, with spans in the file. Reports anything else.
fn parse_frontmatter(
    text: &str,
    block: Range<usize>,
    limits: &Limits,
    report: &mut Report,
) -> Option<YamlNode> {
    let in_file = |span: &Range<usize>| block.start + span.start..block.start + span.end;
    let mut root = match yaml::parse(&text[block.clone()], limits) {
        Ok(root) => root,
        Err(error) => {
            let message = format!("invalid YAML in the frontmatter: {}", error.message);
            report.error(&CP_04, in_file(&error.span), message).help(error.help());
            return None;
        }
    };
    root.map_spans(&in_file);
    if !root.is_null() && !matches!(root.value, YamlValue::Map(_)) {
        let message = format!("the frontmatter must be a mapping, not {}", root.kind());
        report
            .error(&CP_04, root.span.clone(), message)
            .help("write one field per line, such as `file: …`");
        return None;
    }
    Some(root)
}

fn report_missing_field(
    key: &str,
    expected: Option<&str>,
    span: Range<usize>,
    report: &mut Report,
) {
    let value = expected.map_or_else(|| "…".into(), |expected| frontmatter_value(key, expected));
    report
        .error(&CP_04, span, format!("the frontmatter has no `{key}`"))
        .help(format!("add `{key}: {value}`"));
}

fn report_missing_frontmatter(text: &str, report: &mut Report) {
    let first = text.lines().next().unwrap_or_default();
    if first.trim_start_matches('\u{feff}').trim_end() == "---" {
        let message = "unterminated frontmatter";
        report.error(&CP_04, 0..first.trim_end().len(), message).help("add a closing line `---`");
        return;
    }
    let help = "run `sp context seal`, or start the file with `---`, `file: …`, `pack_id: …`, \
                `spec_version: \"0.1\"`, `---`";
    report.whole_file(Severity::Error, &CP_04, "the frontmatter is missing").help(help);
}

/// Returns a value as it is written in the frontmatter: quoted where YAML could read it as
/// something other than text.
pub(super) fn frontmatter_value(key: &str, text: &str) -> String {
    let is_plain = key != "spec_version"
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.contains(['.', '_', '-'])
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte));
    if is_plain { text.to_owned() } else { crate::json::quoted(text) }
}

/// Whether the frontmatter of an unlisted file claims this path and this pack.
pub(super) fn claims_membership(
    path: &str,
    bytes: &[u8],
    manifest: &ContextPackManifest,
    limits: &Limits,
) -> bool {
    let root = std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| yaml::parse(&text[find_frontmatter(text)?.0], limits).ok());
    let has = |key: &str, value: &str| {
        root.as_ref()
            .and_then(|root| root.get(key))
            .and_then(YamlNode::text)
            .is_some_and(|text| text == value)
    };
    path.ends_with(".md") && has("file", path) && has("pack_id", &manifest.pack_id)
}

fn check_frontmatter_field(key: &str, node: &YamlNode, expected: &str, report: &mut Report) {
    if let (Some(other), true) = (node.implicit_type(), node.text() == Some(expected)) {
        let message = format!("YAML parsers read `{key}` as {other}, not as text");
        report
            .warning(&CP_04, node.span.clone(), message)
            .help(format!("quote the value: `\"{expected}\"`"));
    } else if node.text() != Some(expected) {
        let found = node
            .text()
            .map_or_else(|| node.kind().to_owned(), |text| format!("`{}`", printable(text)));
        let whose = if key == "file" { "the file is" } else { "`pack.json` has" };
        let message = format!("`{key}` is {found}, but {whose} `{}`", printable(expected));
        report
            .error(&CP_04, node.span.clone(), message)
            .help("use the same value, or run `sp context seal`");
    }
}

/// Returns the headings that define a source.
fn source_labels(text: &str, sections: &[MarkdownSection]) -> Vec<SourceFootnote> {
    let labels = sections
        .iter()
        .filter_map(|section| heading_label(text, section))
        .filter(|label| is_source_id(label.id));
    labels.map(|label| SourceFootnote { id: label.id.to_owned(), span: label.span }).collect()
}

/// Returns the first definition of each source and reports the others.
fn unique_definitions(labels: Vec<SourceFootnote>, report: &mut Report) -> Vec<SourceFootnote> {
    let mut seen = BTreeSet::new();
    let (first, again): (Vec<_>, Vec<_>) =
        labels.into_iter().partition(|label| seen.insert(label.id.clone()));
    for label in again {
        let message = format!("duplicate section for `{}`", label.id);
        report.warning(&CP_07, label.span, message).help("remove the duplicate");
    }
    first
}
