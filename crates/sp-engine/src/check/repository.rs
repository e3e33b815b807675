//! Many skills below one directory: an authoring repository, or any folder of skills.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sp_formats::checks::{AS_02, SP_03, SP_04};
use sp_formats::report::{LocatedFinding, Report, Severity};
use sp_formats::skill::SKILL_FILE;
use sp_tree::{Dir, Name, WalkReport, find_dirs_with_file};

use super::pack::check_packs;
use super::package::has_packages;
use super::skill::{SkillDescription, check_skill};
use super::target::{CheckTarget, is_repository};
use super::{CheckableFormat, Checker};
use crate::error::{Error, FailureKind, Result};
use crate::repository::{SkillRepository, find_misplaced, partition_skill_dirs};

/// A directory with `skills/` or `packs/`.
pub(super) struct RepositoryFormat;

impl CheckableFormat for RepositoryFormat {
    fn matches(&self, place: &CheckTarget) -> bool {
        is_repository(&place.path)
    }

    fn check(&self, checker: &Checker<'_>, place: &CheckTarget) -> Result<()> {
        let authoring = SkillRepository { root: place.path.clone() };
        let skills = authoring.skills_dir();
        let mut ids = Vec::new();
        if skills.is_dir() {
            let found = find_skill_dirs(checker, &skills)?;
            for one in find_misplaced(checker.session, &skills, &found) {
                let mut report = Report::new("", "");
                report.whole_file(Severity::Error, one.rule, one.message).help(one.help);
                checker.collector.add_report(&one.path, &report);
            }
            ids = check_skills_below(checker, &skills, &found);
        }
        check_packs(checker, &authoring, &ids)
    }
}

/// A directory with skills somewhere below it, such as an agent's sink.
pub(super) struct SkillFolderFormat;

impl CheckableFormat for SkillFolderFormat {
    fn matches(&self, place: &CheckTarget) -> bool {
        place.is_dir()
    }

    fn check(&self, checker: &Checker<'_>, place: &CheckTarget) -> Result<()> {
        let found = find_skill_dirs(checker, &place.path)?;
        if found.matches.is_empty() && !has_packages(&place.path) {
            let shown = checker.session.context.display_relative_path(&place.path);
            return Err(Error::new(
                FailureKind::Data,
                format!("there is nothing to check in `{shown}`"),
            )
            .hint(format!(
                "it has no `skills/`, no `packs/`, and no `{SKILL_FILE}` anywhere below it"
            )));
        }
        check_skills_below(checker, &place.path, &found);
        Ok(())
    }
}

/// The ids of the skills of a repository, without a look into them.
pub(super) fn local_skill_ids(checker: &Checker<'_>, root: &Path) -> Result<Vec<String>> {
    let skills = root.join("skills");
    if !skills.is_dir() {
        return Ok(Vec::new());
    }
    Ok(partition_found(&find_skill_dirs(checker, &skills)?).0)
}

pub(super) fn find_skill_dirs(checker: &Checker<'_>, dir: &Path) -> Result<WalkReport> {
    let file = Name::new(SKILL_FILE).map_err(|e| Error::new(FailureKind::Data, e.to_string()))?;
    Ok(find_dirs_with_file(Dir::open(dir)?, &file, &checker.session.limits)?)
}

/// The skills, and those that are none because of others below them.
fn partition_found(found: &WalkReport) -> (Vec<String>, Vec<String>) {
    // The top of a repository is no skill, and hides none.
    let paths: Vec<&str> =
        found.matches.iter().map(|holder| &*holder.path).filter(|path| !path.is_empty()).collect();
    partition_skill_dirs(&paths)
}

/// Checks the skills below a directory, and says what is wrong among them. Gives their ids.
pub(super) fn check_skills_below(
    checker: &Checker<'_>,
    top: &Path,
    found: &WalkReport,
) -> Vec<String> {
    let (ids, hidden) = partition_found(found);
    hidden
        .iter()
        .for_each(|hidden| report_shadowed_skill(checker, &top.join(hidden), &ids, hidden));
    let in_a_skill = |path: &str| ids.iter().any(|id| path.starts_with(&format!("{id}/")));
    // What is wrong inside a skill is told with the skill.
    for cycle in found.cycles.iter().filter(|cycle| !in_a_skill(cycle)) {
        let mut report = Report::new("", "");
        report
            .whole_file(
                Severity::Warning,
                &SP_04,
                "the link leads back to a folder that it lies in, and is not followed",
            )
            .help("remove it");
        checker.collector.add_report(&top.join(&**cycle), &report);
    }
    let described: Vec<SkillDescription> =
        ids.par_iter().filter_map(|id| check_skill(checker, &top.join(id))).collect();
    report_shared_descriptions(checker, described);
    ids
}

pub(super) fn report_shadowed_skill(checker: &Checker<'_>, dir: &Path, ids: &[String], id: &str) {
    let below = format!("{id}/");
    let inner: Vec<&str> =
        ids.iter().filter(|other| other.starts_with(&below)).map(String::as_str).take(3).collect();
    let mut report = Report::new("", "");
    report
        .whole_file(
            Severity::Warning,
            &SP_03,
            format!("it is no skill: another `{SKILL_FILE}` stands below it"),
        )
        .help(format!("move it into a folder of its own beside `{}`", inner.join("`, `")));
    checker.collector.add_report(&dir.join(SKILL_FILE), &report);
}

/// Of two skills with one description an agent cannot tell which is meant.
fn report_shared_descriptions(checker: &Checker<'_>, described: Vec<SkillDescription>) {
    let mut by_text: HashMap<String, Vec<SkillDescription>> = HashMap::new();
    for one in described {
        by_text.entry(one.description.trim().to_owned()).or_default().push(one);
    }
    for twins in by_text.into_values().filter(|twins| twins.len() > 1) {
        let mut files: Vec<PathBuf> = twins.iter().map(|twin| twin.file.clone()).collect();
        files.sort();
        for twin in twins {
            let shown = |file: &PathBuf| {
                format!("`{}`", checker.session.context.display_relative_path(file))
            };
            let others: Vec<String> =
                files.iter().filter(|file| **file != twin.file).take(3).map(shown).collect();
            let more = files.len() - 1 - others.len();
            let and = if more > 0 { format!(" and {more} more") } else { String::new() };
            let mut report = Report::new("", "");
            report
                .warning(
                    &AS_02,
                    0..0,
                    format!("the description is also that of {}{and}", others.join(", ")),
                )
                .help(
                    "say in each what the other is not for: agents choose by the description alone",
                );
            let finding = report.findings.remove(0);
            checker
                .collector
                .add_placed(&twin.file, LocatedFinding { finding, location: Some(twin.place) });
        }
    }
}
