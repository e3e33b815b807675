//! Which sources on this machine are as the lockfile has them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rayon::prelude::*;
use sp_formats::project::lock::{LockedProjectSkill, ProjectLock, SourceKey};
use sp_formats::project::manifest::{ProjectManifest, SkillsEntry};
use sp_formats::project::source::ManifestSource;
use sp_tree::Digest;

use super::catalog::{IndexedDir, indexed_zip_digest};
use super::resolution::entry_source_key;
use crate::home::DigestIndexes;
use crate::session::Session;

/// Skills per rayon job. Looking up one skill is too little work for a job of its own.
const SKILLS_PER_JOB: usize = 16;

/// What a manifest and a lockfile have of one directory.
struct LockedDir<'a> {
    entries: Vec<&'a SkillsEntry>,
    /// By ID, with the names of their folders.
    skills: BTreeMap<&'a str, Vec<(&'a str, &'a LockedProjectSkill)>>,
}

/// Returns the directories and zip files that offer exactly what is locked, as far as the digest
/// indexes know: those need not be opened. `base` is where relative paths start.
pub(super) fn unchanged_sources(
    session: &Session<'_>,
    base: &Path,
    (manifest, lock): (&ProjectManifest, &ProjectLock),
    indexes: &mut DigestIndexes<'_>,
) -> BTreeSet<SourceKey> {
    let mut dirs: BTreeMap<SourceKey, (&str, LockedDir<'_>)> = BTreeMap::new();
    let mut unchanged = BTreeSet::new();
    for entry in &manifest.skills {
        if let ManifestSource::Zip(path) = &entry.source {
            let key = entry_source_key(entry);
            let locked = lock.sources.get(&key).and_then(|source| source.digest);
            if locked.is_some() && indexed_zip_digest(session, base, path, indexes) == locked {
                unchanged.insert(key);
            }
        }
        if let ManifestSource::Dir(path) = &entry.source {
            let dir = dirs.entry(entry_source_key(entry)).or_insert_with_key(|key| {
                (path, LockedDir { entries: Vec::new(), skills: skills_of(lock, key) })
            });
            dir.1.entries.push(entry);
        }
    }
    let is_unchanged = |path: &str, locked: &LockedDir<'_>, indexes: &mut DigestIndexes<'_>| {
        IndexedDir::open(session, base, path, indexes).is_some_and(|dir| locked.is_offered_by(&dir))
    };
    dirs.retain(|_, (path, locked)| is_unchanged(path, locked, indexes));
    unchanged.extend(dirs.into_keys());
    unchanged
}

fn skills_of<'a>(
    lock: &'a ProjectLock,
    key: &SourceKey,
) -> BTreeMap<&'a str, Vec<(&'a str, &'a LockedProjectSkill)>> {
    let mut skills: BTreeMap<&str, Vec<(&str, &LockedProjectSkill)>> = BTreeMap::new();
    for (folder, skill) in lock.skills.iter().filter(|(_, skill)| skill.source == *key) {
        skills.entry(&skill.id).or_default().push((folder, skill));
    }
    skills
}

impl LockedDir<'_> {
    /// Whether the directory has all locked skills with the same content, and no others that the
    /// entries select.
    fn is_offered_by(&self, dir: &IndexedDir<'_>) -> bool {
        let ids: BTreeSet<&str> = dir.ids.iter().map(String::as_str).collect();
        self.skills.keys().all(|id| ids.contains(id))
            && dir.ids.par_iter().with_min_len(SKILLS_PER_JOB).all(|id| self.is_as_locked(dir, id))
    }

    fn is_as_locked(&self, dir: &IndexedDir<'_>, id: &str) -> bool {
        let locked = self.skills.get(id).map_or(&[][..], Vec::as_slice);
        let mut selecting = self.entries.iter().filter(|entry| entry.selects(id)).peekable();
        if locked.is_empty() && selecting.peek().is_none() {
            return true;
        }
        let Some(digest) = dir.digest(id) else { return false };
        if locked.is_empty() {
            return self.is_copy(id, digest);
        }
        let is_installed_for = |entry: &&&SkillsEntry| {
            locked.iter().any(|(folder, _)| folder.starts_with(&entry.prefix))
        };
        locked.iter().all(|(_, skill)| skill.tree == digest)
            && selecting.all(|entry| is_installed_for(&entry))
    }

    /// Whether a skill is left out of the lockfile because it has the same name and content as
    /// another one.
    fn is_copy(&self, id: &str, digest: Digest) -> bool {
        let leaf = |id: &str| id.rsplit('/').next().unwrap_or_default().to_owned();
        let mut locked = self.skills.values().flatten();
        locked.any(|(_, skill)| skill.tree == digest && leaf(&skill.id) == leaf(id))
    }
}
