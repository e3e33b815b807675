//! `sp pkg diff`: compares two packages by manifest member, node, edge and file.

use std::collections::BTreeMap;
use std::sync::Arc;

use sp_formats::json::{JsonNumberFormat, JsonValue, canonicalize};
use sp_formats::output::PackageDiff;
use sp_formats::package::Package;
use sp_tree::{Digest, LoadedTree};

use super::load_package::load_package;
use super::package_spec::PackageSpec;
use super::package_store::read_store_index;
use crate::context::Context;
use crate::diff::{DiffMembers, diff_items, diff_members};
use crate::error::Result;
use crate::session::Session;

/// Manifest members that follow from the content, which is compared by itself.
const DERIVED_MEMBERS: [&str; 4] = ["integrity", "signature", "graph_summary", "stats"];

/// Compares two packages.
pub fn diff(context: &Context<'_>, before: &str, after: &str) -> Result<PackageDiff> {
    let session = Session::begin(context)?;
    let index = read_store_index(context)?;
    let load = |text: &str| -> Result<Arc<Package>> {
        Ok(load_package(&session, &index, &PackageSpec::parse(&session, text)?)?.package)
    };
    let (before, after) = (load(before)?, load(after)?);
    let label =
        |package: &Package| format!("{} {}", package.manifest.name, package.manifest.version);
    Ok(PackageDiff {
        before: label(&before),
        after: label(&after),
        manifest: diff_members(
            &to_members(before.raw_manifest(), &DERIVED_MEMBERS),
            &to_members(after.raw_manifest(), &DERIVED_MEMBERS),
        ),
        nodes: diff_items(&nodes(&before), &nodes(&after)),
        edges: diff_items(&edges(&before), &edges(&after)),
        files: diff_items(&files(&before), &files(&after)),
        content: diff_items(&other_members(&before), &other_members(&after)),
    })
}

fn to_members(value: JsonValue<'_>, excluded: &[&str]) -> DiffMembers {
    let text = |value: JsonValue<'_>| {
        canonicalize(value, "", JsonNumberFormat::Lossless).unwrap_or_default()
    };
    let pairs = value
        .members()
        .map(|(key, value)| (key.text().unwrap_or_default().into_owned(), text(value)));
    pairs.filter(|(key, value)| !excluded.contains(&key.as_str()) && value != "null").collect()
}

fn nodes(package: &Package) -> BTreeMap<String, DiffMembers> {
    package
        .graph()
        .nodes
        .iter()
        .map(|node| (node.id.clone().into_owned(), to_members(node.value, &["id"])))
        .collect()
}

fn edges(package: &Package) -> BTreeMap<String, DiffMembers> {
    let key = |edge: &sp_formats::package::GraphEdge<'_>| {
        format!("{} -{}-> {}", edge.from, edge.kind, edge.to)
    };
    package
        .graph()
        .edges
        .iter()
        .map(|edge| (key(edge), to_members(edge.value, &["from", "to", "type"])))
        .collect()
}

fn files(package: &Package) -> BTreeMap<String, DiffMembers> {
    let documents = package.documents.as_ref();
    let members = |bytes: &[u8], executable: bool| {
        DiffMembers::from([
            ("sha256".to_owned(), Digest::of(bytes).hex()),
            ("size".to_owned(), bytes.len().to_string()),
            ("executable".to_owned(), executable.to_string()),
        ])
    };
    let all = documents.into_iter().flat_map(LoadedTree::files);
    all.map(|(path, executable, bytes)| (path.to_string(), members(bytes, executable))).collect()
}

/// Returns the layers, and content members that this version does not know.
fn other_members(package: &Package) -> BTreeMap<String, DiffMembers> {
    let all = to_members(package.content(), &["context_graph", "documents"]);
    let known = package.content();
    all.keys()
        .map(|key| {
            let members =
                known.get(key).map(|value| to_members(value, &["exported_at"])).unwrap_or_default();
            let whole = DiffMembers::from([("value".to_owned(), all[key].clone())]);
            (key.clone(), if members.is_empty() { whole } else { members })
        })
        .collect()
}
