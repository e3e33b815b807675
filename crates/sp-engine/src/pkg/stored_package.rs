//! The record that the store index keeps of a package.

use sp_formats::package::store::StoredPackage;
use sp_formats::package::{Package, RecordedSource};

use crate::context::Context;

/// Builds the record of a package that came from `source`.
pub(super) fn stored_package(
    context: &Context<'_>,
    package: &Package,
    source: &RecordedSource,
) -> StoredPackage {
    let manifest = &package.manifest;
    StoredPackage {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        kind: manifest.kind,
        description: manifest.description.clone().unwrap_or_default(),
        digest: package.digest(),
        sha256: manifest.integrity.sha256.clone(),
        identity: package.identity(),
        size: package.text().len() as u64,
        nodes: package.node_count() as u64,
        edges: package.edge_count() as u64,
        created_at: manifest.created_at.clone(),
        stored_at: context.timestamp(),
        from: source.clone(),
        signer: package.signer.map(|signer| signer.key),
        dependencies: manifest.dependencies.clone(),
        conflicts: manifest.conflicts.clone(),
        withdrawn: false,
    }
}
