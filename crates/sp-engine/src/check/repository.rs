//! Checking a repository: a directory with `skills/` or `packs/`.
//!
//! Skills are checked wherever they are in it. Those in hidden directories and in `node_modules/`
//! are only counted, because most of them were installed there by a program.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use sp_formats::report::{Report, Severity};
use sp_tree::WalkReport;

use super::Checker;
use super::discover::{find_skill_dirs, is_repository};
use super::pack::check_packs;
use super::skills_below::check_skills_below;
use super::target::CheckTarget;
use crate::context::Event;
use crate::error::Result;
use crate::repository::{SkillRepository, find_misplaced};
use crate::workspace::workspace_dir::is_workspace;

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
    check_skills_elsewhere(checker, &repository, &ids);
    check_packs(checker, &repository, &ids)
}

/// Checks the skills of a repository that are not in `skills/`, of which `own` are the IDs.
fn check_skills_elsewhere(checker: &Checker<'_>, repository: &SkillRepository, own: &[String]) {
    let root = &repository.root;
    let found = match find_skill_dirs(checker.session, root) {
        Ok(found) => found,
        Err(error) => {
            let message = format!("skills outside of `skills/` were not checked: {error}");
            return checker.session.context.emit(Event::Warning(message));
        }
    };
    // `skills/` may contain links to other directories of the repository.
    let real = |dir: PathBuf| dir.canonicalize().unwrap_or(dir);
    let own: HashSet<PathBuf> =
        own.iter().map(|id| real(repository.skills_dir().join(id))).collect();
    let is_workspace = is_workspace(root);
    let is_elsewhere = |path: &str| {
        let top = path.split('/').next().unwrap_or_default();
        let is_checked = matches!(top, "" | "skills") || is_workspace && top == ".skills";
        !is_checked
    };
    let mut others = WalkReport::default();
    let matches = found.matches.into_iter().filter(|holder| is_elsewhere(&holder.path));
    for holder in matches.filter(|holder| !own.contains(&real(root.join(&*holder.path)))) {
        if is_installed(&holder.path) {
            checker.collector.add_skipped_skill(&root.join(&*holder.path));
        } else {
            others.matches.push(holder);
        }
    }
    let dirs = found.dirs.into_iter();
    others.dirs = dirs.filter(|(path, _)| is_elsewhere(path) && !is_installed(path)).collect();
    check_skills_below(checker, root, &others);
}

/// Whether a path is in a directory into which programs install skills.
fn is_installed(path: &str) -> bool {
    Path::new(path).iter().any(|part| {
        let part = part.to_string_lossy();
        part.starts_with('.') || part == "node_modules"
    })
}
