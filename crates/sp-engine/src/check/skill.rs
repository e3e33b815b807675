//! The Agent Skills format: a skill, or any directory with skills below it.

use std::path::Path;

use sp_formats::skill::SKILL_FILE;
use sp_formats::skill::rules::RULES;

use super::Checker;
use super::discover::{find_misnamed_skill_files, find_skill_dirs, is_skill_dir};
use super::format::{Form, Format, Specificity};
use super::repository::check_repository;
use super::skill_checks::{SKILLS, check_skill};
use super::skills_below::{check_skills_below, report_shadowed_skill};
use super::target::CheckTarget;
use crate::error::{Error, ErrorCode, Result};
use crate::repository::SkillRepository;

pub(super) const AGENT_SKILLS: Format = Format {
    rules: RULES,
    counted: Some(SKILLS),
    targets: &["a skill's folder"],
    forms: &[
        Form {
            specificity: Specificity::Item,
            matches: |target| skill_dir(target).is_some(),
            check: check_skill_target,
        },
        Form {
            specificity: Specificity::AnyDirectory,
            matches: CheckTarget::is_dir,
            check: check_skill_folder,
        },
    ],
    files_in: None,
};

/// Checks a directory with a `SKILL.md`, or the one that contains a file.
fn check_skill_target(checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
    let Some(dir) = skill_dir(target) else {
        return Err(Error::new(ErrorCode::InvalidSkill, "not a skill"));
    };
    let found = find_skill_dirs(checker.session, dir)?;
    let below = check_skills_below(checker, dir, &found);
    if below.is_empty() {
        check_skill(checker, dir);
    } else {
        let ids: Vec<String> = below.iter().map(|id| format!("./{id}")).collect();
        report_shadowed_skill(checker, dir, &ids, ".");
    }
    // A repository may have a `SKILL.md` at its root. Its packs are checked anyway.
    let repository = SkillRepository { root: dir.into() };
    if !repository.pack_paths()?.is_empty() {
        return check_repository(checker, &CheckTarget::new(dir.into()));
    }
    Ok(())
}

/// Checks a directory with skills somewhere below it, such as an agent's sink.
fn check_skill_folder(checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
    let found = find_skill_dirs(checker.session, &target.path)?;
    if found.matches.is_empty() && find_misnamed_skill_files(&target.path, &found).is_empty() {
        let path = checker.session.context.display_relative_path(&target.path);
        return Err(Error::new(ErrorCode::NothingToCheck, format!("nothing to check in `{path}`"))
            .hint(format!("it contains no `skills/`, no `packs/` and no `{SKILL_FILE}`")));
    }
    check_skills_below(checker, &target.path, &found);
    Ok(())
}

/// Returns the directory of the skill that a target is, or that contains it.
fn skill_dir(target: &CheckTarget) -> Option<&Path> {
    if target.is_dir() {
        return is_skill_dir(&target.path).then_some(target.path.as_path());
    }
    target.path.ancestors().skip(1).find(|dir| is_skill_dir(dir))
}
