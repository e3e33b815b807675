//! `sp install` and `sp switch`: resolve, plan, apply.

use std::io::ErrorKind;
use std::path::PathBuf;

use sp_formats::output::{PackChangeReport, SinkChange, TrashedFolder};
use sp_formats::state::InstallState;
use sp_tree::Digest;
use sp_tree::transaction::TrashedEntry;

use crate::apply::{AppliedPlan, PlanApplier};
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, FailureKind, Result};
use crate::home::{DigestIndexes, LockedHome, read_state};
use crate::plan::{
    ChangePlan, FilePlan, LocalDigests, PackTargets, PlanRequest, SinkPlanner, recorded_folders,
};
use crate::plan_id::{PlanId, PlanIdInput};
use crate::resolve::SkillSource;
use crate::show::{ResolvedPack, resolve_pack};
use crate::sinks::{
    Sink, SinkRequest, hint_agent_dir, refuse_own_dirs, refuse_repository_overlap, resolve_sink,
};
use crate::stage::SkillStager;

pub use crate::plan::{OtherPacks, ReplacePolicy};

/// Whether a change is made or only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyMode {
    /// Make it.
    Apply,
    /// Show it.
    DryRun,
}

/// What is to be installed where.
#[derive(Debug, Clone)]
pub struct InstallRequest {
    /// The packs, by name or path.
    pub packs: Vec<String>,
    /// The sinks.
    pub sinks: Vec<SinkRequest>,
    /// The authoring repository, if it was given.
    pub root: Option<PathBuf>,
    /// What happens to the other packs of the sinks.
    pub other_packs: OtherPacks,
    /// Whether a pack of the same name from elsewhere may be replaced.
    pub replace: ReplacePolicy,
    /// Whether it is done.
    pub mode: ApplyMode,
    /// The plan that was shown: another is refused.
    pub expected_plan: Option<PlanId>,
}

/// Installs packs into sinks.
pub fn install(context: &Context<'_>, request: &InstallRequest) -> Result<PackChangeReport> {
    let session = Session::begin(context)?;
    let sinks = dedup_sinks(
        request.sinks.iter().map(|sink| resolve_sink(&session, sink)).collect::<Result<_>>()?,
    );
    let mut indexes = DigestIndexes::new(context);
    let packs = resolve_packs(&session, request, &mut indexes)?;
    for (sink, chosen) in
        sinks.iter().flat_map(|sink| packs.iter().map(move |chosen| (sink, chosen)))
    {
        refuse_repository_overlap(context, sink, &chosen.repository)?;
    }
    let wanted = PlanRequest {
        packs: &packs,
        removed_packs: Vec::new(),
        other_packs: request.other_packs,
        replace: request.replace,
        targets: PackTargets::AllSinks,
    };
    let terms = ApplyOptions { mode: request.mode, expected_plan: request.expected_plan };
    let report = change_sinks(&session, &sinks, &wanted, terms, &mut indexes)?;
    for sink in &sinks {
        if let Some(reads) = &sink.agent_dir {
            hint_agent_dir(
                context,
                &sink.name,
                sink.agent.map_or(&sink.name, |agent| agent.name),
                reads,
            );
        }
    }
    Ok(report)
}

fn resolve_packs(
    session: &Session<'_>,
    request: &InstallRequest,
    indexes: &mut DigestIndexes<'_>,
) -> Result<Vec<ResolvedPack>> {
    let mut packs: Vec<ResolvedPack> = Vec::new();
    for named in &request.packs {
        let chosen = resolve_pack(session, request.root.as_deref(), named, Some(indexes))?;
        if packs.iter().any(|other| other.file.pack.name == chosen.file.pack.name) {
            return Err(Error::new(
                FailureKind::Usage,
                format!("the pack `{}` is named twice", chosen.file.pack.name),
            )
            .hint("name it once"));
        }
        packs.push(chosen);
    }
    Ok(packs)
}

/// Whether a change is made, and on what condition.
#[derive(Clone, Copy)]
pub(crate) struct ApplyOptions {
    pub mode: ApplyMode,
    /// The plan that was shown: another is refused.
    pub expected_plan: Option<PlanId>,
}

impl From<ApplyMode> for ApplyOptions {
    fn from(mode: ApplyMode) -> Self {
        Self { mode, expected_plan: None }
    }
}

/// Plans a change of sinks and, unless it is a dry run, makes it.
pub(crate) fn change_sinks(
    session: &Session<'_>,
    sinks: &[Sink],
    wanted: &PlanRequest<'_>,
    terms: ApplyOptions,
    indexes: &mut DigestIndexes<'_>,
) -> Result<PackChangeReport> {
    let (context, limits) = (session.context, &session.limits);
    // A dry run on a machine without a home makes none.
    let home = match terms.mode {
        ApplyMode::DryRun if !context.home.exists() => None,
        _ => Some(LockedHome::open(context, limits)?),
    };
    let change = ChangeExecutor { session, home: home.as_ref(), options: terms };
    Ok(change.execute(sinks, wanted, Vec::new(), indexes)?.0)
}

/// A change that is about to be made, or shown.
pub(crate) struct ChangeExecutor<'a> {
    pub session: &'a Session<'a>,
    /// The home, if there is one.
    pub home: Option<&'a LockedHome<'a>>,
    pub options: ApplyOptions,
}

impl ChangeExecutor<'_> {
    /// Changes files and no sink, all at once. Fails with [`Error::is_overtaken`] and changes nothing if a
    /// file is not what its plan saw.
    pub(crate) fn execute_files(&self, files: Vec<FilePlan>) -> Result<()> {
        let wanted = PlanRequest {
            packs: &[],
            removed_packs: Vec::new(),
            other_packs: OtherPacks::Keep,
            replace: ReplacePolicy::Refuse,
            targets: PackTargets::AllSinks,
        };
        let made = self.execute(&[], &wanted, files, &mut DigestIndexes::new(self.session.context));
        for kept in made.map_err(without_sink_hints)?.1 {
            self.session.context.emit(Event::Warning(format!(
                "`{}` was edited while the command was running; the edited file is now `{}`",
                kept.folder,
                self.session.context.display_path(&kept.kept_at)
            )));
        }
        Ok(())
    }

    /// Plans a change of sinks, and of files with it, and, unless it is a dry run, makes it.
    /// Returns what was kept of the files besides.
    pub(crate) fn execute(
        &self,
        sinks: &[Sink],
        wanted: &PlanRequest<'_>,
        files: Vec<FilePlan>,
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<(PackChangeReport, Vec<TrashedFolder>)> {
        // What an earlier version put there can still be removed.
        if !wanted.packs.is_empty() {
            sinks.iter().try_for_each(|sink| refuse_own_dirs(self.session.context, sink))?;
        }
        let state = match self.home {
            Some(home) => home.state()?,
            None => read_state(self.session.context)?,
        };
        let digests = self.local_digests(&state, sinks, wanted.packs, indexes)?;
        let planner = SinkPlanner {
            session: self.session,
            state: &state,
            request: wanted,
            digests: &digests,
        };
        let planned: Result<Vec<_>> =
            sinks.iter().map(|sink| planner.plan(sink, indexes.for_dir(&sink.path))).collect();
        let plan = ChangePlan { sinks: planned?, files };
        let AppliedPlan { trashed: kept, id } = match (self.options.mode, self.home) {
            (ApplyMode::Apply, Some(home)) => {
                let apply = PlanApplier {
                    session: self.session,
                    home,
                    packs: wanted.packs,
                    expected_plan: self.options.expected_plan,
                };
                apply.apply(&state, &plan, indexes)?
            }
            _ => self.dry_run(&plan, wanted.packs, &digests)?,
        };
        let mut report = PackChangeReport {
            applied: self.options.mode == ApplyMode::Apply,
            plan: id.to_string(),
            sinks: plan.sinks.iter().map(|sink| sink.to_sink_change(wanted.packs)).collect(),
        };
        let mut of_files = Vec::new();
        let in_sink =
            |kept: &TrashedEntry, sink: &SinkChange| kept.from.parent() == Some(&sink.path);
        for kept in kept {
            match report.sinks.iter_mut().find(|sink| in_sink(&kept, sink)) {
                Some(sink) => sink.kept.push(kept_folder(kept)),
                None => of_files.push(kept_folder(kept)),
            }
        }
        Ok((report, of_files))
    }

    /// The digests of the local skills that the plan needs to know.
    fn local_digests(
        &self,
        state: &InstallState,
        sinks: &[Sink],
        packs: &[ResolvedPack],
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<LocalDigests> {
        let on_record = recorded_folders(state, sinks);
        // A dry run tells what each folder would hold; an install learns it of new ones while it copies them.
        let is_needed =
            |folder: &str| self.options.mode == ApplyMode::DryRun || on_record.contains(folder);
        LocalDigests::compute(self.session, packs, &is_needed, indexes)
    }

    /// Does what can be done without changing anything: what an install would refuse, a dry run refuses too.
    fn dry_run(
        &self,
        plan: &ChangePlan,
        packs: &[ResolvedPack],
        digests: &LocalDigests,
    ) -> Result<AppliedPlan> {
        SkillStager { session: self.session, packs }.prepare(plan)?;
        let digest = |skill: (usize, usize)| {
            digests.get(skill).or_else(|| packaged_skill_digest(packs, skill))
        };
        let id = PlanIdInput { plan, packs, skill_digest: &digest }.plan_id();
        id.ensure_matches(self.options.expected_plan)?;
        Ok(AppliedPlan { trashed: Vec::new(), id })
    }
}

/// The error of a change that has nothing to do with sinks: hints about sinks do not apply to it.
fn without_sink_hints(error: Error) -> Error {
    let refused =
        error.source.as_deref().and_then(|source| source.downcast_ref::<std::io::Error>());
    let hint = match refused.map(std::io::Error::kind) {
        _ if error.is_concurrent_change() => "nothing was changed: run the command again",
        Some(ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
            "nothing was changed: make the directory writable, then run the command again"
        }
        _ => return error,
    };
    Error { hints: vec![hint.into()], ..error }
}

/// The digest of a skill that a package carries.
fn packaged_skill_digest(packs: &[ResolvedPack], (pack, at): (usize, usize)) -> Option<Digest> {
    match (&packs[pack].packaged_skills, packs[pack].skills[at].source) {
        (Some(packed), SkillSource::Package(number)) => Some(packed.contents[number].digest()),
        _ => None,
    }
}

pub(crate) fn kept_folder(kept: TrashedEntry) -> TrashedFolder {
    let folder = kept.from.file_name().unwrap_or_default().to_string_lossy().into_owned();
    TrashedFolder { folder, kept_at: kept.to }
}

/// Two names for one directory are one sink.
pub(crate) fn dedup_sinks(sinks: Vec<Sink>) -> Vec<Sink> {
    let mut seen = std::collections::HashSet::new();
    sinks.into_iter().filter(|sink| seen.insert(sink.path.clone())).collect()
}
