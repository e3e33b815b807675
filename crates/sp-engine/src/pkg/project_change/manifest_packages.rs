//! The packages of a project with a manifest.
//!
//! The manifest has the requests, and `skillpack.lock` the versions. The commands of projects write
//! both, and install the skills of packages like those of any other source. Everything else is as
//! in any change of packages: [`ManifestPackages`] resolves, fetches and plans, and the caller
//! applies the plan together with its own changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use sp_formats::output::{GraphChangeReport, PackageChangeItem};
use sp_formats::package::lock::PackageLock;
use sp_formats::package::{PackageName, VersionRange};
use sp_formats::state::InstallState;

use super::fetch::{FetchedPackage, FetchedPackages};
use super::plan::LockUpdate;
use super::request::{ChangeRequest, UnnamedSkills};
use super::resolution::Resolution;
use super::{ChangeOptions, ProjectChange};
use crate::context::Event;
use crate::error::Result;
use crate::home::LockedHome;
use crate::install::plan::FilePlan;
use crate::pkg::package_store::LoadedPackage;
use crate::pkg::project::PackageProject;
use crate::pkg::skill_package::SkillPackage;
use crate::pkg::solve::{OptionalDependencies, SolveRequest};
use crate::pkg::trust::TrustOverrides;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// How packages are looked up, and whether the change is applied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ManifestPackageOptions<'a> {
    pub trust: TrustOverrides,
    /// If set, the only registry that is asked.
    pub registry: Option<&'a str>,
    pub apply: ApplyOptions,
}

/// Which versions of packages to select.
#[derive(Debug, Default)]
pub(crate) struct PackageSelection {
    /// The packages that move to the newest version that is allowed.
    refreshed: BTreeSet<PackageName>,
    pub optional: OptionalDependencies,
    /// What a rollback selects instead.
    rollback: Option<ChangeRequest>,
}

/// The packages of a project with a manifest, before a change.
pub(crate) struct ManifestPackages<'a> {
    change: ProjectChange<'a>,
}

/// The packages of a project with a manifest, after a change, and the planned files.
pub(crate) struct ResolvedPackages<'a> {
    change: ProjectChange<'a>,
    fetched: FetchedPackages,
    /// The new lock. Nothing in it depends on the machine.
    pub lock: PackageLock,
    /// What happens to each package.
    pub items: Vec<PackageChangeItem>,
    /// What happens to the merged graph.
    pub context: Option<GraphChangeReport>,
    /// The files of the project that change, without its lockfile.
    pub files: Vec<FilePlan>,
}

impl PackageSelection {
    /// Moves packages to the newest version that is allowed.
    pub(crate) fn refresh(packages: BTreeSet<PackageName>) -> Self {
        Self { refreshed: packages, ..Self::default() }
    }

    /// Selects what a rollback requests.
    pub(in crate::pkg) fn roll_back(request: ChangeRequest) -> Self {
        Self { rollback: Some(request), ..Self::default() }
    }

    /// Returns the requests that the manifest has after a rollback.
    pub(crate) fn rollback_requests(&self) -> Option<&BTreeMap<PackageName, VersionRange>> {
        self.rollback.as_ref().map(|request| &request.locked_requests)
    }
}

impl<'a> ManifestPackages<'a> {
    /// Reads the packages of the project in `root`, which has this lock.
    pub(crate) fn open(
        session: &'a Session<'a>,
        home: Option<&'a LockedHome<'a>>,
        (root, lock): (&Path, PackageLock),
        options: ManifestPackageOptions<'a>,
    ) -> Result<Self> {
        let project = PackageProject::of_manifest(session, root, lock)?;
        let ManifestPackageOptions { trust, registry, apply } = options;
        let options = ChangeOptions { trust, registry, ..ChangeOptions::local(apply) };
        // No package is installed in a sink as itself.
        let state = InstallState::default();
        let change = ProjectChange::with_state(session, home, (project, state), options)?;
        Ok(Self { change })
    }

    pub(in crate::pkg) fn change(&self) -> &ProjectChange<'a> {
        &self.change
    }

    /// Parses names, names with ranges, and files, which are loaded.
    pub(crate) fn parse_requests(
        &mut self,
        packages: &[String],
    ) -> Result<BTreeMap<PackageName, VersionRange>> {
        self.change.parse_requests(packages)
    }

    /// Selects versions for the requests of a manifest, fetches what is missing, and plans the
    /// files of the project. Registries are only asked for packages that the lock lacks, or that
    /// are to be refreshed.
    pub(crate) fn resolve(
        mut self,
        requests: BTreeMap<PackageName, VersionRange>,
        selection: PackageSelection,
    ) -> Result<ResolvedPackages<'a>> {
        let request = match selection.rollback {
            Some(rollback) => {
                ChangeRequest { unnamed_skills: UnnamedSkills::OfManifest, ..rollback }
            }
            None => self.request(requests, &selection)?,
        };
        let resolution = Resolution::new(&request, &self.change.candidates())?;
        let mut fetched = self.change.fetch(&resolution)?;
        for FetchedPackage { locked, .. } in fetched.values_mut() {
            locked.from = locked.from.clone().for_others();
        }
        let items = self.change.describe_changes(&resolution, |name| fetched[name].locked.kind);
        let mut files = self.change.package_file_plans(&resolution, &fetched)?;
        let LockUpdate { lock, context } =
            self.change.lock_plans(&request, &fetched, &mut files)?;
        Ok(ResolvedPackages { change: self.change, fetched, lock, items, context, files })
    }

    fn request(
        &mut self,
        requests: BTreeMap<PackageName, VersionRange>,
        selection: &PackageSelection,
    ) -> Result<ChangeRequest> {
        let locked = &self.change.project.lock.packages;
        let is_locked = |name: &PackageName, range: &VersionRange| {
            let version = locked.get(name).map(|locked| &locked.version);
            version.is_some_and(|it| range.matches(it) || range.is_exactly(it))
        };
        let mut asked = requests.clone();
        asked.retain(|name, range| selection.refreshed.contains(name) || !is_locked(name, range));
        for name in selection.refreshed.iter().filter(|name| locked.contains_key(*name)) {
            asked.entry(name.clone()).or_insert_with(VersionRange::any);
        }
        let mut preferred = self.change.locked_versions();
        preferred.retain(|name, _| !asked.contains_key(name));
        let with_optional = selection.optional == OptionalDependencies::Include;
        let solve = SolveRequest { requests: requests.clone(), preferred, with_optional };
        if !asked.is_empty() {
            self.change.query_dependency_closure(&asked, &solve)?;
        }
        Ok(ChangeRequest {
            solve,
            locked_requests: requests,
            named: asked.into_keys().collect(),
            unnamed_skills: UnnamedSkills::OfManifest,
            ..ChangeRequest::default()
        })
    }
}

impl ResolvedPackages<'_> {
    /// Returns a package of skills, if it was loaded.
    pub(crate) fn skill_package(&self, name: &PackageName) -> Option<SkillPackage> {
        let fetched = self.fetched.get(name)?;
        let package = Arc::clone(fetched.package.as_ref()?);
        Some(LoadedPackage { package, source: fetched.locked.from.clone() }.into())
    }

    /// Plans what the store gains, with the packages that are the sources of skills, and returns
    /// the events to emit when the change was applied.
    pub(crate) fn store_plans(
        &mut self,
        sources: &[&SkillPackage],
    ) -> Result<(Vec<FilePlan>, Vec<Event<'static>>)> {
        let plans = self.change.store_plans(&self.fetched, sources)?;
        Ok((plans, self.change.store.take_deferred_events()))
    }
}
