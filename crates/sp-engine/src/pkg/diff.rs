//! `sp pkg diff`: what differs between two packages, by node, edge, file and member.

use std::collections::BTreeMap;

use sp_formats::json::{Numbers, Value, canonical};
use sp_formats::output::PackageDiff;
use sp_formats::package::Package;
use sp_tree::{Content, Digest};

use super::shelf::read_shelf;
use super::subject::Subject;
use crate::changes::{Members, items, members};
use crate::config::Session;
use crate::context::Context;
use crate::error::Result;

/// What differs between two packages.
pub fn diff(context: &Context<'_>, before: &str, after: &str) -> Result<PackageDiff> {
    let session = Session::begin(context)?;
    let shelf = read_shelf(context)?;
    let load = |text: &str| Subject::parse(&session, text)?.load(&session, &shelf).map(|(package, _)| package);
    let (before, after) = (load(before)?, load(after)?);
    let label = |package: &Package| format!("{} {}", package.manifest.name, package.manifest.version);
    Ok(PackageDiff {
        before: label(&before),
        after: label(&after),
        // What is made from the content is told by the content.
        manifest: members(
            &of(before.raw_manifest(), &["integrity", "signature", "graph_summary", "stats"]),
            &of(after.raw_manifest(), &["integrity", "signature", "graph_summary", "stats"]),
        ),
        nodes: items(&nodes(&before), &nodes(&after)),
        edges: items(&edges(&before), &edges(&after)),
        files: items(&files(&before), &files(&after)),
        content: items(&rest(&before), &rest(&after)),
    })
}

fn of(value: Value<'_>, without: &[&str]) -> Members {
    let text = |value: Value<'_>| canonical(value, "", Numbers::Lossless).unwrap_or_default();
    let pairs = value.members().map(|(key, value)| (key.text().unwrap_or_default().into_owned(), text(value)));
    pairs.filter(|(key, value)| !without.contains(&key.as_str()) && value != "null").collect()
}

fn nodes(package: &Package) -> BTreeMap<String, Members> {
    package.graph().nodes.iter().map(|node| (node.id.clone().into_owned(), of(node.value, &["id"]))).collect()
}

fn edges(package: &Package) -> BTreeMap<String, Members> {
    let key = |edge: &sp_formats::package::Edge<'_>| format!("{} -{}-> {}", edge.from, edge.kind, edge.to);
    package.graph().edges.iter().map(|edge| (key(edge), of(edge.value, &["from", "to", "type"]))).collect()
}

fn files(package: &Package) -> BTreeMap<String, Members> {
    let documents = package.documents.as_ref();
    let members = |bytes: &[u8], executable: bool| {
        Members::from([
            ("sha256".to_owned(), Digest::of(bytes).hex()),
            ("size".to_owned(), bytes.len().to_string()),
            ("executable".to_owned(), executable.to_string()),
        ])
    };
    let all = documents.into_iter().flat_map(Content::files);
    all.map(|(path, executable, bytes)| (path.to_string(), members(bytes, executable))).collect()
}

/// Layers, and members that nobody knows.
fn rest(package: &Package) -> BTreeMap<String, Members> {
    let all = of(package.content(), &["context_graph", "documents"]);
    let known = package.content();
    all.keys()
        .map(|key| {
            let members = known.get(key).map(|value| of(value, &["exported_at"])).unwrap_or_default();
            let whole = Members::from([("value".to_owned(), all[key].clone())]);
            (key.clone(), if members.is_empty() { whole } else { members })
        })
        .collect()
}
