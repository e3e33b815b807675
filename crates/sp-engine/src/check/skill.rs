//! One skill: its `SKILL.md`, what it refers to, and what it costs.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sp_analyze::audit::SkillFacts;
use sp_analyze::hidden::check_text;
use sp_formats::checks::{Check, SE_03, SE_04, SP_21};
use sp_formats::output::SkillCost;
use sp_formats::printable::printable;
use sp_formats::report::{Place as At, Report, Severity};
use sp_formats::skill::{self, Place as TextPlace, SKILL_FILE, Skill, SkillFiles, check_body, check_markdown};
use sp_tree::{Dir, FileError, Listing, ListingEntry, ListingKind, ScanError, Stamp, read_text, scan};

use super::place::{Place, is_skill};
use super::repo::Repo;
use super::{Checker, Format, Gathering, hidden, repo};
use crate::authoring::Authoring;
use crate::error::{Error, Kind, Result};

/// A folder with a `SKILL.md`, or a file in one.
pub(super) struct OneSkill;

impl Format for OneSkill {
    fn is_at(&self, place: &Place) -> bool {
        dir_of(place).is_some()
    }

    fn check(&self, checker: &Checker<'_>, place: &Place) -> Result<()> {
        let Some(dir) = dir_of(place) else {
            return Err(Error::new(Kind::Data, "not a skill"));
        };
        let found = repo::walk(checker, dir)?;
        let below = repo::check_holders(checker, dir, &found);
        if below.is_empty() {
            check_skill(checker, dir);
        } else {
            let all: Vec<String> = below.iter().map(|id| format!("./{id}")).collect();
            repo::report_hidden(checker, dir, &all, ".");
        }
        // A repository may have a `SKILL.md` at its root; its packs are checked all the same.
        let authoring = Authoring { root: dir.into() };
        if !authoring.pack_paths()?.is_empty() {
            return Repo.check(checker, &Place::new(dir.into()));
        }
        Ok(())
    }
}

/// The folder of the skill that a place is, or lies in.
fn dir_of(place: &Place) -> Option<&Path> {
    if place.is_dir() {
        return is_skill(&place.path).then_some(place.path.as_path());
    }
    place.path.ancestors().skip(1).find(|dir| is_skill(dir))
}

/// A skill's description and where it stands.
pub(super) struct Described {
    pub file: PathBuf,
    pub description: String,
    pub place: At,
}

/// Checks the skill in a directory; what cannot be read is noted.
pub(super) fn check_skill(checker: &Checker<'_>, dir: &Path) -> Option<Described> {
    match try_check(checker, dir) {
        Ok(described) => described,
        Err(error) => {
            checker.findings.unreadable(error);
            None
        }
    }
}

fn try_check(checker: &Checker<'_>, dir: &Path) -> Result<Option<Described>> {
    checker.session.context.go_on()?;
    let file = dir.join(SKILL_FILE);
    let handle = Dir::open(dir)?;
    let listing = match scan(&handle, &checker.session.limits) {
        Ok(scanned) => Some(scanned.listing),
        Err(ScanError::File(error)) => return Err(error.into()),
        Err(error) => {
            report_scan(checker, dir, error);
            None
        }
    };
    let limits = &checker.session.limits;
    let bytes = match checker.drafts.read(&file, limits.markdown_bytes) {
        Ok(bytes) => bytes,
        // It is a link to nothing, which was told already.
        Err(error) if error.kind() == ErrorKind::NotFound && listing.is_none() => return Ok(None),
        Err(error) => return too_large(checker, &file, error),
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
        Some(Described { file: file.clone(), description, place: report.place_at(&skill.description_span) })
    });
    if let Some(skill) = skill {
        // What was read is text, or there would be no skill.
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        check_text(text, &mut report);
        hidden::in_escapes(&skill, text, &mut report);
        hidden::in_name(checker, dir, &folder);
        let mut cost = cost(checker, dir, text, &skill);
        let mut facts = (checker.gathering == Gathering::Facts).then(|| SkillFacts::of(&skill));
        check_body(&(skill.body..text.len()), cost.body, &mut report);
        if let Some(listing) = &listing {
            let files = Files::of(listing);
            let known = SkillFiles { names: &files.names, exists: &|path| files.has(path) };
            check_markdown(text, skill.body, TextPlace::Skill, &known, &mut report);
            cost.files = check_others(checker, &handle, listing, &files, &mut facts)?;
        }
        if let Some(mut facts) = facts {
            facts.add(SKILL_FILE, false, Some(text));
            checker.findings.audited_skill(facts.at(dir.into()));
        }
        checker.findings.skill(dir, cost);
    }
    checker.findings.report(&file, &report);
    Ok(described)
}

/// What the name and description cost, and what the body does.
fn cost(checker: &Checker<'_>, dir: &Path, text: &str, skill: &Skill) -> SkillCost {
    let count = |text: Option<&String>| text.map_or(0, |text| checker.tokens.count(text));
    SkillCost {
        path: dir.into(),
        name: skill.name.clone(),
        always: count(skill.name.as_ref()) + count(skill.description.as_ref()),
        body: checker.tokens.count(text[skill.body..].trim()),
        files: 0,
    }
}

/// The paths of a skill's files and folders.
struct Files<'a> {
    names: Vec<&'a str>,
    all: HashSet<&'a str>,
}

impl<'a> Files<'a> {
    fn of(listing: &'a Listing<Stamp>) -> Self {
        let is_file = |entry: &&ListingEntry<Stamp>| matches!(entry.kind, ListingKind::File { .. });
        let names = listing.entries.iter().filter(is_file).map(|entry| entry.path.as_str()).collect();
        Self { names, all: listing.entries.iter().map(|entry| entry.path.as_str()).collect() }
    }

    fn has(&self, path: &str) -> bool {
        self.all.contains(path)
    }
}

/// Reads the other files: what they cost, and whether links in Markdown lead somewhere.
fn check_others(
    checker: &Checker<'_>,
    dir: &Dir,
    listing: &Listing<Stamp>,
    files: &Files<'_>,
    facts: &mut Option<SkillFacts>,
) -> Result<usize> {
    let mut tokens = 0;
    for entry in &listing.entries {
        let path = entry.path.as_str();
        hidden::in_name(checker, &dir.path().join(path), entry.path.leaf());
        let ListingKind::File { executable, .. } = entry.kind else { continue };
        if path == SKILL_FILE {
            continue;
        }
        let text = read_text(dir, &entry.path, checker.session.limits.file_bytes)?;
        if let Some(facts) = facts {
            facts.add(path, executable, text.as_deref());
        }
        let Some(text) = text else { continue };
        tokens += checker.tokens.count(&text);
        if text.len() as u64 <= checker.session.limits.markdown_bytes {
            hidden::in_text(checker, &dir.path().join(path), &text);
        }
        if path.ends_with(".md") {
            let from = entry.path.parent().unwrap_or_default();
            let mut report = Report::new("", text.as_str());
            let known = SkillFiles { names: &files.names, exists: &|path| files.has(path) };
            check_markdown(&text, 0, TextPlace::Other(from), &known, &mut report);
            checker.findings.report(&dir.path().join(path), &report);
        }
    }
    Ok(tokens)
}

fn report_scan(checker: &Checker<'_>, dir: &Path, error: ScanError) {
    let (path, check): (PathBuf, &'static Check) = match &error {
        ScanError::Dangling(path) | ScanError::Cycle(path) | ScanError::Special(path) | ScanError::Link(path) => {
            (path.clone(), &SP_21)
        }
        ScanError::Listing { why, .. } if why.limit_name().is_some() => (dir.into(), &SE_04),
        ScanError::Name { path, .. } => (path.into(), &SE_03),
        _ => (dir.into(), &SE_03),
    };
    let error = Error::from(error);
    let help = error.hints.into_iter().next().unwrap_or_default();
    let mut report = Report::new("", "");
    // Messages name places as the user does.
    let shown = error.message.replace(&*dir.to_string_lossy(), &checker.session.context.show_near(dir));
    report.whole(Severity::Error, check, printable(&shown)).help(help);
    checker.findings.report(&path, &report);
}

fn too_large(checker: &Checker<'_>, file: &Path, error: FileError) -> Result<Option<Described>> {
    if error.kind() != ErrorKind::FileTooLarge {
        return Err(error.into());
    }
    let mut report = Report::new("", "");
    let help = "raise it with `--limit markdown-bytes=<bytes>` if you mean it";
    report.whole(Severity::Error, &SE_04, error.source.to_string()).help(help);
    checker.findings.report(file, &report);
    Ok(None)
}
