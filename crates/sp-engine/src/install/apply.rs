//! Applying a plan in one transaction.
//!
//! The steps: stage every new folder and file beside its destination, compute the plan ID and
//! compare it with the expected one, swap everything, write the state, clean up. A failure before
//! the swap leaves everything as it was. After the swap the transaction is either finished or
//! rolled back, by this run or by the next one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::output::FolderAction;
use sp_tree::transaction::{
    Transaction, TransactionAction, TransactionChange, TransactionPlan, TrashedEntry,
};
use sp_tree::{DirSnapshot, Follow, Name, PathStamps, PinnedDir};

use super::plan::{ChangePlan, FolderPlan, SinkPlan};
use super::stage::{SkillStager, StageJobs, StagedSkill, StagedSource};
use crate::built_in_sinks::agent_for_sink;
use crate::context::{Context, Event};
use crate::error::Result;
use crate::home::{DigestIndexes, LockedHome};
use crate::plan_id::PlanId;
use crate::session::Session;

/// Applies plans.
pub(super) struct PlanApplier<'a> {
    pub session: &'a Session<'a>,
    pub home: &'a LockedHome<'a>,
    /// The plan ID of an earlier dry run. If set, any other plan is refused.
    pub expected_plan: Option<PlanId>,
}

/// The result of applying a plan, or of a dry run.
pub(super) struct AppliedPlan {
    /// Edited folders and files that were replaced or removed, and where they are now.
    pub trashed: Vec<TrashedEntry>,
    pub id: PlanId,
}

/// What is in the stage, ready to be swapped.
struct StagedPlan {
    skills: Vec<StagedSkill>,
    id: PlanId,
}

impl PlanApplier<'_> {
    /// Applies the plan, unless another one is expected.
    pub(super) fn apply(
        &self,
        plan: &mut ChangePlan,
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<AppliedPlan> {
        index_observed(plan, indexes);
        let applied = if plan.is_empty() {
            let id = plan.verified_id(self.expected_plan)?;
            self.store_records(plan)?;
            AppliedPlan { trashed: Vec::new(), id }
        } else {
            self.run_transaction(plan, indexes)?
        };
        indexes.store(self.home);
        Ok(applied)
    }

    fn run_transaction(
        &self,
        plan: &mut ChangePlan,
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<AppliedPlan> {
        let generation = self.home.next_generation(&plan.state)?;
        let stager = SkillStager::new(self.session, plan)?;
        let jobs = stager.prepare(plan)?;
        let transaction_plan = self.transaction_plan(plan, generation)?;
        let stage = |transaction: &Transaction<'_>| self.stage(stager, transaction, plan, jobs);
        let limits = &self.session.limits;
        let (mut transaction, staged) =
            self.home.stage_transaction(limits, transaction_plan, stage)?;
        transaction.swap()?;
        self.index_staged(&transaction, plan, &staged.skills, indexes);
        let records = plan.records(&self.session.context.timestamp());
        let next_state = plan.state.with_installs(generation, records);
        let trashed = self.home.commit_transaction(transaction, &next_state)?;
        hint_folder_names(self.session.context, plan, &staged.skills);
        Ok(AppliedPlan { trashed, id: staged.id })
    }

    fn transaction_plan(&self, plan: &ChangePlan, generation: u64) -> Result<TransactionPlan> {
        let sinks = plan.sinks.iter().map(|sink| Ok(sink.sink.pinned.clone()));
        let file_dirs = file_dirs(plan).into_iter().map(|dir| Ok(Arc::new(PinnedDir::open(&dir)?)));
        Ok(TransactionPlan {
            id: Name::new(&self.session.context.run_id)?,
            generation,
            roots: sinks.chain(file_dirs).collect::<Result<_>>()?,
            changes: transaction_changes(plan),
            remove_if_empty: plan
                .files
                .iter()
                .flat_map(|file| file.remove_if_empty.clone())
                .chain(missing_unchanged_dirs(plan))
                .collect(),
        })
    }

    /// Writes the new folders and files into the stage, and verifies the plan ID.
    fn stage(
        &self,
        stager: SkillStager<'_>,
        transaction: &Transaction<'_>,
        plan: &mut ChangePlan,
        jobs: StageJobs,
    ) -> Result<StagedPlan> {
        let skills = stager.stage(transaction, jobs, self.home)?;
        stage_files(transaction, plan)?;
        // The ID covers the staged bytes: a source may have changed since the plan was made.
        plan.set_digests(skills.iter().flat_map(StagedSkill::digests));
        let id = plan.verified_id(self.expected_plan)?;
        Ok(StagedPlan { skills, id })
    }

    /// Writes the state of a plan that changes no folder and no file, if its records differ.
    fn store_records(&self, plan: &ChangePlan) -> Result<()> {
        let records = plan.records(&self.session.context.timestamp());
        if records == plan.state.installs {
            return Ok(());
        }
        let generation = self.home.next_generation(&plan.state)?;
        self.home.store_state(&plan.state.with_installs(generation, records))
    }

    /// Adds the staged skills to the indexes of their repositories and sinks.
    fn index_staged(
        &self,
        transaction: &Transaction<'_>,
        plan: &ChangePlan,
        staged: &[StagedSkill],
        indexes: &mut DigestIndexes<'_>,
    ) {
        let folders: Vec<(usize, &FolderPlan)> = plan.changed_folders().collect();
        let now = (self.session.context.wall_clock)();
        for skill in staged {
            if let Some(StagedSource { skills_dir, id, stamps }) = &skill.source {
                let snapshot = DirSnapshot::from_settled(id, skill.digest, stamps.clone(), now);
                indexes.for_dir(skills_dir).set_snapshot(id, snapshot.as_ref());
            }
            for copy in &skill.copies {
                let (sink, folder) = folders[copy.slot];
                let name = folder.name.as_str();
                let stamps = stamps_after_move(transaction, sink, &folder.name, &copy.stamps);
                let snapshot = stamps
                    .and_then(|stamps| DirSnapshot::from_settled(name, skill.digest, stamps, now));
                indexes.for_dir(&plan.sinks[sink].sink.path).set_snapshot(name, snapshot.as_ref());
            }
        }
    }
}

/// Emits a hint where an agent requires folder names to match skill names, and one does not.
fn hint_folder_names(context: &Context<'_>, plan: &ChangePlan, staged: &[StagedSkill]) {
    let folders: Vec<(usize, &FolderPlan)> = plan.changed_folders().collect();
    for (number, sink) in plan.sinks.iter().enumerate() {
        let agents = sink.sink.agents.names().iter().filter_map(|name| agent_for_sink(name));
        let names: Vec<&str> =
            agents.filter(|agent| agent.requires_matching_names).map(|agent| agent.name).collect();
        if names.is_empty() {
            continue;
        }
        let differs = |skill: &StagedSkill| {
            skill.copies.iter().any(|copy| {
                let (sink, folder) = folders[copy.slot];
                sink == number
                    && skill.name.as_deref().is_some_and(|name| name != folder.name.as_str())
            })
        };
        if staged.iter().any(differs) {
            let verb = if names.len() == 1 { "requires" } else { "require" };
            context.emit(Event::Hint(format!(
                "{} {verb} that the name of a directory equals the name of the skill; set `install: {{prefix: \"\", flatten: true}}` in the pack",
                names.join(", ")
            )));
        }
    }
}

/// Returns the missing directories of sinks in which no folder changes. The transaction creates
/// them only for its stage.
fn missing_unchanged_dirs(plan: &ChangePlan) -> Vec<PathBuf> {
    let is_unchanged = |sink: &&SinkPlan| !sink.folders.iter().any(FolderPlan::is_changed);
    let unchanged = plan.sinks.iter().filter(is_unchanged);
    unchanged.flat_map(|sink| sink.sink.pinned.missing_paths()).collect()
}

/// Adds what planning learned to the indexes, and clears the entries of removed folders.
fn index_observed(plan: &ChangePlan, indexes: &mut DigestIndexes<'_>) {
    for sink in &plan.sinks {
        let index = indexes.for_dir(&sink.sink.path);
        for (name, snapshot) in &sink.index_updates {
            index.set_snapshot(name, snapshot.as_ref());
        }
        for folder in sink.folders.iter().filter(|it| it.action == FolderAction::Remove) {
            index.set_snapshot(folder.name.as_str(), None);
        }
    }
}

/// Returns the stamps of a folder that was moved from the stage to its sink.
///
/// The move changes the stamp of the folder itself, and of nothing in it.
fn stamps_after_move(
    transaction: &Transaction<'_>,
    sink: usize,
    name: &Name,
    staged: &PathStamps,
) -> Option<PathStamps> {
    let top = transaction.root_dir(sink).stat(name, Follow::Never).ok().flatten()?;
    let inner = staged.iter().filter(|(path, _)| !path.is_empty()).cloned();
    Some(inner.chain([("".into(), top)]).collect())
}

/// Returns the changes of all folders, then those of all files. The position of a change is its
/// slot.
fn transaction_changes(plan: &ChangePlan) -> Vec<TransactionChange> {
    let folder_change = |(root, folder): (usize, &FolderPlan)| TransactionChange {
        root,
        name: folder.name.clone(),
        action: if folder.action == FolderAction::Remove {
            TransactionAction::Remove
        } else {
            TransactionAction::Put
        },
        prior: folder.before,
    };
    let dirs = file_dirs(plan);
    let root_of =
        |dir: &Path| plan.sinks.len() + dirs.iter().position(|known| known == dir).unwrap_or(0);
    let file_changes = plan.files.iter().map(|file| TransactionChange {
        root: root_of(&file.dir),
        name: file.name.clone(),
        action: if file.bytes.is_some() {
            TransactionAction::Put
        } else {
            TransactionAction::Remove
        },
        prior: file.before,
    });
    plan.changed_folders().map(folder_change).chain(file_changes).collect()
}

/// Returns the directories in which files change, without duplicates.
fn file_dirs(plan: &ChangePlan) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = Vec::new();
    for file in &plan.files {
        if !dirs.contains(&file.dir) {
            dirs.push(file.dir.clone());
        }
    }
    dirs
}

/// Writes the new files into their slots, which follow those of the folders.
fn stage_files(transaction: &Transaction<'_>, plan: &ChangePlan) -> Result<()> {
    let first_slot = plan.changed_folders().count();
    for (number, file) in plan.files.iter().enumerate() {
        if let Some(bytes) = &file.bytes {
            transaction.stage_file(first_slot + number, bytes, file.readers)?;
        }
    }
    Ok(())
}
