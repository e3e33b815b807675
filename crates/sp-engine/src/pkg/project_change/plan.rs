//! Every change that a request leads to, as a value.
//!
//! A [`ProjectPlan`] holds the bytes of every file that changes: packages, the merged graph, the
//! lock and its history, and what the store gains. Together with the folders of skills they are one
//! [`ChangePlan`], so that one ID covers them and one transaction applies them.

use sp_formats::output::{GraphChangeReport, PackageChangeItem};
use sp_formats::package::PackageKind;
use sp_formats::package::lock::PackageLock;

use super::ProjectChange;
use super::fetch::FetchedPackages;
use super::request::{ChangeRequest, HistoryChange};
use super::resolution::Resolution;
use crate::content_gate::GatePosition;
use crate::context::Event;
use crate::error::Result;
use crate::home::DigestIndexes;
use crate::install::accepted_findings::plan_accepted_findings;
use crate::install::plan::{ChangePlan, FilePlan, PlanRequest};
use crate::pkg::merged_context_update::{
    MergedContextUpdate, MergedPackages, update_merged_context,
};
use crate::pkg::package_gate::PackageGate;
use crate::pkg::project::{HistoryUpdate, PastSink, SinksByPackage};
use crate::pkg::skill_package::{SkillPackage, add_skill_packages};
use crate::pkg::trust::check_signing_policy;
use crate::sinks::Sink;

/// The planned change of a project.
pub(super) struct ProjectPlan {
    /// What happens to each package.
    pub packages: Vec<PackageChangeItem>,
    /// The files and folders that change, and the records that follow from them.
    pub change: ChangePlan,
    /// What happens to the merged graph.
    pub context: Option<GraphChangeReport>,
    /// What the user has to know about signers. Emitted when the plan was applied.
    pub events: Vec<Event<'static>>,
}

/// The new lock.
pub(super) struct LockUpdate {
    pub lock: PackageLock,
    /// What happens to the merged graph.
    pub context: Option<GraphChangeReport>,
}

impl ProjectChange<'_> {
    /// Plans the files of the project and of the store, and the folders of skills.
    pub(super) fn plan(
        &mut self,
        request: &ChangeRequest,
        resolution: &Resolution,
        fetched: &FetchedPackages,
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<ProjectPlan> {
        let packages = self.describe_changes(resolution, |name| fetched[name].locked.kind);
        let sinks = PlanRequest {
            targets: self.sink_targets(request, resolution, fetched)?,
            removed_packs: resolution.removed.iter().map(ToString::to_string).collect(),
            ..PlanRequest::default()
        };
        let mut files = self.package_file_plans(resolution, fetched)?;
        let LockUpdate { context, .. } = self.lock_plans(request, fetched, &mut files)?;
        files.extend(self.store_plans(fetched, &[])?);
        let root = self.project.root.as_path();
        files.extend(plan_accepted_findings(self.session, Some(root), root)?);
        let mut change = self.executor().plan(self.state.clone(), &sinks, files, indexes)?;
        change.acceptance.root = Some(root.into());
        let events = self.store.take_deferred_events();
        Ok(ProjectPlan { packages, change, context, events })
    }

    /// Plans the package files below `.ctxpkg/`.
    pub(super) fn package_file_plans(
        &self,
        resolution: &Resolution,
        fetched: &FetchedPackages,
    ) -> Result<Vec<FilePlan>> {
        let mut plans = Vec::new();
        for (name, fetched) in fetched {
            if let (PackageKind::Context, Some(package)) = (fetched.locked.kind, &fetched.package) {
                // A file that the lockfile does not list was not written by `sp`.
                let old = match self.installed.digest(name) {
                    None => self.project.read_package(self.session, name)?.map(|it| it.digest()),
                    known => known,
                };
                let plan =
                    self.project.package_file_plan(self.session, name, old, Some(package))?;
                plans.extend(plan);
            }
        }
        for name in &resolution.removed {
            let old = self.installed.digest(name);
            plans.extend(self.project.package_file_plan(self.session, name, old, None)?);
        }
        Ok(plans)
    }

    /// Plans the merged graph, the lock and its history.
    pub(super) fn lock_plans(
        &self,
        request: &ChangeRequest,
        fetched: &FetchedPackages,
        files: &mut Vec<FilePlan>,
    ) -> Result<LockUpdate> {
        let mut lock = self.project.lock.clone();
        lock.requests.clone_from(&request.locked_requests);
        let packages = fetched.iter();
        lock.packages = packages.map(|(name, it)| (name.clone(), it.locked.clone())).collect();
        let added = fetched.values().filter(|it| it.locked.kind == PackageKind::Context);
        let merged = MergedPackages {
            installed: &self.installed,
            added: added.filter_map(|it| it.package.clone()).collect(),
        };
        let MergedContextUpdate { locked, file_plan, change } =
            update_merged_context(self.session, &self.project, &lock, merged)?;
        lock.context = locked;
        files.extend(file_plan);
        let update = self.history_update(request.history)?;
        files.extend(self.project.lock_plans(self.session, &lock, &update)?);
        Ok(LockUpdate { lock, context: change })
    }

    fn history_update(&self, change: HistoryChange) -> Result<HistoryUpdate> {
        if let HistoryChange::Truncate(entries) = change {
            return Ok(HistoryUpdate::Truncate(entries));
        }
        let mut sinks = SinksByPackage::new();
        for (name, locked) in &self.project.lock.packages {
            if locked.kind == PackageKind::Skills {
                let recorded = self.recorded_sinks(name)?;
                let entries = |sink: Sink| {
                    let path = sink.path.to_string_lossy().into_owned();
                    let names = sink.agents.names().to_vec().into_iter();
                    names.map(move |name| PastSink { name, path: path.clone() })
                };
                sinks.insert(name.clone(), recorded.into_iter().flat_map(entries).collect());
            }
        }
        Ok(HistoryUpdate::Append(sinks))
    }

    /// Checks every package that is written, and plans what the store gains: the packages that came
    /// from files and registries, those that are `used` otherwise, and what is now known about
    /// signers and registries.
    pub(super) fn store_plans(
        &mut self,
        fetched: &FetchedPackages,
        used: &[&SkillPackage],
    ) -> Result<Vec<FilePlan>> {
        let trust = self.options.trust;
        let root = Some(self.project.root.as_path());
        let policies = self.session.policies(root)?;
        for package in fetched.values().filter_map(|it| it.package.as_ref()) {
            // The signers of stored packages were checked when they were added, but the config may
            // have changed since.
            let signer = package.signer.map(|signer| signer.key);
            let name = &package.manifest.name;
            check_signing_policy(self.session, name, signer, trust.unsigned)?;
            policies.require_signer(name.as_str(), signer)?;
        }
        // Skills are audited where they are installed.
        let position = GatePosition::Earlier;
        PackageGate { session: self.session, root, home: self.home, position }
            .check(&self.loaded)?;
        self.store.add(&self.loaded, trust)?;
        self.store.seen_versions.clone_from(self.registries.seen_versions());
        add_skill_packages(&mut self.store, used)?;
        self.store.file_plans()
    }
}
