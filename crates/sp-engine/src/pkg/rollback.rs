//! `sp pkg rollback`: a project, or the store, as it was before.

use std::collections::BTreeSet;

use sp_formats::output::{FolderAction, PackageChangeItem, PackageChangeReport};
use sp_formats::package::lock::{LockHistory, LockHistoryEntry};
use sp_formats::package::{PackageName, PackageVersion, VersionRange};

use super::install::PackageInstallRequest;
use super::package_store::{PackageStore, find_best_stored, read_store_index};
use super::project::PackageProject;
use super::project_change::ProjectChange;
use super::solve::SolveRequest as Asked;
use crate::apply_mode::ApplyMode;
use crate::context::Context;
use crate::error::{Error, FailureKind, Result};
use crate::home::LockedHome;
use crate::session::Session;

/// Goes back: a project to an earlier version of a package, or to all that it had before; the store to an earlier version.
pub fn rollback(
    context: &Context<'_>,
    name: Option<&str>,
    to: Option<&str>,
    request: &PackageInstallRequest,
) -> Result<PackageChangeReport> {
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, request.mode)?;
    let project = PackageProject::find(&session, request.root.as_deref())?;
    let history = project.read_history(&session)?;
    let Some(text) = name else {
        let work = ProjectChange::new(&session, home.as_ref(), project, request)?;
        return roll_back_all(work, &history);
    };
    let named = PackageName::new(text).map_err(|why| {
        Error::new(FailureKind::Usage, format!("`{text}` is no name of a package")).because(why)
    })?;
    if !project.lock.packages.contains_key(&named) {
        return roll_back_store(&session, home.as_ref(), (&named, to), request.mode);
    }
    let work = ProjectChange::new(&session, home.as_ref(), project, request)?;
    roll_back_one(work, &history, named, to)
}

/// The project as it was before its last change.
fn roll_back_all(
    mut work: ProjectChange<'_>,
    history: &LockHistory,
) -> Result<PackageChangeReport> {
    let past = history.entries.last().ok_or_else(|| {
        Error::new(FailureKind::Request, "this project has no earlier state")
            .hint("`sp pkg rollback <name>` goes back in the store")
    })?;
    let exactly = past
        .lock
        .packages
        .iter()
        .map(|(name, locked)| (name.clone(), VersionRange::exactly(&locked.version)));
    let wanted = Asked { requests: exactly.collect(), ..Asked::default() };
    work.truncate_history_to = Some(history.entries.len() - 1);
    work.past_sinks.clone_from(&past.sinks);
    let world = work.all_candidates();
    work.apply(&world, &wanted, &past.lock.requests, &BTreeSet::new())
}

/// One package of the project in the version that it had before, or in one that is named.
fn roll_back_one(
    mut work: ProjectChange<'_>,
    history: &LockHistory,
    name: PackageName,
    to: Option<&str>,
) -> Result<PackageChangeReport> {
    let now = work.project.lock.packages.get(&name).map(|locked| &locked.version);
    let version_in = |past: &LockHistoryEntry| {
        past.lock.packages.get(&name).map(|locked| locked.version.clone())
    };
    let other = |past: &LockHistoryEntry| version_in(past).filter(|version| Some(version) != now);
    let earlier =
        history.entries.iter().enumerate().rev().find_map(|(at, past)| Some((at, other(past)?)));
    let target = match (to, earlier) {
        (Some(version), _) => PackageVersion::new(version).map_err(|why| {
            Error::new(FailureKind::Usage, format!("`{version}` is no version")).because(why)
        })?,
        (None, Some((at, version))) => {
            work.truncate_history_to = Some(at);
            version
        }
        (None, None) => {
            return Err(Error::new(
                FailureKind::Request,
                format!("this project never had another version of `{name}`"),
            )
            .hint(format!("name one with `--to`; `sp pkg log {name}` lists them")));
        }
    };
    let mut stays = work.project.lock.requests.clone();
    // What only others asked for does not become something that was asked for.
    if let Some(range) = stays.get_mut(&name) {
        *range = VersionRange::exactly(&target);
    }
    let mut requests = stays.clone();
    requests.insert(name.clone(), VersionRange::exactly(&target));
    let mut preferred = work.locked_versions();
    preferred.remove(&name);
    let wanted = Asked { requests, preferred, with_optional: false };
    let world = work.all_candidates();
    work.apply(&world, &wanted, &stays, &BTreeSet::from([name]))
}

/// Makes an earlier version the one that the store gives; later ones stay and are named exactly.
fn roll_back_store(
    session: &Session<'_>,
    home: Option<&LockedHome<'_>>,
    (name, to): (&PackageName, Option<&str>),
    mode: ApplyMode,
) -> Result<PackageChangeReport> {
    let mut shelf = read_store_index(session.context)?;
    let current = find_best_stored(&shelf, name, None)?.clone();
    let target = match to {
        Some(version) => {
            find_best_stored(&shelf, name, Some(&VersionRange::new(&format!("={version}"))))?
                .clone()
        }
        None => {
            let earlier = shelf
                .packages
                .iter()
                .filter(|one| one.name == *name && one.version < current.version && !one.withdrawn);
            earlier.max_by_key(|one| &one.version).cloned().ok_or_else(|| {
                Error::new(
                    FailureKind::Request,
                    format!("the store has no earlier version of `{name}`"),
                )
                .hint(format!("`sp pkg log {name}` lists its versions"))
            })?
        }
    };
    for stored in shelf.packages.iter_mut().filter(|stored| stored.name == *name) {
        stored.withdrawn = stored.version > target.version;
    }
    if let (ApplyMode::Apply, Some(home)) = (mode, home) {
        let mut stock = PackageStore::open(session)?;
        stock.index = shelf;
        stock.save(home)?;
    }
    let item = PackageChangeItem {
        name: name.to_string(),
        action: FolderAction::Update,
        version: target.version.to_string(),
        from_version: Some(current.version.to_string()),
        kind: target.kind.as_str().into(),
        needed_by: Vec::new(),
    };
    Ok(PackageChangeReport {
        applied: mode == ApplyMode::Apply,
        root: session.context.home.join("store"),
        packages: vec![item],
        sinks: Vec::new(),
        kept: Vec::new(),
        context: None,
    })
}
