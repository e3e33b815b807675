//! What a project knows: the packages of knowledge that it has, merged, in `.ctxpkg/context.json`.
//!
//! The file is written with the packages and the lock, in one transaction, and the lock says which
//! bytes it has and which packages it was made of. Where that does not hold, nobody reads it.

use std::collections::BTreeSet;

use sp_analyze::graph::{Contradiction, GraphDiff, diff_graphs};
use sp_formats::json::JsonDocument;
use sp_formats::output::{ContradictionItem, GraphChangeReport, SupersededNodeItem};
use sp_formats::package::lock::{LockedContext, PackageLock};
use sp_formats::package::{Graph, Package, PackageKind, read};
use sp_tree::{Digest, Limits};

use super::package_graphs::PackageGraphs;
use super::project::PackageProject;
use crate::context::Event;
use crate::error::{Error, FailureKind, Result};
use crate::install::plan::FilePlan;
use crate::session::Session;

/// What is to become of the merged graph of a project.
#[derive(Default)]
pub(super) struct MergedContextUpdate {
    /// What the lock says of it.
    pub locked: Option<LockedContext>,
    /// What writes or removes its file.
    pub file_plan: Option<FilePlan>,
    /// What that brings, if anything changes.
    pub change: Option<GraphChangeReport>,
}

/// The merged graph of a project, if it is stored and is that of the packages which the lock names.
///
/// The packages themselves are not looked at here.
pub(super) fn read_merged_context(
    session: &Session<'_>,
    project: &PackageProject,
) -> Result<Option<JsonDocument>> {
    let Some(locked) = project
        .lock
        .context
        .as_ref()
        .filter(|locked| locked.packages == project.lock.knowledge_digests())
    else {
        return Ok(None);
    };
    let Some(bytes) = project.read_context()? else { return Ok(None) };
    if Digest::of(&bytes) != locked.digest {
        session.context.emit(Event::Warning(format!(
            "`{}` is not what `ctxpkg.lock` says, and was not used: `sp pkg install` puts it right",
            session.context.display_path(&project.context_path())
        )));
        return Ok(None);
    }
    let text =
        String::from_utf8(bytes).map_err(|e| Error::new(FailureKind::Data, e.to_string()))?;
    parse_graph(session, text).map(Some)
}

/// The merged graph that a project is to have, and what is new in it.
///
/// `lock` is the lock that the project is to have, and `coming` are the packages that are not there yet.
pub(super) fn update_merged_context(
    session: &Session<'_>,
    project: &PackageProject,
    lock: &PackageLock,
    coming: &[&Package],
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
    let trusted = known.is_some_and(|known| old == Some(known.digest));
    let before = match trusted.then(|| read_merged_context(session, project)).transpose()?.flatten()
    {
        Some(json) => json,
        None => merge_packages(session, installed_packages(session, project, &project.lock)?)?.1,
    };
    let mut all = installed_packages(session, project, lock)?;
    all.extend(
        coming
            .iter()
            .filter(|package| package.manifest.kind == PackageKind::Context)
            .map(|one| (*one).clone()),
    );
    let (text, after) = merge_packages(session, all)?;
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

/// The packages of a lock that the project has, as they should be.
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
        // It was taken when its size was allowed; what is odd about it was told then.
        let limits = Limits { package_bytes: u64::MAX, ..session.limits.clone() };
        packages.extend(read(name.as_str(), bytes, &limits).package);
    }
    Ok(packages)
}

/// The graph of packages, as a text and read; each package once.
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

fn parse_graph(session: &Session<'_>, text: String) -> Result<JsonDocument> {
    // Each package was within the limits; that they are many is no reason to refuse them.
    let limits = Limits { json_values: u64::MAX, ..session.limits.clone() };
    JsonDocument::parse(text, &limits).map_err(|e| Error::new(FailureKind::Data, e.to_string()))
}

fn context_change(brought: GraphDiff, graph: &Graph<'_>) -> GraphChangeReport {
    GraphChangeReport {
        nodes: graph.nodes.len(),
        edges: graph.edges.len(),
        added: brought.added,
        updated: brought.updated,
        removed: brought.removed,
        superseded: superseded_items(&brought.superseded),
        contradictions: contradiction_items(&brought.contradictions),
    }
}

/// Nodes that others took the places of, in the words of the output.
pub(super) fn superseded_items(pairs: &[(String, String)]) -> Vec<SupersededNodeItem> {
    pairs
        .iter()
        .map(|(old, new)| SupersededNodeItem { old: old.clone(), new: new.clone() })
        .collect()
}

/// Contradictions, in the words of the output.
pub(super) fn contradiction_items(all: &[Contradiction]) -> Vec<ContradictionItem> {
    let item = |one: &Contradiction| ContradictionItem {
        from: one.from.clone(),
        from_content: one.from_content.clone(),
        to: one.to.clone(),
        to_content: one.to_content.clone(),
        same_id: one.same_id,
    };
    all.iter().map(item).collect()
}
