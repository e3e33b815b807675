//! Checks the references of a skill's Markdown to other files.
//!
//! A link may be relative to its own file or to the skill's directory. A path that is broken is
//! reported once per file, however often it is written. The caller looks up what is outside of the
//! skill: see [`SkillFiles::outside`].

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::body::{ReferenceKind, SkillFileReference, for_each_reference};
use crate::markdown::report_unread;
use crate::printable::printable;
use crate::report::{MAX_FINDINGS, Report, Severity};
use crate::skill::rules::AS_07;
use crate::suggest::nearest;

/// Suggestions are only searched for this many broken references per text.
const MAX_SUGGESTIONS: usize = 32;

/// The text that references are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferencingFile<'a> {
    SkillMd,
    /// Another file, in this directory of the skill; empty for the skill's root.
    OtherFile(&'a str),
}

/// The files of a skill that references should lead to.
pub struct SkillFiles<'a> {
    /// Paths that can be suggested.
    pub names: &'a [&'a str],
    /// Whether there is a file or directory with this path.
    pub exists: &'a dyn Fn(&str) -> bool,
    /// Looks up a path outside of the skill. It is relative to the skill's directory, and starts
    /// with `../`.
    pub outside: &'a dyn Fn(&str) -> OutsideFile,
}

/// What is at a path outside of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutsideFile {
    /// A file or directory of another skill.
    OtherSkill,
    /// Nothing.
    Missing,
    /// Something else, or the path was not looked up.
    Unknown,
}

/// Reports every reference that does not lead to a file in the skill.
pub fn check_references(
    found: &[SkillFileReference],
    place: ReferencingFile<'_>,
    files: &[&str],
    exists: &dyn Fn(&str) -> bool,
    report: &mut Report,
) {
    let files = SkillFiles { names: files, exists, outside: &|_| OutsideFile::Unknown };
    let mut check = SkillReferenceChecker::new(place, &files);
    found.iter().for_each(|reference| check.check(reference, report));
    check.report_counts(report);
}

/// Reports every reference in the Markdown from `start` on that does not lead to a file in the
/// skill. In files other than `SKILL.md` only links are checked.
pub fn check_markdown(
    text: &str,
    start: usize,
    place: ReferencingFile<'_>,
    files: &SkillFiles<'_>,
    report: &mut Report,
) {
    let mut check = SkillReferenceChecker::new(place, files);
    let unread_from = for_each_reference(text, start, &mut |reference| {
        if place == ReferencingFile::SkillMd || reference.is_link() {
            check.check(&reference, report);
        }
    });
    check.report_counts(report);
    report_unread(unread_from, report);
}

/// Checks the references of one text.
struct SkillReferenceChecker<'a> {
    file: ReferencingFile<'a>,
    files: &'a SkillFiles<'a>,
    suggestions_left: usize,
    /// What was reported, by path.
    reported: HashMap<ResolvedPath, ReportedPath>,
}

/// A broken path that was reported.
struct ReportedPath {
    /// The index of the finding.
    finding: usize,
    references: usize,
}

/// What is wrong with a reference.
struct BrokenReference {
    severity: Severity,
    message: String,
    help: String,
}

impl<'a> SkillReferenceChecker<'a> {
    fn new(file: ReferencingFile<'a>, files: &'a SkillFiles<'a>) -> Self {
        Self { file, files, suggestions_left: MAX_SUGGESTIONS, reported: HashMap::new() }
    }

    fn check(&mut self, reference: &SkillFileReference, report: &mut Report) {
        let folder = match self.file {
            ReferencingFile::OtherFile(folder) if reference.is_link() => folder,
            _ => "",
        };
        let path = resolve_path(folder, &reference.path);
        if self.exists(&path) || self.exists(&resolve_path("", &reference.path)) {
            return;
        }
        if reference.kind == ReferenceKind::Command && !self.has_folder_of(&path) {
            return;
        }
        let severity = self.severity(reference);
        if let Some(known) = self.reported.get_mut(&path) {
            known.references += 1;
            // The most severe reference is the one to look at.
            let finding = &mut report.findings[known.finding];
            if finding.severity != Severity::Note && finding.severity < severity {
                finding.severity = severity;
                finding.span = Some(reference.span.clone());
            }
            return;
        }
        let index = report.findings.len();
        let broken = self.describe(reference, folder, &path);
        let span = reference.span.clone();
        let finding = match broken.severity {
            Severity::Error => report.error(&AS_07, span, broken.message),
            Severity::Warning => report.warning(&AS_07, span, broken.message),
            Severity::Note => report.note(&AS_07, span, broken.message),
        };
        finding.help(broken.help);
        // Findings beyond the maximum are only counted.
        if index < MAX_FINDINGS
            && let Entry::Vacant(entry) = self.reported.entry(path)
        {
            entry.insert(ReportedPath { finding: index, references: 1 });
        }
    }

    fn exists(&self, path: &ResolvedPath) -> bool {
        matches!(path, ResolvedPath::Inside(path) if path.is_empty() || (self.files.exists)(path))
    }

    /// Whether the skill has the top folder of a path. If not, a command refers to the project that
    /// the skill is used in.
    fn has_folder_of(&self, path: &ResolvedPath) -> bool {
        matches!(path, ResolvedPath::Inside(path) if path
            .split_once('/')
            .is_some_and(|(folder, _)| (self.files.exists)(folder)))
    }

    /// A broken link in `SKILL.md` is an error, because agents follow it. A mention, or a link in
    /// another file, is a warning.
    fn severity(&self, reference: &SkillFileReference) -> Severity {
        if reference.is_link() && self.file == ReferencingFile::SkillMd {
            Severity::Error
        } else {
            Severity::Warning
        }
    }

    fn describe(
        &mut self,
        reference: &SkillFileReference,
        folder: &str,
        path: &ResolvedPath,
    ) -> BrokenReference {
        let written = printable(&reference.path);
        let severity = self.severity(reference);
        match path {
            ResolvedPath::Inside(path) => BrokenReference {
                severity,
                message: format!("`{written}` does not exist in the skill"),
                help: match self.suggest(path) {
                    Some(near) => {
                        format!("did you mean `{}`?", printable(relative_to_folder(folder, near)))
                    }
                    None => "add the file, or fix the path".into(),
                },
            },
            ResolvedPath::Outside(path) => match (self.files.outside)(path) {
                OutsideFile::OtherSkill => BrokenReference {
                    severity: Severity::Note,
                    message: format!("`{written}` belongs to another skill"),
                    help: "an agent finds it only if both skills are installed side by side: \
                           mention the other skill by its name"
                        .into(),
                },
                OutsideFile::Missing => BrokenReference {
                    severity,
                    message: format!("`{written}` does not exist"),
                    help: "fix the path, or remove the link".into(),
                },
                OutsideFile::Unknown => BrokenReference {
                    severity,
                    message: format!("`{written}` points outside the skill"),
                    help:
                        "copy the file into the skill: only the skill's own directory is installed"
                            .into(),
                },
            },
        }
    }

    /// Returns the file with the most similar path, as long as suggestions are left.
    fn suggest(&mut self, path: &str) -> Option<&'a str> {
        let left = self.suggestions_left;
        self.suggestions_left = left.saturating_sub(1);
        if left > 0 { nearest(path, self.files.names.iter().copied()) } else { None }
    }

    /// Adds how often a path is referenced to the finding about it.
    fn report_counts(&self, report: &mut Report) {
        for known in self.reported.values().filter(|known| known.references > 1) {
            let message = &mut report.findings[known.finding].message;
            message.push_str(&format!(" ({} references)", known.references));
        }
    }
}

/// A path of the skill, relative to `folder` if it is inside.
fn relative_to_folder<'a>(folder: &str, path: &'a str) -> &'a str {
    path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path)
}

/// A path relative to the skill's directory, without `.` and inner `..`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum ResolvedPath {
    Inside(String),
    /// It starts with `../`.
    Outside(String),
}

fn resolve_path(base: &str, path: &str) -> ResolvedPath {
    let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    let mut levels_up = 0;
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    levels_up += 1;
                }
            }
            part => parts.push(part),
        }
    }
    match levels_up {
        0 => ResolvedPath::Inside(parts.join("/")),
        _ => ResolvedPath::Outside("../".repeat(levels_up) + &parts.join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a text of a skill with these files, next to a skill `b`.
    fn found(place: ReferencingFile<'_>, text: &str, files: &[&str]) -> Vec<String> {
        let exists = |path: &str| {
            files.iter().any(|file| *file == path || file.starts_with(&format!("{path}/")))
        };
        let outside = |path: &str| match path {
            "../b/SKILL.md" | "../b" => OutsideFile::OtherSkill,
            "../../shared.md" => OutsideFile::Unknown,
            _ => OutsideFile::Missing,
        };
        let known = SkillFiles { names: files, exists: &exists, outside: &outside };
        let mut report = Report::new("SKILL.md", text);
        check_markdown(text, 0, place, &known, &mut report);
        let findings = report.findings.iter();
        findings
            .map(|it| format!("{} {}", report.format_location(it), it.severity.as_str()))
            .collect()
    }

    #[test]
    fn as_07_paths_are_relative_to_the_file_or_to_the_skill() {
        let inside = |path: &str| ResolvedPath::Inside(path.into());
        assert_eq!(resolve_path("references", "../scripts/x.py"), inside("scripts/x.py"));
        assert_eq!(resolve_path("", "./a//b/"), inside("a/b"));
        let outside = ResolvedPath::Outside("../x".into());
        assert_eq!(resolve_path("references", "../../x"), outside);
        let files = ["references/a.md", "references/b.md"];
        for link in ["[x](b.md)", "[x](references/b.md)", "[x](../references/b.md)"] {
            let place = ReferencingFile::OtherFile("references");
            assert_eq!(found(place, link, &files), [""; 0], "{link}");
        }
    }

    #[test]
    fn as_07_only_an_existing_file_of_another_skill_is_a_note() {
        for (text, severity) in [
            ("[x](../b/SKILL.md)", "note"),
            ("[x](../b)", "note"),
            ("[x](../gone/SKILL.md)", "error"),
            ("[x](../../shared.md)", "error"),
        ] {
            assert_eq!(
                found(ReferencingFile::SkillMd, text, &[]),
                [format!("SKILL.md:1:5 {severity}")],
                "{text}"
            );
        }
    }

    #[test]
    fn as_07_a_path_is_reported_once_at_its_most_severe_reference() {
        let text = "scripts/x.sh, scripts/x.sh\n[x](scripts/x.sh) [x](./scripts/x.sh)\n";
        assert_eq!(found(ReferencingFile::SkillMd, text, &[]), ["SKILL.md:2:5 error"]);
        let mut report = Report::new("SKILL.md", text);
        let references = crate::skill::references(text, 0);
        check_references(&references, ReferencingFile::SkillMd, &[], &|_| false, &mut report);
        // Mentions of one path count once.
        assert!(report.findings[0].message.contains("(3 references)"), "{report:?}");
    }

    #[test]
    fn as_07_a_command_counts_if_the_skill_has_the_folder() {
        let text = "```sh\npython scripts/x.py\n```\n";
        assert_eq!(found(ReferencingFile::SkillMd, text, &[]), [""; 0]);
        let expected = ["SKILL.md:2:8 warning"];
        assert_eq!(found(ReferencingFile::SkillMd, text, &["scripts/y.py"]), expected);
        let example = "```python\nopen('scripts/x.py')\n```\n";
        assert_eq!(found(ReferencingFile::SkillMd, example, &["scripts/y.py"]), [""; 0]);
    }
}
