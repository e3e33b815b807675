//! Checking one skill: its `SKILL.md`, the files it refers to, and its token cost.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sp_analyze::hidden::check_text;
use sp_formats::output::{CountedKind, SkillCost};
use sp_formats::pack::rules::SP_21;
use sp_formats::printable::printable;
use sp_formats::report::{FindingLocation, Report, Severity};
use sp_formats::rules::CheckRule;
use sp_formats::rules::safety::{SE_03, SE_04};
use sp_formats::skill::{
    self, ReferencingFile, SKILL_FILE, SkillFiles, SkillMetadata, check_body_size, check_markdown,
};
use sp_tree::{
    Dir, FileError, FileStamp, Listing, ListingEntry, ListingKind, RelPath, ScanError, read_text,
    scan_dir,
};

use super::discover::OtherSkills;
use super::skill_audit::audit_skill;
use super::{CheckMode, Checker, hidden};
use crate::content_audit::AuditFiles;
use crate::error::{Error, Result};

/// What the summary counts.
pub(super) const SKILLS: CountedKind = CountedKind { key: "skills", noun: "skill" };

/// The description of a skill.
pub(super) struct SkillDescription {
    pub file: PathBuf,
    pub text: String,
    pub location: FindingLocation,
}

/// Checks the skill in a directory. A skill that cannot be read is added to the unreadable ones.
pub(super) fn check_skill(checker: &Checker<'_>, dir: &Path) -> Option<SkillDescription> {
    match try_check_skill(checker, dir) {
        Ok(description) => description,
        Err(error) => {
            checker.collector.add_unreadable(error);
            None
        }
    }
}

fn try_check_skill(checker: &Checker<'_>, dir: &Path) -> Result<Option<SkillDescription>> {
    checker.session.context.check_cancelled()?;
    let file = dir.join(SKILL_FILE);
    let handle = Dir::open(dir)?;
    let listing = scan_skill(checker, dir, &handle)?;
    let limits = &checker.session.limits;
    let bytes = match checker.drafts.read(&file, limits.markdown_bytes) {
        Ok(bytes) => bytes,
        // A dangling link, which the scan reported.
        Err(error) if error.kind() == ErrorKind::NotFound && listing.is_none() => return Ok(None),
        Err(error) => return report_too_large(checker, &file, error),
    };
    let folder = dir.file_name().unwrap_or_default().to_string_lossy();
    let (skill, mut report) = skill::read("", &folder, &bytes, limits);
    drop_name_fixes_of_links(dir, &folder, &mut report);
    let description = skill.as_ref().and_then(|skill| {
        Some(SkillDescription {
            file: file.clone(),
            text: skill.description.clone()?,
            location: report.locate(&skill.description_span),
        })
    });
    if let Some(skill) = skill {
        // Only UTF-8 text parses as a skill.
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        let parsed = ParsedSkill { dir: &handle, path: dir, text, metadata: &skill };
        parsed.check(checker, listing.as_ref(), &mut report)?;
    }
    checker.collector.add_report(&file, &report);
    Ok(description)
}

/// Lists the files of a skill. A folder that cannot be a skill is reported.
fn scan_skill(checker: &Checker<'_>, path: &Path, dir: &Dir) -> Result<Option<Listing<FileStamp>>> {
    match scan_dir(dir, &checker.session.limits) {
        Ok(scanned) => Ok(Some(scanned.listing)),
        Err(ScanError::File(error)) => Err(error.into()),
        Err(error) => {
            report_scan_error(checker, path, error);
            Ok(None)
        }
    }
}

/// Removes the fixes of the name of a linked skill. Several links may lead to one skill, which
/// cannot have the name of each.
fn drop_name_fixes_of_links(dir: &Path, folder: &str, report: &mut Report) {
    let real = dir.canonicalize().unwrap_or_else(|_| dir.into());
    if real.file_name() == dir.file_name() {
        return;
    }
    for finding in &mut report.findings {
        finding.fix.retain(|edit| !edit.text.contains(folder));
    }
}

/// A skill whose `SKILL.md` could be read.
struct ParsedSkill<'a> {
    dir: &'a Dir,
    path: &'a Path,
    /// The text of `SKILL.md`.
    text: &'a str,
    metadata: &'a SkillMetadata,
}

impl ParsedSkill<'_> {
    /// Checks the text and the other files, and adds the skill to the collector.
    fn check(
        &self,
        checker: &Checker<'_>,
        listing: Option<&Listing<FileStamp>>,
        report: &mut Report,
    ) -> Result<()> {
        let Self { dir, path, text, metadata: skill } = *self;
        let folder = path.file_name().unwrap_or_default().to_string_lossy();
        if checker.mode == CheckMode::FindingsOnly {
            check_text(text, report);
        }
        hidden::check_description_escapes(skill, text, report);
        hidden::check_file_name(checker, path, &folder);
        let mut cost = skill_cost(checker, path, text, skill);
        check_body_size(&(skill.body_start..text.len()), cost.body, report);
        if let Some(listing) = listing {
            let files = SkillPaths::new(listing, path);
            files.check_markdown(text, skill.body_start, ReferencingFile::SkillMd, report);
            cost.files = check_other_files(checker, dir, listing, &files)?;
        }
        if checker.mode == CheckMode::WithFacts {
            self.audit(checker, listing)?;
        }
        checker.collector.add_item(SKILLS, path);
        checker.collector.add_cost(path, cost);
        Ok(())
    }
}

impl ParsedSkill<'_> {
    /// Audits all files, or `SKILL.md` alone if the others could not be listed.
    fn audit(&self, checker: &Checker<'_>, listing: Option<&Listing<FileStamp>>) -> Result<()> {
        let files = match listing {
            Some(listing) => {
                AuditFiles::from_dir(self.dir, listing, checker.session.limits.file_bytes)?
            }
            None => {
                let mut files = AuditFiles::default();
                files.add(SKILL_FILE, self.text.as_bytes());
                files
            }
        };
        audit_skill(checker, self.path, self.metadata.name.clone(), &files);
        Ok(())
    }
}

/// Counts the tokens of the metadata and of the body.
fn skill_cost(checker: &Checker<'_>, dir: &Path, text: &str, skill: &SkillMetadata) -> SkillCost {
    let count = |text: Option<&String>| text.map_or(0, |text| checker.tokens.count(text));
    SkillCost {
        path: dir.into(),
        name: skill.name.clone(),
        always: count(skill.name.as_ref()) + count(skill.description.as_ref()),
        body: checker.tokens.count(text[skill.body_start..].trim()),
        files: 0,
    }
}

/// The paths of a skill's files and folders.
struct SkillPaths<'a> {
    files: Vec<&'a str>,
    all: HashSet<&'a str>,
    other_skills: OtherSkills,
}

impl<'a> SkillPaths<'a> {
    fn new(listing: &'a Listing<FileStamp>, skill: &Path) -> Self {
        let is_file =
            |entry: &&ListingEntry<FileStamp>| matches!(entry.kind, ListingKind::File { .. });
        let files =
            listing.entries.iter().filter(is_file).map(|entry| entry.path.as_str()).collect();
        let all = listing.entries.iter().map(|entry| entry.path.as_str()).collect();
        Self { files, all, other_skills: OtherSkills::around(skill) }
    }

    /// Checks the references in a Markdown file of the skill, from `start` on.
    fn check_markdown(
        &self,
        text: &str,
        start: usize,
        file: ReferencingFile<'_>,
        report: &mut Report,
    ) {
        let known = SkillFiles {
            names: &self.files,
            exists: &|path| self.all.contains(path),
            outside: &|path| self.other_skills.find(path),
        };
        check_markdown(text, start, file, &known, report);
    }
}

/// Checks the files beside `SKILL.md`, and returns their tokens.
fn check_other_files(
    checker: &Checker<'_>,
    dir: &Dir,
    listing: &Listing<FileStamp>,
    files: &SkillPaths<'_>,
) -> Result<usize> {
    let mut tokens = 0;
    for entry in &listing.entries {
        let path = entry.path.as_str();
        hidden::check_file_name(checker, &dir.path().join(path), entry.path.file_name());
        let is_file = matches!(entry.kind, ListingKind::File { .. });
        // An audit reads the files itself.
        if !is_file || path == SKILL_FILE || checker.mode == CheckMode::WithFacts {
            continue;
        }
        let text = read_text(dir, &entry.path, checker.session.limits.file_bytes)?;
        let Some(text) = text else { continue };
        tokens += checker.tokens.count(&text);
        if text.len() as u64 <= checker.session.limits.markdown_bytes {
            hidden::check_file_text(checker, &dir.path().join(path), &text);
        }
        if path.ends_with(".md") {
            let report = check_other_markdown(&entry.path, &text, files);
            checker.collector.add_report(&dir.path().join(path), &report);
        }
    }
    Ok(tokens)
}

fn check_other_markdown(path: &RelPath, text: &str, files: &SkillPaths<'_>) -> Report {
    let mut report = Report::new("", text);
    let file = ReferencingFile::OtherFile(path.parent().unwrap_or_default());
    files.check_markdown(text, 0, file, &mut report);
    report
}

fn report_scan_error(checker: &Checker<'_>, dir: &Path, error: ScanError) {
    let (path, check): (PathBuf, &'static CheckRule) = match &error {
        ScanError::Dangling(path)
        | ScanError::Cycle(path)
        | ScanError::Special(path)
        | ScanError::Link(path) => (path.clone(), &SP_21),
        ScanError::Listing { why, .. } if why.limit_name().is_some() => (dir.into(), &SE_04),
        ScanError::Name { path, .. } => (path.into(), &SE_03),
        _ => (dir.into(), &SE_03),
    };
    let error = Error::from(error);
    let help = error.hints.into_iter().next().unwrap_or_default();
    let mut report = Report::new("", "");
    // Show the path as the user would write it.
    let message = error
        .message
        .replace(&*dir.to_string_lossy(), &checker.session.context.display_relative_path(dir));
    report.whole_file(Severity::Error, check, printable(&message)).help(help);
    checker.collector.add_report(&path, &report);
}

fn report_too_large(
    checker: &Checker<'_>,
    file: &Path,
    error: FileError,
) -> Result<Option<SkillDescription>> {
    if error.kind() != ErrorKind::FileTooLarge {
        return Err(error.into());
    }
    let mut report = Report::new("", "");
    let help = "raise the limit with `--limit markdown-bytes=<bytes>` if you trust the file";
    report.whole_file(Severity::Error, &SE_04, error.source.to_string()).help(help);
    checker.collector.add_report(file, &report);
    Ok(None)
}
