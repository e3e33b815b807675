//! Which version of each package a change selects, and where its bytes are.
//!
//! [`Resolution::new`] is a pure function of the request and the candidates, which include the lock
//! and the digests of the installed files. It asks no registry and reads no file.

use std::collections::{BTreeMap, BTreeSet};

use sp_formats::package::lock::LockedPackage;
use sp_formats::package::{Package, PackageDependency, PackageKind, PackageName, PackageVersion};
use sp_tree::{Digest, PublicKey, fold_name};

use super::candidates::Candidates;
use super::request::{ChangeRequest, UnnamedSkills};
use crate::error::{Error, ErrorCode, Result};
use crate::pkg::solve::solve;

/// The packages that a project will have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolution {
    pub packages: BTreeMap<PackageName, ResolvedPackage>,
    /// The packages that the project has and will not have.
    pub removed: BTreeSet<PackageName>,
}

/// The selected version of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResolvedPackage {
    pub version: PackageVersion,
    pub source: PackageSource,
    /// The digest of its file.
    pub digest: Digest,
    /// Who signed it, according to the source.
    pub signer: Option<PublicKey>,
    pub dependencies: Vec<PackageDependency>,
    /// What the lock selected before.
    pub before: Option<LockedPackage>,
}

/// Where the bytes of a selected version are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PackageSource {
    /// In the project, where they stay: its file is intact, or its skills are left as they are.
    Project,
    /// In a file that the user named.
    File,
    Store,
    /// In a registry that was asked.
    Registry,
    /// Only the lock names the version; registries have to be asked.
    Unknown,
}

impl ResolvedPackage {
    /// Returns the entry in the old lock, if it is this version.
    pub(super) fn locked(&self) -> Option<&LockedPackage> {
        self.before.as_ref().filter(|before| before.version == self.version)
    }
}

impl Resolution {
    /// Selects versions and finds out where they are.
    pub(super) fn new(request: &ChangeRequest, candidates: &Candidates<'_>) -> Result<Self> {
        let selected =
            solve(&candidates.for_solver(request.candidates), &request.solve).map_err(|why| {
                Error::new(ErrorCode::Unresolvable, "cannot resolve package versions")
                    .because(why)
                    .hint("import the missing packages, or specify other versions")
            })?;
        let resolver = Resolver { request, candidates };
        let mut packages = BTreeMap::new();
        for (name, version) in selected {
            let resolved = resolver.resolve(&name, &version)?;
            packages.insert(name, resolved);
        }
        check_file_name_collisions(packages.keys())?;
        let locked = candidates.lock.packages.keys();
        let unlocked = locked.filter(|name| !packages.contains_key(*name));
        let removed = unlocked.chain(&request.unlocked_removals).cloned().collect();
        Ok(Self { packages, removed })
    }

    /// Returns the names of the other packages that depend on a package.
    pub(super) fn dependents(&self, name: &PackageName) -> impl Iterator<Item = &PackageName> {
        let depends_on_it = |resolved: &ResolvedPackage| {
            resolved.dependencies.iter().any(|dependency| dependency.name == *name)
        };
        let others = self.packages.iter().filter(move |(other, _)| *other != name);
        others.filter(move |(_, resolved)| depends_on_it(resolved)).map(|(other, _)| other)
    }
}

struct Resolver<'a> {
    request: &'a ChangeRequest,
    candidates: &'a Candidates<'a>,
}

impl Resolver<'_> {
    fn resolve(&self, name: &PackageName, version: &PackageVersion) -> Result<ResolvedPackage> {
        let before = self.candidates.lock.packages.get(name).cloned();
        let locked = self.candidates.locked(name, version);
        if let Some(locked) = locked {
            self.check_matches_lock(name, locked)?;
        }
        let resolved =
            |source, digest: Digest, signer, dependencies: &[PackageDependency]| ResolvedPackage {
                version: version.clone(),
                source,
                digest,
                signer,
                dependencies: dependencies.to_vec(),
                before,
            };
        if let Some(it) = locked.filter(|locked| self.is_kept(name, locked)) {
            Ok(resolved(PackageSource::Project, it.digest, it.signer, &it.dependencies))
        } else if let Some(it) = self.candidates.file(name, version) {
            let signer = it.signer.map(|signer| signer.key);
            Ok(resolved(PackageSource::File, it.digest(), signer, &it.manifest.dependencies))
        } else if let Some(it) = self.candidates.stored(name, version) {
            Ok(resolved(PackageSource::Store, it.digest, it.signer, &it.dependencies))
        } else if let Some(it) = self.candidates.available(name, version) {
            Ok(resolved(PackageSource::Registry, it.digest, it.signer, &it.dependencies))
        } else if let Some(it) = locked {
            Ok(resolved(PackageSource::Unknown, it.digest, it.signer, &it.dependencies))
        } else {
            let message = format!("no source has the selected package `{name} {version}`");
            Err(Error::new(ErrorCode::Internal, message))
        }
    }

    /// Returns whether a locked package is installed correctly, or is left as it is.
    fn is_kept(&self, name: &PackageName, locked: &LockedPackage) -> bool {
        match locked.kind {
            PackageKind::Context => self.candidates.installed.get(name) == Some(&locked.digest),
            // Skills that were not named stay as they are if their package is not in the store.
            PackageKind::Skills => match self.request.unnamed_skills {
                UnnamedSkills::Keep => {
                    !self.request.named.contains(name)
                        && self.candidates.stored(name, &locked.version).is_none()
                }
                UnnamedSkills::Restore => false,
                UnnamedSkills::OfManifest => true,
            },
            PackageKind::Addon | PackageKind::Grammar => false,
        }
    }

    /// Checks that the store and named files have the locked package under the locked version.
    fn check_matches_lock(&self, name: &PackageName, locked: &LockedPackage) -> Result<()> {
        let stored = self.candidates.stored(name, &locked.version);
        if let Some(stored) = stored.filter(|stored| stored.identity != locked.identity) {
            return Err(lock_mismatch_error(name, locked, &stored.digest, &stored.sha256));
        }
        let files = self.candidates.files.iter().map(|file| &file.package);
        for package in files.filter(|package| package.is_version(name, &locked.version)) {
            check_package_matches_lock(package, locked)?;
        }
        Ok(())
    }
}

/// Checks that a package is the locked one.
pub(super) fn check_package_matches_lock(package: &Package, locked: &LockedPackage) -> Result<()> {
    if package.identity() == locked.identity {
        return Ok(());
    }
    let manifest = &package.manifest;
    let sha256 = &manifest.integrity.sha256;
    Err(lock_mismatch_error(&manifest.name, locked, &package.digest(), sha256))
}

fn lock_mismatch_error(
    name: &PackageName,
    locked: &LockedPackage,
    digest: &Digest,
    sha256: &str,
) -> Error {
    let because = if *sha256 == locked.sha256 {
        format!(
            "the locked digest with the manifest is {}, but this package has {digest}",
            locked.digest
        )
    } else {
        format!("the locked digest is {}, but this package has {sha256}", locked.sha256)
    };
    let message = format!("`{name} {}` does not match the lockfile", locked.version);
    Error::new(ErrorCode::LockMismatch, message)
        .because(because)
        .hint("find out who changed the package; a published version must never change")
}

/// Refuses names whose files are the same on a case-insensitive file system.
fn check_file_name_collisions<'n>(names: impl Iterator<Item = &'n PackageName>) -> Result<()> {
    let mut seen: BTreeMap<String, &PackageName> = BTreeMap::new();
    for name in names {
        if let Some(other) = seen.insert(fold_name(&name.file_stem()), name) {
            return Err(Error::new(
                ErrorCode::NameCollision,
                format!("`{other}` and `{name}` have the same file name"),
            )
            .because("the names are equal on case-insensitive file systems")
            .hint("uninstall one of the two packages"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use sp_formats::package::lock::PackageLock;
    use sp_formats::package::store::{PackageStoreIndex, StoredPackage};

    use sp_formats::package::{RecordedSource, VersionRange};

    use super::*;
    use crate::pkg::solve::SolveRequest;

    fn name(text: &str) -> PackageName {
        PackageName::new(text).unwrap()
    }

    fn version(text: &str) -> PackageVersion {
        PackageVersion::new(text).unwrap()
    }

    /// A package whose digest and identity follow from `content`.
    fn locked(text: &str, content: &str) -> LockedPackage {
        let digest = Digest::of(content.as_bytes());
        LockedPackage {
            version: version(text),
            kind: PackageKind::Context,
            digest,
            sha256: digest.hex(),
            identity: digest,
            from: RecordedSource::Store,
            signer: None,
            dependencies: Vec::new(),
            conflicts: Vec::new(),
            extra: BTreeMap::new(),
        }
    }

    fn stored(package: &str, locked: &LockedPackage) -> StoredPackage {
        StoredPackage {
            name: name(package),
            version: locked.version.clone(),
            kind: locked.kind,
            description: String::new(),
            digest: locked.digest,
            sha256: locked.sha256.clone(),
            identity: locked.identity,
            size: 0,
            nodes: 0,
            edges: 0,
            created_at: None,
            stored_at: String::new(),
            from: RecordedSource::Store,
            signer: None,
            dependencies: Vec::new(),
            conflicts: Vec::new(),
            withdrawn: false,
        }
    }

    /// A project that has `notes 1.0.0` locked, and a store.
    #[derive(Default)]
    struct Scene {
        lock: PackageLock,
        store: PackageStoreIndex,
        installed: BTreeMap<PackageName, Digest>,
    }

    impl Scene {
        fn with_locked(package: &LockedPackage) -> Self {
            let mut scene = Self::default();
            scene.lock.packages.insert(name("notes"), package.clone());
            scene
        }

        /// Resolves requests for any version of these packages.
        fn resolve(&self, packages: &[&str]) -> Result<Resolution> {
            let requests: BTreeMap<_, _> =
                packages.iter().map(|text| (name(text), VersionRange::any())).collect();
            let solve = SolveRequest { requests, ..SolveRequest::default() };
            let candidates = Candidates {
                files: &[],
                store: &self.store,
                lock: &self.lock,
                installed: self.installed.clone(),
                registries: &BTreeMap::new(),
            };
            Resolution::new(&ChangeRequest { solve, ..ChangeRequest::default() }, &candidates)
        }
    }

    #[test]
    fn an_intact_file_stays_and_a_missing_or_edited_one_comes_from_the_store() {
        let notes = locked("1.0.0", "notes");
        let mut scene = Scene::with_locked(&notes);
        scene.store.packages.push(stored("notes", &notes));
        let source =
            |scene: &Scene| scene.resolve(&["notes"]).unwrap().packages[&name("notes")].source;
        assert_eq!(source(&scene), PackageSource::Store);
        scene.installed.insert(name("notes"), Digest::of(b"edited"));
        assert_eq!(source(&scene), PackageSource::Store);
        scene.installed.insert(name("notes"), notes.digest);
        assert_eq!(source(&scene), PackageSource::Project);
    }

    #[test]
    fn a_locked_version_that_nothing_has_is_unknown() {
        let resolution = Scene::with_locked(&locked("1.0.0", "notes")).resolve(&["notes"]).unwrap();
        assert_eq!(resolution.packages[&name("notes")].source, PackageSource::Unknown);
    }

    #[test]
    fn another_package_under_the_locked_version_is_refused() {
        let mut scene = Scene::with_locked(&locked("1.0.0", "notes"));
        scene.store.packages.push(stored("notes", &locked("1.0.0", "other bytes")));
        let error = scene.resolve(&["notes"]).unwrap_err();
        assert_eq!(error.code, ErrorCode::LockMismatch);
    }

    #[test]
    fn a_resolution_knows_what_was_selected_before_and_what_is_removed() {
        let old = locked("1.0.0", "old");
        let mut scene = Scene::with_locked(&old);
        scene.lock.packages.insert(name("base"), locked("1.0.0", "base"));
        scene.store.packages.push(stored("notes", &locked("1.1.0", "new")));
        let resolution = scene.resolve(&["notes"]).unwrap();
        let notes = &resolution.packages[&name("notes")];
        assert_eq!((&notes.version, &notes.before), (&version("1.1.0"), &Some(old)));
        assert_eq!(resolution.removed, BTreeSet::from([name("base")]));
    }
}
