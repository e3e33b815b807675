//! Describes what a change does to each package.

use sp_formats::output::{FolderAction, PackageChangeItem};
use sp_formats::package::{PackageKind, PackageName};

use super::ProjectChange;
use super::resolution::{Resolution, ResolvedPackage};

impl ProjectChange<'_> {
    /// Returns an item for each package that is added, updated, kept or removed, sorted by name.
    pub(super) fn describe_changes(
        &self,
        resolution: &Resolution,
        kind: impl Fn(&PackageName) -> PackageKind,
    ) -> Vec<PackageChangeItem> {
        let mut items: Vec<PackageChangeItem> = resolution
            .packages
            .iter()
            .map(|(name, resolved)| PackageChangeItem {
                needed_by: resolution.dependents(name).map(ToString::to_string).collect(),
                ..self.resolved_item(name, resolved, kind(name))
            })
            .collect();
        items.extend(resolution.removed.iter().map(|name| self.removed_item(name)));
        items.sort_by(|a, b| a.name.cmp(&b.name));
        items
    }

    fn resolved_item(
        &self,
        name: &PackageName,
        resolved: &ResolvedPackage,
        kind: PackageKind,
    ) -> PackageChangeItem {
        let old = resolved.before.as_ref().map(|before| &before.version);
        let action = match old.filter(|_| self.is_installed(name, kind)) {
            None => FolderAction::Add,
            Some(old) if *old != resolved.version => FolderAction::Update,
            Some(_) => FolderAction::Keep,
        };
        PackageChangeItem {
            name: name.to_string(),
            action,
            version: resolved.version.to_string(),
            from_version: old.filter(|old| **old != resolved.version).map(ToString::to_string),
            kind,
            needed_by: Vec::new(),
        }
    }

    fn removed_item(&self, name: &PackageName) -> PackageChangeItem {
        let locked = self.project.lock.packages.get(name);
        let kind = locked.map_or(PackageKind::Skills, |locked| locked.kind);
        PackageChangeItem {
            name: name.to_string(),
            action: FolderAction::Remove,
            version: locked.map(|locked| locked.version.to_string()).unwrap_or_default(),
            from_version: None,
            kind,
            needed_by: Vec::new(),
        }
    }

    /// Returns whether a package is installed, in a sink or below `.ctxpkg/`.
    fn is_installed(&self, name: &PackageName, kind: PackageKind) -> bool {
        match kind {
            PackageKind::Skills if self.project.has_manifest() => {
                self.project.lock.packages.contains_key(name)
            }
            PackageKind::Skills => self.recorded_sinks(name).is_ok_and(|sinks| !sinks.is_empty()),
            _ => self.installed.digest(name).is_some(),
        }
    }
}
