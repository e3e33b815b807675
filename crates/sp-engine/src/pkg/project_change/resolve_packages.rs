//! Solves a change, and loads and verifies the packages of the solution.

use std::collections::{BTreeMap, BTreeSet};

use sp_formats::package::lock::LockedPackage;
use sp_formats::package::store::StoredPackage;
use sp_formats::package::{Package, PackageKind, PackageManifest, PackageName, PackageVersion};
use sp_tree::{Digest, fold_name};

use super::{ProjectChange, ResolvedPackage, ResolvedPackages};
use crate::error::{Error, ErrorCode, Result};
use crate::pkg::load_package::load_stored;
use crate::pkg::package_store::LoadedPackage;
use crate::pkg::registry::{AvailablePackage, is_registry_url};
use crate::pkg::solve::{CandidatesByName, SolveRequest, solve};

/// The hashes of a package, to compare them with those in the lock.
struct PackageHashes {
    digest: Digest,
    /// The hash that the manifest has.
    sha256: String,
}

impl ProjectChange<'_> {
    /// Solves, downloads what is missing, and loads and verifies the packages of the solution.
    pub(super) fn resolve_targets(
        &mut self,
        candidates: &CandidatesByName,
        solve_request: &SolveRequest,
        requested: &BTreeSet<PackageName>,
    ) -> Result<ResolvedPackages> {
        let solution = solve(candidates, solve_request).map_err(|conflict| {
            Error::new(ErrorCode::Unresolvable, "these packages do not go together")
                .because(conflict)
                .hint("nothing was changed: import what is missing, or ask for other versions")
        })?;
        self.download_missing(&solution, requested)?;
        let mut targets = BTreeMap::new();
        for (name, version) in solution {
            let target = self.resolve_package(&name, version, requested)?;
            targets.insert(name, target);
        }
        check_file_name_collisions(targets.keys())?;
        Ok(targets)
    }

    /// Returns whether a package of the solution is installed correctly, or is left as it is.
    pub(super) fn can_skip_loading(
        &self,
        name: &PackageName,
        version: &PackageVersion,
        requested: &BTreeSet<PackageName>,
    ) -> Result<bool> {
        let Some(locked) =
            self.project.lock.packages.get(name).filter(|locked| locked.version == *version)
        else {
            return Ok(false);
        };
        let is_intact = self
            .project
            .read_package(self.session, name)?
            .is_some_and(|bytes| Digest::of(&bytes) == locked.digest);
        if is_intact && locked.kind == PackageKind::Context {
            return Ok(true);
        }
        // Skills that were not requested stay as they are if their package is not in the store.
        let is_requested = requested.contains(name) || self.restore_locked;
        Ok(locked.kind == PackageKind::Skills && !is_requested && !self.is_in_store(name, version))
    }

    /// Loads and verifies a package of the solution, unless it is installed correctly.
    fn resolve_package(
        &self,
        name: &PackageName,
        version: PackageVersion,
        requested: &BTreeSet<PackageName>,
    ) -> Result<ResolvedPackage> {
        let locked =
            self.project.lock.packages.get(name).filter(|locked| locked.version == version);
        if let Some(locked) = locked {
            self.check_matches_lock(name, locked)?;
            if self.can_skip_loading(name, &version, requested)? {
                return Ok(ResolvedPackage { version, locked: locked.clone(), package: None });
            }
        }
        let loaded = self.load_package(name, &version)?;
        refuse_tool_package(name, &loaded.package.manifest)?;
        let locked = LockedPackage {
            version: version.clone(),
            extra: locked.map(|locked| locked.extra.clone()).unwrap_or_default(),
            ..lock_entry(&loaded)
        };
        Ok(ResolvedPackage { version, locked, package: Some(loaded.package) })
    }

    /// Checks that the store and named files have the locked package under the locked version.
    fn check_matches_lock(&self, name: &PackageName, locked: &LockedPackage) -> Result<()> {
        let Some(PackageHashes { digest, sha256 }) = self.find_mismatch(name, locked) else {
            return Ok(());
        };
        let because = if sha256 == locked.sha256 {
            format!("with its manifest the lock says {}, and this one is {digest}", locked.digest)
        } else {
            format!("the lock says {}, and this one hashes to {sha256}", locked.sha256)
        };
        Err(Error::new(
            ErrorCode::LockMismatch,
            format!("`{name} {}` is not what `ctxpkg.lock` says", locked.version),
        )
        .because(because)
        .hint("nothing was changed: find out who changed it; a version never becomes another"))
    }

    /// Returns the hashes of a package in the store or a named file that has the locked version,
    /// but is another package.
    fn find_mismatch(&self, name: &PackageName, locked: &LockedPackage) -> Option<PackageHashes> {
        let stored = self.find_stored(name, &locked.version);
        if let Some(stored) = stored.filter(|stored| stored.identity != locked.identity) {
            return Some(PackageHashes { digest: stored.digest, sha256: stored.sha256.clone() });
        }
        let package = self
            .loaded
            .iter()
            .map(|loaded| &loaded.package)
            .filter(|package| is_package_version(package, name, &locked.version))
            .find(|package| package.identity() != locked.identity)?;
        let sha256 = package.manifest.integrity.sha256.clone();
        Some(PackageHashes { digest: package.digest(), sha256 })
    }

    fn find_stored(&self, name: &PackageName, version: &PackageVersion) -> Option<&StoredPackage> {
        self.index.packages.iter().find(|stored| stored.name == *name && stored.version == *version)
    }

    pub(super) fn is_in_store(&self, name: &PackageName, version: &PackageVersion) -> bool {
        self.find_stored(name, version).is_some()
    }

    pub(super) fn find_loaded(
        &self,
        name: &PackageName,
        version: &PackageVersion,
    ) -> Option<&LoadedPackage> {
        self.loaded.iter().find(|loaded| is_package_version(&loaded.package, name, version))
    }

    fn load_package(&self, name: &PackageName, version: &PackageVersion) -> Result<LoadedPackage> {
        if let Some(loaded) = self.find_loaded(name, version) {
            return Ok(loaded.clone());
        }
        if let Some(stored) = self.find_stored(name, version) {
            let package = load_stored(self.session, stored)?;
            return Ok(LoadedPackage { package, source: self.source_of(stored) });
        }
        Err(self.missing_bytes_error(name, version))
    }

    fn missing_bytes_error(&self, name: &PackageName, version: &PackageVersion) -> Error {
        let because = match self.registries.default_addresses().as_slice() {
            [] => "neither the store nor the project has its bytes, and no registry is asked"
                .to_owned(),
            registries => format!(
                "neither the store nor the project has its bytes, nor {}",
                registries.join(", ")
            ),
        };
        Error::new(
            ErrorCode::PackageNotFound,
            format!("`{name} {version}` is locked, and is not here"),
        )
        .because(because)
        .hint(
            "`sp pkg import <file>` puts it into the store; `--registry <address>` asks a registry",
        )
    }

    /// Returns where others find a package of the store: the registry that has the same bytes, or
    /// that it came from.
    fn source_of(&self, stored: &StoredPackage) -> String {
        let has_same_bytes = |available: &&AvailablePackage| {
            let version = available.version(&stored.version);
            version.is_some_and(|version| version.digest == stored.digest)
        };
        match self.available.get(&stored.name).filter(has_same_bytes) {
            Some(available) => available.registry.clone(),
            None if is_registry_url(&stored.from) => stored.from.clone(),
            None => "store".into(),
        }
    }
}

/// Refuses packages that are made for one tool.
fn refuse_tool_package(name: &PackageName, manifest: &PackageManifest) -> Result<()> {
    if !matches!(manifest.kind, PackageKind::Addon | PackageKind::Grammar) {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::Unsupported,
        format!("`{name}` is a package of kind `{}`", manifest.kind.as_str()),
    )
    .because("such a package is made for one tool, and is installed by that tool")
    .hint("`sp` keeps, verifies, sends and exports it"))
}

/// Returns the entry of a package for the lock.
fn lock_entry(loaded: &LoadedPackage) -> LockedPackage {
    let LoadedPackage { package, source } = loaded;
    let manifest = &package.manifest;
    LockedPackage {
        version: manifest.version.clone(),
        kind: manifest.kind,
        digest: package.digest(),
        sha256: manifest.integrity.sha256.clone(),
        identity: package.identity(),
        from: source.clone(),
        signer: package.signer.map(|signer| signer.key),
        dependencies: manifest.dependencies.clone(),
        conflicts: manifest.conflicts.clone(),
        extra: BTreeMap::new(),
    }
}

fn is_package_version(package: &Package, name: &PackageName, version: &PackageVersion) -> bool {
    package.manifest.name == *name && package.manifest.version == *version
}

/// Refuses names whose files are the same on a case-insensitive file system.
fn check_file_name_collisions<'n>(names: impl Iterator<Item = &'n PackageName>) -> Result<()> {
    let mut seen: BTreeMap<String, &PackageName> = BTreeMap::new();
    for name in names {
        if let Some(other) = seen.insert(fold_name(&name.file_stem()), name) {
            return Err(Error::new(
                ErrorCode::NameCollision,
                format!("`{other}` and `{name}` would share a file"),
            )
            .because("where case does not count, they are one name")
            .hint("uninstall one of the two"));
        }
    }
    Ok(())
}
