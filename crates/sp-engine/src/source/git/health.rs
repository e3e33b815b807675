//! Whether git and the cached repositories can be used, for `sp doctor`. Uses no transport.

use std::path::Path;

use sp_tree::{Dir, DirLock, EntryKind, Follow, Limits, StaticName, read_limited};

use super::command::{GitRepository, command_output, succeeds};
use super::object_dir::open_pack_dir;
use super::remote_refs::is_oid;
use crate::context::Context;
use crate::error::Result;

/// The state of a cached repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CachedRepositoryHealth {
    Intact,
    Damaged,
    /// Another process uses it.
    InUse,
}

/// Returns what `git --version` prints.
pub(crate) fn git_version(context: &Context<'_>) -> Result<String> {
    let git = GitRepository::new(context, Path::new("/nonexistent"), (&Limits::default()).into());
    let output = command_output(git.local_command(&["--version"]), "`git --version` failed")?;
    Ok(String::from_utf8_lossy(&output).trim().to_owned())
}

/// Verifies the packs of a cached repository, and that the commits of its recorded refs exist.
pub(crate) fn cached_repository_health(
    context: &Context<'_>,
    limits: &Limits,
    path: &Path,
) -> Result<CachedRepositoryHealth> {
    let dir = Dir::open(path)?;
    let Some(_lock) = DirLock::try_acquire(&dir)? else {
        return Ok(CachedRepositoryHealth::InUse);
    };
    // The config file is written last: without it, the repository is initialized when it is used.
    if dir.stat(&StaticName("config"), Follow::Never)?.is_none() {
        return Ok(CachedRepositoryHealth::Intact);
    }
    let git = GitRepository::new(context, path, limits.into());
    let is_intact = has_intact_packs(&git, &dir, path)? && has_recorded_commits(&git, &dir, path)?;
    Ok(if is_intact { CachedRepositoryHealth::Intact } else { CachedRepositoryHealth::Damaged })
}

fn has_intact_packs(git: &GitRepository<'_>, dir: &Dir, path: &Path) -> Result<bool> {
    let Some(packs) = open_pack_dir(dir) else { return Ok(true) };
    for entry in packs.entries()? {
        let Some(name) = entry.name().to_str().filter(|_| entry.kind == EntryKind::File) else {
            continue;
        };
        if name.starts_with("pack-") && name.ends_with(".idx") {
            let index = path.join("objects/pack").join(name);
            if !succeeds(git.local_command(&["verify-pack", &index.to_string_lossy()]))? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn has_recorded_commits(git: &GitRepository<'_>, dir: &Dir, path: &Path) -> Result<bool> {
    for entry in dir.entries()? {
        let Some(name) = entry.name().to_str().filter(|name| name.starts_with("sp-ref-")) else {
            continue;
        };
        let commit = read_limited(&path.join(name), 100).unwrap_or_default();
        let commit = String::from_utf8_lossy(&commit).into_owned();
        let exists = is_oid(&commit)
            && succeeds(git.local_command(&["cat-file", "-e", &format!("{commit}^{{tree}}")]))?;
        if !exists {
            return Ok(false);
        }
    }
    Ok(true)
}
