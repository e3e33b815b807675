//! Running a change of sinks and files: [`ChangeExecutor`] plans it and, unless it is a dry run,
//! applies it.
//!
//! Every operation that changes several files at once goes through here: `sp install` and `sp
//! uninstall`, packages with their lockfile, settings of agents, keys, fixes of `sp check`.

use std::io::ErrorKind;

use sp_formats::output::{PackChangeReport, PlanStatus, SinkChange, TrashedFolder};
use sp_formats::state::InstallState;
use sp_tree::transaction::TrashedEntry;

use super::apply::{AppliedPlan, PlanApplier};
use super::departures::targets_with_departures;
use super::local_digests::{LocalDigests, recorded_folders};
use super::plan::{ChangePlan, FilePlan, PlanAcceptance, PlanRequest, SinkPlan, SinkTarget};
use super::sink_planner::SinkPlanner;
use super::stage::SkillStager;
use crate::apply_mode::ApplyMode;
use crate::context::Event;
use crate::error::{Error, Result};
use crate::home::{DigestIndexes, LockedHome, read_state};
use crate::plan_id::ApplyOptions;
use crate::session::Session;
use crate::sinks::refuse_own_dirs;

/// Plans and applies one change of sinks and files.
pub(crate) struct ChangeExecutor<'a> {
    pub session: &'a Session<'a>,
    /// The locked home directory. Required to apply a change, optional for a dry run.
    pub home: Option<&'a LockedHome<'a>>,
    pub options: ApplyOptions,
}

/// The result of [`ChangeExecutor::execute`].
pub(crate) struct ChangeOutcome {
    pub report: PackChangeReport,
    /// Edited files that were moved to the trash. Trashed folders of sinks are in the report.
    pub trashed_files: Vec<TrashedFolder>,
}

impl ChangeExecutor<'_> {
    /// Plans a change of files and no sink and, unless it is a dry run, applies it.
    ///
    /// Fails with [`Error::is_concurrent_change`] and changes nothing if a file is not what its
    /// plan saw.
    pub(crate) fn execute_files(&self, files: Vec<FilePlan>) -> Result<PlanStatus> {
        let context = self.session.context;
        let outcome = self
            .execute(&PlanRequest::default(), files, &mut DigestIndexes::new(context))
            .map_err(without_sink_hints)?;
        for trashed in outcome.trashed_files {
            context.emit(Event::Warning(format!(
                "`{}` was edited while the command was running; the edited file is now `{}`",
                trashed.folder,
                context.display_path(&trashed.kept_at)
            )));
        }
        Ok(PlanStatus { applied: outcome.report.applied, plan: outcome.report.plan })
    }

    /// Plans a change of sinks and files and, unless it is a dry run, applies it.
    pub(crate) fn execute(
        &self,
        request: &PlanRequest,
        files: Vec<FilePlan>,
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<ChangeOutcome> {
        let plan = self.plan(self.state()?, request, files, indexes)?;
        self.run(plan, indexes)
    }

    /// Reads the state that a plan is made from.
    pub(crate) fn state(&self) -> Result<InstallState> {
        match self.home {
            Some(home) => home.state(),
            None => read_state(self.session.context),
        }
    }

    /// Plans a change of sinks and files.
    pub(crate) fn plan(
        &self,
        state: InstallState,
        request: &PlanRequest,
        files: Vec<FilePlan>,
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<ChangePlan> {
        // Uninstalling from such a sink stays possible: an earlier version allowed to install
        // there.
        for target in request.targets.iter().filter(|target| !target.sets.is_empty()) {
            refuse_own_dirs(self.session.context, &target.sink)?;
        }
        let targets = targets_with_departures(&state, request);
        let digests = self.local_digests(&state, &targets, indexes)?;
        let planner =
            SinkPlanner { session: self.session, state: &state, request, digests: &digests };
        let sinks: Result<Vec<_>> = targets
            .iter()
            .map(|target| planner.plan(target, indexes.for_dir(&target.sink.path)))
            .collect();
        Ok(ChangePlan { sinks: sinks?, files, state, acceptance: PlanAcceptance::default() })
    }

    /// Applies a plan, unless it is a dry run.
    pub(crate) fn run(
        &self,
        mut plan: ChangePlan,
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<ChangeOutcome> {
        let expected_plan = self.options.expected_plan;
        let applied = match (self.options.mode, self.home) {
            (ApplyMode::Apply, Some(home)) => {
                PlanApplier { session: self.session, home, expected_plan }
                    .apply(&mut plan, indexes)?
            }
            _ => {
                // Every check of an install that needs no write, so that a dry run fails where an
                // install would.
                let stager = SkillStager::new(self.session, &plan)?;
                let jobs = stager.prepare(&plan)?;
                stager.audit(&jobs)?;
                AppliedPlan { trashed: Vec::new(), id: plan.verified_id(expected_plan)? }
            }
        };
        Ok(self.outcome(&plan, applied))
    }

    fn outcome(&self, plan: &ChangePlan, applied: AppliedPlan) -> ChangeOutcome {
        let mut report = PackChangeReport {
            applied: self.options.mode == ApplyMode::Apply,
            plan: applied.id.to_string(),
            sinks: plan.sinks.iter().map(SinkPlan::to_sink_change).collect(),
        };
        let mut trashed_files = Vec::new();
        let is_in_sink =
            |entry: &TrashedEntry, sink: &SinkChange| entry.from.parent() == Some(&sink.path);
        for entry in applied.trashed {
            match report.sinks.iter_mut().find(|sink| is_in_sink(&entry, sink)) {
                Some(sink) => sink.kept.push(entry.into()),
                None => trashed_files.push(entry.into()),
            }
        }
        ChangeOutcome { report, trashed_files }
    }

    /// Computes the digests of the local skills that the plan compares.
    fn local_digests(
        &self,
        state: &InstallState,
        targets: &[SinkTarget],
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<LocalDigests> {
        let recorded = recorded_folders(state, targets);
        // The plan ID covers the content of every folder. A dry run has to read new skills for it;
        // an install learns their digests while it stages them.
        let is_needed =
            |folder: &str| self.options.mode == ApplyMode::DryRun || recorded.contains(folder);
        LocalDigests::compute(self.session, targets, &is_needed, indexes)
    }
}

/// Replaces hints about sinks in the error of a change that touches no sink.
fn without_sink_hints(error: Error) -> Error {
    let io_error =
        error.source.as_deref().and_then(|source| source.downcast_ref::<std::io::Error>());
    let hint = match io_error.map(std::io::Error::kind) {
        _ if error.is_concurrent_change() => "nothing was changed: run the command again",
        Some(ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
            "nothing was changed: make the directory writable, then run the command again"
        }
        _ => return error,
    };
    Error { hints: vec![hint.into()], ..error }
}
