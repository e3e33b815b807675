//! `sp pkg rollback`: returns a project or the store to an earlier state.

use std::collections::BTreeSet;
use std::path::PathBuf;

use sp_formats::output::{FolderAction, PackageChangeItem, PackageChangeReport};
use sp_formats::package::lock::LockHistory;
use sp_formats::package::store::{PackageStoreIndex, StoredPackage};
use sp_formats::package::{PackageName, PackageVersion, VersionRange};

use super::package_store::{PackageStore, find_best_stored};
use super::project::{PackageProject, past_sinks};
use super::project_change::{
    ChangeOptions, ChangeRequest, HistoryChange, ManifestPackages, PackageSelection, ProjectChange,
};
use super::solve::SolveRequest;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::install::change::ChangeExecutor;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// The arguments of `sp pkg rollback`.
#[derive(Debug, Clone)]
pub struct PackageRollbackRequest {
    /// The package: `name` for its previous version, or `name@version`. The default is the project
    /// with all of its packages.
    pub package: Option<String>,
    /// The project. The default is the nearest one from the current directory upward.
    pub root: Option<PathBuf>,
    pub apply: ApplyOptions,
}

/// Rolls back one package of a project, or the whole project if there is no name. A package that
/// the project does not have is rolled back in the store.
pub fn rollback(
    context: &Context<'_>,
    request: &PackageRollbackRequest,
) -> Result<PackageChangeReport> {
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, request.apply.mode)?;
    let project = PackageProject::find(&session, request.root.as_deref())?;
    let options = ChangeOptions::local(request.apply);
    let target = request.package.as_deref().map(RollbackTarget::parse).transpose()?;
    if let Some(RollbackTarget { name, to }) = &target
        && !project.lock.packages.contains_key(name)
    {
        let executor =
            ChangeExecutor { session: &session, home: home.as_ref(), options: request.apply };
        return roll_back_store(&executor, name, to.as_deref());
    }
    let change = ProjectChange::new(&session, home.as_ref(), project, options)?;
    let change_request = rollback_request(&session, &change, target)?;
    change.run(&change_request)
}

/// The package to roll back.
pub(crate) struct RollbackTarget {
    pub name: PackageName,
    /// The version to return to; none for the previous one.
    to: Option<String>,
}

impl RollbackTarget {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        // The `@` at the start of a name belongs to its scope.
        let (name, to) = match text.rsplit_once('@') {
            Some((name, version)) if !name.is_empty() => (name, Some(version.to_owned())),
            _ => (text, None),
        };
        let name = PackageName::new(name).map_err(|why| {
            let message = format!("invalid package name `{name}`");
            Error::new(ErrorCode::InvalidName, message).because(why)
        })?;
        Ok(Self { name, to })
    }
}

/// Requests an earlier state of a package, or of the project if there is none.
fn rollback_request(
    session: &Session<'_>,
    change: &ProjectChange<'_>,
    target: Option<RollbackTarget>,
) -> Result<ChangeRequest> {
    match target {
        None => project_rollback(change.project.history(session)?),
        Some(target) => package_rollback(session, change, target.name, target.to.as_deref()),
    }
}

/// Selects an earlier state of the packages of a manifest.
pub(crate) fn select_rollback(
    session: &Session<'_>,
    packages: &ManifestPackages<'_>,
    target: Option<RollbackTarget>,
) -> Result<PackageSelection> {
    rollback_request(session, packages.change(), target).map(PackageSelection::roll_back)
}

/// Requests the state of the project before its last change.
fn project_rollback(history: &LockHistory) -> Result<ChangeRequest> {
    let previous = history.entries.last().ok_or_else(|| {
        Error::new(ErrorCode::NoEarlierState, "this project has no earlier state to roll back to")
            .hint("run `sp pkg rollback <name>` to roll back a package in the store")
    })?;
    let exact = previous
        .lock
        .packages
        .iter()
        .map(|(name, locked)| (name.clone(), VersionRange::exactly(&locked.version)));
    Ok(ChangeRequest {
        solve: SolveRequest { requests: exact.collect(), ..SolveRequest::default() },
        locked_requests: previous.lock.requests.clone(),
        history: HistoryChange::Truncate(history.entries.len() - 1),
        past_sinks: past_sinks(previous),
        ..ChangeRequest::default()
    })
}

/// Requests the previous version of one package, or the version `to`.
fn package_rollback(
    session: &Session<'_>,
    change: &ProjectChange<'_>,
    name: PackageName,
    to: Option<&str>,
) -> Result<ChangeRequest> {
    let project = &change.project;
    let (target, history) = match to {
        Some(version) => (parse_version(version)?, HistoryChange::Append),
        None => {
            let earlier = find_earlier(project, project.history(session)?, &name)?;
            (earlier.version, HistoryChange::Truncate(earlier.index))
        }
    };
    let mut locked_requests = project.lock.requests.clone();
    // A package that is only a dependency does not become a request of the lock.
    if let Some(range) = locked_requests.get_mut(&name) {
        *range = VersionRange::exactly(&target);
    }
    let mut requests = locked_requests.clone();
    requests.insert(name.clone(), VersionRange::exactly(&target));
    let mut preferred = change.locked_versions();
    preferred.remove(&name);
    Ok(ChangeRequest {
        solve: SolveRequest { requests, preferred, with_optional: false },
        locked_requests,
        named: BTreeSet::from([name]),
        history,
        ..ChangeRequest::default()
    })
}

fn parse_version(text: &str) -> Result<PackageVersion> {
    PackageVersion::new(text).map_err(|why| {
        Error::new(ErrorCode::InvalidVersion, format!("invalid version `{text}`")).because(why)
    })
}

/// Another version of a package that the project had before.
struct EarlierVersion {
    /// The index of its entry in the history.
    index: usize,
    version: PackageVersion,
}

/// Finds the last version of a package in the history that is not the current one.
fn find_earlier(
    project: &PackageProject,
    history: &LockHistory,
    name: &PackageName,
) -> Result<EarlierVersion> {
    let current = project.lock.packages.get(name).map(|locked| &locked.version);
    let mut entries = history.entries.iter().enumerate().rev();
    let earlier = entries.find_map(|(index, entry)| {
        let version = entry.lock.packages.get(name).map(|locked| locked.version.clone());
        let version = version.filter(|version| Some(version) != current)?;
        Some(EarlierVersion { index, version })
    });
    earlier.ok_or_else(|| {
        Error::new(
            ErrorCode::NoEarlierState,
            format!("this project has no earlier version of `{name}`"),
        )
        .hint(format!(
            "specify a version with `--to`; run `sp pkg log {name}` to list the versions"
        ))
    })
}

/// Withdraws the versions after an earlier one, so that the store resolves to that one. Withdrawn
/// versions can still be installed by their exact version.
fn roll_back_store(
    executor: &ChangeExecutor<'_>,
    name: &PackageName,
    to: Option<&str>,
) -> Result<PackageChangeReport> {
    let session = executor.session;
    let mut store = PackageStore::open(session)?;
    let current = find_best_stored(&store.index, name, None)?.clone();
    let target = match to {
        Some(version) => {
            let exact = VersionRange::new(&format!("={version}"));
            find_best_stored(&store.index, name, Some(&exact))?.clone()
        }
        None => find_older_stored(&store.index, &current)?.clone(),
    };
    for stored in store.index.packages.iter_mut().filter(|stored| stored.name == *name) {
        stored.withdrawn = stored.version > target.version;
    }
    let status = store.save_with(executor)?;
    Ok(PackageChangeReport {
        status,
        root: session.context.home.join("store"),
        packages: vec![rollback_item(&current, &target)],
        sinks: Vec::new(),
        kept: Vec::new(),
        context: None,
    })
}

/// Finds the newest version in the store that is older than `current` and not withdrawn.
fn find_older_stored<'i>(
    index: &'i PackageStoreIndex,
    current: &StoredPackage,
) -> Result<&'i StoredPackage> {
    let name = &current.name;
    let older = index
        .packages
        .iter()
        .filter(|stored| stored.name == *name && !stored.withdrawn)
        .filter(|stored| stored.version < current.version);
    older.max_by_key(|stored| &stored.version).ok_or_else(|| {
        Error::new(
            ErrorCode::NoEarlierState,
            format!("the store has no earlier version of `{name}`"),
        )
        .hint(format!("run `sp pkg log {name}` to list its versions"))
    })
}

fn rollback_item(current: &StoredPackage, target: &StoredPackage) -> PackageChangeItem {
    PackageChangeItem {
        name: target.name.to_string(),
        action: FolderAction::Update,
        version: target.version.to_string(),
        from_version: Some(current.version.to_string()),
        kind: target.kind,
        needed_by: Vec::new(),
    }
}
