//! Doing what a plan says, in one transaction.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::output::FolderAction;
use sp_formats::state::{
    ImportRecord, InstallRecord, InstallState, SkillRecord, UnknownRecordMembers,
};
use sp_tree::transaction::{
    Transaction, TransactionAction, TransactionChange, TransactionPlan, TrashedEntry,
};
use sp_tree::{DirSnapshot, Follow, Name, PinnedDir};

use crate::config::Session;
use crate::context::Event;
use crate::error::{Error, FailureKind, Result};
use crate::home::{DigestIndexes, LockedHome};
use crate::plan::{ChangePlan, FolderPlan, SinkPlan};
use crate::plan_id::{PlanId, PlanIdInput};
use crate::resolve::SkillSource;
use crate::show::ResolvedPack;
use crate::stage::{SkillStager, StageJob, StagedSkills, changed_folders};

/// Applies plans.
pub(crate) struct PlanApplier<'a> {
    pub session: &'a Session<'a>,
    pub home: &'a LockedHome<'a>,
    pub packs: &'a [ResolvedPack],
    /// The plan that was shown: another is refused.
    pub expected_plan: Option<PlanId>,
}

/// What was done.
pub(crate) struct AppliedPlan {
    /// What was kept of edited folders and files.
    pub trashed: Vec<TrashedEntry>,
    /// The id of the plan.
    pub id: PlanId,
}

impl PlanApplier<'_> {
    /// Does what the plan says, if it is what was shown.
    pub(crate) fn apply(
        &self,
        state: &InstallState,
        plan: &ChangePlan,
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<AppliedPlan> {
        self.index_observed(plan, indexes);
        let changes = transaction_changes(plan);
        if changes.is_empty() {
            let id = self.verify_plan_id(plan, &HashMap::new())?;
            self.store_records(state, plan)?;
            indexes.store(self.home);
            return Ok(AppliedPlan { trashed: Vec::new(), id });
        }
        let generation = self.home.next_generation(state)?;
        let stager = SkillStager { session: self.session, packs: self.packs };
        let jobs = stager.prepare(plan)?;
        let sinks = plan.sinks.iter().map(|sink| Ok(sink.sink.pinned.clone()));
        let files = file_dirs(plan).into_iter().map(|dir| Ok(Arc::new(PinnedDir::open(&dir)?)));
        let intent = TransactionPlan {
            id: Name::new(&self.session.context.run_id)
                .map_err(|e| Error::new(FailureKind::Usage, e.to_string()))?,
            generation,
            roots: sinks.chain(files).collect::<Result<_>>()?,
            changes,
            remove_if_empty: plan
                .files
                .iter()
                .flat_map(|file| file.remove_if_empty.clone())
                .collect(),
        };
        let mut transaction = Transaction::begin(&self.home.dir, &self.session.limits, intent)?;
        let staged = stager.stage(&transaction, &jobs).and_then(|staged| {
            stage_files(&transaction, plan)?;
            // Only now is it known what is really about to be put there.
            let id = self.verify_plan_id(plan, &staged)?;
            Ok((staged, id))
        });
        let (staged, id) = match staged {
            Ok(done) => done,
            Err(error) => {
                transaction.abort()?;
                return Err(error);
            }
        };
        transaction.swap()?;
        self.index_sources(&staged, indexes);
        self.index_copies(&transaction, plan, (&jobs, &staged), indexes);
        let next = state.with_installs(generation, self.records(state, plan, &staged));
        let kept = transaction.commit(
            || self.home.store_state(&next),
            || self.home.state().ok().map(|state| state.generation),
        )?;
        indexes.store(self.home);
        self.hint_folder_names(plan, &staged);
        Ok(AppliedPlan { trashed: kept, id })
    }

    /// The id of the plan with what was staged for it, unless another was shown.
    fn verify_plan_id(&self, plan: &ChangePlan, staged: &StagedSkills) -> Result<PlanId> {
        let digest = |skill: (usize, usize)| staged.get(&skill).map(|staged| staged.digest);
        let id = PlanIdInput { plan, packs: self.packs, skill_digest: &digest }.plan_id();
        id.ensure_matches(self.expected_plan)?;
        Ok(id)
    }

    /// Writes only the records, if they say something new.
    fn store_records(&self, state: &InstallState, plan: &ChangePlan) -> Result<()> {
        let records = self.records(state, plan, &HashMap::new());
        if records == state.installs {
            return Ok(());
        }
        self.home.store_state(&state.with_installs(self.home.next_generation(state)?, records))
    }

    /// Notes in the indexes what the sources of skills look like.
    fn index_sources(&self, staged: &StagedSkills, indexes: &mut DigestIndexes<'_>) {
        let now = (self.session.context.wall_clock)();
        for ((pack, skill), staged) in staged {
            if let Some(source) = &staged.source_stamps {
                let chosen = &self.packs[*pack];
                let id = &chosen.skills[*skill].id;
                let snapshot = DirSnapshot::from_settled(id, staged.digest, source.clone(), now);
                indexes
                    .for_dir(&chosen.repository.skills_dir())
                    .set_snapshot(id, snapshot.as_ref());
            }
        }
    }

    /// Notes in the index of a sink what the new folders look like in their places.
    fn index_copies(
        &self,
        transaction: &Transaction<'_>,
        plan: &ChangePlan,
        (jobs, staged): (&[StageJob], &StagedSkills),
        indexes: &mut DigestIndexes<'_>,
    ) {
        let places: Vec<(usize, &Name)> =
            changed_folders(plan).map(|(sink, folder)| (sink, &folder.name)).collect();
        let now = (self.session.context.wall_clock)();
        for job in jobs {
            let Some(skill) = staged.get(&(job.pack, job.skill)) else { continue };
            for (slot, stamps) in job.slots.iter().zip(&skill.copy_stamps) {
                let (sink, name) = places[*slot];
                // The move into its place changed the folder itself, and nothing in it.
                let moved = transaction.root_dir(sink).stat(name, Follow::Never).ok().flatten();
                let stamps = moved.map(|top| {
                    let inner = stamps.iter().filter(|(path, _)| !path.is_empty()).cloned();
                    inner.chain([("".into(), top)]).collect()
                });
                let snapshot = stamps.and_then(|stamps| {
                    DirSnapshot::from_settled(name.as_str(), skill.digest, stamps, now)
                });
                indexes
                    .for_dir(&plan.sinks[sink].sink.path)
                    .set_snapshot(name.as_str(), snapshot.as_ref());
            }
        }
    }

    /// Notes in the indexes what the plan learnt by reading, and forgets what goes.
    fn index_observed(&self, plan: &ChangePlan, indexes: &mut DigestIndexes<'_>) {
        for sink in &plan.sinks {
            let index = indexes.for_dir(&sink.sink.path);
            for (name, learnt) in &sink.index_updates {
                index.set_snapshot(name, learnt.as_ref());
            }
            for folder in sink.folders.iter().filter(|folder| folder.action == FolderAction::Remove)
            {
                index.set_snapshot(folder.name.as_str(), None);
            }
        }
    }

    /// The records after the plan: those of the packs renewed, everything else as it was.
    fn records(
        &self,
        state: &InstallState,
        plan: &ChangePlan,
        staged: &StagedSkills,
    ) -> Vec<InstallRecord> {
        let sink_of = |install: &InstallRecord| {
            plan.sinks.iter().position(|sink| sink.sink.matches_record(install))
        };
        let pack_of = |install: &InstallRecord| {
            self.packs.iter().position(|chosen| chosen.file.pack.name == install.pack)
        };
        let mut renewed: HashSet<(usize, usize)> = HashSet::new();
        let mut records = Vec::new();
        for install in &state.installs {
            match (sink_of(install), pack_of(install)) {
                (Some(sink), _) if plan.sinks[sink].removed_packs.contains(&install.pack) => {}
                (Some(sink), Some(pack)) if plan.sinks[sink].packs.contains(&pack) => {
                    renewed.insert((sink, pack));
                    records.push(self.renew_record(&plan.sinks[sink], pack, install, staged));
                }
                _ => records.push(install.clone()),
            }
        }
        for (number, sink) in plan.sinks.iter().enumerate() {
            let missing =
                sink.packs.iter().copied().filter(|pack| !renewed.contains(&(number, *pack)));
            records.extend(missing.map(|pack| self.record(sink, pack, None, staged)));
        }
        records
    }

    /// The record of a pack that has one; its time stays if nothing else changes.
    fn renew_record(
        &self,
        sink: &SinkPlan,
        number: usize,
        old: &InstallRecord,
        staged: &StagedSkills,
    ) -> InstallRecord {
        let mut record = self.record(sink, number, Some(old), staged);
        let untouched = sink.folders.iter().all(|folder| folder.action == FolderAction::Keep);
        let now = std::mem::replace(&mut record.installed_at, old.installed_at.clone());
        if !untouched || record != *old {
            record.installed_at = now;
        }
        record
    }

    fn record(
        &self,
        sink: &SinkPlan,
        number: usize,
        old: Option<&InstallRecord>,
        staged: &StagedSkills,
    ) -> InstallRecord {
        let chosen = &self.packs[number];
        let pack = &chosen.file.pack;
        let imports = pack.imports.iter().zip(&chosen.checkouts).map(|(import, checkout)| {
            let was = old
                .and_then(|old| old.imports.iter().find(|was| was.repo == import.repo.display_url));
            ImportRecord {
                repo: import.repo.display_url.clone(),
                git_ref: import.git_ref.as_ref().map(ToString::to_string),
                commit: checkout.commit.clone(),
                extra: was.map(|was| was.extra.clone()).unwrap_or_default(),
            }
        });
        // A package is its own import: its version and its hash are on record.
        let packed = chosen.packaged_skills.as_ref().map(|packed| ImportRecord {
            repo: chosen.file.path.to_string_lossy().into_owned(),
            git_ref: Some(packed.version.clone()),
            commit: packed.sha256.clone(),
            extra: UnknownRecordMembers::default(),
        });
        let imports = imports.chain(packed);
        let mine: Vec<_> = sink
            .folders
            .iter()
            .filter(|folder| folder.skill.is_some_and(|(pack, _)| pack == number))
            .collect();
        let known: HashMap<&str, &SkillRecord> = old
            .iter()
            .flat_map(|old| &old.skills)
            .map(|skill| (skill.folder.as_str(), skill))
            .collect();
        let skills = mine.iter().filter_map(|folder| {
            let (pack, at) = folder.skill?;
            let skill = &self.packs[pack].skills[at];
            let digest = folder
                .unchanged_digest
                .or_else(|| staged.get(&(pack, at)).map(|staged| staged.digest))?;
            let import = match skill.source {
                SkillSource::Local | SkillSource::Package(_) => None,
                SkillSource::Import(number) => Some(number),
            };
            let git_tree = import
                .and_then(|number| chosen.checkouts[number].tree.folder_object(&skill.id))
                .map(Into::into);
            let extra =
                known.get(folder.name.as_str()).map(|was| was.extra.clone()).unwrap_or_default();
            Some(SkillRecord {
                folder: folder.name.to_string(),
                id: skill.id.clone(),
                import,
                digest,
                git_tree,
                extra,
            })
        });
        let path_of =
            |name: &Name| sink.sink.path.join(name.as_str()).to_string_lossy().into_owned();
        InstallRecord {
            sink: sink.sink.name.clone(),
            sink_path: sink.sink.path.to_string_lossy().into_owned(),
            sink_id: sink.sink.id(),
            pack: pack.name.clone(),
            pack_file: canonical_path(&chosen.file.path),
            prefix: pack.naming.prefix.clone(),
            sep: pack.naming.sep.clone(),
            flatten: pack.naming.flatten,
            imports: imports.collect(),
            installed_paths: mine.iter().map(|folder| path_of(&folder.name)).collect(),
            skills: skills.collect(),
            installed_at: self.session.context.timestamp(),
            extra: old.map_or_else(UnknownRecordMembers::default, |old| old.extra.clone()),
        }
    }

    /// Says it once where an agent minds folders that are not called as their skills are.
    fn hint_folder_names(&self, plan: &ChangePlan, staged: &StagedSkills) {
        for sink in &plan.sinks {
            let Some(agent) = sink.sink.agent.filter(|agent| agent.requires_matching_names) else {
                continue;
            };
            let differs = sink.folders.iter().any(|folder| {
                let name = folder
                    .skill
                    .and_then(|key| staged.get(&key))
                    .and_then(|staged| staged.name.as_deref());
                name.is_some_and(|name| name != folder.name.as_str())
            });
            if differs {
                self.session.context.emit(Event::Hint(format!(
                    "{} expects a folder to be called as its skill is; `install: {{prefix: \"\", flatten: true}}` in the pack does that",
                    agent.name
                )));
            }
        }
    }
}

/// The changes of all sinks in one row, then those of files; a change's number is its slot.
fn transaction_changes(plan: &ChangePlan) -> Vec<TransactionChange> {
    let change = |(root, folder): (usize, &FolderPlan)| TransactionChange {
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
    let files = plan.files.iter().map(|file| TransactionChange {
        root: root_of(&file.dir),
        name: file.name.clone(),
        action: if file.bytes.is_some() {
            TransactionAction::Put
        } else {
            TransactionAction::Remove
        },
        prior: file.before,
    });
    changed_folders(plan).map(change).chain(files).collect()
}

/// The directories in which files change, each once.
fn file_dirs(plan: &ChangePlan) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = Vec::new();
    for file in &plan.files {
        if !dirs.contains(&file.dir) {
            dirs.push(file.dir.clone());
        }
    }
    dirs
}

/// Writes the new files into their slots, which come after those of the folders.
fn stage_files(transaction: &Transaction<'_>, plan: &ChangePlan) -> Result<()> {
    let first = changed_folders(plan).count();
    for (at, file) in plan.files.iter().enumerate() {
        if let Some(bytes) = &file.bytes {
            transaction.stage_file(first + at, bytes, file.readers)?;
        }
    }
    Ok(())
}

fn canonical_path(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.into()).to_string_lossy().into_owned()
}
