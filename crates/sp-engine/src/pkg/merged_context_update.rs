//! Updates the merged graph of a project when its packages change.

use std::collections::BTreeSet;

use sp_analyze::graph::{GraphDiff, diff_graphs};
use sp_formats::json::JsonDocument;
use sp_formats::output::GraphChangeReport;
use sp_formats::package::lock::{LockedContext, PackageLock};
use sp_formats::package::{Graph, Package, PackageKind, read};
use sp_tree::{Digest, Limits};

use super::items::{contradiction_items, superseded_items};
use super::merged_context::{parse_graph, read_merged_context};
use super::package_graphs::PackageGraphs;
use super::project::PackageProject;
use crate::error::Result;
use crate::install::plan::FilePlan;
use crate::session::Session;

/// The planned change of the merged graph.
#[derive(Default)]
pub(super) struct MergedContextUpdate {
    /// The entry for the lock.
    pub locked: Option<LockedContext>,
    /// The write or removal of the file.
    pub file_plan: Option<FilePlan>,
    /// The changed nodes and edges, if there are any.
    pub change: Option<GraphChangeReport>,
}

/// Plans the merged graph for the new `lock`. `added` are the packages that are not installed yet.
pub(super) fn update_merged_context(
    session: &Session<'_>,
    project: &PackageProject,
    lock: &PackageLock,
    added: &[&Package],
) -> Result<MergedContextUpdate> {
    let packages = lock.knowledge_digests();
    let old = project.read_context()?.map(|bytes| Digest::of(&bytes));
    let known = project.lock.context.as_ref();
    if let Some(locked) =
        known.filter(|known| known.packages == packages && old == Some(known.digest))
    {
        return Ok(MergedContextUpdate {
            locked: Some(locked.clone()),
            ..MergedContextUpdate::default()
        });
    }
    if packages.is_empty() && project.lock.knowledge_digests().is_empty() {
        let file = project.context_plan(None)?.filter(|_| known.is_some());
        return Ok(MergedContextUpdate { file_plan: file, ..MergedContextUpdate::default() });
    }
    let is_intact = known.is_some_and(|known| old == Some(known.digest));
    let before =
        match is_intact.then(|| read_merged_context(session, project)).transpose()?.flatten() {
            Some(json) => json,
            None => {
                merge_packages(session, installed_packages(session, project, &project.lock)?)?.1
            }
        };
    let mut merged = installed_packages(session, project, lock)?;
    let added = added.iter().filter(|package| package.manifest.kind == PackageKind::Context);
    merged.extend(added.map(|package| (*package).clone()));
    let (text, after) = merge_packages(session, merged)?;
    let graph = Graph::from_graph_json(after.root());
    let change = diff_graphs(&Graph::from_graph_json(before.root()), &graph);
    let change = (!change.is_empty()).then(|| context_change(change, &graph));
    if packages.is_empty() {
        return Ok(MergedContextUpdate {
            locked: None,
            file_plan: project.context_plan(None)?,
            change,
        });
    }
    let locked = LockedContext { digest: Digest::of(text.as_bytes()), packages };
    Ok(MergedContextUpdate {
        locked: Some(locked),
        file_plan: project.context_plan(Some(text.into_bytes()))?,
        change,
    })
}

/// Returns the context packages of a lock that are installed with the locked digest.
fn installed_packages(
    session: &Session<'_>,
    project: &PackageProject,
    lock: &PackageLock,
) -> Result<Vec<Package>> {
    let mut packages = Vec::new();
    for (name, locked) in
        lock.packages.iter().filter(|(_, locked)| locked.kind == PackageKind::Context)
    {
        let Some(bytes) =
            project.read_package(session, name)?.filter(|bytes| Digest::of(bytes) == locked.digest)
        else {
            continue;
        };
        // The size was checked, and findings were reported, when the package was installed.
        let limits = Limits { package_bytes: u64::MAX, ..session.limits.clone() };
        packages.extend(read(name.as_str(), bytes, &limits).package);
    }
    Ok(packages)
}

/// Merges the graphs of packages, each once. Returns the text of the file and the parsed graph.
fn merge_packages(
    session: &Session<'_>,
    mut packages: Vec<Package>,
) -> Result<(String, JsonDocument)> {
    let mut seen = BTreeSet::new();
    packages.retain(|package| seen.insert(package.digest()));
    let mut text = PackageGraphs::from_packages(&session.limits, packages)?.merge().graph.json;
    let json = parse_graph(session, text.clone())?;
    text.push('\n');
    Ok((text, json))
}

fn context_change(diff: GraphDiff, graph: &Graph<'_>) -> GraphChangeReport {
    GraphChangeReport {
        nodes: graph.nodes.len(),
        edges: graph.edges.len(),
        added: diff.added,
        updated: diff.updated,
        removed: diff.removed,
        superseded: superseded_items(&diff.superseded),
        contradictions: contradiction_items(&diff.contradictions),
    }
}
