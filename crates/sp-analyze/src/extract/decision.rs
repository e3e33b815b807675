//! Decisions: decision records, and changelog entries that change, remove or deprecate something.

use sp_formats::markdown::{MarkdownSection, sections};

use crate::extract::document::{front_matter_end, rst_to_markdown};
use crate::extract::file_extract::{ExtractedNote, FileExtract};
use crate::extract::source_text::SourceText;
use crate::extract::text::{collapse_whitespace, truncate_text};

const MAX_DECISION_LEN: usize = 1_200;
const MAX_CONTEXT_LEN: usize = 500;
/// Older releases are history.
const MAX_RELEASES: usize = 25;
/// Changelog sections whose entries are decisions.
const DECISION_SECTIONS: &[&str] =
    &["changed", "removed", "deprecated", "breaking", "breaking changes", "security"];
/// Phrases that mark an entry as a decision in changelogs without such sections.
const DECISION_PHRASES: &[&str] =
    &["breaking", "no longer", "deprecat", "now require", "drop support", "dropped support"];
/// Words that start such an entry.
const DECISION_PREFIXES: &[&str] =
    &["remove", "rename", "replace", "drop", "switch", "require", "default to", "move"];

/// Adds the decision of a decision record.
pub(crate) fn read_record(source: SourceText<'_>, found: &mut FileExtract) {
    let text = source.text;
    let all = sections(text, front_matter_end(text));
    let Some(title) = all.first().map(|section| section.title.clone()) else { return };
    let body = |names: &[&str], most: usize| {
        let section = all.iter().find(|section| {
            names.iter().any(|name| section.title.to_lowercase().starts_with(name))
        })?;
        Some(truncate_text(text[section.body.clone()].trim(), most)).filter(|text| !text.is_empty())
    };
    let status = header_value(text, "status")
        .or_else(|| body(&["status"], 200).map(|text| collapse_whitespace(&text)));
    let mut content = title;
    if let Some(status) = &status {
        content += &format!("\n\nStatus: {status}");
    }
    match body(&["decision"], MAX_DECISION_LEN) {
        Some(decision) => {
            content += &format!("\n\nDecision: {decision}");
            let rest = [
                ("Context", body(&["context", "problem"], MAX_CONTEXT_LEN)),
                ("Consequences", body(&["consequence"], MAX_CONTEXT_LEN)),
            ];
            for (name, text) in rest {
                content += &text.map(|text| format!("\n\n{name}: {text}")).unwrap_or_default();
            }
        }
        None => {
            let rest = all.first().map_or("", |first| &text[first.body.clone()]);
            content += &format!("\n\n{}", truncate_text(rest, MAX_DECISION_LEN));
        }
    }
    let mut note = ExtractedNote::new("decision", "record", content, source.all_lines());
    note.date = header_value(text, "date").filter(|date| is_date(date));
    let lower = text.to_lowercase();
    note.supersedes = reference_after(&lower, "supersedes");
    note.superseded_by =
        reference_after(&lower, "superseded by").or_else(|| reference_after(&lower, "replaced by"));
    found.add_note(note);
}

/// The value of a header such as `Status: accepted`, with or without formatting.
fn header_value(text: &str, key: &str) -> Option<String> {
    text.lines().take(40).find_map(|line| {
        let line = line.trim_start_matches(['*', '-', ' ', '_', '>']);
        let head = line.get(..key.len()).filter(|head| head.eq_ignore_ascii_case(key))?;
        let rest = line[head.len()..].trim_start_matches(['*', '_', ' ']).strip_prefix(':')?;
        Some(rest.trim_matches(['*', ' ', '_']).to_owned()).filter(|rest| !rest.is_empty())
    })
}

/// The document named after `words`: a link target or a number.
fn reference_after(text: &str, words: &str) -> Option<String> {
    let line = text[text.find(words)? + words.len()..].lines().next()?;
    let link =
        line.split_once("](").and_then(|(_, rest)| rest.split_once(')')).map(|(target, _)| target);
    let number = || line.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty());
    let target = link.or_else(number)?;
    Some(target.rsplit('/').next().unwrap_or(target).split('#').next().unwrap_or(target).to_owned())
}

/// Whether `text` is a date such as `2024-05-06`.
pub(crate) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| {
            if at == 4 || at == 7 { *byte == b'-' } else { byte.is_ascii_digit() }
        })
        && text.parse::<jiff::civil::Date>().is_ok()
}

/// Adds the decisions of each release.
pub(crate) fn read_changelog(source: SourceText<'_>, found: &mut FileExtract) {
    let text = if source.path.ends_with(".rst") {
        rst_to_markdown(source.text)
    } else {
        source.text.to_owned()
    };
    let source = SourceText { text: &text, ..source };
    let all = sections(source.text, 0);
    let releases = all.iter().filter(|section| is_release_title(&section.title)).take(MAX_RELEASES);
    for release in releases {
        let parts: Vec<&MarkdownSection> = all
            .iter()
            .filter(|section| release.body.contains(&section.heading.start))
            .filter(|section| {
                DECISION_SECTIONS
                    .contains(&section.title.to_lowercase().trim_matches(['*', ':', ' ']))
            })
            .collect();
        let date = release.title.split([' ', '(', ')']).find(|word| is_date(word)).map(Into::into);
        if parts.is_empty() {
            add_decision_items(source, release, date.as_ref(), found);
        }
        for part in parts {
            let text = source.text[part.body.clone()].trim();
            let content = format!(
                "{}, {}:\n{}",
                release.title,
                part.title.to_lowercase(),
                truncate_text(text, MAX_DECISION_LEN)
            );
            let mut note = ExtractedNote::new(
                "decision",
                "release",
                content,
                source.line_range(&(part.heading.start..part.body.end)),
            );
            note.date.clone_from(&date);
            found.add_note(note);
        }
    }
}

fn is_release_title(title: &str) -> bool {
    let title = title.trim_start_matches(['[', 'v', 'V']);
    let starts_with_number = title.split_once('.').is_some_and(|(major, rest)| {
        !major.is_empty()
            && major.bytes().all(|byte| byte.is_ascii_digit())
            && rest.starts_with(|c: char| c.is_ascii_digit())
    });
    starts_with_number
        || title.to_lowercase().starts_with("unreleased")
        || title.to_lowercase().starts_with("version ")
}

/// Adds the entries of one release that are decisions.
fn add_decision_items(
    source: SourceText<'_>,
    release: &MarkdownSection,
    date: Option<&String>,
    found: &mut FileExtract,
) {
    let start = release.body.start;
    for point in list_items(&source.text[release.body.clone()]) {
        let range = start + point.start..start + point.end;
        let text = collapse_whitespace(&source.text[range.clone()]);
        let lower = text.to_lowercase();
        let start = lower.trim_start_matches(['-', '*', '+', ' ']);
        if DECISION_PHRASES.iter().any(|word| lower.contains(word))
            || DECISION_PREFIXES.iter().any(|word| start.starts_with(word))
        {
            let content = format!(
                "{}: {}",
                release.title,
                truncate_text(text.trim_start_matches(['-', '*', '+', ' ']), MAX_DECISION_LEN)
            );
            let mut note =
                ExtractedNote::new("decision", "release", content, source.line_range(&range))
                    .with_confidence(0.8);
            note.date = date.cloned();
            found.add_note(note);
        }
    }
}

/// The items of a list, each with its continuation lines.
fn list_items(text: &str) -> Vec<std::ops::Range<usize>> {
    let (mut points, mut at): (Vec<std::ops::Range<usize>>, usize) = (Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        let is_point = line.starts_with("- ") || line.starts_with("* ") || line.starts_with("+ ");
        let goes_on = line.starts_with([' ', '\t']) && !line.trim().is_empty();
        match points.last_mut() {
            _ if is_point => points.push(at..at + line.len()),
            Some(last) if goes_on && last.end == at => last.end = at + line.len(),
            _ => {}
        }
        at += line.len();
    }
    points
}
