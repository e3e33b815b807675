//! Which packages of a project have a newer version.

use std::collections::BTreeSet;

use sp_formats::output::OutdatedSource;
use sp_formats::package::{PackageDependency, PackageName, PackageVersion, VersionRange};
use sp_formats::project::lock::ProjectLock;

use super::files::ProjectFiles;
use super::known_newest::{KnownSubject, remember_newest};
use super::packages::package_source_key;
use crate::error::Result;
use crate::pkg::{NewestPackageQuery, newest_package_versions};
use crate::session::Session;

/// A locked package, and its newest version.
pub(super) struct AskedPackage {
    pub name: PackageName,
    locked: PackageVersion,
    /// The newest version that the manifest and the other packages allow.
    pub newest: Result<PackageVersion>,
}

impl AskedPackage {
    /// Returns the newest version if it is newer than the locked one.
    pub(super) fn newer(&self) -> Option<&PackageVersion> {
        self.newest.as_ref().ok().filter(|newest| **newest > self.locked)
    }

    /// Describes a package with a newer version, or one that could not be looked up.
    pub(super) fn into_outdated(self, lock: &ProjectLock) -> Option<OutdatedSource> {
        let newest = self.newer().map(ToString::to_string);
        if newest.is_none() && self.newest.is_ok() {
            return None;
        }
        let key = package_source_key(&self.name);
        let skills = lock.skills.iter().filter(|(_, skill)| skill.source == key);
        Some(OutdatedSource {
            source: self.name.to_string(),
            locked: self.locked.to_string(),
            newest,
            note: self.newest.err().map(|error| error.to_string()),
            skills: skills.map(|(folder, _)| folder.clone()).collect(),
        })
    }
}

/// Looks up locked packages, with one request for each.
pub(super) fn ask_packages(
    session: &Session<'_>,
    files: &ProjectFiles,
    is_asked: &dyn Fn(&PackageName) -> bool,
) -> Result<Vec<AskedPackage>> {
    let asked: Vec<_> = files.lock.packages.iter().filter(|(name, _)| is_asked(name)).collect();
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let queries: Vec<NewestPackageQuery<'_>> = asked
        .iter()
        .map(|(name, locked)| NewestPackageQuery {
            name,
            ranges: allowed_ranges(files, name),
            registry: locked.from.registry(),
        })
        .collect();
    let newest = newest_package_versions(session, &queries)?;
    let asked = asked.into_iter().zip(newest).map(|((name, locked), newest)| AskedPackage {
        name: name.clone(),
        locked: locked.version.clone(),
        newest: newest.map(|newest| newest.version),
    });
    let asked: Vec<AskedPackage> = asked.collect();
    for package in asked.iter().filter(|package| package.newest.is_ok()) {
        let locked = package.locked.to_string();
        let newest = package.newer().map_or_else(|| locked.clone(), ToString::to_string);
        let subject = KnownSubject::Package(package.name.as_str());
        remember_newest(session.context, subject, &locked, &newest);
    }
    Ok(asked)
}

/// Returns the ranges that the version of a package must match.
fn allowed_ranges<'f>(files: &'f ProjectFiles, name: &PackageName) -> Vec<&'f VersionRange> {
    let of_manifest = files.manifest.packages.iter().filter(|entry| entry.name == *name);
    let is_meant = |dependency: &&PackageDependency| dependency.name == *name;
    let dependencies = files.lock.packages.values().flat_map(|locked| &locked.dependencies);
    let of_packages = dependencies.filter(is_meant).map(|dependency| &dependency.range);
    of_manifest.map(|entry| &entry.range).chain(of_packages).collect()
}

/// Returns the packages that names stand for: packages, or skills of packages.
pub(super) fn named_packages(files: &ProjectFiles, name: &str) -> BTreeSet<PackageName> {
    let locked = files.lock.packages.keys();
    let is_named = |package: &&PackageName| {
        let key = package_source_key(package);
        let mut skills = files.lock.skills.iter();
        package.as_str() == name
            || skills
                .any(|(folder, skill)| skill.source == key && (folder == name || skill.id == name))
    };
    locked.filter(is_named).cloned().collect()
}
