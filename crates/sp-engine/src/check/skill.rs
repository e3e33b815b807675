//! One skill: its `SKILL.md`, what it refers to, and what it costs.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sp_analyze::audit::SkillFacts;
use sp_analyze::hidden::check_text;
use sp_formats::checks::{CheckRule, SE_03, SE_04, SP_21};
use sp_formats::output::SkillCost;
use sp_formats::printable::printable;
use sp_formats::report::{FindingLocation as At, Report, Severity};
use sp_formats::skill::{
    self, ReferencingFile as TextPlace, SKILL_FILE, SkillFiles, SkillMetadata, check_body_size,
    check_markdown,
};
use sp_tree::{
    Dir, FileError, FileStamp, Listing, ListingEntry, ListingKind, ScanError, read_text, scan_dir,
};

use super::repository::RepositoryFormat;
use super::target::{CheckTarget, is_skill_dir};
use super::{CheckMode, CheckableFormat, Checker, hidden, repository};
use crate::error::{Error, FailureKind, Result};
use crate::repository::SkillRepository;

/// A folder with a `SKILL.md`, or a file in one.
pub(super) struct SkillFormat;

impl CheckableFormat for SkillFormat {
    fn matches(&self, place: &CheckTarget) -> bool {
        skill_dir(place).is_some()
    }

    fn check(&self, checker: &Checker<'_>, place: &CheckTarget) -> Result<()> {
        let Some(dir) = skill_dir(place) else {
            return Err(Error::new(FailureKind::Data, "not a skill"));
        };
        let found = repository::find_skill_dirs(checker, dir)?;
        let below = repository::check_skills_below(checker, dir, &found);
        if below.is_empty() {
            check_skill(checker, dir);
        } else {
            let all: Vec<String> = below.iter().map(|id| format!("./{id}")).collect();
            repository::report_shadowed_skill(checker, dir, &all, ".");
        }
        // A repository may have a `SKILL.md` at its root; its packs are checked all the same.
        let authoring = SkillRepository { root: dir.into() };
        if !authoring.pack_paths()?.is_empty() {
            return RepositoryFormat.check(checker, &CheckTarget::new(dir.into()));
        }
        Ok(())
    }
}

/// The folder of the skill that a place is, or lies in.
fn skill_dir(place: &CheckTarget) -> Option<&Path> {
    if place.is_dir() {
        return is_skill_dir(&place.path).then_some(place.path.as_path());
    }
    place.path.ancestors().skip(1).find(|dir| is_skill_dir(dir))
}

/// A skill's description and where it stands.
pub(super) struct SkillDescription {
    pub file: PathBuf,
    pub description: String,
    pub place: At,
}

/// Checks the skill in a directory; what cannot be read is noted.
pub(super) fn check_skill(checker: &Checker<'_>, dir: &Path) -> Option<SkillDescription> {
    match try_check_skill(checker, dir) {
        Ok(described) => described,
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
    let listing = match scan_dir(&handle, &checker.session.limits) {
        Ok(scanned) => Some(scanned.listing),
        Err(ScanError::File(error)) => return Err(error.into()),
        Err(error) => {
            report_scan_error(checker, dir, error);
            None
        }
    };
    let limits = &checker.session.limits;
    let bytes = match checker.drafts.read(&file, limits.markdown_bytes) {
        Ok(bytes) => bytes,
        // It is a link to nothing, which was told already.
        Err(error) if error.kind() == ErrorKind::NotFound && listing.is_none() => return Ok(None),
        Err(error) => return report_too_large(checker, &file, error),
    };
    let folder = dir.file_name().unwrap_or_default().to_string_lossy();
    let (skill, mut report) = skill::read("", &folder, &bytes, limits);
    let real = dir.canonicalize().unwrap_or_else(|_| dir.into());
    if real.file_name() != dir.file_name() {
        // Several links may lead to one skill, and it cannot be called as all of them are.
        for finding in &mut report.findings {
            finding.fix.retain(|edit| !edit.text.contains(&*folder));
        }
    }
    let described = skill.as_ref().and_then(|skill| {
        let description = skill.description.clone()?;
        Some(SkillDescription {
            file: file.clone(),
            description,
            place: report.locate(&skill.description_span),
        })
    });
    if let Some(skill) = skill {
        // What was read is text, or there would be no skill.
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        check_text(text, &mut report);
        hidden::check_description_escapes(&skill, text, &mut report);
        hidden::check_file_name(checker, dir, &folder);
        let mut cost = skill_cost(checker, dir, text, &skill);
        let mut facts = (checker.mode == CheckMode::WithFacts).then(|| SkillFacts::of(&skill));
        check_body_size(&(skill.body_start..text.len()), cost.body, &mut report);
        if let Some(listing) = &listing {
            let files = SkillPaths::of(listing);
            let known = SkillFiles { names: &files.files, exists: &|path| files.contains(path) };
            check_markdown(text, skill.body_start, TextPlace::SkillMd, &known, &mut report);
            cost.files = check_other_files(checker, &handle, listing, &files, &mut facts)?;
        }
        if let Some(mut facts) = facts {
            facts.add_file(SKILL_FILE, false, Some(text));
            checker.collector.add_audited_skill(facts.into_audited_skill(dir.into()));
        }
        checker.collector.add_skill(dir, cost);
    }
    checker.collector.add_report(&file, &report);
    Ok(described)
}

/// What the name and description cost, and what the body does.
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
}

impl<'a> SkillPaths<'a> {
    fn of(listing: &'a Listing<FileStamp>) -> Self {
        let is_file =
            |entry: &&ListingEntry<FileStamp>| matches!(entry.kind, ListingKind::File { .. });
        let files =
            listing.entries.iter().filter(is_file).map(|entry| entry.path.as_str()).collect();
        Self { files, all: listing.entries.iter().map(|entry| entry.path.as_str()).collect() }
    }

    fn contains(&self, path: &str) -> bool {
        self.all.contains(path)
    }
}

/// Reads the other files: what they cost, and whether links in Markdown lead somewhere.
fn check_other_files(
    checker: &Checker<'_>,
    dir: &Dir,
    listing: &Listing<FileStamp>,
    files: &SkillPaths<'_>,
    facts: &mut Option<SkillFacts>,
) -> Result<usize> {
    let mut tokens = 0;
    for entry in &listing.entries {
        let path = entry.path.as_str();
        hidden::check_file_name(checker, &dir.path().join(path), entry.path.file_name());
        let ListingKind::File { executable, .. } = entry.kind else { continue };
        if path == SKILL_FILE {
            continue;
        }
        let text = read_text(dir, &entry.path, checker.session.limits.file_bytes)?;
        if let Some(facts) = facts {
            facts.add_file(path, executable, text.as_deref());
        }
        let Some(text) = text else { continue };
        tokens += checker.tokens.count(&text);
        if text.len() as u64 <= checker.session.limits.markdown_bytes {
            hidden::check_file_text(checker, &dir.path().join(path), &text);
        }
        if path.ends_with(".md") {
            let from = entry.path.parent().unwrap_or_default();
            let mut report = Report::new("", text.as_str());
            let known = SkillFiles { names: &files.files, exists: &|path| files.contains(path) };
            check_markdown(&text, 0, TextPlace::OtherFile(from), &known, &mut report);
            checker.collector.add_report(&dir.path().join(path), &report);
        }
    }
    Ok(tokens)
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
    // Messages name places as the user does.
    let shown = error
        .message
        .replace(&*dir.to_string_lossy(), &checker.session.context.display_relative_path(dir));
    report.whole_file(Severity::Error, check, printable(&shown)).help(help);
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
    let help = "raise it with `--limit markdown-bytes=<bytes>` if you mean it";
    report.whole_file(Severity::Error, &SE_04, error.source.to_string()).help(help);
    checker.collector.add_report(file, &report);
    Ok(None)
}
