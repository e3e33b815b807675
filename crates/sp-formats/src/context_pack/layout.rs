//! The recommended layout of each file in a context pack.
//!
//! A pack that deviates from it is still valid, so everything here is a warning.

use std::collections::BTreeMap;
use std::ops::Range;

use super::footnotes::{CodeRegion, CodeRegionKind, SourceFootnote, region_at};
use super::heading_label::heading_label;
use super::manifest::{ContextPackManifest, ContextPackSourceEntry};
use super::sentences::count_sentences;
use super::value_syntax::{is_day_or_time, is_source_id, is_url};
use super::{AGENTS_FILE, CURSOR_FILE, PROMPTS_FILE, SKILLS_FILE, SOURCES_FILE, TASKS_FILE};
use crate::context_pack::rules::{CP_05, CP_06, CP_07, CP_08, CP_09};
use crate::markdown::MarkdownSection;
use crate::printable::printable;
use crate::report::{Report, Severity};
use crate::rules::CheckRule;
use crate::text::pluralize;
use crate::time;

/// The sections of `cursor.md` and `AGENTS.md`, in order.
const RULE_SECTIONS: &[&str] =
    &["Summary", "Stack", "Conventions", "Current focus", "Don't", "Citations"];
/// The sections that must be lists.
const LIST_SECTIONS: &[&str] = &["Stack", "Conventions", "Current focus", "Don't"];
/// The recommended number of skills and prompts.
const SKILL_COUNT: std::ops::RangeInclusive<usize> = 3..=12;
const PROMPT_COUNT: std::ops::RangeInclusive<usize> = 3..=8;
/// The bullets of a source in `sources.md`.
const SOURCE_BULLETS: &[&str] =
    &["Title", "URL", "Kind", "Published", "Captured", "Summary", "Key claims"];

/// What is known of a document when its layout is checked.
pub(super) struct ParsedContextDocument<'a> {
    pub text: &'a str,
    pub body_start: usize,
    pub sections: &'a [MarkdownSection],
    pub code: &'a [CodeRegion],
    pub footnotes: &'a [SourceFootnote],
}

/// Reports where a file deviates from the recommended layout.
pub(super) fn check_layout(
    path: &str,
    page: &ParsedContextDocument<'_>,
    manifest: &ContextPackManifest,
    report: &mut Report,
) {
    let mut checker = LayoutChecker { page, report };
    match path {
        CURSOR_FILE => checker.check_rules(manifest),
        AGENTS_FILE => {
            checker.check_rules(manifest);
            checker.check_agent_neutral();
        }
        SKILLS_FILE => checker.check_skills(),
        SOURCES_FILE => checker.check_sources(&manifest.sources),
        PROMPTS_FILE => checker.check_prompts(),
        TASKS_FILE => checker.check_tasks(),
        _ => {}
    }
}

/// A line that is not in a code block.
struct MarkdownLine<'a> {
    at: usize,
    text: &'a str,
}

struct LayoutChecker<'a, 'r> {
    page: &'a ParsedContextDocument<'a>,
    report: &'r mut Report,
}

impl<'a> LayoutChecker<'a, '_> {
    fn warn(
        &mut self,
        check: &'static CheckRule,
        span: Range<usize>,
        message: impl Into<String>,
        help: &str,
    ) {
        // Section headings include the line break.
        let end = span.start + self.page.text[span.clone()].trim_end().len();
        self.report.warning(check, span.start..end, message).help(help);
    }

    fn warn_whole(&mut self, check: &'static CheckRule, message: impl Into<String>, help: &str) {
        self.report.whole_file(Severity::Warning, check, message).help(help);
    }

    fn second_level_sections(&self) -> Vec<&'a MarkdownSection> {
        self.page.sections.iter().filter(|section| section.depth() == 2).collect()
    }

    /// The lines of a section that are not in a code block or comment.
    fn text_lines(
        &self,
        section: &MarkdownSection,
    ) -> impl Iterator<Item = MarkdownLine<'a>> + use<'a> {
        let (page, mut at) = (self.page, section.body.start);
        page.text[section.body.clone()].split_inclusive('\n').filter_map(move |text| {
            let begin = at;
            at += text.len();
            let first = begin + text.len() - text.trim_start().len();
            let is_code =
                region_at(page.code, first).is_some_and(|code| code.kind != CodeRegionKind::Inline);
            (!is_code).then_some(MarkdownLine { at: begin, text })
        })
    }

    fn has_bullets(&self, section: &MarkdownSection) -> bool {
        self.text_lines(section).any(|line| is_bullet(line.text))
    }

    /// Whether a line of the section starts with `word:`.
    fn has_line(&self, section: &MarkdownSection, word: &str) -> bool {
        self.text_lines(section).any(|line| labeled_value(line.text, word).is_some())
    }

    fn check_rules(&mut self, manifest: &ContextPackManifest) {
        self.check_title(&manifest.project.name);
        let (mut last, mut missing) = (0, Vec::new());
        for name in RULE_SECTIONS {
            let is_named = |section: &MarkdownSection| section.title.replace('’', "'") == *name;
            let all = self.page.sections.iter().enumerate();
            let mut named = all.filter(|(_, section)| section.depth() > 1 && is_named(section));
            let Some((at, section)) = named.next() else {
                missing.push(format!("`{name}`"));
                continue;
            };
            if section.depth() != 2 {
                let message = format!("the section `{name}` must be at level 2");
                self.warn(&CP_05, section.heading.clone(), message, "start the heading with `## `");
            }
            if at < last {
                let message = format!("the section `{name}` is out of order");
                let help =
                    "use the order Summary, Stack, Conventions, Current focus, Don't, Citations";
                self.warn(&CP_05, section.heading.clone(), message, help);
            }
            last = last.max(at);
            for (_, again) in named {
                let message = format!("duplicate section `{name}`");
                self.warn(&CP_05, again.heading.clone(), message, "remove the duplicate");
            }
            self.check_rule_section(name, section);
        }
        if !missing.is_empty() {
            let help = "add the missing sections; all of Summary, Stack, Conventions, Current \
                        focus, Don't and Citations are required";
            self.warn_whole(&CP_05, format!("missing section: {}", join_with_and(&missing)), help);
        }
    }

    fn check_title(&mut self, name: &str) {
        let Some(title) = self.page.sections.iter().find(|section| section.depth() == 1) else {
            self.warn_whole(
                &CP_05,
                "the title is missing",
                "add `# Project: ` followed by the name of the project",
            );
            return;
        };
        // The title may be equal after Markdown processing or as written.
        let written = self.page.text[title.heading.clone()].trim_start_matches('#');
        let expected = normalize_whitespace(&format!("Project: {name}"));
        let is_other = normalize_whitespace(&title.title) != expected
            && normalize_whitespace(written) != expected;
        // A missing project name is reported for the manifest.
        if is_other && !name.trim().is_empty() {
            let message = format!(
                "the title is `{}`, but should be `Project: {}`",
                printable(&title.title),
                printable(name)
            );
            let help = "use `# Project: ` followed by the project name from `pack.json`";
            self.warn(&CP_05, title.heading.clone(), message, help);
        }
    }

    /// Checks the content of a section of `cursor.md` or `AGENTS.md`.
    fn check_rule_section(&mut self, name: &str, section: &MarkdownSection) {
        if LIST_SECTIONS.contains(&name) && !self.has_bullets(section) {
            let message = format!("the section `{name}` has no bullets");
            self.warn(&CP_05, section.heading.clone(), message, "write each item as a bullet");
        }
        if name == "Summary" {
            let is_text: Vec<bool> =
                self.text_lines(section).map(|line| !line.text.trim().is_empty()).collect();
            let paragraphs =
                is_text.split(|is_text| !is_text).filter(|lines| !lines.is_empty()).count();
            if paragraphs != 1 {
                let message = match paragraphs {
                    0 => "the summary is empty".to_owned(),
                    more => format!("the summary has {more} paragraphs"),
                };
                self.warn(&CP_05, section.heading.clone(), message, "write one paragraph");
            }
        }
    }

    /// `AGENTS.md` is for every agent, so it should not mention Cursor.
    fn check_agent_neutral(&mut self) {
        // The project itself may be named Cursor, so its title is exempt.
        let title = self.page.sections.iter().find(|section| section.depth() == 1);
        let title = title.map_or(0..0, |section| section.heading.clone());
        let text = self.page.text;
        let names = ["Cursor", ".cursor/", "cursor.md"]
            .into_iter()
            .flat_map(|name| text.match_indices(name).map(|(at, name)| at..at + name.len()));
        let is_word = |span: &Range<usize>| {
            let is_letter = |c: char| c.is_alphanumeric() || c == '_';
            !text[..span.start].ends_with(is_letter) && !text[span.end..].starts_with(is_letter)
        };
        let is_meant = |span: &Range<usize>| {
            span.start >= self.page.body_start && !title.contains(&span.start)
        };
        let first = names
            .filter(|span| is_meant(span) && (text[span.clone()].ends_with('/') || is_word(span)));
        if let Some(span) = first.min_by_key(|span| span.start) {
            self.warn(
                &CP_05,
                span,
                "`AGENTS.md` mentions Cursor",
                "use wording that applies to all agents",
            );
        }
    }

    fn check_count(
        &mut self,
        check: &'static CheckRule,
        what: &str,
        found: usize,
        recommended: std::ops::RangeInclusive<usize>,
    ) {
        if !recommended.contains(&found) {
            let message = format!(
                "found {}; {} to {} are recommended",
                pluralize(found, what),
                recommended.start(),
                recommended.end()
            );
            let help = if found < *recommended.start() {
                "add more if possible"
            } else {
                "keep only the best"
            };
            self.warn_whole(check, message, help);
        }
    }

    fn check_skills(&mut self) {
        let skills = self.second_level_sections();
        self.check_count(&CP_06, "skill", skills.len(), SKILL_COUNT);
        for skill in skills {
            let missing =
                ["Context", "Pattern"].into_iter().filter(|word| !self.has_line(skill, word));
            let missing: Vec<String> = missing.map(|word| format!("`{word}:`")).collect();
            if !missing.is_empty() {
                let message = format!("the skill is missing {}", join_with_and(&missing));
                self.warn(
                    &CP_06,
                    skill.heading.clone(),
                    message,
                    "describe when to use the skill and how to apply it",
                );
            }
            if self.has_line(skill, "Pattern") && !self.has_bullets(skill) {
                let help = "write each step as a bullet";
                self.warn(&CP_06, skill.heading.clone(), "the pattern has no bullets", help);
            }
            self.check_cited(&CP_06, skill);
        }
    }

    /// Checks that a section has a `Sources:` line with a footnote.
    fn check_cited(&mut self, check: &'static CheckRule, section: &MarkdownSection) {
        let from = self
            .text_lines(section)
            .find(|line| labeled_value(line.text, "Sources").is_some())
            .map(|line| line.at);
        let has = from.is_some_and(|from| {
            let next = self.page.footnotes.partition_point(|reference| reference.span.start < from);
            self.page
                .footnotes
                .get(next)
                .is_some_and(|reference| reference.span.start < section.body.end)
        });
        if !has {
            let help = "add `Sources: [^src_…]`";
            self.warn(
                check,
                section.heading.clone(),
                "the section has no `Sources:` line with a footnote",
                help,
            );
        }
    }

    fn check_sources(&mut self, listed: &[ContextPackSourceEntry]) {
        let listed: BTreeMap<&str, &ContextPackSourceEntry> =
            listed.iter().map(|source| (source.id.as_str(), source)).collect();
        for section in self.page.sections {
            let Some(label) = heading_label(self.page.text, section) else {
                if section.depth() == 2 {
                    let message = format!(
                        "the heading `{}` does not contain a source ID",
                        printable(&section.title)
                    );
                    self.warn(
                        &CP_07,
                        section.heading.clone(),
                        message,
                        "use a heading such as `## [^src_…]`",
                    );
                }
                continue;
            };
            if !is_source_id(label.id) {
                let message = format!("invalid source ID `{}`", printable(label.id));
                self.warn(
                    &CP_07,
                    label.span,
                    message,
                    "use `src_` followed by letters, digits, `_` and `-`",
                );
                continue;
            }
            if section.depth() != 2 || !label.rest.is_empty() {
                let message =
                    format!("the heading of a source must be exactly `## [^{}]`", label.id);
                self.warn(
                    &CP_07,
                    section.heading.clone(),
                    message,
                    "remove other text; write the title as a `Title:` bullet",
                );
            }
            self.check_source(section, listed.get(label.id).copied());
        }
    }

    fn check_source(&mut self, section: &MarkdownSection, listed: Option<&ContextPackSourceEntry>) {
        let published = listed.and_then(|source| source.published_at.as_deref());
        let missing = SOURCE_BULLETS
            .iter()
            .filter(|name| **name != "Published" || published.is_some_and(is_day_or_time))
            .filter(|name| self.bullet_value(section, name).is_none())
            .map(|name| format!("`{name}:`"))
            .collect::<Vec<_>>();
        if !missing.is_empty() {
            let message = format!("the source is missing {}", join_with_and(&missing));
            self.warn(
                &CP_07,
                section.heading.clone(),
                message,
                "add each as a bullet, such as `- Title: …`",
            );
        }
        if let Some(source) = listed {
            self.check_matches_manifest(section, source);
        }
        self.check_summary(section);
        self.check_claims(section);
    }

    /// The value of the bullet `name:`, including its continuation lines.
    fn bullet_value(&self, section: &MarkdownSection, name: &str) -> Option<Range<usize>> {
        let mut lines = self.text_lines(section);
        let mut found = lines.find_map(|line| {
            let value = labeled_value(line.text, name).filter(|_| is_bullet(line.text))?;
            Some(line.at + value.start..line.at + value.end)
        })?;
        for line in lines.take_while(|line| !line.text.trim().is_empty() && !is_bullet(line.text)) {
            found.end = line.at + line.text.trim_end().len();
        }
        Some(found)
    }

    /// Checks that the bullets of a source agree with the manifest.
    fn check_matches_manifest(
        &mut self,
        section: &MarkdownSection,
        source: &ContextPackSourceEntry,
    ) {
        let published = source.published_at.as_deref().unwrap_or_default();
        for (name, expected) in [
            ("Title", source.title.as_str()),
            ("URL", &source.url),
            ("Kind", &source.kind),
            ("Published", published),
            ("Captured", &source.captured_at),
        ] {
            let Some(span) = self.bullet_value(section, name) else { continue };
            let found = &self.page.text[span.clone()];
            // A missing or invalid value in the manifest is reported there.
            let is_known = match name {
                "URL" => is_url(expected),
                "Published" | "Captured" => is_day_or_time(expected),
                _ => !expected.trim().is_empty(),
            };
            if !is_known || is_same_value(name, found, expected) {
                continue;
            }
            let message = format!(
                "`{name}` is `{}`, but `pack.json` has `{}`",
                printable(found),
                printable(expected)
            );
            self.warn(&CP_07, span, message, "use the same value in both files");
        }
    }

    fn check_summary(&mut self, section: &MarkdownSection) {
        let Some(span) = self.bullet_value(section, "Summary") else { return };
        let count = count_sentences(&self.page.text[span.clone()]);
        if !(2..=4).contains(&count) {
            let message = format!("the summary has {}", pluralize(count, "sentence"));
            let span = if span.is_empty() { section.heading.clone() } else { span };
            self.warn(&CP_07, span, message, "write two to four sentences");
        }
    }

    /// Checks that `Key claims:` has nested bullets.
    fn check_claims(&mut self, section: &MarkdownSection) {
        let mut lines = self.text_lines(section);
        let is_claims = |line: &MarkdownLine<'_>| {
            is_bullet(line.text) && labeled_value(line.text, "Key claims").is_some()
        };
        let Some(line) = lines.find(is_claims) else { return };
        let next = lines.find(|line| !line.text.trim().is_empty());
        if !next.is_some_and(|next| {
            is_bullet(next.text) && indent_len(next.text) > indent_len(line.text)
        }) {
            let span = line.at + indent_len(line.text)..line.at + line.text.trim_end().len();
            self.warn(
                &CP_07,
                span,
                "the source has no key claims",
                "write each claim as a nested bullet, indented by two spaces",
            );
        }
    }

    fn check_prompts(&mut self) {
        let prompts = self.second_level_sections();
        self.check_count(&CP_08, "prompt", prompts.len(), PROMPT_COUNT);
        for prompt in prompts {
            let first = self.page.code.partition_point(|code| code.range.start < prompt.body.start);
            let mut blocks = self.page.code[first..]
                .iter()
                .take_while(|code| code.range.start < prompt.body.end);
            if !blocks.any(|code| code.kind == CodeRegionKind::Text) {
                let help = "put the prompt between ```text and ```";
                self.warn(
                    &CP_08,
                    prompt.heading.clone(),
                    "the prompt is not in a fenced `text` block",
                    help,
                );
            }
            self.check_cited(&CP_08, prompt);
        }
    }

    fn check_tasks(&mut self) {
        let tasks = self.second_level_sections();
        if tasks.is_empty() {
            self.warn_whole(
                &CP_09,
                "there are no tasks",
                "add tasks with headings such as `## 1. Do this`",
            );
        }
        for (number, task) in (1..).zip(tasks) {
            let title =
                task.title.strip_prefix(&format!("{number}.")).filter(|rest| rest.starts_with(' '));
            if title.is_none_or(|title| title.trim().is_empty()) {
                let message = format!(
                    "the heading of the task `{}` must start with `{number}.`",
                    printable(&task.title)
                );
                self.warn(
                    &CP_09,
                    task.heading.clone(),
                    message,
                    "number tasks from 1 without gaps, as in `## 1. Do this`",
                );
            }
            let is_step = |line: MarkdownLine<'_>| {
                is_bullet(line.text) && labeled_value(line.text, "Acceptance").is_none()
            };
            if !self.text_lines(task).any(is_step) {
                let help = "write each step as a bullet";
                self.warn(&CP_09, task.heading.clone(), "the task has no bullets", help);
            }
            if !self.has_line(task, "Acceptance") {
                let help = "describe how to verify the task: `- Acceptance: …`";
                self.warn(&CP_09, task.heading.clone(), "the task has no `Acceptance:` line", help);
            }
        }
    }
}

/// Joins words as in "a, b and c".
fn join_with_and(words: &[String]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// Collapses each run of white space into one space.
fn normalize_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn indent_len(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn is_bullet(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix(['-', '*', '+']);
    rest.is_some_and(|rest| rest.starts_with([' ', '\t']))
}

/// Returns the bytes after `word:` at the start of a line, ignoring bullets and emphasis.
fn labeled_value(line: &str, word: &str) -> Option<Range<usize>> {
    let rest = line.trim_start().trim_start_matches(['-', '*', '+', ' ', '_']);
    let rest = rest.strip_prefix(word)?.trim_start_matches(['*', '_']);
    let rest = rest.strip_prefix(':')?.trim_start_matches(['*', '_']).trim_start();
    let start = line.len() - rest.len();
    Some(start..start + rest.trim_end().len())
}

/// Whether a value in `sources.md` agrees with the manifest, given the notation of each.
fn is_same_value(name: &str, found: &str, expected: &str) -> bool {
    match name {
        "URL" => found.trim_start_matches('<').trim_end_matches('>') == expected,
        "Published" | "Captured" => {
            let in_utc = time::parse(expected).map(time::format_utc).unwrap_or_default();
            let is_day_of =
                |whole: &str| whole.get(..10).is_some_and(|day| found.get(..10) == Some(day));
            is_day_of(expected) || is_day_of(&in_utc)
        }
        // Markdown characters may be escaped in `sources.md`.
        _ => {
            normalize_whitespace(found) == normalize_whitespace(expected)
                || normalize_whitespace(&found.replace('\\', ""))
                    == normalize_whitespace(&expected.replace('\\', ""))
        }
    }
}
