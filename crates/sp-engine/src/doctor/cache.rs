//! Cached git repositories.

use std::path::{Path, PathBuf};

use sp_formats::output::DoctorCode;
use sp_formats::text::plural;
use sp_tree::{Dir, EntryKind, Name};

use super::examination::ExaminedMachine;
use super::problem::{AreaResult, FoundProblem};
use super::repair::Repair;
use crate::source::git::{CachedRepositoryHealth, cached_repository_health, git_version};

pub(super) fn examine(machine: &ExaminedMachine<'_>) -> AreaResult {
    let session = machine.session;
    let dir = session.context.cache_dir().join("git");
    let entries = Dir::open(&dir).and_then(|dir| dir.entries()).unwrap_or_default();
    let dirs = entries.iter().filter(|entry| entry.kind == EntryKind::Dir);
    let names = dirs.filter_map(|entry| Name::new(entry.name().to_str()?).ok());
    let mut names: Vec<Name> = names.collect();
    names.sort();
    if names.is_empty() {
        return AreaResult::new("empty", Vec::new());
    }
    if git_version(session.context).is_err() {
        return AreaResult::skipped("`git` cannot be run");
    }
    let is_damaged = |name: &&Name| {
        let path = dir.join(name.as_str());
        let health = cached_repository_health(session.context, &session.limits, &path);
        !matches!(health, Ok(CachedRepositoryHealth::Intact | CachedRepositoryHealth::InUse))
    };
    let damaged = names.iter().filter(is_damaged);
    let problems = damaged.map(|name| damaged_repository(machine, &dir, name)).collect();
    let noun = plural(names.len(), "repository", "repositories");
    AreaResult::new(format!("{} cached {noun}", names.len()), problems)
}

fn damaged_repository(machine: &ExaminedMachine<'_>, dir: &Path, name: &Name) -> FoundProblem {
    let path: PathBuf = dir.join(name.as_str());
    let shown = machine.session.context.display_path(&path);
    let message = format!("the cached git repository `{shown}` is damaged");
    FoundProblem::new(DoctorCode::CacheDamaged, message)
        .because("a pack file or a recorded commit is missing or cannot be read")
        .at(path)
        .command("sp clean --cache")
        .help("`sp doctor --fix` deletes only this repository, which is fetched again when needed")
        .repaired_by([Repair::RemoveCached { dir: dir.to_path_buf(), name: name.clone() }])
}
