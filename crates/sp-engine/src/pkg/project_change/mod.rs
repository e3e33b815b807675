//! One change of the packages of a project, in steps that are values.
//!
//! ```text
//! request ─┐
//! store    ├─ resolve ─▶ Resolution ─ fetch ─▶ FetchedPackages ─ plan ─▶ ProjectPlan ─▶ apply
//! lock     │             version, source,      verified                  every file
//! registry ┘             digest, signer                                  and folder
//! ```
//!
//! - [`ChangeRequest`] is what the user asked for. `install`, `uninstall` and `rollback` differ in
//!   nothing else.
//! - [`Resolution`] has the version and the source of each package that the project will have. It
//!   follows from the request, the candidates and the lock alone.
//! - Fetching downloads what is not on this machine, and loads and verifies what is written.
//! - [`ProjectPlan`] has every change. A dry run stops here; applying it is one transaction.
//!
//! [`ProjectChange`] holds what the steps read: the project, the state, the store and the
//! registries. Each file is read once, when the change begins or when it is first needed, and
//! nothing is written before the plan is applied.

mod candidates;
mod change_items;
mod fetch;
mod manifest_packages;
mod parse_requests;
mod plan;
mod registry_lookup;
mod request;
mod resolution;
mod skill_plan;

use std::collections::{BTreeMap, BTreeSet};

use sp_formats::output::{PackageChangeReport, PlanStatus};
use sp_formats::package::{PackageName, PackageVersion};
use sp_formats::state::InstallState;

use self::candidates::Candidates;
use self::plan::ProjectPlan;
use self::resolution::Resolution;
use super::installed_packages::InstalledPackages;
use super::package_store::{LoadedPackage, PackageStore};
use super::project::PackageProject;
use super::registry::{AvailablePackage, KnownRegistries};
use super::trust::TrustOverrides;
use crate::error::Result;
use crate::home::{DigestIndexes, LockedHome};
use crate::install::change::ChangeExecutor;
use crate::plan_id::ApplyOptions;
use crate::session::Session;
use crate::sinks::SinkRequest;

pub(crate) use self::manifest_packages::{
    ManifestPackageOptions, ManifestPackages, PackageSelection, ResolvedPackages,
};
pub(super) use self::request::{CandidateScope, ChangeRequest, HistoryChange, UnnamedSkills};

/// The parts of a command that every change needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChangeOptions<'a> {
    /// The sinks for skills of requested or new packages.
    pub sinks: &'a [SinkRequest],
    /// The prefix of the names of skill folders.
    pub prefix: Option<&'a str>,
    pub trust: TrustOverrides,
    /// If set, the only registry that is asked.
    pub registry: Option<&'a str>,
    pub apply: ApplyOptions,
}

/// A change of the packages of a project.
pub(super) struct ProjectChange<'a> {
    session: &'a Session<'a>,
    /// None in a dry run.
    home: Option<&'a LockedHome<'a>>,
    options: ChangeOptions<'a>,
    pub project: PackageProject,
    /// The package files that the project has.
    installed: InstalledPackages,
    /// What is installed in which sink.
    state: InstallState,
    store: PackageStore<'a>,
    registries: KnownRegistries<'a>,
    /// What registries offer of the packages in `queried`.
    available: BTreeMap<PackageName, AvailablePackage>,
    /// The packages that registries were asked for.
    queried: BTreeSet<PackageName>,
    /// Packages from named files and from registries, which are added to the store.
    loaded: Vec<LoadedPackage>,
}

impl<'a> ChangeOptions<'a> {
    /// Returns the options of a change that asks no registry and adds no sink.
    pub(super) fn local(apply: ApplyOptions) -> Self {
        Self { sinks: &[], prefix: None, trust: TrustOverrides::default(), registry: None, apply }
    }
}

impl<'a> ProjectChange<'a> {
    /// Reads the state, the store and the packages of the project.
    pub(super) fn new(
        session: &'a Session<'a>,
        home: Option<&'a LockedHome<'a>>,
        project: PackageProject,
        options: ChangeOptions<'a>,
    ) -> Result<Self> {
        let state = ChangeExecutor { session, home, options: options.apply }.state()?;
        Self::with_state(session, home, (project, state), options)
    }

    fn with_state(
        session: &'a Session<'a>,
        home: Option<&'a LockedHome<'a>>,
        (project, state): (PackageProject, InstallState),
        options: ChangeOptions<'a>,
    ) -> Result<Self> {
        let store = PackageStore::open(session)?;
        let seen_versions = store.seen_versions.clone();
        Ok(Self {
            session,
            home,
            options,
            installed: InstalledPackages::read(session, &project)?,
            project,
            state,
            store,
            registries: KnownRegistries::open(session, options.registry, seen_versions)?,
            available: BTreeMap::new(),
            queried: BTreeSet::new(),
            loaded: Vec::new(),
        })
    }

    pub(super) fn locked_versions(&self) -> BTreeMap<PackageName, PackageVersion> {
        let packages = self.project.lock.packages.iter();
        packages.map(|(name, locked)| (name.clone(), locked.version.clone())).collect()
    }

    /// Carries out a request, or shows what would change.
    pub(super) fn run(mut self, request: &ChangeRequest) -> Result<PackageChangeReport> {
        let resolution = Resolution::new(request, &self.candidates())?;
        let fetched = self.fetch(&resolution)?;
        let mut indexes = DigestIndexes::new(self.session.context);
        let plan = self.plan(request, &resolution, &fetched, &mut indexes)?;
        self.apply(plan, &mut indexes)
    }

    fn candidates(&self) -> Candidates<'_> {
        Candidates {
            files: &self.loaded,
            store: &self.store.index,
            lock: &self.project.lock,
            installed: self.installed.digests(),
            registries: &self.available,
        }
    }

    /// Applies a plan in one transaction, unless it is a dry run.
    fn apply(
        self,
        plan: ProjectPlan,
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<PackageChangeReport> {
        let outcome = self.executor().run(plan.change, indexes)?;
        if outcome.report.applied {
            plan.events.into_iter().for_each(|event| self.session.context.emit(event));
        }
        Ok(PackageChangeReport {
            status: PlanStatus { applied: outcome.report.applied, plan: outcome.report.plan },
            root: self.project.root,
            packages: plan.packages,
            sinks: outcome.report.sinks,
            kept: outcome.trashed_files,
            context: plan.context,
        })
    }

    fn executor(&self) -> ChangeExecutor<'_> {
        ChangeExecutor { session: self.session, home: self.home, options: self.options.apply }
    }
}
