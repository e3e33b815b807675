//! Directories with many skills: a repository, or any directory with skills below it.

use sp_formats::report::{Report, Severity};
use sp_formats::skill::SKILL_FILE;

use super::discover::{find_skill_dirs, has_packages, is_repository};
use super::pack::check_packs;
use super::skills_below::check_skills_below;
use super::target::CheckTarget;
use super::{CheckableFormat, Checker};
use crate::error::{Error, ErrorCode, Result};
use crate::repository::{SkillRepository, find_misplaced};

/// A directory with `skills/` or `packs/`.
pub(super) struct RepositoryFormat;

impl CheckableFormat for RepositoryFormat {
    fn matches(&self, target: &CheckTarget) -> bool {
        is_repository(&target.path)
    }

    fn check(&self, checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
        let repository = SkillRepository { root: target.path.clone() };
        let skills = repository.skills_dir();
        let mut ids = Vec::new();
        if skills.is_dir() {
            let found = find_skill_dirs(checker.session, &skills)?;
            for misplaced in find_misplaced(checker.session, &skills, &found) {
                let mut report = Report::new("", "");
                report
                    .whole_file(Severity::Error, misplaced.rule, misplaced.message)
                    .help(misplaced.help);
                checker.collector.add_report(&misplaced.path, &report);
            }
            ids = check_skills_below(checker, &skills, &found);
        }
        check_packs(checker, &repository, &ids)
    }
}

/// A directory with skills somewhere below it, such as an agent's sink.
pub(super) struct SkillFolderFormat;

impl CheckableFormat for SkillFolderFormat {
    fn matches(&self, target: &CheckTarget) -> bool {
        target.is_dir()
    }

    fn check(&self, checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
        let found = find_skill_dirs(checker.session, &target.path)?;
        if found.matches.is_empty() && !has_packages(&target.path) {
            let path = checker.session.context.display_relative_path(&target.path);
            return Err(Error::new(
                ErrorCode::NothingToCheck,
                format!("there is nothing to check in `{path}`"),
            )
            .hint(format!(
                "it has no `skills/`, no `packs/`, and no `{SKILL_FILE}` anywhere below it"
            )));
        }
        check_skills_below(checker, &target.path, &found);
        Ok(())
    }
}
