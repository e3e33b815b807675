//! The packages and packs of a manifest.
//!
//! A pack is a source of skills: [`with_pack_entries`] adds an entry for each, which exists in
//! memory only.
//!
//! The code of `sp pkg` selects and fetches them, and plans the files of context packages. The
//! skills of a package are installed like those of any other source: [`with_package_entries`] adds
//! such an entry for each package of skills, too.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use sp_formats::package::lock::{LockedPackage, PackageLock};
use sp_formats::package::{PackageKind, PackageName, VersionRange};
use sp_formats::project::lock::{LockedSource, ProjectLock, SourceKey};
use sp_formats::project::manifest::{PackageEntry, ProjectManifest, SkillsEntry};
use sp_formats::project::source::ManifestSource;

use super::catalog::{CatalogRequest, SourceCatalog, open_catalog, package_catalog};
use super::files::ProjectFiles;
use crate::error::{Error, Result};
use crate::pkg::ResolvedPackages;
use crate::session::Session;

/// The packages of a lockfile.
pub(super) type LockedPackages = BTreeMap<PackageName, LockedPackage>;

/// Whether a project has packages, or had some.
pub(super) fn has_packages(manifest: &ProjectManifest, lock: &ProjectLock) -> bool {
    !manifest.packages.is_empty() || !lock.packages.is_empty() || lock.merged.is_some()
}

/// Returns the packages that a manifest requests.
pub(super) fn package_requests(manifest: &ProjectManifest) -> BTreeMap<PackageName, VersionRange> {
    manifest.packages.iter().map(|entry| (entry.name.clone(), entry.range.clone())).collect()
}

/// Returns the requests and the versions of a project before a change.
pub(super) fn package_lock(files: &ProjectFiles) -> PackageLock {
    let mut requests = files.converted_requests().clone();
    requests.extend(package_requests(&files.manifest));
    let ProjectLock { packages, merged, .. } = &files.lock;
    PackageLock::of_manifest(requests, packages.clone(), merged.clone())
}

/// Returns the packages of a manifest that are not locked to a version in their range.
pub(super) fn unlocked_packages<'m>(
    manifest: &'m ProjectManifest,
    lock: &ProjectLock,
) -> Vec<&'m PackageName> {
    let is_unlocked = |entry: &&PackageEntry| {
        let locked = lock.packages.get(&entry.name).map(|locked| &locked.version);
        !locked.is_some_and(|it| entry.range.matches(it) || entry.range.is_exactly(it))
    };
    manifest.packages.iter().filter(is_unlocked).map(|entry| &entry.name).collect()
}

/// Returns what identifies a package of skills as a source.
pub(super) fn package_source_key(name: &PackageName) -> SourceKey {
    SourceKey::new(&ManifestSource::Package(name.clone()), None)
}

fn skill_packages(
    packages: &LockedPackages,
) -> impl Iterator<Item = (&PackageName, &LockedPackage)> {
    packages.iter().filter(|(_, locked)| locked.kind == PackageKind::Skills)
}

/// Returns the sources that are packages of skills.
pub(super) fn package_source_keys(packages: &LockedPackages) -> BTreeSet<SourceKey> {
    skill_packages(packages).map(|(name, _)| package_source_key(name)).collect()
}

/// Adds an entry for the skills of each pack and of each package, after those that the manifest
/// has.
pub(super) fn with_package_entries(
    manifest: &ProjectManifest,
    packages: &LockedPackages,
) -> ProjectManifest {
    let mut extended = with_pack_entries(manifest);
    for (name, _) in skill_packages(packages) {
        let span = requesting_entry(manifest, packages, name).map(|entry| entry.span.clone());
        let span = span.unwrap_or(0..0);
        extended.skills.push(entry_of(ManifestSource::Package(name.clone()), span));
    }
    extended
}

/// Adds an entry for the skills of each pack, after those that the manifest has.
pub(super) fn with_pack_entries(manifest: &ProjectManifest) -> ProjectManifest {
    let mut extended = manifest.clone();
    let packs = manifest.packs.iter();
    let entries =
        packs.map(|pack| entry_of(ManifestSource::Pack(pack.location.clone()), pack.span.clone()));
    extended.skills.extend(entries);
    extended
}

/// Returns an entry for all skills of a source.
fn entry_of(source: ManifestSource, span: Range<usize>) -> SkillsEntry {
    SkillsEntry {
        source_span: span.clone(),
        span,
        source,
        version: None,
        include: Vec::new(),
        exclude: Vec::new(),
        agents: Vec::new(),
        prefix: String::new(),
        edits: None,
    }
}

/// Returns the entry of a package, or else that of a package which needs it.
pub(super) fn requesting_entry<'m>(
    manifest: &'m ProjectManifest,
    packages: &LockedPackages,
    name: &PackageName,
) -> Option<&'m PackageEntry> {
    let mut requesting = BTreeSet::from([name]);
    let mut pending = vec![name];
    while let Some(wanted) = pending.pop() {
        if let Some(entry) = manifest.packages.iter().find(|entry| entry.name == *wanted) {
            return Some(entry);
        }
        let dependents = dependents(packages, wanted).filter(|name| requesting.insert(*name));
        pending.extend(dependents.collect::<Vec<_>>());
    }
    None
}

/// Returns the entry of the package that an error names; without a name, the only one that is not
/// locked.
pub(super) fn entry_of_error<'m>(
    manifest: &'m ProjectManifest,
    lock: &ProjectLock,
    error: &Error,
) -> Option<&'m PackageEntry> {
    let texts: Vec<String> = error.causes().into_iter().chain([error.to_string()]).collect();
    let is_named = |entry: &&PackageEntry| {
        let names = [format!("`{}`", entry.name), format!("`{} ", entry.name)];
        texts.iter().any(|text| names.iter().any(|name| text.contains(name)))
    };
    let unlocked = unlocked_packages(manifest, lock);
    let is_unlocked = |entry: &&PackageEntry| unlocked.contains(&&entry.name);
    let entries = || manifest.packages.iter();
    entries()
        .filter(is_unlocked)
        .find(is_named)
        .or_else(|| entries().find(is_named))
        .or_else(|| entries().find(is_unlocked).filter(|_| unlocked.len() == 1))
}

/// Returns the packages that depend on a package.
pub(super) fn dependents<'l>(
    packages: &'l LockedPackages,
    name: &'l PackageName,
) -> impl Iterator<Item = &'l PackageName> {
    let needs = move |locked: &LockedPackage| {
        locked.dependencies.iter().any(|dependency| dependency.name == *name)
    };
    packages.iter().filter(move |(_, locked)| needs(locked)).map(|(dependent, _)| dependent)
}

/// Opens the packages of skills that are new, or have another version than the lock.
pub(super) fn changed_skill_packages(
    session: &Session<'_>,
    base: &Path,
    resolved: &ResolvedPackages<'_>,
    lock: &ProjectLock,
) -> Result<Vec<SourceCatalog>> {
    let mut catalogs = Vec::new();
    for (name, locked) in skill_packages(&resolved.lock.packages) {
        let source = locked_source(locked);
        let is_known = |known: &LockedSource| {
            (&known.version, known.digest) == (&source.version, source.digest)
        };
        if lock.sources.get(&package_source_key(name)).is_some_and(is_known) {
            continue;
        }
        catalogs.push(match resolved.skill_package(name) {
            Some(package) => package_catalog(session, name, package)?,
            None => {
                let request = CatalogRequest::Locked { version: None, lock: &source };
                open_catalog(session, base, &ManifestSource::Package(name.clone()), request)?
            }
        });
    }
    Ok(catalogs)
}

/// Returns what the lockfile records of a package as a source of skills.
fn locked_source(locked: &LockedPackage) -> LockedSource {
    LockedSource {
        version: Some(locked.version.to_string()),
        digest: Some(locked.digest),
        registry: locked.from.registry().map(Into::into),
        ..LockedSource::default()
    }
}

/// Returns the names of the packages that differ between two lockfiles.
pub(super) fn changed_packages<'l>(
    before: &'l ProjectLock,
    after: &'l ProjectLock,
) -> Vec<&'l str> {
    let is_changed = |name: &&PackageName| before.packages.get(*name) != after.packages.get(*name);
    let names: BTreeSet<&PackageName> =
        before.packages.keys().chain(after.packages.keys()).collect();
    names.into_iter().filter(is_changed).map(PackageName::as_str).collect()
}
