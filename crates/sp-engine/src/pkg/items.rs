//! Conversions of packages and graph changes to the items of reports.

use sp_analyze::graph::Contradiction;
use sp_formats::output::{ContradictionItem, PackageItem, SupersededNodeItem, WaitingPackageItem};
use sp_formats::package::store::{StoredPackage, WaitingPackage};
use sp_formats::package::{Package, RecordedSource};

use super::project::PackageProject;
use super::stored_package::stored_package;
use crate::context::Context;

/// Describes a package of the store. `installed` is false.
pub(super) fn package_item(stored: &StoredPackage) -> PackageItem {
    PackageItem {
        name: stored.name.to_string(),
        version: stored.version.to_string(),
        kind: stored.kind,
        description: stored.description.clone(),
        nodes: stored.nodes,
        edges: stored.edges,
        size: stored.size,
        digest: stored.digest.to_string(),
        sha256: stored.sha256.clone(),
        signer: stored.signer.map(|key| key.hex()),
        created_at: stored.created_at.clone(),
        stored_at: Some(stored.stored_at.clone()),
        from: Some(stored.from.to_string()),
        withdrawn: stored.withdrawn,
        installed: false,
    }
}

/// Describes a package of the store, and whether the project has this version installed.
pub(super) fn package_item_in_project(
    project: &PackageProject,
    stored: &StoredPackage,
) -> PackageItem {
    let locked = project.lock.packages.get(&stored.name);
    PackageItem {
        installed: locked.is_some_and(|locked| locked.version == stored.version),
        ..package_item(stored)
    }
}

/// Describes a package that is not in the store.
pub(super) fn unstored_package_item(context: &Context<'_>, package: &Package) -> PackageItem {
    let stored = stored_package(context, package, &RecordedSource::Other(String::new()));
    PackageItem { stored_at: None, from: None, ..package_item(&stored) }
}

/// Returns the ID of a waiting package: the first digits of its digest.
pub(super) fn waiting_id(waiting: &WaitingPackage) -> String {
    waiting.digest.hex()[..12].to_owned()
}

pub(super) fn waiting_item(waiting: &WaitingPackage) -> WaitingPackageItem {
    WaitingPackageItem {
        id: waiting_id(waiting),
        name: waiting.name.to_string(),
        version: waiting.version.to_string(),
        sender: waiting.sender.clone(),
        received_at: waiting.received_at.clone(),
    }
}

/// Converts pairs of a superseded node and its successor.
pub(super) fn superseded_items(pairs: &[(String, String)]) -> Vec<SupersededNodeItem> {
    pairs
        .iter()
        .map(|(old, new)| SupersededNodeItem { old: old.clone(), new: new.clone() })
        .collect()
}

pub(super) fn contradiction_items(contradictions: &[Contradiction]) -> Vec<ContradictionItem> {
    let item = |contradiction: &Contradiction| ContradictionItem {
        from: contradiction.from.clone(),
        from_content: contradiction.from_content.clone(),
        to: contradiction.to.clone(),
        to_content: contradiction.to_content.clone(),
        same_id: contradiction.same_id,
    };
    contradictions.iter().map(item).collect()
}
