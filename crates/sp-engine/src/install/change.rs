//! Running a change: plan it and, unless it is a dry run, apply it.
//!
//! [`change_sinks`] changes the folders of sinks, for `sp install` and `sp uninstall`.
//! [`ChangeExecutor`] is for operations that already hold the lock of the home directory, or that
//! change files (a lockfile, a settings file, keys) together with or instead of folders.

use std::io::ErrorKind;

use sp_formats::output::{PackChangeReport, SinkChange, TrashedFolder};
use sp_formats::state::InstallState;
use sp_tree::Digest;
use sp_tree::transaction::TrashedEntry;

use super::apply::{AppliedPlan, PlanApplier};
use super::local_digests::{LocalDigests, recorded_folders};
use super::plan::{ChangePlan, FilePlan, OtherPacks, PackTargets, PlanRequest, ReplacePolicy};
use super::plan_id::{PlanId, PlanIdInput};
use super::selection::{ResolvedPack, SkillIndex};
use super::sink_planner::SinkPlanner;
use super::stage::SkillStager;
use crate::apply_mode::ApplyMode;
use crate::context::Event;
use crate::error::{Error, Result};
use crate::home::{DigestIndexes, LockedHome, read_state};
use crate::select::SkillSource;
use crate::session::Session;
use crate::sinks::{Sink, refuse_own_dirs};

/// Whether a change is applied, and on what condition.
#[derive(Clone, Copy)]
pub(crate) struct ApplyOptions {
    pub mode: ApplyMode,
    /// The plan ID of an earlier dry run. If set, any other plan is refused.
    pub expected_plan: Option<PlanId>,
}

impl From<ApplyMode> for ApplyOptions {
    fn from(mode: ApplyMode) -> Self {
        Self { mode, expected_plan: None }
    }
}

/// Plans a change of sinks and, unless it is a dry run, applies it.
pub(crate) fn change_sinks(
    session: &Session<'_>,
    sinks: &[Sink],
    request: &PlanRequest<'_>,
    options: ApplyOptions,
    indexes: &mut DigestIndexes<'_>,
) -> Result<PackChangeReport> {
    let (context, limits) = (session.context, &session.limits);
    // A dry run does not create a missing home directory.
    let home = if options.mode == ApplyMode::DryRun && !context.home.exists() {
        None
    } else {
        Some(LockedHome::open(context, limits)?)
    };
    let executor = ChangeExecutor { session, home: home.as_ref(), options };
    Ok(executor.execute(sinks, request, Vec::new(), indexes)?.report)
}

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
    /// Changes files and no sink, all at once.
    ///
    /// Fails with [`Error::is_concurrent_change`] and changes nothing if a file is not what its
    /// plan saw.
    pub(crate) fn execute_files(&self, files: Vec<FilePlan>) -> Result<()> {
        let request = PlanRequest {
            packs: &[],
            removed_packs: Vec::new(),
            other_packs: OtherPacks::Keep,
            replace: ReplacePolicy::Refuse,
            targets: PackTargets::AllSinks,
        };
        let context = self.session.context;
        let outcome = self
            .execute(&[], &request, files, &mut DigestIndexes::new(context))
            .map_err(without_sink_hints)?;
        for trashed in outcome.trashed_files {
            context.emit(Event::Warning(format!(
                "`{}` was edited while the command was running; the edited file is now `{}`",
                trashed.folder,
                context.display_path(&trashed.kept_at)
            )));
        }
        Ok(())
    }

    /// Plans a change of sinks and files and, unless it is a dry run, applies it.
    pub(crate) fn execute(
        &self,
        sinks: &[Sink],
        request: &PlanRequest<'_>,
        files: Vec<FilePlan>,
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<ChangeOutcome> {
        // Uninstalling from such a sink stays possible: an earlier version allowed to install
        // there.
        if !request.packs.is_empty() {
            sinks.iter().try_for_each(|sink| refuse_own_dirs(self.session.context, sink))?;
        }
        let state = match self.home {
            Some(home) => home.state()?,
            None => read_state(self.session.context)?,
        };
        let digests = self.local_digests(&state, sinks, request.packs, indexes)?;
        let planner =
            SinkPlanner { session: self.session, state: &state, request, digests: &digests };
        let sink_plans: Result<Vec<_>> =
            sinks.iter().map(|sink| planner.plan(sink, indexes.for_dir(&sink.path))).collect();
        let plan = ChangePlan { sinks: sink_plans?, files };
        let applied = match (self.options.mode, self.home) {
            (ApplyMode::Apply, Some(home)) => {
                let applier = PlanApplier {
                    session: self.session,
                    home,
                    packs: request.packs,
                    expected_plan: self.options.expected_plan,
                };
                applier.apply(&state, &plan, indexes)?
            }
            _ => self.dry_run(&plan, request.packs, &digests)?,
        };
        Ok(self.outcome(&plan, request.packs, applied))
    }

    fn outcome(
        &self,
        plan: &ChangePlan,
        packs: &[ResolvedPack],
        applied: AppliedPlan,
    ) -> ChangeOutcome {
        let mut report = PackChangeReport {
            applied: self.options.mode == ApplyMode::Apply,
            plan: applied.id.to_string(),
            sinks: plan.sinks.iter().map(|sink| sink.to_sink_change(packs)).collect(),
        };
        let mut trashed_files = Vec::new();
        let is_in_sink =
            |entry: &TrashedEntry, sink: &SinkChange| entry.from.parent() == Some(&sink.path);
        for entry in applied.trashed {
            match report.sinks.iter_mut().find(|sink| is_in_sink(&entry, sink)) {
                Some(sink) => sink.kept.push(trashed_folder(entry)),
                None => trashed_files.push(trashed_folder(entry)),
            }
        }
        ChangeOutcome { report, trashed_files }
    }

    /// Computes the digests of the local skills that the plan compares.
    fn local_digests(
        &self,
        state: &InstallState,
        sinks: &[Sink],
        packs: &[ResolvedPack],
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<LocalDigests> {
        let recorded = recorded_folders(state, sinks);
        // The plan ID covers the content of every folder. A dry run has to read new skills for it;
        // an install learns their digests while it stages them.
        let is_needed =
            |folder: &str| self.options.mode == ApplyMode::DryRun || recorded.contains(folder);
        LocalDigests::compute(self.session, packs, &is_needed, indexes)
    }

    /// Runs every check of an install that needs no write, so that a dry run fails where it would.
    fn dry_run(
        &self,
        plan: &ChangePlan,
        packs: &[ResolvedPack],
        digests: &LocalDigests,
    ) -> Result<AppliedPlan> {
        SkillStager { session: self.session, packs }.prepare(plan)?;
        let skill_digest =
            |skill| digests.get(skill).or_else(|| packaged_skill_digest(packs, skill));
        let id = PlanIdInput { plan, packs, skill_digest: &skill_digest }.plan_id();
        id.ensure_matches(self.options.expected_plan)?;
        Ok(AppliedPlan { trashed: Vec::new(), id })
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

fn packaged_skill_digest(packs: &[ResolvedPack], index: SkillIndex) -> Option<Digest> {
    let pack = &packs[index.pack];
    match (&pack.packaged_skills, pack.skills[index.skill].source) {
        (Some(packaged), SkillSource::Package(number)) => Some(packaged.contents[number].digest()),
        _ => None,
    }
}

pub(crate) fn trashed_folder(entry: TrashedEntry) -> TrashedFolder {
    let folder = entry.from.file_name().unwrap_or_default().to_string_lossy().into_owned();
    TrashedFolder { folder, kept_at: entry.to }
}
