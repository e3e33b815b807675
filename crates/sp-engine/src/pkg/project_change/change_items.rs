//! Describes what a change does to each package.

use sp_formats::output::{FolderAction, PackageChangeItem};
use sp_formats::package::lock::LockedPackage;
use sp_formats::package::{PackageKind, PackageName};

use super::{ProjectChange, ResolvedPackage, ResolvedPackages};
use crate::pkg::solve::CandidatesByName;

impl ProjectChange<'_> {
    /// Returns an item for each package that is added, updated, kept or removed, sorted by name.
    pub(super) fn describe_changes(
        &self,
        targets: &ResolvedPackages,
        candidates: &CandidatesByName,
    ) -> Vec<PackageChangeItem> {
        let mut items: Vec<PackageChangeItem> = targets
            .iter()
            .map(|(name, target)| PackageChangeItem {
                needed_by: dependents(name, targets, candidates),
                ..self.target_item(name, target)
            })
            .collect();
        items.extend(self.removed_packages(targets).iter().map(|name| self.removed_item(name)));
        items.sort_by(|a, b| a.name.cmp(&b.name));
        items
    }

    fn target_item(&self, name: &PackageName, target: &ResolvedPackage) -> PackageChangeItem {
        let old = self.project.lock.packages.get(name).map(|locked| &locked.version);
        let action = match old.filter(|_| self.is_installed(name, &target.locked)) {
            None => FolderAction::Add,
            Some(old) if *old != target.version => FolderAction::Update,
            Some(_) => FolderAction::Keep,
        };
        PackageChangeItem {
            name: name.to_string(),
            action,
            version: target.version.to_string(),
            from_version: old.filter(|old| **old != target.version).map(ToString::to_string),
            kind: target.locked.kind.as_str().into(),
            needed_by: Vec::new(),
        }
    }

    fn removed_item(&self, name: &PackageName) -> PackageChangeItem {
        let locked = self.project.lock.packages.get(name);
        PackageChangeItem {
            name: name.to_string(),
            action: FolderAction::Remove,
            version: locked.map(|locked| locked.version.to_string()).unwrap_or_default(),
            from_version: None,
            kind: locked.map_or("skills", |locked| locked.kind.as_str()).into(),
            needed_by: Vec::new(),
        }
    }

    /// Returns whether a package is installed, in a sink or below `.ctxpkg/`.
    fn is_installed(&self, name: &PackageName, locked: &LockedPackage) -> bool {
        match locked.kind {
            PackageKind::Skills => self.recorded_sinks(name).is_ok_and(|sinks| !sinks.is_empty()),
            _ => self.project.read_package(self.session, name).is_ok_and(|bytes| bytes.is_some()),
        }
    }
}

/// Returns the names of the other packages of the solution that depend on a package.
fn dependents(
    name: &PackageName,
    targets: &ResolvedPackages,
    candidates: &CandidatesByName,
) -> Vec<String> {
    let depends_on_it = |(dependent, target): &(&PackageName, &ResolvedPackage)| {
        let mut versions = candidates.get(*dependent).into_iter().flatten();
        let candidate = versions.find(|candidate| candidate.version == target.version);
        candidate.is_some_and(|candidate| {
            candidate.dependencies.iter().any(|dependency| dependency.name == *name)
        })
    };
    targets
        .iter()
        .filter(|(other, _)| *other != name)
        .filter(depends_on_it)
        .map(|(other, _)| other.to_string())
        .collect()
}
