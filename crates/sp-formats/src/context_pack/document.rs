//! A Markdown file of a pack: its frontmatter, its footnotes, and what it should look like.

use std::ops::Range;
use std::sync::Arc;

use sp_tree::Limits;

use super::manifest::{Manifest, is_source_id};
use super::references::{Reference, references};
use super::{FILES, SOURCES, shape, text_of};
use crate::checks::{CP_01, CP_04, CP_07};
use crate::markdown::{Section, sections};
use crate::printable::printable;
use crate::report::{Report, Severity};
use crate::yaml::{self, Node};

/// A Markdown file of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its text.
    pub text: Arc<str>,
    /// Where the Markdown begins, behind the frontmatter.
    pub body: usize,
    /// The footnotes in it.
    pub refers: Vec<Reference>,
    /// The sources that it defines: those of `sources.md`.
    pub defines: Vec<Reference>,
}

/// Reads a file that a manifest lists; none if it is no text at all.
pub(super) fn read(
    path: &str,
    bytes: &[u8],
    (manifest, limits): (&Manifest, &Limits),
    report: &mut Report,
) -> Option<(Document, Arc<str>)> {
    if !path.ends_with(".md") {
        report
            .whole(Severity::Warning, &CP_01, "a pack has Markdown files only")
            .help("take it out of the pack; agents do not read it");
        return None;
    }
    if !FILES.contains(&path) {
        report
            .whole(Severity::Warning, &CP_01, "no file of a pack is called so")
            .help(format!("the files are: {}", FILES.join(", ")));
    }
    let text = text_of(bytes, report)?;
    let body = frontmatter(path, &text, (manifest, limits), report);
    let all = sections(&text, body);
    let defines = if path == SOURCES { definitions(&text, &all, report) } else { Vec::new() };
    let mut refers = references(&text, body);
    refers.retain(|one| !defines.iter().any(|definition| definition.span == one.span));
    shape::check(path, &text, (&all, manifest), report);
    Some((Document { text: Arc::clone(&text), body, refers, defines }, text))
}

/// Reads the frontmatter and holds it against the manifest; where the Markdown begins.
fn frontmatter(path: &str, text: &str, (manifest, limits): (&Manifest, &Limits), report: &mut Report) -> usize {
    let Some((block, body)) = block(text) else {
        let help =
            "begin with `---`, `file: …`, `pack_id: …`, `spec_version: \"0.1\"`, `---`; `sp context seal` writes it";
        report.error(&CP_04, 0..0, "it has no frontmatter").help(help);
        return 0;
    };
    let root = match yaml::parse(&text[block.clone()], limits) {
        Ok(mut node) => {
            node.map_spans(&|span: &Range<usize>| block.start + span.start..block.start + span.end);
            node
        }
        Err(error) => {
            let help = error.help();
            let span = block.start + error.span.start..block.start + error.span.end;
            report.error(&CP_04, span, format!("the frontmatter is not YAML: {}", error.message)).help(help);
            return body;
        }
    };
    for (key, wanted) in [("file", path), ("pack_id", &manifest.pack_id), ("spec_version", &manifest.spec_version)] {
        match root.get(key) {
            None => {
                let help = format!("add `{key}: {wanted}`");
                report.error(&CP_04, block.clone(), format!("the frontmatter has no `{key}`")).help(help);
            }
            Some(node) => check_member(key, node, wanted, report),
        }
    }
    body
}

fn check_member(key: &str, node: &Node, wanted: &str, report: &mut Report) {
    if node.text() != Some(wanted) {
        let found = node.text().map_or_else(|| node.kind().to_owned(), |text| format!("`{}`", printable(text)));
        let whose = if key == "file" { "the file is" } else { "`pack.json` says" };
        let message = format!("`{key}` is {found}, and {whose} `{}`", printable(wanted));
        report.error(&CP_04, node.span.clone(), message).help("write the same; `sp context seal` does");
    }
}

/// The bytes between the two `---` lines, and where the text behind them begins.
pub(super) fn block(text: &str) -> Option<(Range<usize>, usize)> {
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

/// The sources that headings define.
fn definitions(text: &str, all: &[Section], report: &mut Report) -> Vec<Reference> {
    let mut found: Vec<Reference> = Vec::new();
    for section in all {
        let heading = &text[section.heading.clone()];
        let Some(start) = heading.find("[^") else { continue };
        let Some(end) = heading[start..].find(']').map(|end| start + end) else { continue };
        let id = &heading[start + "[^".len()..end];
        if !is_source_id(id) {
            let message = format!("`{}` is no id of a source", printable(id));
            report.error(&CP_07, section.heading.clone(), message).help("write `## [^src_…]`");
            continue;
        }
        let span = section.heading.start + start..section.heading.start + end + 1;
        if found.iter().any(|known| known.id == id) {
            report.error(&CP_07, span, format!("`{id}` stands here twice")).help("keep one of the two");
            continue;
        }
        found.push(Reference { id: id.to_owned(), span });
    }
    found
}
