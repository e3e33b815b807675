//! Doing what a plan says, in one transaction.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use sp_formats::output::FolderAction;
use sp_formats::report::Report;
use sp_formats::skill::{self, SKILL_FILE};
use sp_formats::state::{Extra, ImportRecord, Install, SkillRecord, State};
use sp_tree::transaction::{Action, Change, Intent, Kept, Transaction};
use sp_tree::{
    Digest, Dir, Follow, Limits, ListingKind, Name, RelPath, Scanned, Snapshot, Stamp, Tree, TreeEntry,
    TreeKind, TreeWriter, copy_scanned, scan,
};

use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};
use crate::home::{Home, Indexes};
use crate::plan::{Plan, SinkPlan, is_in};
use crate::resolve::Origin;
use crate::show::Chosen;
use crate::source::git::{GitListing, read_blobs};

/// Applies plans.
pub(crate) struct Apply<'a> {
    pub context: &'a Context<'a>,
    pub limits: &'a Limits,
    pub home: &'a Home<'a>,
    pub packs: &'a [Chosen],
}

/// A skill that must be written, and into which of the transaction's slots.
struct Job {
    pack: usize,
    skill: usize,
    slots: Vec<usize>,
    bytes: Bytes,
}

/// Where a skill's bytes are.
enum Bytes {
    Local(Scanned),
    Git(GitListing),
}

/// A skill that was written.
struct Staged {
    digest: Digest,
    /// What its source looked like, for a local one.
    source: Option<Vec<(Box<str>, Stamp)>>,
    /// What each copy looks like, in the order of the slots.
    copies: Vec<Vec<(Box<str>, Stamp)>>,
    /// The name that the skill has in its own frontmatter.
    name: Option<String>,
}

type StagedSkills = HashMap<(usize, usize), Staged>;

impl Apply<'_> {
    /// Does what the plan says. Returns what was kept of edited folders, by sink.
    pub(crate) fn apply(&self, state: State, plan: &Plan, indexes: &mut Indexes<'_>) -> Result<Vec<Vec<Kept>>> {
        self.note_learnt(plan, indexes);
        let changes = changes(plan);
        if changes.is_empty() {
            self.store_records(state, plan)?;
            indexes.store(self.home);
            return Ok(plan.sinks.iter().map(|_| Vec::new()).collect());
        }
        let jobs = self.prepare(plan)?;
        self.check_space(plan, &jobs)?;
        let intent = Intent {
            id: Name::new(&self.context.run_id).map_err(|e| Error::new(Kind::Usage, e.to_string()))?,
            generation: state.generation + 1,
            roots: plan.sinks.iter().map(|sink| sink.sink.path.clone()).collect(),
            changes,
        };
        let mut transaction = Transaction::begin(&self.home.dir, self.limits, intent)?;
        let staged = match self.stage(&transaction, &jobs) {
            Ok(staged) => staged,
            Err(error) => {
                transaction.abandon()?;
                return Err(error);
            }
        };
        transaction.swap()?;
        self.remember(plan, &jobs, &staged, &transaction, indexes);
        let next = self.next_state(state, plan, &staged);
        let kept = transaction.commit(
            || self.home.store_state(&next),
            || self.home.state().ok().map(|state| state.generation),
        )?;
        indexes.store(self.home);
        self.hint_names(plan, &staged);
        Ok(plan.sinks.iter().map(|sink| kept.iter().filter(|kept| kept.from.parent() == Some(&sink.sink.path)).cloned().collect()).collect())
    }

    /// Writes only the records, if they say something new.
    fn store_records(&self, state: State, plan: &Plan) -> Result<()> {
        let next = self.next_state(state.clone(), plan, &HashMap::new());
        if next.says_the_same_as(&state) { Ok(()) } else { self.home.store_state(&next) }
    }

    /// Looks at everything that will be copied: what cannot be read is found here.
    fn prepare(&self, plan: &Plan) -> Result<Vec<Job>> {
        let mut slots: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
        let changed = plan.sinks.iter().flat_map(|sink| &sink.folders).filter(|folder| folder.action != FolderAction::Keep);
        for (slot, folder) in changed.enumerate() {
            if let Some(skill) = folder.skill {
                slots.entry(skill).or_default().push(slot);
            }
        }
        let mut wanted: Vec<((usize, usize), Vec<usize>)> = slots.into_iter().collect();
        wanted.sort_unstable();
        let mut git = self.prepare_imports(&wanted)?;
        let local = |pack: usize, skill: usize| -> Result<Bytes> {
            let chosen = &self.packs[pack];
            let dir = Dir::open(&chosen.local_dir(&chosen.skills[skill].id))?;
            Ok(Bytes::Local(scan(&dir, self.limits)?))
        };
        let known: Vec<_> = wanted.into_iter().map(|(key, slots)| (key, slots, git.remove(&key))).collect();
        known
            .into_par_iter()
            .map(|((pack, skill), slots, listing)| {
                let bytes = listing.map_or_else(|| local(pack, skill), |listing| Ok(Bytes::Git(listing)))?;
                Ok(Job { pack, skill, slots, bytes })
            })
            .collect()
    }

    /// Fetches the blobs of the imported skills that will be copied, a batch a checkout.
    fn prepare_imports(&self, wanted: &[((usize, usize), Vec<usize>)]) -> Result<HashMap<(usize, usize), GitListing>> {
        let mut by_checkout: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
        for ((pack, skill), _) in wanted {
            if let Origin::Import(number) = self.packs[*pack].skills[*skill].origin {
                by_checkout.entry((*pack, number)).or_default().push(*skill);
            }
        }
        let mut groups: Vec<_> = by_checkout.into_iter().collect();
        groups.sort_unstable();
        let prepare = |(pack, number): (usize, usize), skills: &[usize]| -> Result<Vec<GitListing>> {
            let ids: Vec<String> = skills.iter().map(|&at| self.packs[pack].skills[at].id.clone()).collect();
            self.packs[pack].checkouts[number].prepare(self.context, self.limits, &ids)
        };
        let prepared: Vec<Result<Vec<GitListing>>> = std::thread::scope(|scope| {
            let threads: Vec<_> = groups.iter().map(|(key, skills)| scope.spawn(move || prepare(*key, skills))).collect();
            let panicked = || Err(Error::new(Kind::Environment, "a fetch ended unexpectedly"));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| panicked())).collect()
        });
        let mut listings = HashMap::new();
        for (((pack, _), skills), prepared) in groups.into_iter().zip(prepared) {
            for (at, skill) in skills.into_iter().zip(prepared?) {
                listings.insert((pack, at), skill);
            }
        }
        Ok(listings)
    }

    /// Refuses what will not fit, before anything is written.
    fn check_space(&self, plan: &Plan, jobs: &[Job]) -> Result<()> {
        const BLOCK: u64 = 4096;
        let needed: u64 = jobs
            .iter()
            .map(|job| {
                let (bytes, entries) = match &job.bytes {
                    Bytes::Local(scanned) => (scanned.listing.bytes, scanned.listing.entries.len()),
                    Bytes::Git(listing) => (listing.bytes, listing.entries.len()),
                };
                (bytes + entries as u64 * BLOCK) * job.slots.len() as u64
            })
            .sum();
        for sink in &plan.sinks {
            let existing = sink.sink.path.ancestors().find_map(|dir| Dir::open(dir).ok());
            let free = existing.map_or(Ok(u64::MAX), |dir| dir.free_bytes())?;
            // What is needed in all sinks together is an upper bound for each.
            let share = needed / plan.sinks.len().max(1) as u64;
            if share > free {
                return Err(Error::new(Kind::Environment, format!("`{}` has too little space", self.context.show(&sink.sink.path)))
                    .because(format!("about {share} bytes are needed, and {free} are free"))
                    .hint("nothing was changed: free some space and run it again"));
            }
        }
        Ok(())
    }

    /// Writes every new folder into the stage, local skills in parallel, each repository as one stream.
    fn stage(&self, transaction: &Transaction<'_>, jobs: &[Job]) -> Result<StagedSkills> {
        let done = AtomicUsize::new(0);
        let problems: Mutex<Vec<Report>> = Mutex::default();
        let finish = |job: &Job, staged: Staged| {
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            self.context.tell(Event::Staging { done, total: jobs.len() });
            ((job.pack, job.skill), staged)
        };
        let (git, local): (Vec<&Job>, Vec<&Job>) = jobs.iter().partition(|job| matches!(job.bytes, Bytes::Git(_)));
        let mut staged: StagedSkills = local
            .into_par_iter()
            .map(|job| Ok(finish(job, self.stage_local(transaction, job, &problems)?)))
            .collect::<Result<_>>()?;
        for group in git.chunk_by(|a, b| self.checkout_of(a) == self.checkout_of(b)) {
            let results = self.stage_git(transaction, group, &problems)?;
            staged.extend(group.iter().zip(results).map(|(job, staged)| finish(job, staged)));
        }
        self.report_problems(problems.into_inner().unwrap_or_else(PoisonError::into_inner))?;
        Ok(staged)
    }

    fn checkout_of(&self, job: &Job) -> (usize, Origin) {
        (job.pack, self.packs[job.pack].skills[job.skill].origin)
    }

    fn writers(&self, transaction: &Transaction<'_>, job: &Job) -> Result<Vec<TreeWriter>> {
        job.slots.iter().map(|&slot| Ok(TreeWriter::new(transaction.slot(slot)?))).collect()
    }

    fn stage_local(&self, transaction: &Transaction<'_>, job: &Job, problems: &Mutex<Vec<Report>>) -> Result<Staged> {
        let chosen = &self.packs[job.pack];
        let path = chosen.local_dir(&chosen.skills[job.skill].id);
        let Bytes::Local(scanned) = &job.bytes else {
            return Err(Error::new(Kind::Request, "not a local skill"));
        };
        let dir = Dir::open(&path)?;
        let mut writers = self.writers(transaction, job)?;
        let mut name = None;
        let (tree, source) = copy_scanned(&dir, scanned, &mut writers, self.limits, &mut |file, bytes| {
            if file.as_str() == SKILL_FILE {
                name = self.read_skill(&self.context.show(&path.join(SKILL_FILE)), bytes, problems);
            }
        })?;
        let copies: Result<Vec<_>> = writers.into_iter().map(|writer| Ok(writer.finish()?)).collect();
        Ok(Staged { digest: tree.digest(), source: Some(source), copies: copies?, name })
    }

    fn stage_git(&self, transaction: &Transaction<'_>, group: &[&Job], problems: &Mutex<Vec<Report>>) -> Result<Vec<Staged>> {
        let Origin::Import(number) = self.checkout_of(group[0]).1 else {
            return Ok(Vec::new());
        };
        let checkout = &self.packs[group[0].pack].checkouts[number];
        let mut open: Vec<GitStage<'_>> = Vec::new();
        let mut blobs: Vec<Box<str>> = Vec::new();
        let mut places: Vec<(usize, &RelPath, bool)> = Vec::new();
        for job in group {
            let Bytes::Git(listing) = &job.bytes else { continue };
            let mut writers = self.writers(transaction, job)?;
            let mut entries = Vec::new();
            for entry in &listing.entries {
                match &entry.kind {
                    ListingKind::Dir => {
                        writers.iter_mut().try_for_each(|writer| writer.dir(&entry.path))?;
                        entries.push(TreeEntry { path: entry.path.clone(), kind: TreeKind::Dir });
                    }
                    ListingKind::File { executable, handle, .. } => {
                        places.push((open.len(), &entry.path, *executable));
                        blobs.push(handle.clone());
                    }
                }
            }
            let id = &self.packs[job.pack].skills[job.skill].id;
            open.push(GitStage { id, writers, entries, name: None });
        }
        read_blobs(self.context, checkout, &blobs, |at, bytes| {
            let (stage, path, executable) = places[at];
            let stage = &mut open[stage];
            for writer in &mut stage.writers {
                writer.file(path, executable, bytes)?;
            }
            let kind = TreeKind::File { executable, size: bytes.len() as u64, digest: Digest::of(bytes) };
            stage.entries.push(TreeEntry { path: path.clone(), kind });
            if path.as_str() == SKILL_FILE {
                let shown = format!("{}/{SKILL_FILE} of {}", stage.id, checkout.repo);
                stage.name = self.read_skill(&shown, bytes, problems);
            }
            Ok(())
        })?;
        open.into_iter().map(GitStage::finish).collect()
    }

    /// Notes what is odd about a `SKILL.md`; an install needs it only to be readable.
    fn read_skill(&self, shown: &str, bytes: &[u8], problems: &Mutex<Vec<Report>>) -> Option<String> {
        let (skill, report) = skill::read(shown, bytes, self.limits);
        if !report.findings.is_empty() {
            problems.lock().unwrap_or_else(PoisonError::into_inner).push(report);
        }
        skill.and_then(|skill| skill.name)
    }

    fn report_problems(&self, mut problems: Vec<Report>) -> Result<()> {
        problems.sort_by(|a, b| a.file.cmp(&b.file));
        if let Some(at) = problems.iter().position(|report| !report.is_usable()) {
            return Err(Error::in_file("a skill cannot be read", problems.swap_remove(at)));
        }
        for report in &problems {
            self.context.tell(Event::Findings(report));
        }
        Ok(())
    }

    /// Notes in the indexes what the copies and their sources look like.
    fn remember(
        &self,
        plan: &Plan,
        jobs: &[Job],
        staged: &StagedSkills,
        transaction: &Transaction<'_>,
        indexes: &mut Indexes<'_>,
    ) {
        let places: Vec<(usize, &Name)> = plan
            .sinks
            .iter()
            .enumerate()
            .flat_map(|(sink, plan)| plan.folders.iter().filter(|folder| folder.action != FolderAction::Keep).map(move |folder| (sink, &folder.name)))
            .collect();
        for job in jobs {
            let Some(skill) = staged.get(&(job.pack, job.skill)) else { continue };
            let now = (self.context.wall_clock)();
            if let Some(source) = &skill.source {
                let chosen = &self.packs[job.pack];
                let id = &chosen.skills[job.skill].id;
                let snapshot = Snapshot::settled(id, skill.digest, source.clone(), now);
                indexes.of(&chosen.authoring.skills_dir()).set(id, snapshot.as_ref());
            }
            for (slot, stamps) in job.slots.iter().zip(&skill.copies) {
                let (sink, name) = places[*slot];
                // The move into its place changed the folder itself, and nothing in it.
                let moved = transaction.root(sink).look(name, Follow::Never).ok().flatten();
                let stamps = moved.map(|top| {
                    let inner = stamps.iter().filter(|(path, _)| !path.is_empty()).cloned();
                    inner.chain([("".into(), top)]).collect::<Vec<_>>()
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

    /// The state after the plan: the records of the packs replaced, everything else as it was.
    fn next_state(&self, mut state: State, plan: &Plan, staged: &StagedSkills) -> State {
        state.generation += 1;
        for sink in &plan.sinks {
            let before = state.installs.clone();
            state.installs.retain(|install| !(is_in(install, &sink.sink.path) && sink.removed_packs.contains(&install.pack)));
            for (number, chosen) in self.packs.iter().enumerate() {
                let is_this = |install: &&Install| install.pack == chosen.file.pack.name && is_in(install, &sink.sink.path);
                let old = before.iter().find(is_this);
                let record = self.record(sink, number, old, staged);
                match state.installs.iter_mut().find(|install| is_this(&&**install)) {
                    Some(install) => *install = record,
                    None => state.installs.push(record),
                }
            }
        }
        state
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
        let mine: Vec<_> = sink.folders.iter().filter(|folder| folder.skill.is_some_and(|(pack, _)| pack == number)).collect();
        let skills = mine.iter().filter_map(|folder| {
            let (pack, at) = folder.skill?;
            let skill = &self.packs[pack].skills[at];
            let digest = folder.digest.or_else(|| staged.get(&(pack, at)).map(|staged| staged.digest))?;
            let import = match skill.origin {
                Origin::Local => None,
                Origin::Import(number) => Some(number),
            };
            let git_tree = import.and_then(|number| chosen.checkouts[number].tree.folder_object(&skill.id)).map(Into::into);
            Some(SkillRecord { folder: folder.name.to_string(), id: skill.id.clone(), import, digest, git_tree })
        });
        let path_of = |name: &Name| sink.sink.path.join(name.as_str()).to_string_lossy().into_owned();
        Install {
            sink: sink.sink.name.clone(),
            sink_path: sink.sink.path.to_string_lossy().into_owned(),
            pack: pack.name.clone(),
            pack_file: real(&chosen.file.path),
            prefix: pack.naming.prefix.clone(),
            sep: pack.naming.sep.clone(),
            flatten: pack.naming.flatten,
            imports: imports.collect(),
            installed_paths: mine.iter().map(|folder| path_of(&folder.name)).collect(),
            skills: skills.collect(),
            installed_at: self.context.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
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
                self.context.tell(Event::Hint(format!(
                    "{} expects a folder to be called as its skill is; `install: {{prefix: \"\", flatten: true}}` in the pack does that",
                    agent.name
                )));
            }
        }
    }
}

/// A skill of a repository while it is being written.
struct GitStage<'a> {
    id: &'a str,
    writers: Vec<TreeWriter>,
    entries: Vec<TreeEntry>,
    name: Option<String>,
}

impl GitStage<'_> {
    fn finish(mut self) -> Result<Staged> {
        self.entries.sort_by(|a, b| a.path.cmp(&b.path));
        let digest = Tree { entries: self.entries }.digest();
        let copies: Result<Vec<_>> = self.writers.into_iter().map(|writer| Ok(writer.finish()?)).collect();
        Ok(Staged { digest, source: None, copies: copies?, name: self.name })
    }
}

/// The changes of all sinks in one row; a change's number is its slot.
fn changes(plan: &Plan) -> Vec<Change> {
    let of_sink = |(root, sink): (usize, &SinkPlan)| {
        let changed = sink.folders.iter().filter(|folder| folder.action != FolderAction::Keep);
        changed
            .map(|folder| Change {
                root,
                name: folder.name.clone(),
                action: if folder.action == FolderAction::Remove { Action::Remove } else { Action::Put },
                before: folder.before,
            })
            .collect::<Vec<_>>()
    };
    plan.sinks.iter().enumerate().flat_map(of_sink).collect()
}

fn real(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.into()).to_string_lossy().into_owned()
}
