//! The format of a single skill: a directory with a `SKILL.md`.

use std::path::Path;

use super::discover::{find_skill_dirs, is_skill_dir};
use super::repository::RepositoryFormat;
use super::skill_checks::check_skill;
use super::skills_below::{check_skills_below, report_shadowed_skill};
use super::target::CheckTarget;
use super::{CheckableFormat, Checker};
use crate::error::{Error, ErrorCode, Result};
use crate::repository::SkillRepository;

/// A directory with a `SKILL.md`, or a file in one.
pub(super) struct SkillFormat;

impl CheckableFormat for SkillFormat {
    fn matches(&self, target: &CheckTarget) -> bool {
        skill_dir(target).is_some()
    }

    fn check(&self, checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
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
            return RepositoryFormat.check(checker, &CheckTarget::new(dir.into()));
        }
        Ok(())
    }
}

/// Returns the directory of the skill that a target is, or lies in.
fn skill_dir(target: &CheckTarget) -> Option<&Path> {
    if target.is_dir() {
        return is_skill_dir(&target.path).then_some(target.path.as_path());
    }
    target.path.ancestors().skip(1).find(|dir| is_skill_dir(dir))
}
