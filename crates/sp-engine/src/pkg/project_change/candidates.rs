//! The versions that a change could install.

use sp_formats::package::lock::LockedPackage;
use sp_formats::package::store::StoredPackage;
use sp_formats::package::{PackageManifest, PackageName};

use super::ProjectChange;
use crate::pkg::solve::{CandidatesByName, VersionCandidate};

impl ProjectChange<'_> {
    /// Returns the locked versions as candidates.
    pub(in crate::pkg) fn locked_candidates(&self) -> CandidatesByName {
        let locked = self.project.lock.packages.iter();
        locked.map(|(name, locked)| (name.clone(), vec![locked_candidate(locked)])).collect()
    }

    /// Returns every version that could be installed: from named files, the store, the lock and
    /// registries. Where several have a version, the first of these describes it.
    pub(in crate::pkg) fn all_candidates(&self) -> CandidatesByName {
        let mut candidates = CandidatesByName::new();
        for loaded in &self.loaded {
            let manifest = &loaded.package.manifest;
            add_unless_known(&mut candidates, &manifest.name, manifest_candidate(manifest));
        }
        for stored in &self.index.packages {
            add_unless_known(&mut candidates, &stored.name, stored_candidate(stored));
        }
        for (name, locked) in &self.project.lock.packages {
            add_unless_known(&mut candidates, name, locked_candidate(locked));
        }
        self.add_available_candidates(&mut candidates);
        for list in candidates.values_mut() {
            list.sort_by(|a, b| a.version.cmp(&b.version));
        }
        candidates
    }
}

fn add_unless_known(
    candidates: &mut CandidatesByName,
    name: &PackageName,
    candidate: VersionCandidate,
) {
    let list = candidates.entry(name.clone()).or_default();
    if !list.iter().any(|known| known.version == candidate.version) {
        list.push(candidate);
    }
}

fn manifest_candidate(manifest: &PackageManifest) -> VersionCandidate {
    VersionCandidate {
        version: manifest.version.clone(),
        dependencies: manifest.dependencies.clone(),
        conflicts: manifest.conflicts.clone(),
        withdrawn: false,
    }
}

fn stored_candidate(stored: &StoredPackage) -> VersionCandidate {
    VersionCandidate {
        version: stored.version.clone(),
        dependencies: stored.dependencies.clone(),
        conflicts: stored.conflicts.clone(),
        withdrawn: stored.withdrawn,
    }
}

fn locked_candidate(locked: &LockedPackage) -> VersionCandidate {
    VersionCandidate {
        version: locked.version.clone(),
        dependencies: locked.dependencies.clone(),
        conflicts: locked.conflicts.clone(),
        withdrawn: false,
    }
}
