//! The versions that a change could select, and where each comes from.

use std::collections::BTreeMap;

use sp_formats::package::lock::{LockedPackage, PackageLock};
use sp_formats::package::store::{PackageStoreIndex, StoredPackage};
use sp_formats::package::{Package, PackageManifest, PackageName, PackageVersion};
use sp_tree::Digest;

use super::request::CandidateScope;
use crate::pkg::package_store::LoadedPackage;
use crate::pkg::registry::{AvailablePackage, AvailableVersion};
use crate::pkg::solve::{CandidatesByName, VersionCandidate};

/// Everything that has versions. Where several have one, the first of these describes it.
pub(super) struct Candidates<'a> {
    /// Packages from files that the user named.
    pub files: &'a [LoadedPackage],
    pub store: &'a PackageStoreIndex,
    pub lock: &'a PackageLock,
    /// The digests of the package files that the project has.
    pub installed: BTreeMap<PackageName, Digest>,
    /// What registries answered.
    pub registries: &'a BTreeMap<PackageName, AvailablePackage>,
}

impl<'a> Candidates<'a> {
    pub(super) fn file(&self, name: &PackageName, version: &PackageVersion) -> Option<&'a Package> {
        let mut packages = self.files.iter().map(|file| &*file.package);
        packages.find(|package| package.is_version(name, version))
    }

    pub(super) fn stored(
        &self,
        name: &PackageName,
        version: &PackageVersion,
    ) -> Option<&'a StoredPackage> {
        let mut stored = self.store.packages.iter();
        stored.find(|stored| stored.name == *name && stored.version == *version)
    }

    pub(super) fn locked(
        &self,
        name: &PackageName,
        version: &PackageVersion,
    ) -> Option<&'a LockedPackage> {
        self.lock.packages.get(name).filter(|locked| locked.version == *version)
    }

    pub(super) fn available(
        &self,
        name: &PackageName,
        version: &PackageVersion,
    ) -> Option<&'a AvailableVersion> {
        self.registries.get(name)?.version(version)
    }

    /// Returns the candidates for the solver.
    pub(super) fn for_solver(&self, scope: CandidateScope) -> CandidatesByName {
        let mut candidates = CandidatesByName::new();
        if scope == CandidateScope::All {
            for file in self.files {
                let manifest = &file.package.manifest;
                add_unless_known(&mut candidates, &manifest.name, manifest_candidate(manifest));
            }
            for stored in &self.store.packages {
                add_unless_known(&mut candidates, &stored.name, stored_candidate(stored));
            }
        }
        for (name, locked) in &self.lock.packages {
            add_unless_known(&mut candidates, name, locked_candidate(locked));
        }
        if scope == CandidateScope::All {
            self.add_available(&mut candidates);
        }
        for list in candidates.values_mut() {
            list.sort_by(|a, b| a.version.cmp(&b.version));
        }
        candidates
    }

    /// Adds the versions that registries offer. A yanked version is selected by its exact version
    /// only, even if the store has it, unless the project has it locked.
    fn add_available(&self, candidates: &mut CandidatesByName) {
        for (name, package) in self.registries {
            let list = candidates.entry(name.clone()).or_default();
            for available in &package.versions {
                let is_locked = self.locked(name, &available.version).is_some();
                let withdrawn = available.yanked && !is_locked;
                match list.iter_mut().find(|known| known.version == available.version) {
                    Some(known) => known.withdrawn |= withdrawn,
                    None => list.push(VersionCandidate {
                        version: available.version.clone(),
                        dependencies: available.dependencies.clone(),
                        conflicts: available.conflicts.clone(),
                        withdrawn,
                    }),
                }
            }
        }
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
