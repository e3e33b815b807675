//! Many skills below one directory: an authoring repository, or any folder of skills.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sp_formats::checks::{AS_02, SP_03, SP_04};
use sp_formats::report::{Placed, Report, Severity};
use sp_formats::skill::SKILL_FILE;
use sp_tree::{Dir, Found, Name, find_holders};

use super::pack::check_packs;
use super::package::has_packages;
use super::place::{Place, is_repo};
use super::skill::{Described, check_skill};
use super::{Checker, Format};
use crate::authoring::{Authoring, leaves, misplaced};
use crate::error::{Error, Kind, Result};

/// A directory with `skills/` or `packs/`.
pub(super) struct Repo;

impl Format for Repo {
    fn is_at(&self, place: &Place) -> bool {
        is_repo(&place.path)
    }

    fn check(&self, checker: &Checker<'_>, place: &Place) -> Result<()> {
        let authoring = Authoring { root: place.path.clone() };
        let skills = authoring.skills_dir();
        let mut ids = Vec::new();
        if skills.is_dir() {
            let found = walk(checker, &skills)?;
            for one in misplaced(checker.session, &skills, &found) {
                let mut report = Report::new("", "");
                report.whole(Severity::Error, one.rule, one.message).help(one.help);
                checker.findings.report(&one.path, &report);
            }
            ids = check_holders(checker, &skills, &found);
        }
        check_packs(checker, &authoring, &ids)
    }
}

/// A directory with skills somewhere below it, such as an agent's sink.
pub(super) struct SkillFolder;

impl Format for SkillFolder {
    fn is_at(&self, place: &Place) -> bool {
        place.is_dir()
    }

    fn check(&self, checker: &Checker<'_>, place: &Place) -> Result<()> {
        let found = walk(checker, &place.path)?;
        if found.holders.is_empty() && !has_packages(&place.path) {
            let shown = checker.session.context.show_near(&place.path);
            return Err(Error::new(Kind::Data, format!("there is nothing to check in `{shown}`"))
                .hint(format!("it has no `skills/`, no `packs/`, and no `{SKILL_FILE}` anywhere below it")));
        }
        check_holders(checker, &place.path, &found);
        Ok(())
    }
}

/// The ids of the skills of a repository, without a look into them.
pub(super) fn local_ids(checker: &Checker<'_>, root: &Path) -> Result<Vec<String>> {
    let skills = root.join("skills");
    if !skills.is_dir() {
        return Ok(Vec::new());
    }
    Ok(split(&walk(checker, &skills)?).0)
}

pub(super) fn walk(checker: &Checker<'_>, dir: &Path) -> Result<Found> {
    let file = Name::new(SKILL_FILE).map_err(|e| Error::new(Kind::Data, e.to_string()))?;
    Ok(find_holders(Dir::open(dir)?, &file, &checker.session.limits)?)
}

/// The skills, and those that are none because of others below them.
fn split(found: &Found) -> (Vec<String>, Vec<String>) {
    // The top of a repository is no skill, and hides none.
    let paths: Vec<&str> = found.holders.iter().map(|holder| &*holder.path).filter(|path| !path.is_empty()).collect();
    leaves(&paths)
}

/// Checks the skills below a directory, and says what is wrong among them. Gives their ids.
pub(super) fn check_holders(checker: &Checker<'_>, top: &Path, found: &Found) -> Vec<String> {
    let (ids, hidden) = split(found);
    hidden.iter().for_each(|hidden| report_hidden(checker, &top.join(hidden), &ids, hidden));
    let in_a_skill = |path: &str| ids.iter().any(|id| path.starts_with(&format!("{id}/")));
    // What is wrong inside a skill is told with the skill.
    for cycle in found.cycles.iter().filter(|cycle| !in_a_skill(cycle)) {
        let mut report = Report::new("", "");
        report
            .whole(Severity::Warning, &SP_04, "the link leads back to a folder that it lies in, and is not followed")
            .help("remove it");
        checker.findings.report(&top.join(&**cycle), &report);
    }
    let described: Vec<Described> = ids.par_iter().filter_map(|id| check_skill(checker, &top.join(id))).collect();
    report_shared(checker, described);
    ids
}

pub(super) fn report_hidden(checker: &Checker<'_>, dir: &Path, ids: &[String], id: &str) {
    let below = format!("{id}/");
    let inner: Vec<&str> = ids.iter().filter(|other| other.starts_with(&below)).map(String::as_str).take(3).collect();
    let mut report = Report::new("", "");
    report
        .whole(Severity::Warning, &SP_03, format!("it is no skill: another `{SKILL_FILE}` stands below it"))
        .help(format!("move it into a folder of its own beside `{}`", inner.join("`, `")));
    checker.findings.report(&dir.join(SKILL_FILE), &report);
}

/// Of two skills with one description an agent cannot tell which is meant.
fn report_shared(checker: &Checker<'_>, described: Vec<Described>) {
    let mut by_text: HashMap<String, Vec<Described>> = HashMap::new();
    for one in described {
        by_text.entry(one.description.trim().to_owned()).or_default().push(one);
    }
    for twins in by_text.into_values().filter(|twins| twins.len() > 1) {
        let mut files: Vec<PathBuf> = twins.iter().map(|twin| twin.file.clone()).collect();
        files.sort();
        for twin in twins {
            let shown = |file: &PathBuf| format!("`{}`", checker.session.context.show_near(file));
            let others: Vec<String> = files.iter().filter(|file| **file != twin.file).take(3).map(shown).collect();
            let more = files.len() - 1 - others.len();
            let and = if more > 0 { format!(" and {more} more") } else { String::new() };
            let mut report = Report::new("", "");
            report
                .warning(&AS_02, 0..0, format!("the description is also that of {}{and}", others.join(", ")))
                .help("say in each what the other is not for: agents choose by the description alone");
            let finding = report.findings.remove(0);
            checker.findings.placed(&twin.file, Placed { finding, place: Some(twin.place) });
        }
    }
}
