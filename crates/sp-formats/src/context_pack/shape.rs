//! What the files of a pack should look like. What is not so is still a pack: these are warnings.

use std::ops::Range;

use super::manifest::{Manifest, SourceEntry, is_source_id};
use super::references::references;
use super::{AGENTS, CURSOR, PROMPTS, SKILLS, SOURCES, TASKS};
use crate::checks::{CP_05, CP_06, CP_07, CP_08, CP_09, Check};
use crate::markdown::Section;
use crate::printable::printable;
use crate::report::Report;

/// The sections of `cursor.md` and `AGENTS.md`, in their order.
pub(super) const RULES: &[&str] = &["Summary", "Stack", "Conventions", "Current focus", "Don't", "Citations"];
/// How many skills and prompts there should be.
pub(super) const SKILL_COUNT: std::ops::RangeInclusive<usize> = 3..=12;
pub(super) const PROMPT_COUNT: std::ops::RangeInclusive<usize> = 3..=8;
/// What each source has in `sources.md`.
const SOURCE_BULLETS: &[&str] = &["Title", "URL", "Kind", "Captured", "Summary", "Key claims"];

/// How many sentences a text has, about.
pub(super) fn sentences(text: &str) -> usize {
    let words: Vec<&str> = text.split_whitespace().collect();
    let ends = |word: &&&str| word.trim_end_matches(['"', '\'', ')', '”', '’']).ends_with(['.', '!', '?', '…']);
    let inner =
        words.iter().take(words.len().saturating_sub(1)).filter(ends).filter(|word| !is_abbreviation(word)).count();
    if words.is_empty() { 0 } else { inner + 1 }
}

/// `e.g.`, `v1.` and single letters do not end a sentence.
fn is_abbreviation(word: &str) -> bool {
    let bare = word.trim_end_matches('.');
    matches!(bare.to_ascii_lowercase().as_str(), "e.g" | "i.e" | "etc" | "vs" | "cf" | "no")
        || bare.chars().count() == 1
}

/// A file that is looked at.
struct Look<'a> {
    text: &'a str,
    sections: &'a [Section],
    report: &'a mut Report,
}

/// Warns of what a file should have and has not.
pub(super) fn check(path: &str, text: &str, (sections, manifest): (&[Section], &Manifest), report: &mut Report) {
    let mut look = Look { text, sections, report };
    match path {
        CURSOR => look.rules(manifest),
        AGENTS => {
            look.rules(manifest);
            look.generic();
        }
        SKILLS => look.skills(),
        SOURCES => look.sources(&manifest.sources),
        PROMPTS => look.prompts(),
        TASKS => look.tasks(),
        _ => {}
    }
}

impl Look<'_> {
    fn warn(&mut self, check: &'static Check, span: Range<usize>, message: String, help: &str) {
        // A heading ends where its words do.
        let end = span.start + self.text[span.clone()].trim_end().len();
        self.report.warning(check, span.start..end, message).help(help);
    }

    /// The sections of the second level.
    fn second(&self) -> Vec<Section> {
        self.sections.iter().filter(|section| section.depth() == 2).cloned().collect()
    }

    fn body(&self, section: &Section) -> &str {
        &self.text[section.body.clone()]
    }

    fn rules(&mut self, manifest: &Manifest) {
        let wanted = format!("Project: {}", manifest.project.name);
        match self.sections.iter().find(|section| section.depth() == 1).cloned() {
            Some(title) if title.title == wanted => {}
            Some(title) => {
                let message = format!(
                    "the title is `{}`, and the project `{}`",
                    printable(&title.title),
                    printable(&manifest.project.name)
                );
                self.warn(&CP_05, title.heading, message, "write `# Project: ` and the name that `pack.json` has");
            }
            None => {
                self.warn(&CP_05, 0..0, "it has no title".into(), "write `# Project: ` and the name of the project");
            }
        }
        let found: Vec<(String, Range<usize>)> =
            self.second().into_iter().map(|section| (section.title, section.heading)).collect();
        let mut last = 0;
        for name in RULES {
            match found.iter().position(|(title, _)| title.replace('’', "'") == *name) {
                None => {
                    let message = format!("it has no section `{name}`");
                    self.warn(
                        &CP_05,
                        0..0,
                        message,
                        "the sections are Summary, Stack, Conventions, Current focus, Don't and Citations",
                    );
                }
                Some(at) if at < last => {
                    let message = format!("the section `{name}` stands too early");
                    self.warn(&CP_05, found[at].1.clone(), message, "keep the order of the sections");
                }
                Some(at) => last = at,
            }
        }
    }

    /// What is for every agent names none.
    fn generic(&mut self) {
        let Some(at) = self.text.find("Cursor").or_else(|| self.text.find(".cursor/")) else { return };
        // A footnote's or a title's own words are somebody else's.
        self.warn(
            &CP_05,
            at..at + "Cursor".len().min(self.text.len() - at),
            "it speaks of Cursor".into(),
            "say it so that every agent can follow",
        );
    }

    fn count(&mut self, check: &'static Check, what: &str, found: usize, wanted: std::ops::RangeInclusive<usize>) {
        if !wanted.contains(&found) {
            let message = format!("it has {found} {what}; {} to {} are useful", wanted.start(), wanted.end());
            let help = if found < *wanted.start() {
                "add what is missing, if there is any"
            } else {
                "more is noise: keep the best"
            };
            self.warn(check, 0..0, message, help);
        }
    }

    /// Whether a section has a line that begins with a word and a colon.
    fn has_line(&self, section: &Section, word: &str) -> bool {
        self.body(section).lines().any(|line| begins(line, word).is_some())
    }

    fn skills(&mut self) {
        let skills = self.second();
        self.count(&CP_06, "skills", skills.len(), SKILL_COUNT);
        for skill in &skills {
            for word in ["Context", "Pattern"] {
                if !self.has_line(skill, word) {
                    self.warn(
                        &CP_06,
                        skill.heading.clone(),
                        format!("the skill has no `{word}:`"),
                        "say when it helps, and how it is done",
                    );
                }
            }
            if !self.body(skill).lines().any(is_bullet) {
                self.warn(
                    &CP_06,
                    skill.heading.clone(),
                    "the pattern has no bullets".into(),
                    "write a bullet for each step",
                );
            }
            self.cited(&CP_06, skill);
        }
    }

    /// Whether a section says where it is from.
    fn cited(&mut self, check: &'static Check, section: &Section) {
        let start = section.body.start;
        let lines = self.body(section).split_inclusive('\n').scan(start, |at, line| {
            let begin = *at;
            *at += line.len();
            Some((begin, line))
        });
        let sources = lines.into_iter().find(|(_, line)| begins(line, "Sources").is_some());
        let has = sources.is_some_and(|(at, line)| !references(&self.text[..at + line.len()], at).is_empty());
        if !has {
            self.warn(
                check,
                section.heading.clone(),
                "it has no `Sources:` with a footnote".into(),
                "write `Sources: [^src_…]`",
            );
        }
    }

    fn sources(&mut self, listed: &[SourceEntry]) {
        for section in self.second() {
            let id = section.title.trim_start_matches("[^").split(']').next().unwrap_or_default().to_owned();
            if !is_source_id(&id) {
                let message = format!("the heading `{}` names no source", printable(&section.title));
                self.warn(&CP_07, section.heading.clone(), message, "write `## [^src_…]`");
                continue;
            }
            for name in SOURCE_BULLETS {
                if bullet(self.body(&section), name).is_none() {
                    let message = format!("the source has no `{name}:`");
                    self.warn(&CP_07, section.heading.clone(), message, "write `- Title:`, `- URL:`, `- Kind:`, `- Published:`, `- Captured:`, `- Summary:` and `- Key claims:`");
                }
            }
            if let Some(source) = listed.iter().find(|source| source.id == id) {
                self.agrees(&section, source);
            }
            self.summary(&section);
        }
    }

    /// What stands here and in the manifest is the same.
    fn agrees(&mut self, section: &Section, source: &SourceEntry) {
        for (name, wanted) in [("Title", &source.title), ("URL", &source.url), ("Kind", &source.kind)] {
            let found = bullet(self.body(section), name).map(str::to_owned);
            if let Some(found) = found.filter(|found| found.trim_matches(['<', '>']) != wanted.as_str()) {
                let message =
                    format!("`{name}` is `{}`, and `pack.json` says `{}`", printable(&found), printable(wanted));
                self.warn(&CP_07, section.heading.clone(), message, "write the same");
            }
        }
    }

    fn summary(&mut self, section: &Section) {
        let Some(count) = bullet(self.body(section), "Summary").map(sentences) else { return };
        if !(2..=4).contains(&count) {
            let message = format!("the summary has {count} sentence{}", if count == 1 { "" } else { "s" });
            self.warn(&CP_07, section.heading.clone(), message, "two to four are useful");
        }
    }

    fn prompts(&mut self) {
        let prompts = self.second();
        self.count(&CP_08, "prompts", prompts.len(), PROMPT_COUNT);
        for prompt in &prompts {
            if !self.body(prompt).lines().any(|line| {
                line.trim_start().trim_start_matches(['`', '~']).trim() == "text"
                    && line.trim_start().starts_with(['`', '~'])
            }) {
                self.warn(
                    &CP_08,
                    prompt.heading.clone(),
                    "the prompt is not in a block of `text`".into(),
                    "put it between ```text and ```",
                );
            }
            self.cited(&CP_08, prompt);
        }
    }

    fn tasks(&mut self) {
        for (at, task) in self.second().iter().enumerate() {
            let number = task.title.split_once(". ").and_then(|(number, _)| number.parse::<usize>().ok());
            if number != Some(at + 1) {
                let message = format!("the task `{}` is not number {}", printable(&task.title), at + 1);
                self.warn(&CP_09, task.heading.clone(), message, "number them from 1 without gaps: `## 1. Do this`");
            }
            if !self.body(task).lines().any(is_bullet) {
                self.warn(
                    &CP_09,
                    task.heading.clone(),
                    "the task has no bullets".into(),
                    "say what is to be done, a bullet each",
                );
            }
            if !self.has_line(task, "Acceptance") {
                let help = "say how one sees that it is done: `- Acceptance: …`";
                self.warn(&CP_09, task.heading.clone(), "the task has no `Acceptance:`".into(), help);
            }
        }
    }
}

fn is_bullet(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("- ") || line.starts_with("* ") || line.starts_with("+ ")
}

/// What stands behind a word and a colon at the start of a line, with or without a bullet and marks.
pub(super) fn begins<'l>(line: &'l str, word: &str) -> Option<&'l str> {
    let line = line.trim_start().trim_start_matches(['-', '*', '+', ' ', '_']);
    let rest = line.strip_prefix(word)?.trim_start_matches(['*', '_']);
    Some(rest.strip_prefix(':')?.trim_start_matches(['*', '_']).trim())
}

/// What a bullet of a source says.
pub(super) fn bullet<'b>(body: &'b str, name: &str) -> Option<&'b str> {
    body.lines().filter(|line| is_bullet(line)).find_map(|line| begins(line, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_counted_by_their_ends() {
        for (text, count) in
            [("", 0), ("One", 1), ("One. Two.", 2), ("It uses e.g. Rust. Yes!", 2), ("Is it? \"It is.\" Good.", 3)]
        {
            assert_eq!(sentences(text), count, "{text}");
        }
    }
}
