//! Which sources on this machine differ from the lockfile.
//!
//! A directory that is unchanged according to the digest index is not read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sp_formats::project::lock::{ProjectLock, SourceKey};
use sp_formats::project::manifest::{ProjectManifest, SkillsEntry};
use sp_tree::Digest;

use super::catalog::{CatalogRequest, SourceCatalog, open_catalog};
use super::local_sources::unchanged_sources;
use super::resolution::{demands, entry_source_key};
use super::source_demand::SourceDemand;
use crate::error::Result;
use crate::home::DigestIndexes;
use crate::session::Session;

/// How a source on this machine differs from the lockfile.
#[derive(Debug, Default)]
pub(super) struct LocalChange {
    /// The folders of the locked skills that are different, or missing from the source.
    pub folders: BTreeSet<String>,
    /// What identifies the content of the source now.
    pub newest: Option<Digest>,
}

/// A project, and the sources that are compared.
pub(super) struct LocalComparison<'a> {
    pub session: &'a Session<'a>,
    /// Where relative paths start.
    pub base: &'a Path,
    /// With entries for packs.
    pub manifest: &'a ProjectManifest,
    pub lock: &'a ProjectLock,
}

impl LocalComparison<'_> {
    /// Compares the locked sources on this machine. Those without a difference are left out.
    pub(super) fn changes(
        &self,
        indexes: &mut DigestIndexes<'_>,
    ) -> BTreeMap<SourceKey, Result<LocalChange>> {
        let (manifest, lock) = (self.manifest, self.lock);
        let unchanged = unchanged_sources(self.session, self.base, (manifest, lock), indexes);
        let mut changes = BTreeMap::new();
        for demand in demands(manifest, lock, &BTreeSet::new(), &unchanged) {
            let is_locked = lock.sources.contains_key(&demand.key);
            if !demand.source.is_local() || !is_locked {
                continue;
            }
            let change = self.change(&demand, indexes);
            let locked = locked_content(lock, &demand.key);
            if !change.as_ref().is_ok_and(|change| change.newest == Some(locked)) {
                changes.insert(demand.key, change);
            }
        }
        changes
    }

    fn change(
        &self,
        demand: &SourceDemand,
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<LocalChange> {
        let request = match self.lock.sources.get(&demand.key) {
            Some(lock) => CatalogRequest::Locked { version: None, lock },
            None => CatalogRequest::Newest(None),
        };
        let catalog = open_catalog(self.session, self.base, &demand.source, request)?;
        let content = self.selected_content(&demand.key, &catalog)?;
        catalog.add_to_index(indexes);
        let of_source = self.lock.skills.iter().filter(|(_, skill)| skill.source == demand.key);
        let is_changed = |id: &str, tree: Digest| content.get(id) != Some(&tree);
        let folders = of_source
            .filter(|(_, skill)| is_changed(&skill.id, skill.tree))
            .map(|(folder, _)| folder.clone());
        Ok(LocalChange { folders: folders.collect(), newest: Some(digest_of(&content)) })
    }

    /// Returns the digests of the skills that entries select or that are locked, by ID.
    fn selected_content(
        &self,
        key: &SourceKey,
        catalog: &SourceCatalog,
    ) -> Result<BTreeMap<String, Digest>> {
        let entries: Vec<&SkillsEntry> =
            self.manifest.skills.iter().filter(|entry| entry_source_key(entry) == *key).collect();
        let is_locked = |id: &str| {
            self.lock.skills.values().any(|skill| skill.source == *key && skill.id == id)
        };
        let is_selected = |id: &str| entries.iter().any(|entry| entry.selects(id)) || is_locked(id);
        let selected = catalog.select(self.session, &is_selected)?;
        let ids: Vec<&str> = selected.iter().map(|skill| skill.id.as_str()).collect();
        let trees = catalog.load(self.session, &ids)?;
        let digests = trees.iter().map(|tree| tree.digest());
        Ok(ids.into_iter().map(str::to_owned).zip(digests).collect())
    }
}

/// Returns what identifies the locked content of a source.
pub(super) fn locked_content(lock: &ProjectLock, key: &SourceKey) -> Digest {
    let of_source = lock.skills.values().filter(|skill| skill.source == *key);
    digest_of(&of_source.map(|skill| (skill.id.clone(), skill.tree)).collect())
}

fn digest_of(content: &BTreeMap<String, Digest>) -> Digest {
    let lines: String = content.iter().map(|(id, tree)| format!("{tree} {id}\n")).collect();
    Digest::of(lines.as_bytes())
}
