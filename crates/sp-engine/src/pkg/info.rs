//! `sp pkg info`: the manifest, graph summary and files of one package.

use std::collections::BTreeMap;

use sp_formats::output::{
    PackageDependencyItem, PackageFileItem, PackageInfo, PackageItem, TypeCount,
};
use sp_formats::package::{Package, PackageDependency, Provenance};

use super::items::{package_item, unstored_package_item};
use super::load_package::{load_file, load_stored};
use super::package_spec::PackageSpec;
use super::package_store::{find_best_stored, read_store_index};
use crate::context::Context;
use crate::error::Result;
use crate::session::Session;

/// Describes a package file or a package of the store.
pub fn info(context: &Context<'_>, spec: &str) -> Result<PackageInfo> {
    let session = Session::begin(context)?;
    let index = read_store_index(context)?;
    let (package, item) = match &PackageSpec::parse(&session, spec)? {
        PackageSpec::File(path) => {
            let package = load_file(&session, path)?;
            let item = unstored_package_item(context, &package);
            (package, item)
        }
        PackageSpec::Named(name, range) => {
            let stored = find_best_stored(&index, name, range.as_ref())?;
            (load_stored(&session, stored)?, package_item(stored))
        }
    };
    Ok(describe(&package, item))
}

fn describe(package: &Package, item: PackageItem) -> PackageInfo {
    let graph = package.graph();
    let manifest = &package.manifest;
    let files = package.documents.iter().flat_map(|documents| {
        documents.files().map(|(path, _, bytes)| PackageFileItem {
            path: path.to_string(),
            size: bytes.len() as u64,
        })
    });
    PackageInfo {
        schema_version: manifest.schema,
        conformance_level: manifest.level,
        author: manifest.author.clone(),
        made_by: manifest.provenance.as_ref().map(tool_label),
        layers: manifest.layers.iter().map(|(layer, _)| layer.clone()).collect(),
        tags: manifest.tags.clone(),
        node_types: count_by_type(graph.nodes.iter().map(|node| &*node.kind)),
        edge_types: count_by_type(graph.edges.iter().map(|edge| &*edge.kind)),
        dependencies: manifest.dependencies.iter().map(dependency_item).collect(),
        conflicts: manifest.conflicts.iter().map(ToString::to_string).collect(),
        files: files.collect(),
        package: item,
    }
}

fn tool_label(provenance: &Provenance) -> String {
    format!("{} {}", provenance.tool, provenance.tool_version).trim_end().to_owned()
}

fn dependency_item(dependency: &PackageDependency) -> PackageDependencyItem {
    PackageDependencyItem {
        name: dependency.name.to_string(),
        range: dependency.range.to_string(),
        optional: dependency.optional,
    }
}

fn count_by_type<'a>(kinds: impl Iterator<Item = &'a str>) -> Vec<TypeCount> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    kinds.for_each(|kind| *counts.entry(kind).or_default() += 1);
    counts.into_iter().map(|(kind, count)| TypeCount { kind: kind.into(), count }).collect()
}
