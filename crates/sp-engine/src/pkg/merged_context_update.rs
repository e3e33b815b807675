//! Updates the merged graph of a project when its packages change.

use std::collections::BTreeSet;
use std::sync::Arc;

use sp_analyze::graph::diff_graphs;
use sp_formats::json::JsonDocument;
use sp_formats::output::GraphChangeReport;
use sp_formats::package::lock::{LockedContext, PackageLock};
use sp_formats::package::{Graph, Package};
use sp_tree::HashedBytes;

use super::installed_packages::InstalledPackages;
use super::items::{contradiction_items, superseded_items};
use super::merged_context::{parse_graph, parse_merged_context};
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

/// The packages whose graphs are merged.
pub(super) struct MergedPackages<'a> {
    /// Those that the project has.
    pub installed: &'a InstalledPackages,
    /// Those that are not installed yet.
    pub added: Vec<Arc<Package>>,
}

/// Plans the merged graph for the new `lock`.
pub(super) fn update_merged_context(
    session: &Session<'_>,
    project: &PackageProject,
    lock: &PackageLock,
    sources: MergedPackages<'_>,
) -> Result<MergedContextUpdate> {
    let packages = lock.knowledge_digests();
    let file = project.read_context()?.map(HashedBytes::new);
    let old = file.as_ref().map(HashedBytes::digest);
    let known = project.lock.context.as_ref();
    let intact = known.filter(|known| old == Some(known.digest));
    if let Some(locked) = intact.filter(|known| known.packages == packages) {
        return Ok(MergedContextUpdate {
            locked: Some(locked.clone()),
            ..MergedContextUpdate::default()
        });
    }
    if packages.is_empty() && project.lock.knowledge_digests().is_empty() {
        let file_plan = project.context_plan(old, None)?.filter(|_| known.is_some());
        return Ok(MergedContextUpdate { file_plan, ..MergedContextUpdate::default() });
    }
    // Only a file that merged exactly the locked packages shows the graph before the change.
    let before = match file.filter(|_| intact.is_some_and(|known| is_current(known, project))) {
        Some(file) => parse_merged_context(session, file.into_bytes())?,
        None => merge_packages(session, sources.installed.packages(session, &project.lock))?.json,
    };
    let mut after = sources.installed.packages(session, lock);
    after.extend(sources.added);
    let MergedContextGraph { text, json: after } = merge_packages(session, after)?;
    let change = graph_change(&before, &after);
    let new = (!packages.is_empty()).then(|| HashedBytes::new(text.into_bytes()));
    Ok(MergedContextUpdate {
        locked: new.as_ref().map(|new| LockedContext { digest: new.digest(), packages }),
        file_plan: project.context_plan(old, new)?,
        change,
    })
}

/// Returns whether the merged graph of a project was made of the packages in its lock.
fn is_current(known: &LockedContext, project: &PackageProject) -> bool {
    known.packages == project.lock.knowledge_digests()
}

/// A merged graph, as the text of its file and parsed.
struct MergedContextGraph {
    text: String,
    json: JsonDocument,
}

/// Merges the graphs of packages, each once.
fn merge_packages(
    session: &Session<'_>,
    mut packages: Vec<Arc<Package>>,
) -> Result<MergedContextGraph> {
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
