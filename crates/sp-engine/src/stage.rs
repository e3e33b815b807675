//! Preparing new folders: everything is looked at, then read once and written beside its place.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use sp_formats::checks::AS_05;
use sp_formats::output::FolderAction;
use sp_formats::report::{Report, Severity};
use sp_formats::skill::{self, SKILL_FILE};
use sp_tree::transaction::Transaction;
use sp_tree::{
    Digest, Dir, ListingKind, RelPath, Scanned, Stamps, Tree, TreeEntry, TreeKind, TreeWriter, copy_scanned, scan,
};

use crate::config::Session;
use crate::context::Event;
use crate::error::{Error, Kind, Result};
use crate::plan::{FolderPlan, Plan};
use crate::resolve::Origin;
use crate::show::Chosen;
use crate::source::git::{GitListing, read_blobs};

/// Prepares the skills of packs.
pub(crate) struct Stager<'a> {
    pub session: &'a Session<'a>,
    pub packs: &'a [Chosen],
}

/// A skill that must be written, and into which of the transaction's slots.
pub(crate) struct Job {
    pub pack: usize,
    pub skill: usize,
    /// By number, over the changes of all sinks.
    pub slots: Vec<usize>,
    bytes: Bytes,
}

/// Where a skill's bytes are.
enum Bytes {
    Local(Scanned),
    Git(GitListing),
    /// In memory, by the number that the skill has in its package.
    Packed(usize),
}

/// A skill that was written.
pub(crate) struct Staged {
    pub digest: Digest,
    /// What its source looked like, for a local one.
    pub source: Option<Stamps>,
    /// What each copy looks like, in the order of the slots.
    pub copies: Vec<Stamps>,
    /// The name that the skill has in its own frontmatter.
    pub name: Option<String>,
}

pub(crate) type StagedSkills = HashMap<(usize, usize), Staged>;

impl Bytes {
    /// About how much room a copy takes.
    fn space(&self, chosen: &Chosen) -> u64 {
        const BLOCK: u64 = 4096;
        let (bytes, entries) = match self {
            Self::Packed(number) => {
                let content = chosen.packed.as_ref().map(|packed| &packed.contents[*number]);
                content.map_or((0, 0), |content| (content.size(), content.len()))
            }
            Self::Local(scanned) => (scanned.listing.bytes, scanned.listing.entries.len()),
            Self::Git(listing) => (listing.bytes, listing.entries.len()),
        };
        bytes + entries as u64 * BLOCK
    }
}

/// The folders that change, over all sinks in one row, each with the number of its sink.
pub(crate) fn slots(plan: &Plan) -> impl Iterator<Item = (usize, &FolderPlan)> {
    let of_sink = |(number, folders): (usize, _)| std::iter::repeat(number).zip(folders);
    let changed = |folder: &&FolderPlan| folder.action != FolderAction::Keep;
    plan.sinks.iter().map(move |sink| sink.folders.iter().filter(changed)).enumerate().flat_map(of_sink)
}

impl Stager<'_> {
    /// Looks at everything that will be copied: what cannot be read is found here.
    pub(crate) fn prepare(&self, plan: &Plan) -> Result<Vec<Job>> {
        let mut by_skill: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
        for (slot, (_, folder)) in slots(plan).enumerate() {
            if let Some(skill) = folder.skill {
                by_skill.entry(skill).or_default().push(slot);
            }
        }
        let mut wanted: Vec<((usize, usize), Vec<usize>)> = by_skill.into_iter().collect();
        wanted.sort_unstable();
        let mut git = self.prepare_imports(&wanted)?;
        let local = |pack: usize, skill: usize| -> Result<Bytes> {
            let chosen = &self.packs[pack];
            if let Origin::Packed(number) = chosen.skills[skill].origin {
                return Ok(Bytes::Packed(number));
            }
            let dir = Dir::open(&chosen.local_dir(&chosen.skills[skill].id))?;
            Ok(Bytes::Local(scan(&dir, &self.session.limits)?))
        };
        let known: Vec<_> = wanted.into_iter().map(|(key, slots)| (key, slots, git.remove(&key))).collect();
        let jobs: Result<Vec<Job>> = known
            .into_par_iter()
            .map(|((pack, skill), slots, listing)| {
                self.session.context.go_on()?;
                let bytes = listing.map_or_else(|| local(pack, skill), |listing| Ok(Bytes::Git(listing)))?;
                Ok(Job { pack, skill, slots, bytes })
            })
            .collect();
        let jobs = jobs?;
        self.check_space(plan, &jobs)?;
        Ok(jobs)
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
            self.packs[pack].checkouts[number].prepare(self.session.context, &self.session.limits, &ids)
        };
        let prepared: Vec<Result<Vec<GitListing>>> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                groups.iter().map(|(key, skills)| scope.spawn(move || prepare(*key, skills))).collect();
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

    /// Refuses what will not fit, before anything is written; sinks on one file system share its space.
    fn check_space(&self, plan: &Plan, jobs: &[Job]) -> Result<()> {
        let sink_of: Vec<usize> = slots(plan).map(|(sink, _)| sink).collect();
        let mut needed: HashMap<u64, u64> = HashMap::new();
        let dirs: Vec<&Dir> = plan.sinks.iter().map(|sink| sink.sink.pinned.nearest()).collect();
        for (job, slot) in jobs.iter().flat_map(|job| job.slots.iter().map(move |slot| (job, *slot))) {
            let device = dirs[sink_of[slot]].identity()?.0;
            *needed.entry(device).or_default() += job.bytes.space(&self.packs[job.pack]);
        }
        for (sink, dir) in plan.sinks.iter().zip(&dirs) {
            let (free, needed) = (dir.free_bytes()?, needed.get(&dir.identity()?.0).copied().unwrap_or(0));
            if needed > free {
                let message = format!("`{}` has too little space", self.session.context.show(&sink.sink.path));
                return Err(Error::new(Kind::Environment, message)
                    .because(format!("about {needed} bytes are needed, and {free} are free"))
                    .hint("nothing was changed: free some space and run it again"));
            }
        }
        Ok(())
    }

    /// Writes every new folder into the stage, local skills in parallel, each repository as one stream.
    pub(crate) fn stage(&self, transaction: &Transaction<'_>, jobs: &[Job]) -> Result<StagedSkills> {
        let done = AtomicUsize::new(0);
        let problems: Mutex<Vec<Report>> = Mutex::default();
        let finish = |job: &Job, staged: Staged| {
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            self.session.context.tell(Event::Staging { done, total: jobs.len() });
            ((job.pack, job.skill), staged)
        };
        let (git, local): (Vec<&Job>, Vec<&Job>) = jobs.iter().partition(|job| matches!(job.bytes, Bytes::Git(_)));
        let mut staged: StagedSkills = local
            .into_par_iter()
            .map(|job| {
                self.session.context.go_on()?;
                let staged = match job.bytes {
                    Bytes::Packed(number) => self.stage_packed(transaction, job, number, &problems)?,
                    _ => self.stage_local(transaction, job, &problems)?,
                };
                Ok(finish(job, staged))
            })
            .collect::<Result<_>>()?;
        for group in git.chunk_by(|a, b| self.checkout_of(a) == self.checkout_of(b)) {
            let results = self.stage_git(transaction, group, &problems)?;
            staged.extend(group.iter().zip(results).map(|(job, staged)| finish(job, staged)));
        }
        self.report_problems(problems.into_inner().unwrap_or_else(PoisonError::into_inner))?;
        // The last moment to stop: what comes next is done to its end.
        if !jobs.is_empty() {
            self.session.context.go_on()?;
        }
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
        let copied = copy_scanned(&dir, scanned, &mut writers, &self.session.limits, &mut |file, bytes| {
            if file.as_str() == SKILL_FILE {
                let shown = self.session.context.show(&path.join(SKILL_FILE));
                name = self.read_skill(&shown, &chosen.skills[job.skill].id, bytes, problems);
            }
        })?;
        let copies: Result<Vec<_>> = writers.into_iter().map(|writer| Ok(writer.finish()?)).collect();
        Ok(Staged { digest: copied.tree.digest(), source: Some(copied.stamps), copies: copies?, name })
    }

    fn stage_packed(
        &self,
        transaction: &Transaction<'_>,
        job: &Job,
        number: usize,
        problems: &Mutex<Vec<Report>>,
    ) -> Result<Staged> {
        let chosen = &self.packs[job.pack];
        let Some(packed) = &chosen.packed else {
            return Err(Error::new(Kind::Request, "not a skill of a package"));
        };
        let (content, id) = (&packed.contents[number], &chosen.skills[job.skill].id);
        let shown = format!("{id}/{SKILL_FILE} of {}", chosen.file.pack.name);
        let name = self.read_skill(&shown, id, content.get(SKILL_FILE).unwrap_or_default(), problems);
        let mut copies = Vec::new();
        for mut writer in self.writers(transaction, job)? {
            content.write(&mut writer)?;
            copies.push(writer.finish()?);
        }
        Ok(Staged { digest: content.digest(), source: None, copies, name })
    }

    fn stage_git(
        &self,
        transaction: &Transaction<'_>,
        group: &[&Job],
        problems: &Mutex<Vec<Report>>,
    ) -> Result<Vec<Staged>> {
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
        read_blobs(self.session.context, checkout, &blobs, |at, bytes| {
            self.session.context.go_on()?;
            let (stage, path, executable) = places[at];
            let stage = &mut open[stage];
            for writer in &mut stage.writers {
                writer.file(path, executable, bytes)?;
            }
            let kind = TreeKind::File { executable, size: bytes.len() as u64, digest: Digest::of(bytes) };
            stage.entries.push(TreeEntry { path: path.clone(), kind });
            if path.as_str() == SKILL_FILE {
                let shown = format!("{}/{SKILL_FILE} of {}", stage.id, checkout.repo);
                stage.name = self.read_skill(&shown, stage.id, bytes, problems);
            }
            Ok(())
        })?;
        open.into_iter().map(GitStage::finish).collect()
    }

    /// Notes what is odd about a `SKILL.md`; an install needs it only to be readable.
    fn read_skill(&self, shown: &str, id: &str, bytes: &[u8], problems: &Mutex<Vec<Report>>) -> Option<String> {
        let folder = id.rsplit('/').next().unwrap_or(id);
        let (skill, mut report) = skill::read(shown, folder, bytes, &self.session.limits);
        if skill.is_some() {
            be_lenient(&mut report);
        }
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
            self.session.context.tell(Event::Findings(report));
        }
        Ok(())
    }
}

/// What is to the letter is `sp check`'s business: whoever installs is warned of what may not work.
fn be_lenient(report: &mut Report) {
    report.findings.retain(|finding| finding.severity > Severity::Note && finding.check.id != AS_05.id);
    for finding in &mut report.findings {
        finding.severity = Severity::Warning;
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
