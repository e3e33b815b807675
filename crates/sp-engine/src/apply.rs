//! Doing what a plan says, in one transaction.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::output::FolderAction;
use sp_formats::state::{Extra, ImportRecord, Install, SkillRecord, State};
use sp_tree::transaction::{Action, Change, Intent, Kept, Transaction};
use sp_tree::{Follow, Name, PinnedDir, Snapshot};

use crate::config::Session;
use crate::context::Event;
use crate::error::{Error, Kind, Result};
use crate::home::{Home, Indexes};
use crate::plan::{FolderPlan, Plan, SinkPlan};
use crate::plan_id::{Identified, PlanId};
use crate::resolve::Origin;
use crate::show::Chosen;
use crate::stage::{Job, StagedSkills, Stager, slots};

/// Applies plans.
pub(crate) struct Apply<'a> {
    pub session: &'a Session<'a>,
    pub home: &'a Home<'a>,
    pub packs: &'a [Chosen],
    /// The plan that was shown: another is refused.
    pub shown: Option<PlanId>,
}

/// What was done.
pub(crate) struct Applied {
    /// What was kept of edited folders and files.
    pub kept: Vec<Kept>,
    /// The id of the plan.
    pub id: PlanId,
}

impl Apply<'_> {
    /// Does what the plan says, if it is what was shown.
    pub(crate) fn apply(&self, state: &State, plan: &Plan, indexes: &mut Indexes<'_>) -> Result<Applied> {
        self.note_learnt(plan, indexes);
        let changes = changes(plan);
        if changes.is_empty() {
            let id = self.identify(plan, &HashMap::new())?;
            self.store_records(state, plan)?;
            indexes.store(self.home);
            return Ok(Applied { kept: Vec::new(), id });
        }
        let generation = self.home.next_generation(state)?;
        let stager = Stager { session: self.session, packs: self.packs };
        let jobs = stager.prepare(plan)?;
        let sinks = plan.sinks.iter().map(|sink| Ok(sink.sink.pinned.clone()));
        let files = file_dirs(plan).into_iter().map(|dir| Ok(Arc::new(PinnedDir::open(&dir)?)));
        let intent = Intent {
            id: Name::new(&self.session.context.run_id).map_err(|e| Error::new(Kind::Usage, e.to_string()))?,
            generation,
            roots: sinks.chain(files).collect::<Result<_>>()?,
            changes,
            remove_if_empty: plan.files.iter().flat_map(|file| file.remove_if_empty.clone()).collect(),
        };
        let mut transaction = Transaction::begin(&self.home.dir, &self.session.limits, intent)?;
        let staged = stager.stage(&transaction, &jobs).and_then(|staged| {
            stage_files(&transaction, plan)?;
            // Only now is it known what is really about to be put there.
            let id = self.identify(plan, &staged)?;
            Ok((staged, id))
        });
        let (staged, id) = match staged {
            Ok(done) => done,
            Err(error) => {
                transaction.abandon()?;
                return Err(error);
            }
        };
        transaction.swap()?;
        self.remember_sources(&staged, indexes);
        self.remember_copies(&transaction, plan, (&jobs, &staged), indexes);
        let next = state.followed_by(generation, self.records(state, plan, &staged));
        let kept = transaction
            .commit(|| self.home.store_state(&next), || self.home.state().ok().map(|state| state.generation))?;
        indexes.store(self.home);
        self.hint_names(plan, &staged);
        Ok(Applied { kept, id })
    }

    /// The id of the plan with what was staged for it, unless another was shown.
    fn identify(&self, plan: &Plan, staged: &StagedSkills) -> Result<PlanId> {
        let digest = |skill: (usize, usize)| staged.get(&skill).map(|staged| staged.digest);
        let id = Identified { plan, packs: self.packs, digest: &digest }.id();
        id.must_be(self.shown)?;
        Ok(id)
    }

    /// Writes only the records, if they say something new.
    fn store_records(&self, state: &State, plan: &Plan) -> Result<()> {
        let records = self.records(state, plan, &HashMap::new());
        if records == state.installs {
            return Ok(());
        }
        self.home.store_state(&state.followed_by(self.home.next_generation(state)?, records))
    }

    /// Notes in the indexes what the sources of skills look like.
    fn remember_sources(&self, staged: &StagedSkills, indexes: &mut Indexes<'_>) {
        let now = (self.session.context.wall_clock)();
        for ((pack, skill), staged) in staged {
            if let Some(source) = &staged.source {
                let chosen = &self.packs[*pack];
                let id = &chosen.skills[*skill].id;
                let snapshot = Snapshot::settled(id, staged.digest, source.clone(), now);
                indexes.of(&chosen.authoring.skills_dir()).set(id, snapshot.as_ref());
            }
        }
    }

    /// Notes in the index of a sink what the new folders look like in their places.
    fn remember_copies(
        &self,
        transaction: &Transaction<'_>,
        plan: &Plan,
        (jobs, staged): (&[Job], &StagedSkills),
        indexes: &mut Indexes<'_>,
    ) {
        let places: Vec<(usize, &Name)> = slots(plan).map(|(sink, folder)| (sink, &folder.name)).collect();
        let now = (self.session.context.wall_clock)();
        for job in jobs {
            let Some(skill) = staged.get(&(job.pack, job.skill)) else { continue };
            for (slot, stamps) in job.slots.iter().zip(&skill.copies) {
                let (sink, name) = places[*slot];
                // The move into its place changed the folder itself, and nothing in it.
                let moved = transaction.root(sink).look(name, Follow::Never).ok().flatten();
                let stamps = moved.map(|top| {
                    let inner = stamps.iter().filter(|(path, _)| !path.is_empty()).cloned();
                    inner.chain([("".into(), top)]).collect()
                });
                let snapshot = stamps.and_then(|stamps| Snapshot::settled(name.as_str(), skill.digest, stamps, now));
                indexes.of(&plan.sinks[sink].sink.path).set(name.as_str(), snapshot.as_ref());
            }
        }
    }

    /// Notes in the indexes what the plan learnt by reading, and forgets what goes.
    fn note_learnt(&self, plan: &Plan, indexes: &mut Indexes<'_>) {
        for sink in &plan.sinks {
            let index = indexes.of(&sink.sink.path);
            for (name, learnt) in &sink.learnt {
                index.set(name, learnt.as_ref());
            }
            for folder in sink.folders.iter().filter(|folder| folder.action == FolderAction::Remove) {
                index.set(folder.name.as_str(), None);
            }
        }
    }

    /// The records after the plan: those of the packs renewed, everything else as it was.
    fn records(&self, state: &State, plan: &Plan, staged: &StagedSkills) -> Vec<Install> {
        let sink_of = |install: &Install| plan.sinks.iter().position(|sink| sink.sink.has(install));
        let pack_of = |install: &Install| self.packs.iter().position(|chosen| chosen.file.pack.name == install.pack);
        let mut renewed: HashSet<(usize, usize)> = HashSet::new();
        let mut records = Vec::new();
        for install in &state.installs {
            match (sink_of(install), pack_of(install)) {
                (Some(sink), _) if plan.sinks[sink].removed_packs.contains(&install.pack) => {}
                (Some(sink), Some(pack)) if plan.sinks[sink].packs.contains(&pack) => {
                    renewed.insert((sink, pack));
                    records.push(self.record_again(&plan.sinks[sink], pack, install, staged));
                }
                _ => records.push(install.clone()),
            }
        }
        for (number, sink) in plan.sinks.iter().enumerate() {
            let missing = sink.packs.iter().copied().filter(|pack| !renewed.contains(&(number, *pack)));
            records.extend(missing.map(|pack| self.record(sink, pack, None, staged)));
        }
        records
    }

    /// The record of a pack that has one; its time stays if nothing else changes.
    fn record_again(&self, sink: &SinkPlan, number: usize, old: &Install, staged: &StagedSkills) -> Install {
        let mut record = self.record(sink, number, Some(old), staged);
        let untouched = sink.folders.iter().all(|folder| folder.action == FolderAction::Keep);
        let now = std::mem::replace(&mut record.installed_at, old.installed_at.clone());
        if !untouched || record != *old {
            record.installed_at = now;
        }
        record
    }

    fn record(&self, sink: &SinkPlan, number: usize, old: Option<&Install>, staged: &StagedSkills) -> Install {
        let chosen = &self.packs[number];
        let pack = &chosen.file.pack;
        let imports = pack.imports.iter().zip(&chosen.checkouts).map(|(import, checkout)| {
            let was = old.and_then(|old| old.imports.iter().find(|was| was.repo == import.repo.written));
            ImportRecord {
                repo: import.repo.written.clone(),
                git_ref: import.git_ref.as_ref().map(ToString::to_string),
                commit: checkout.commit.clone(),
                extra: was.map(|was| was.extra.clone()).unwrap_or_default(),
            }
        });
        // A package is its own import: its version and its hash are on record.
        let packed = chosen.packed.as_ref().map(|packed| ImportRecord {
            repo: chosen.file.path.to_string_lossy().into_owned(),
            git_ref: Some(packed.version.clone()),
            commit: packed.sha256.clone(),
            extra: Extra::default(),
        });
        let imports = imports.chain(packed);
        let mine: Vec<_> =
            sink.folders.iter().filter(|folder| folder.skill.is_some_and(|(pack, _)| pack == number)).collect();
        let known: HashMap<&str, &SkillRecord> =
            old.iter().flat_map(|old| &old.skills).map(|skill| (skill.folder.as_str(), skill)).collect();
        let skills = mine.iter().filter_map(|folder| {
            let (pack, at) = folder.skill?;
            let skill = &self.packs[pack].skills[at];
            let digest = folder.digest.or_else(|| staged.get(&(pack, at)).map(|staged| staged.digest))?;
            let import = match skill.origin {
                Origin::Local | Origin::Packed(_) => None,
                Origin::Import(number) => Some(number),
            };
            let git_tree =
                import.and_then(|number| chosen.checkouts[number].tree.folder_object(&skill.id)).map(Into::into);
            let extra = known.get(folder.name.as_str()).map(|was| was.extra.clone()).unwrap_or_default();
            Some(SkillRecord { folder: folder.name.to_string(), id: skill.id.clone(), import, digest, git_tree, extra })
        });
        let path_of = |name: &Name| sink.sink.path.join(name.as_str()).to_string_lossy().into_owned();
        Install {
            sink: sink.sink.name.clone(),
            sink_path: sink.sink.path.to_string_lossy().into_owned(),
            sink_id: sink.sink.id(),
            pack: pack.name.clone(),
            pack_file: real(&chosen.file.path),
            prefix: pack.naming.prefix.clone(),
            sep: pack.naming.sep.clone(),
            flatten: pack.naming.flatten,
            imports: imports.collect(),
            installed_paths: mine.iter().map(|folder| path_of(&folder.name)).collect(),
            skills: skills.collect(),
            installed_at: self.session.context.timestamp(),
            extra: old.map_or_else(Extra::default, |old| old.extra.clone()),
        }
    }

    /// Says it once where an agent minds folders that are not called as their skills are.
    fn hint_names(&self, plan: &Plan, staged: &StagedSkills) {
        for sink in &plan.sinks {
            let Some(agent) = sink.sink.agent.filter(|agent| agent.minds_names) else { continue };
            let differs = sink.folders.iter().any(|folder| {
                let name = folder.skill.and_then(|key| staged.get(&key)).and_then(|staged| staged.name.as_deref());
                name.is_some_and(|name| name != folder.name.as_str())
            });
            if differs {
                self.session.context.tell(Event::Hint(format!(
                    "{} expects a folder to be called as its skill is; `install: {{prefix: \"\", flatten: true}}` in the pack does that",
                    agent.name
                )));
            }
        }
    }
}

/// The changes of all sinks in one row, then those of files; a change's number is its slot.
fn changes(plan: &Plan) -> Vec<Change> {
    let change = |(root, folder): (usize, &FolderPlan)| Change {
        root,
        name: folder.name.clone(),
        action: if folder.action == FolderAction::Remove { Action::Remove } else { Action::Put },
        before: folder.before,
    };
    let dirs = file_dirs(plan);
    let root_of = |dir: &Path| plan.sinks.len() + dirs.iter().position(|known| known == dir).unwrap_or(0);
    let files = plan.files.iter().map(|file| Change {
        root: root_of(&file.dir),
        name: file.name.clone(),
        action: if file.bytes.is_some() { Action::Put } else { Action::Remove },
        before: file.before,
    });
    slots(plan).map(change).chain(files).collect()
}

/// The directories in which files change, each once.
fn file_dirs(plan: &Plan) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = Vec::new();
    for file in &plan.files {
        if !dirs.contains(&file.dir) {
            dirs.push(file.dir.clone());
        }
    }
    dirs
}

/// Writes the new files into their slots, which come after those of the folders.
fn stage_files(transaction: &Transaction<'_>, plan: &Plan) -> Result<()> {
    let first = slots(plan).count();
    for (at, file) in plan.files.iter().enumerate() {
        if let Some(bytes) = &file.bytes {
            transaction.file(first + at, bytes, file.readers)?;
        }
    }
    Ok(())
}

fn real(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.into()).to_string_lossy().into_owned()
}
