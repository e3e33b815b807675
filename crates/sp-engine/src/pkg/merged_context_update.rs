//! Updates the merged graph of a project when its packages change.

use std::collections::BTreeSet;

use sp_analyze::graph::diff_graphs;
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
    let intact = known.filter(|known| old == Some(known.digest));
    if let Some(locked) = intact.filter(|known| known.packages == packages) {
        return Ok(MergedContextUpdate {
            locked: Some(locked.clone()),
            ..MergedContextUpdate::default()
        });
    }
    if packages.is_empty() && project.lock.knowledge_digests().is_empty() {
        let file_plan = project.context_plan(None)?.filter(|_| known.is_some());
        return Ok(MergedContextUpdate { file_plan, ..MergedContextUpdate::default() });
    }
    let before = graph_before(session, project, intact)?;
    let MergedContextGraph { text, json: after } = graph_after(session, project, lock, added)?;
    let change = graph_change(&before, &after);
    let text = Some(text).filter(|_| !packages.is_empty());
    let digest = text.as_ref().map(|text| Digest::of(text.as_bytes()));
    Ok(MergedContextUpdate {
        locked: digest.map(|digest| LockedContext { digest, packages }),
        file_plan: project.context_plan(text.map(String::into_bytes))?,
        change,
    })
}

/// Returns the merged graph before the change: the file if it is intact, or else that of the
/// installed packages.
fn graph_before(
    session: &Session<'_>,
    project: &PackageProject,
    intact: Option<&LockedContext>,
) -> Result<JsonDocument> {
    if intact.is_some()
        && let Some(json) = read_merged_context(session, project)?
    {
        return Ok(json);
    }
    Ok(merge_packages(session, installed_packages(session, project, &project.lock)?)?.json)
}

fn graph_after(
    session: &Session<'_>,
    project: &PackageProject,
    lock: &PackageLock,
    added: &[&Package],
) -> Result<MergedContextGraph> {
    let mut packages = installed_packages(session, project, lock)?;
    let added = added.iter().filter(|package| package.manifest.kind == PackageKind::Context);
    packages.extend(added.map(|package| (*package).clone()));
    merge_packages(session, packages)
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

/// A merged graph, as the text of its file and parsed.
struct MergedContextGraph {
    text: String,
    json: JsonDocument,
}

/// Merges the graphs of packages, each once.
fn merge_packages(session: &Session<'_>, mut packages: Vec<Package>) -> Result<MergedContextGraph> {
    let mut seen = BTreeSet::new();
    packages.retain(|package| seen.insert(package.digest()));
    let mut text = PackageGraphs::from_packages(&session.limits, packages)?.merge().graph.json;
    let json = parse_graph(session, text.clone())?;
    text.push('\n');
    Ok(MergedContextGraph { text, json })
}

/// Returns the changed nodes and edges, if there are any.
fn graph_change(before: &JsonDocument, after: &JsonDocument) -> Option<GraphChangeReport> {
    let graph = Graph::from_graph_json(after.root());
    let diff = diff_graphs(&Graph::from_graph_json(before.root()), &graph);
    if diff.is_empty() {
        return None;
    }
    Some(GraphChangeReport {
        nodes: graph.nodes.len(),
        edges: graph.edges.len(),
        added: diff.added,
        updated: diff.updated,
        removed: diff.removed,
        superseded: superseded_items(&diff.superseded),
        contradictions: contradiction_items(&diff.contradictions),
    })
}
