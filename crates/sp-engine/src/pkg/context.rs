//! What a project knows: the packages of knowledge that it has, merged, in `.ctxpkg/context.json`.
//!
//! The file is written with the packages and the lock, in one transaction, and the lock says which
//! bytes it has and which packages it was made of. Where that does not hold, nobody reads it.

use std::collections::BTreeSet;

use sp_analyze::graph::{Brought, Contradiction, brought};
use sp_formats::json::Json;
use sp_formats::output::{ContextChange, ContradictionItem, SupersededItem};
use sp_formats::package::lock::{Lock, LockedContext};
use sp_formats::package::{Graph, Package, PackageKind, read};
use sp_tree::{Digest, Limits};

use super::gathered::Gathered;
use super::project::Project;
use crate::config::Session;
use crate::context::Event;
use crate::error::{Error, Kind, Result};
use crate::plan::FilePlan;

/// What is to become of the merged graph of a project.
#[derive(Default)]
pub(super) struct NewContext {
    /// What the lock says of it.
    pub locked: Option<LockedContext>,
    /// What writes or removes its file.
    pub file: Option<FilePlan>,
    /// What that brings, if anything changes.
    pub change: Option<ContextChange>,
}

/// The merged graph of a project, if it is stored and is that of the packages which the lock names.
///
/// The packages themselves are not looked at here.
pub(super) fn stored(session: &Session<'_>, project: &Project) -> Result<Option<Json>> {
    let Some(locked) = project.lock.context.as_ref().filter(|locked| locked.packages == project.lock.knowledge())
    else {
        return Ok(None);
    };
    let Some(bytes) = project.read_context()? else { return Ok(None) };
    if Digest::of(&bytes) != locked.digest {
        session.context.tell(Event::Warning(format!(
            "`{}` is not what `ctxpkg.lock` says, and was not used: `sp pkg install` puts it right",
            session.context.show(&project.context_path())
        )));
        return Ok(None);
    }
    let text = String::from_utf8(bytes).map_err(|e| Error::new(Kind::Data, e.to_string()))?;
    parse(session, text).map(Some)
}

/// The merged graph that a project is to have, and what is new in it.
///
/// `lock` is the lock that the project is to have, and `coming` are the packages that are not there yet.
pub(super) fn renew(session: &Session<'_>, project: &Project, lock: &Lock, coming: &[&Package]) -> Result<NewContext> {
    let packages = lock.knowledge();
    let old = project.read_context()?.map(|bytes| Digest::of(&bytes));
    let known = project.lock.context.as_ref();
    if let Some(locked) = known.filter(|known| known.packages == packages && old == Some(known.digest)) {
        return Ok(NewContext { locked: Some(locked.clone()), ..NewContext::default() });
    }
    if packages.is_empty() && project.lock.knowledge().is_empty() {
        let file = project.context_plan(None)?.filter(|_| known.is_some());
        return Ok(NewContext { file, ..NewContext::default() });
    }
    let trusted = known.is_some_and(|known| old == Some(known.digest));
    let before = match trusted.then(|| stored(session, project)).transpose()?.flatten() {
        Some(json) => json,
        None => merged(session, installed(session, project, &project.lock)?)?.1,
    };
    let mut all = installed(session, project, lock)?;
    all.extend(coming.iter().filter(|package| package.manifest.kind == PackageKind::Context).map(|one| (*one).clone()));
    let (text, after) = merged(session, all)?;
    let graph = Graph::in_graph(after.root());
    let change = brought(&Graph::in_graph(before.root()), &graph);
    let change = (!change.is_empty()).then(|| described(change, &graph));
    if packages.is_empty() {
        return Ok(NewContext { locked: None, file: project.context_plan(None)?, change });
    }
    let locked = LockedContext { digest: Digest::of(text.as_bytes()), packages };
    Ok(NewContext { locked: Some(locked), file: project.context_plan(Some(text.into_bytes()))?, change })
}

/// The packages of a lock that the project has, as they should be.
fn installed(session: &Session<'_>, project: &Project, lock: &Lock) -> Result<Vec<Package>> {
    let mut packages = Vec::new();
    for (name, locked) in lock.packages.iter().filter(|(_, locked)| locked.kind == PackageKind::Context) {
        let Some(bytes) = project.read(session, name)?.filter(|bytes| Digest::of(bytes) == locked.digest) else {
            continue;
        };
        // It was taken when its size was allowed; what is odd about it was told then.
        let limits = Limits { package_bytes: u64::MAX, ..session.limits.clone() };
        packages.extend(read(name.as_str(), bytes, &limits).package);
    }
    Ok(packages)
}

/// The graph of packages, as a text and read; each package once.
fn merged(session: &Session<'_>, mut packages: Vec<Package>) -> Result<(String, Json)> {
    let mut seen = BTreeSet::new();
    packages.retain(|package| seen.insert(package.digest()));
    let mut text = Gathered::of(&session.limits, packages)?.merge().graph.text;
    let json = parse(session, text.clone())?;
    text.push('\n');
    Ok((text, json))
}

fn parse(session: &Session<'_>, text: String) -> Result<Json> {
    // Each package was within the limits; that they are many is no reason to refuse them.
    let limits = Limits { json_values: u64::MAX, ..session.limits.clone() };
    Json::parse(text, &limits).map_err(|e| Error::new(Kind::Data, e.to_string()))
}

fn described(brought: Brought, graph: &Graph<'_>) -> ContextChange {
    ContextChange {
        nodes: graph.nodes.len(),
        edges: graph.edges.len(),
        added: brought.added,
        updated: brought.updated,
        removed: brought.removed,
        superseded: superseded(&brought.superseded),
        contradictions: contradictions(&brought.contradictions),
    }
}

/// Nodes that others took the places of, in the words of the output.
pub(super) fn superseded(pairs: &[(String, String)]) -> Vec<SupersededItem> {
    pairs.iter().map(|(old, new)| SupersededItem { old: old.clone(), new: new.clone() }).collect()
}

/// Contradictions, in the words of the output.
pub(super) fn contradictions(all: &[Contradiction]) -> Vec<ContradictionItem> {
    let item = |one: &Contradiction| ContradictionItem {
        from: one.from.clone(),
        from_content: one.from_content.clone(),
        to: one.to.clone(),
        to_content: one.to_content.clone(),
        same_id: one.same_id,
    };
    all.iter().map(item).collect()
}
