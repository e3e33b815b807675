//! Checking a repository: a directory with `skills/` or `packs/`.

use sp_formats::report::{Report, Severity};

use super::Checker;
use super::discover::{find_skill_dirs, is_repository};
use super::pack::check_packs;
use super::skills_below::check_skills_below;
use super::target::CheckTarget;
use crate::error::Result;
use crate::repository::{SkillRepository, find_misplaced};

/// Whether a target is a directory with `skills/` or `packs/`.
pub(super) fn is_repository_target(target: &CheckTarget) -> bool {
    is_repository(&target.path)
}

pub(super) fn check_repository(checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
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
