//! Decisions: one a document where they are kept so, and what a changelog says was changed, removed or given up.

use sp_formats::markdown::{Section, sections};

use crate::extract::document::{as_markdown, front_matter};
use crate::extract::note::{Found, Note, Source, on_one_line, shortened};

const MOST_DECISION: usize = 1_200;
const MOST_CONTEXT: usize = 500;
/// Older releases than these are history.
const MOST_RELEASES: usize = 25;
/// Sections of a release that say what was decided.
const DECIDED: &[&str] = &["changed", "removed", "deprecated", "breaking", "breaking changes", "security"];
/// Words of a line that tell of a decision where there are no such sections.
const TELLING: &[&str] = &["breaking", "no longer", "deprecat", "now require", "drop support", "dropped support"];
/// Words with which such a line begins.
const BEGINNING: &[&str] = &["remove", "rename", "replace", "drop", "switch", "require", "default to", "move"];

/// One decision, as its own document tells it.
pub(crate) fn record(source: Source<'_>, found: &mut Found) {
    let text = source.text;
    let all = sections(text, front_matter(text));
    let Some(title) = all.first().map(|section| section.title.clone()) else { return };
    let body = |names: &[&str], most: usize| {
        let section =
            all.iter().find(|section| names.iter().any(|name| section.title.to_lowercase().starts_with(name)))?;
        Some(shortened(text[section.body.clone()].trim(), most)).filter(|text| !text.is_empty())
    };
    let status = said(text, "status").or_else(|| body(&["status"], 200).map(|text| on_one_line(&text)));
    let mut content = title;
    if let Some(status) = &status {
        content += &format!("\n\nStatus: {status}");
    }
    match body(&["decision"], MOST_DECISION) {
        Some(decision) => {
            content += &format!("\n\nDecision: {decision}");
            let rest = [
                ("Context", body(&["context", "problem"], MOST_CONTEXT)),
                ("Consequences", body(&["consequence"], MOST_CONTEXT)),
            ];
            for (name, text) in rest {
                content += &text.map(|text| format!("\n\n{name}: {text}")).unwrap_or_default();
            }
        }
        None => {
            let rest = all.first().map_or("", |first| &text[first.body.clone()]);
            content += &format!("\n\n{}", shortened(rest, MOST_DECISION));
        }
    }
    let mut note = Note::new("decision", "record", content, source.whole());
    note.date = said(text, "date").filter(|date| is_date(date));
    let lower = text.to_lowercase();
    note.supersedes = after(&lower, "supersedes");
    note.superseded_by = after(&lower, "superseded by").or_else(|| after(&lower, "replaced by"));
    found.add(note);
}

/// `Status: accepted`, with or without marks around it.
fn said(text: &str, key: &str) -> Option<String> {
    text.lines().take(40).find_map(|line| {
        let line = line.trim_start_matches(['*', '-', ' ', '_', '>']);
        let head = line.get(..key.len()).filter(|head| head.eq_ignore_ascii_case(key))?;
        let rest = line[head.len()..].trim_start_matches(['*', '_', ' ']).strip_prefix(':')?;
        Some(rest.trim_matches(['*', ' ', '_']).to_owned()).filter(|rest| !rest.is_empty())
    })
}

/// The document that is named after some words: the target of a link, or a number.
fn after(text: &str, words: &str) -> Option<String> {
    let line = text[text.find(words)? + words.len()..].lines().next()?;
    let link = line.split_once("](").and_then(|(_, rest)| rest.split_once(')')).map(|(target, _)| target);
    let number = || line.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty());
    let target = link.or_else(number)?;
    Some(target.rsplit('/').next().unwrap_or(target).split('#').next().unwrap_or(target).to_owned())
}

/// `2024-05-06`
pub(crate) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 10
        && bytes
            .iter()
            .enumerate()
            .all(|(at, byte)| if at == 4 || at == 7 { *byte == b'-' } else { byte.is_ascii_digit() })
        && text.parse::<jiff::civil::Date>().is_ok()
}

/// What was decided in each release.
pub(crate) fn changelog(source: Source<'_>, found: &mut Found) {
    let text = if source.path.ends_with(".rst") { as_markdown(source.text) } else { source.text.to_owned() };
    let source = Source { text: &text, ..source };
    let all = sections(source.text, 0);
    let releases = all.iter().filter(|section| is_release(&section.title)).take(MOST_RELEASES);
    for release in releases {
        let parts: Vec<&Section> = all
            .iter()
            .filter(|section| release.body.contains(&section.heading.start))
            .filter(|section| DECIDED.contains(&section.title.to_lowercase().trim_matches(['*', ':', ' '])))
            .collect();
        let date = release.title.split([' ', '(', ')']).find(|word| is_date(word)).map(Into::into);
        if parts.is_empty() {
            telling_lines(source, release, date.as_ref(), found);
        }
        for part in parts {
            let text = source.text[part.body.clone()].trim();
            let content =
                format!("{}, {}:\n{}", release.title, part.title.to_lowercase(), shortened(text, MOST_DECISION));
            let mut note =
                Note::new("decision", "release", content, source.lines(&(part.heading.start..part.body.end)));
            note.date.clone_from(&date);
            found.add(note);
        }
    }
}

fn is_release(title: &str) -> bool {
    let title = title.trim_start_matches(['[', 'v', 'V']);
    let starts_with_number = title.split_once('.').is_some_and(|(major, rest)| {
        !major.is_empty()
            && major.bytes().all(|byte| byte.is_ascii_digit())
            && rest.starts_with(|c: char| c.is_ascii_digit())
    });
    starts_with_number || title.to_lowercase().starts_with("unreleased") || title.to_lowercase().starts_with("version ")
}

/// The points of a release that tell of a decision.
fn telling_lines(source: Source<'_>, release: &Section, date: Option<&String>, found: &mut Found) {
    let start = release.body.start;
    for point in points(&source.text[release.body.clone()]) {
        let range = start + point.start..start + point.end;
        let text = on_one_line(&source.text[range.clone()]);
        let lower = text.to_lowercase();
        let start = lower.trim_start_matches(['-', '*', '+', ' ']);
        if TELLING.iter().any(|word| lower.contains(word)) || BEGINNING.iter().any(|word| start.starts_with(word)) {
            let content = format!(
                "{}: {}",
                release.title,
                shortened(text.trim_start_matches(['-', '*', '+', ' ']), MOST_DECISION)
            );
            let mut note = Note::new("decision", "release", content, source.lines(&range)).sure(0.8);
            note.date = date.cloned();
            found.add(note);
        }
    }
}

/// The points of a list, each with the lines that belong to it.
fn points(text: &str) -> Vec<std::ops::Range<usize>> {
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
