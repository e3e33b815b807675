//! One change of the packages of a project: solve, load, check trust, plan, apply.
//!
//! `install`, `uninstall` and `rollback` set up a [`ProjectChange`] and call
//! [`ProjectChange::apply`] with the candidates and requests for the solver. All files that change
//! (`.ctxpkg/`, the lock, sinks and the store) change in one transaction, and only after every
//! package was verified.

mod candidates;
mod change_items;
mod registry_lookup;
mod requests;
mod resolve_packages;
mod skill_plan;

use std::collections::{BTreeMap, BTreeSet};

use sp_formats::output::{GraphChangeReport, PackageChangeReport};
use sp_formats::package::lock::LockedPackage;
use sp_formats::package::store::PackageStoreIndex;
use sp_formats::package::{Package, PackageKind, PackageName, PackageVersion, VersionRange};

use super::merged_context_update::update_merged_context;
use super::package_store::{LoadedPackage, PackageStore, read_store_index};
use super::project::{HistoryUpdate, PackageProject, PastSink, SinksByPackage};
use super::registry::{AvailablePackage, KnownRegistries};
use super::solve::{CandidatesByName, SolveRequest};
use super::trust::{TrustOverrides, check_signing_policy};
use crate::apply_mode::ApplyMode;
use crate::error::Result;
use crate::home::{DigestIndexes, LockedHome};
use crate::install::change::{ChangeExecutor, ChangeOutcome};
use crate::install::plan::{FilePlan, PlanRequest, SinkTarget};
use crate::session::Session;
use crate::sinks::{Sink, SinkRequest};

/// The parts of a request that every change needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChangeOptions<'a> {
    /// The sinks for skills of requested or new packages.
    pub sinks: &'a [SinkRequest],
    /// The prefix of the names of skill folders.
    pub prefix: Option<&'a str>,
    pub trust: TrustOverrides,
    /// If set, the only registry that is asked.
    pub registry: Option<&'a str>,
    pub mode: ApplyMode,
}

/// A change of the packages of a project.
pub(super) struct ProjectChange<'a> {
    session: &'a Session<'a>,
    /// None in a dry run.
    home: Option<&'a LockedHome<'a>>,
    options: ChangeOptions<'a>,
    pub project: PackageProject,
    index: PackageStoreIndex,
    /// Packages from named files and from registries, which are added to the store.
    loaded: Vec<LoadedPackage>,
    registries: KnownRegistries<'a>,
    /// What registries offer of the packages in `queried`.
    available: BTreeMap<PackageName, AvailablePackage>,
    /// The packages that registries were asked for.
    queried: BTreeSet<PackageName>,
    /// Packages that are removed from sinks although the lock does not name them.
    pub unlocked_removals: BTreeSet<PackageName>,
    /// Whether locked packages that are missing are installed again.
    pub restore_locked: bool,
    /// The number of history entries that a rollback keeps.
    pub truncate_history_to: Option<usize>,
    /// The sinks of skills that a rollback restores.
    pub past_sinks: SinksByPackage,
}

/// A package of the solution.
struct ResolvedPackage {
    version: PackageVersion,
    locked: LockedPackage,
    /// The package, if it must be written.
    package: Option<Package>,
}

/// The packages of the solution, by name.
type ResolvedPackages = BTreeMap<PackageName, ResolvedPackage>;

/// The planned changes of the files of a project and of the store.
struct ProjectPlan<'a> {
    files: Vec<FilePlan>,
    store: PackageStore<'a>,
    context_change: Option<GraphChangeReport>,
}

impl<'a> ChangeOptions<'a> {
    /// Returns the options of a change that asks no registry and adds no sink.
    pub(super) fn local(mode: ApplyMode) -> Self {
        Self { sinks: &[], prefix: None, trust: TrustOverrides::default(), registry: None, mode }
    }
}

impl<'a> ProjectChange<'a> {
    pub(super) fn new(
        session: &'a Session<'a>,
        home: Option<&'a LockedHome<'a>>,
        project: PackageProject,
        options: ChangeOptions<'a>,
    ) -> Result<Self> {
        Ok(Self {
            session,
            home,
            options,
            project,
            index: read_store_index(session.context)?,
            loaded: Vec::new(),
            registries: KnownRegistries::open(session, options.registry)?,
            available: BTreeMap::new(),
            queried: BTreeSet::new(),
            unlocked_removals: BTreeSet::new(),
            restore_locked: false,
            truncate_history_to: None,
            past_sinks: SinksByPackage::new(),
        })
    }

    pub(super) fn locked_versions(&self) -> BTreeMap<PackageName, PackageVersion> {
        self.project
            .lock
            .packages
            .iter()
            .map(|(name, locked)| (name.clone(), locked.version.clone()))
            .collect()
    }

    /// Solves, loads, checks, plans and applies the change.
    ///
    /// `requests` are written to the lock; they differ from those of `solve_request` in a rollback.
    /// `requested` are the packages that the user named.
    pub(super) fn apply(
        &mut self,
        candidates: &CandidatesByName,
        solve_request: &SolveRequest,
        requests: &BTreeMap<PackageName, VersionRange>,
        requested: &BTreeSet<PackageName>,
    ) -> Result<PackageChangeReport> {
        let targets = self.resolve_targets(candidates, solve_request, requested)?;
        let packages = self.describe_changes(&targets, candidates);
        let sinks = self.sink_targets(&targets, requested)?;
        let project = self.plan_project(&targets, requests)?;
        let removed = self.removed_packages(&targets);
        let outcome = self.execute(sinks, &removed, project.files)?;
        if outcome.report.applied {
            project.store.emit_deferred_events();
        }
        Ok(PackageChangeReport {
            applied: outcome.report.applied,
            root: self.project.root.clone(),
            packages,
            sinks: outcome.report.sinks,
            kept: outcome.trashed_files,
            context: project.context_change,
        })
    }

    /// Plans the package files, the merged graph, the lock with its history, and the store. A dry
    /// run does not plan the store.
    fn plan_project(
        &self,
        targets: &ResolvedPackages,
        requests: &BTreeMap<PackageName, VersionRange>,
    ) -> Result<ProjectPlan<'_>> {
        let mut lock = self.project.lock.clone();
        lock.requests.clone_from(requests);
        lock.packages =
            targets.iter().map(|(name, target)| (name.clone(), target.locked.clone())).collect();
        let added: Vec<&Package> =
            targets.values().filter_map(|target| target.package.as_ref()).collect();
        let context = update_merged_context(self.session, &self.project, &lock, &added)?;
        lock.context = context.locked;
        let mut files = self.package_file_plans(targets)?;
        files.extend(context.file_plan);
        files.extend(self.project.lock_plans(self.session, &lock, &self.history_update()?)?);
        let store = self.updated_store(targets)?;
        if self.home.is_some() {
            files.extend(store.file_plans()?);
        }
        Ok(ProjectPlan { files, store, context_change: context.change })
    }

    /// Installs and removes skills, and writes the files, in one transaction.
    fn execute(
        &self,
        targets: Vec<SinkTarget>,
        removed: &BTreeSet<PackageName>,
        files: Vec<FilePlan>,
    ) -> Result<ChangeOutcome> {
        let plan_request = PlanRequest {
            targets,
            removed_packs: removed.iter().map(ToString::to_string).collect(),
            ..PlanRequest::default()
        };
        let executor = ChangeExecutor {
            session: self.session,
            home: self.home,
            options: self.options.mode.into(),
        };
        let mut indexes = DigestIndexes::new(self.session.context);
        executor.execute(&plan_request, files, &mut indexes)
    }

    fn history_update(&self) -> Result<HistoryUpdate> {
        if let Some(entries) = self.truncate_history_to {
            return Ok(HistoryUpdate::Truncate(entries));
        }
        let mut sinks = SinksByPackage::new();
        for (name, locked) in &self.project.lock.packages {
            if locked.kind == PackageKind::Skills {
                let recorded = self.recorded_sinks(name)?;
                let entry = |sink: Sink| PastSink {
                    path: sink.path.to_string_lossy().into_owned(),
                    name: sink.name,
                };
                sinks.insert(name.clone(), recorded.into_iter().map(entry).collect());
            }
        }
        Ok(HistoryUpdate::Append(sinks))
    }

    /// Returns the packages that the change removes.
    fn removed_packages(&self, targets: &ResolvedPackages) -> BTreeSet<PackageName> {
        let unlocked =
            self.project.lock.packages.keys().filter(|name| !targets.contains_key(*name)).cloned();
        unlocked.chain(self.unlocked_removals.iter().cloned()).collect()
    }

    /// Plans the package files below `.ctxpkg/`.
    fn package_file_plans(&self, targets: &ResolvedPackages) -> Result<Vec<FilePlan>> {
        let mut plans = Vec::new();
        for (name, target) in targets {
            if let (PackageKind::Context, Some(package)) = (target.locked.kind, &target.package) {
                plans.extend(self.project.package_file_plan(
                    self.session,
                    name,
                    Some(package.text()),
                )?);
            }
        }
        for name in self.removed_packages(targets) {
            let locked = self.project.lock.packages.get(&name);
            if locked.is_some_and(|locked| locked.kind == PackageKind::Context) {
                plans.extend(self.project.package_file_plan(self.session, &name, None)?);
            }
        }
        Ok(plans)
    }

    /// Checks every package that is written, and adds the loaded packages to the store.
    fn updated_store(&self, targets: &ResolvedPackages) -> Result<PackageStore<'_>> {
        let mut store = PackageStore::open(self.session)?;
        for package in targets.values().filter_map(|target| target.package.as_ref()) {
            // The signers of stored packages were checked when they were added, but the config may
            // have changed since.
            check_signing_policy(self.session, package, self.options.trust.unsigned)?;
        }
        store.add(&self.loaded, self.options.trust)?;
        store.seen_versions.clone_from(self.registries.seen_versions());
        Ok(store)
    }
}
