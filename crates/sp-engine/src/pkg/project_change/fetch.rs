//! Loads and verifies the packages that a resolution writes, wherever they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use sp_formats::package::lock::LockedPackage;
use sp_formats::package::store::StoredPackage;
use sp_formats::package::{
    Package, PackageKind, PackageManifest, PackageName, PackageVersion, RecordedSource,
};

use super::ProjectChange;
use super::resolution::{PackageSource, Resolution, ResolvedPackage, check_package_matches_lock};
use crate::error::{Error, ErrorCode, Result};
use crate::pkg::load_package::load_stored;
use crate::pkg::package_store::LoadedPackage;
use crate::pkg::registry::{AvailablePackage, AvailableVersion};
use crate::pkg::trust::check_signing_policy;
use crate::registry::KeepPartial;

/// A resolved package, verified.
pub(super) struct FetchedPackage {
    /// The entry for the new lock.
    pub locked: LockedPackage,
    /// The package, if it must be written.
    pub package: Option<Arc<Package>>,
}

/// The packages of a resolution, by name.
pub(super) type FetchedPackages = BTreeMap<PackageName, FetchedPackage>;

impl ProjectChange<'_> {
    /// Downloads what is not on this machine, and loads every package that is written.
    pub(super) fn fetch(&mut self, resolution: &Resolution) -> Result<FetchedPackages> {
        self.download(resolution)?;
        let packages = resolution.packages.iter();
        packages
            .map(|(name, resolved)| Ok((name.clone(), self.fetch_package(name, resolved)?)))
            .collect()
    }

    /// Downloads the packages that no file and not the store has. A registry that was not asked for
    /// a package is asked now.
    fn download(&mut self, resolution: &Resolution) -> Result<()> {
        let is_missing = |resolved: &ResolvedPackage| {
            matches!(resolved.source, PackageSource::Registry | PackageSource::Unknown)
        };
        let missing: Vec<(&PackageName, &ResolvedPackage)> =
            resolution.packages.iter().filter(|(_, resolved)| is_missing(resolved)).collect();
        let names: Vec<PackageName> = missing.iter().map(|(name, _)| (*name).clone()).collect();
        self.query_registries(&names)?;
        let mut selected: Vec<(&AvailablePackage, &AvailableVersion)> = Vec::new();
        for (name, resolved) in missing {
            let Some(package) = self.available.get(name) else { continue };
            let Some(version) = package.version(&resolved.version) else { continue };
            let unsigned = self.options.trust.unsigned;
            check_signing_policy(self.session, name, version.signer, unsigned)?;
            selected.push((package, version));
        }
        let keep = if self.options.apply.is_dry_run() { KeepPartial::No } else { KeepPartial::Yes };
        let packages = self.registries.download(&selected, keep)?;
        let downloaded = packages.into_iter().zip(&selected).map(|(package, (available, _))| {
            let source = RecordedSource::Registry(available.registry.clone());
            LoadedPackage { package: package.into(), source }
        });
        self.loaded.extend(downloaded);
        Ok(())
    }

    fn fetch_package(
        &self,
        name: &PackageName,
        resolved: &ResolvedPackage,
    ) -> Result<FetchedPackage> {
        let locked = resolved.locked();
        if let (PackageSource::Project, Some(locked)) = (resolved.source, locked) {
            return Ok(FetchedPackage { locked: locked.clone(), package: None });
        }
        let loaded = self.load(name, resolved)?;
        refuse_tool_package(name, &loaded.package.manifest)?;
        if let Some(locked) = locked {
            check_package_matches_lock(&loaded.package, locked)?;
        }
        let extra = locked.map(|locked| locked.extra.clone()).unwrap_or_default();
        let locked = LockedPackage { extra, ..lock_entry(&loaded) };
        Ok(FetchedPackage { locked, package: Some(loaded.package) })
    }

    fn load(&self, name: &PackageName, resolved: &ResolvedPackage) -> Result<LoadedPackage> {
        let version = &resolved.version;
        let stored = self.candidates().stored(name, version);
        if let (PackageSource::Store, Some(stored)) = (resolved.source, stored) {
            let package = load_stored(self.session, stored)?.into();
            return Ok(LoadedPackage { package, source: self.source_of(stored) });
        }
        let mut loaded = self.loaded.iter();
        loaded
            .find(|loaded| loaded.package.is_version(name, version))
            .cloned()
            .ok_or_else(|| self.missing_bytes_error(name, version))
    }

    fn missing_bytes_error(&self, name: &PackageName, version: &PackageVersion) -> Error {
        let because = match self.registries.default_addresses().as_slice() {
            [] => "it is neither in the store nor in the project, and no registry is configured"
                .to_owned(),
            registries => {
                format!("it is not in the store, in the project or at {}", registries.join(", "))
            }
        };
        Error::new(
            ErrorCode::PackageNotFound,
            format!("cannot find the locked package `{name} {version}`"),
        )
        .because(because)
        .hint(
            "add it to the store with `sp pkg import <file>`, or specify a registry with \
             `--registry <URL>`",
        )
    }

    /// Returns where others find a package of the store: the registry that has the same bytes, or
    /// that it came from.
    fn source_of(&self, stored: &StoredPackage) -> RecordedSource {
        let has_same_bytes = |available: &&AvailablePackage| {
            let version = available.version(&stored.version);
            version.is_some_and(|version| version.digest == stored.digest)
        };
        match self.available.get(&stored.name).filter(has_same_bytes) {
            Some(available) => RecordedSource::Registry(available.registry.clone()),
            None if stored.from.registry().is_some() => stored.from.clone(),
            None => RecordedSource::Store,
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
        format!("cannot install `{name}`, a package of kind `{}`", manifest.kind.as_str()),
    )
    .because("packages of this kind are installed by the tool that they are made for")
    .hint("use `sp` to store, verify, send or export it"))
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
