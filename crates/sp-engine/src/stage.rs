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
    Digest, Dir, ListingKind, PathStamps, RelPath, ScannedDir, Tree, TreeEntry, TreeKind,
    TreeWriter, copy_scanned, scan_dir,
};

use crate::config::Session;
use crate::context::Event;
use crate::error::{Error, FailureKind, Result};
use crate::plan::{ChangePlan, FolderPlan};
use crate::resolve::SkillSource;
use crate::show::ResolvedPack;
use crate::source::git::{GitListing, read_blobs};

/// Prepares the skills of packs.
pub(crate) struct SkillStager<'a> {
    pub session: &'a Session<'a>,
    pub packs: &'a [ResolvedPack],
}

/// A skill that must be written, and into which of the transaction's slots.
pub(crate) struct StageJob {
    pub pack: usize,
    pub skill: usize,
    /// By number, over the changes of all sinks.
    pub slots: Vec<usize>,
    source: StageSource,
}

/// Where a skill's bytes are.
enum StageSource {
    Local(ScannedDir),
    Git(GitListing),
    /// In memory, by the number that the skill has in its package.
    Package(usize),
}

/// A skill that was written.
pub(crate) struct StagedSkill {
    pub digest: Digest,
    /// What its source looked like, for a local one.
    pub source_stamps: Option<PathStamps>,
    /// What each copy looks like, in the order of the slots.
    pub copy_stamps: Vec<PathStamps>,
    /// The name that the skill has in its own frontmatter.
    pub name: Option<String>,
}

pub(crate) type StagedSkills = HashMap<(usize, usize), StagedSkill>;

impl StageSource {
    /// About how much room a copy takes.
    fn estimated_size(&self, chosen: &ResolvedPack) -> u64 {
        const BLOCK: u64 = 4096;
        let (bytes, entries) = match self {
            Self::Package(number) => {
                let content =
                    chosen.packaged_skills.as_ref().map(|packed| &packed.contents[*number]);
                content.map_or((0, 0), |content| (content.total_bytes(), content.len()))
            }
            Self::Local(scanned) => (scanned.listing.bytes, scanned.listing.entries.len()),
            Self::Git(listing) => (listing.bytes, listing.entries.len()),
        };
        bytes + entries as u64 * BLOCK
    }
}

/// The folders that change, over all sinks in one row, each with the number of its sink.
pub(crate) fn changed_folders(plan: &ChangePlan) -> impl Iterator<Item = (usize, &FolderPlan)> {
    let of_sink = |(number, folders): (usize, _)| std::iter::repeat(number).zip(folders);
    let changed = |folder: &&FolderPlan| folder.action != FolderAction::Keep;
    plan.sinks
        .iter()
        .map(move |sink| sink.folders.iter().filter(changed))
        .enumerate()
        .flat_map(of_sink)
}

impl SkillStager<'_> {
    /// Looks at everything that will be copied: what cannot be read is found here.
    pub(crate) fn prepare(&self, plan: &ChangePlan) -> Result<Vec<StageJob>> {
        let mut by_skill: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
        for (slot, (_, folder)) in changed_folders(plan).enumerate() {
            if let Some(skill) = folder.skill {
                by_skill.entry(skill).or_default().push(slot);
            }
        }
        let mut wanted: Vec<((usize, usize), Vec<usize>)> = by_skill.into_iter().collect();
        wanted.sort_unstable();
        let mut git = self.prepare_imports(&wanted)?;
        let local = |pack: usize, skill: usize| -> Result<StageSource> {
            let chosen = &self.packs[pack];
            if let SkillSource::Package(number) = chosen.skills[skill].source {
                return Ok(StageSource::Package(number));
            }
            let dir = Dir::open(&chosen.local_skill_dir(&chosen.skills[skill].id))?;
            Ok(StageSource::Local(scan_dir(&dir, &self.session.limits)?))
        };
        let known: Vec<_> =
            wanted.into_iter().map(|(key, slots)| (key, slots, git.remove(&key))).collect();
        let jobs: Result<Vec<StageJob>> = known
            .into_par_iter()
            .map(|((pack, skill), slots, listing)| {
                self.session.context.check_cancelled()?;
                let bytes = listing
                    .map_or_else(|| local(pack, skill), |listing| Ok(StageSource::Git(listing)))?;
                Ok(StageJob { pack, skill, slots, source: bytes })
            })
            .collect();
        let jobs = jobs?;
        self.check_space(plan, &jobs)?;
        Ok(jobs)
    }

    /// Fetches the blobs of the imported skills that will be copied, a batch a checkout.
    fn prepare_imports(
        &self,
        wanted: &[((usize, usize), Vec<usize>)],
    ) -> Result<HashMap<(usize, usize), GitListing>> {
        let mut by_checkout: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
        for ((pack, skill), _) in wanted {
            if let SkillSource::Import(number) = self.packs[*pack].skills[*skill].source {
                by_checkout.entry((*pack, number)).or_default().push(*skill);
            }
        }
        let mut groups: Vec<_> = by_checkout.into_iter().collect();
        groups.sort_unstable();
        let prepare =
            |(pack, number): (usize, usize), skills: &[usize]| -> Result<Vec<GitListing>> {
                let ids: Vec<String> =
                    skills.iter().map(|&at| self.packs[pack].skills[at].id.clone()).collect();
                self.packs[pack].checkouts[number].fetch_listings(
                    self.session.context,
                    &self.session.limits,
                    &ids,
                )
            };
        let prepared: Vec<Result<Vec<GitListing>>> = std::thread::scope(|scope| {
            let threads: Vec<_> = groups
                .iter()
                .map(|(key, skills)| scope.spawn(move || prepare(*key, skills)))
                .collect();
            let panicked =
                || Err(Error::new(FailureKind::Environment, "a fetch ended unexpectedly"));
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
    fn check_space(&self, plan: &ChangePlan, jobs: &[StageJob]) -> Result<()> {
        let sink_of: Vec<usize> = changed_folders(plan).map(|(sink, _)| sink).collect();
        let mut needed: HashMap<u64, u64> = HashMap::new();
        let dirs: Vec<&Dir> =
            plan.sinks.iter().map(|sink| sink.sink.pinned.nearest_existing()).collect();
        for (job, slot) in
            jobs.iter().flat_map(|job| job.slots.iter().map(move |slot| (job, *slot)))
        {
            let device = dirs[sink_of[slot]].identity()?.0;
            *needed.entry(device).or_default() += job.source.estimated_size(&self.packs[job.pack]);
        }
        for (sink, dir) in plan.sinks.iter().zip(&dirs) {
            let (free, needed) =
                (dir.free_bytes()?, needed.get(&dir.identity()?.0).copied().unwrap_or(0));
            if needed > free {
                let message = format!(
                    "`{}` has too little space",
                    self.session.context.display_path(&sink.sink.path)
                );
                return Err(Error::new(FailureKind::Environment, message)
                    .because(format!("about {needed} bytes are needed, and {free} are free"))
                    .hint("nothing was changed: free some space and run it again"));
            }
        }
        Ok(())
    }

    /// Writes every new folder into the stage, local skills in parallel, each repository as one stream.
    pub(crate) fn stage(
        &self,
        transaction: &Transaction<'_>,
        jobs: &[StageJob],
    ) -> Result<StagedSkills> {
        let done = AtomicUsize::new(0);
        let problems: Mutex<Vec<Report>> = Mutex::default();
        let finish = |job: &StageJob, staged: StagedSkill| {
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            self.session.context.emit(Event::Staging { done, total: jobs.len() });
            ((job.pack, job.skill), staged)
        };
        let (git, local): (Vec<&StageJob>, Vec<&StageJob>) =
            jobs.iter().partition(|job| matches!(job.source, StageSource::Git(_)));
        let mut staged: StagedSkills = local
            .into_par_iter()
            .map(|job| {
                self.session.context.check_cancelled()?;
                let staged = match job.source {
                    StageSource::Package(number) => {
                        self.stage_packaged(transaction, job, number, &problems)?
                    }
                    _ => self.stage_local(transaction, job, &problems)?,
                };
                Ok(finish(job, staged))
            })
            .collect::<Result<_>>()?;
        for group in git.chunk_by(|a, b| self.checkout_key(a) == self.checkout_key(b)) {
            let results = self.stage_git(transaction, group, &problems)?;
            staged.extend(group.iter().zip(results).map(|(job, staged)| finish(job, staged)));
        }
        self.report_problems(problems.into_inner().unwrap_or_else(PoisonError::into_inner))?;
        // The last moment to stop: what comes next is done to its end.
        if !jobs.is_empty() {
            self.session.context.check_cancelled()?;
        }
        Ok(staged)
    }

    fn checkout_key(&self, job: &StageJob) -> (usize, SkillSource) {
        (job.pack, self.packs[job.pack].skills[job.skill].source)
    }

    fn writers(&self, transaction: &Transaction<'_>, job: &StageJob) -> Result<Vec<TreeWriter>> {
        job.slots.iter().map(|&slot| Ok(TreeWriter::new(transaction.stage_dir(slot)?))).collect()
    }

    fn stage_local(
        &self,
        transaction: &Transaction<'_>,
        job: &StageJob,
        problems: &Mutex<Vec<Report>>,
    ) -> Result<StagedSkill> {
        let chosen = &self.packs[job.pack];
        let path = chosen.local_skill_dir(&chosen.skills[job.skill].id);
        let StageSource::Local(scanned) = &job.source else {
            return Err(Error::new(FailureKind::Request, "not a local skill"));
        };
        let dir = Dir::open(&path)?;
        let mut writers = self.writers(transaction, job)?;
        let mut name = None;
        let copied =
            copy_scanned(&dir, scanned, &mut writers, &self.session.limits, &mut |file, bytes| {
                if file.as_str() == SKILL_FILE {
                    let shown = self.session.context.display_path(&path.join(SKILL_FILE));
                    name = self.read_skill(&shown, &chosen.skills[job.skill].id, bytes, problems);
                }
            })?;
        let copies: Result<Vec<_>> =
            writers.into_iter().map(|writer| Ok(writer.finish()?)).collect();
        Ok(StagedSkill {
            digest: copied.tree.digest(),
            source_stamps: Some(copied.stamps),
            copy_stamps: copies?,
            name,
        })
    }

    fn stage_packaged(
        &self,
        transaction: &Transaction<'_>,
        job: &StageJob,
        number: usize,
        problems: &Mutex<Vec<Report>>,
    ) -> Result<StagedSkill> {
        let chosen = &self.packs[job.pack];
        let Some(packed) = &chosen.packaged_skills else {
            return Err(Error::new(FailureKind::Request, "not a skill of a package"));
        };
        let (content, id) = (&packed.contents[number], &chosen.skills[job.skill].id);
        let shown = format!("{id}/{SKILL_FILE} of {}", chosen.file.pack.name);
        let name =
            self.read_skill(&shown, id, content.get(SKILL_FILE).unwrap_or_default(), problems);
        let mut copies = Vec::new();
        for mut writer in self.writers(transaction, job)? {
            content.write_to(&mut writer)?;
            copies.push(writer.finish()?);
        }
        Ok(StagedSkill { digest: content.digest(), source_stamps: None, copy_stamps: copies, name })
    }

    fn stage_git(
        &self,
        transaction: &Transaction<'_>,
        group: &[&StageJob],
        problems: &Mutex<Vec<Report>>,
    ) -> Result<Vec<StagedSkill>> {
        let SkillSource::Import(number) = self.checkout_key(group[0]).1 else {
            return Ok(Vec::new());
        };
        let checkout = &self.packs[group[0].pack].checkouts[number];
        let mut open: Vec<GitStage<'_>> = Vec::new();
        let mut blobs: Vec<Box<str>> = Vec::new();
        let mut places: Vec<(usize, &RelPath, bool)> = Vec::new();
        for job in group {
            let StageSource::Git(listing) = &job.source else { continue };
            let mut writers = self.writers(transaction, job)?;
            let mut entries = Vec::new();
            for entry in &listing.entries {
                match &entry.kind {
                    ListingKind::Dir => {
                        writers.iter_mut().try_for_each(|writer| writer.create_dir(&entry.path))?;
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
            self.session.context.check_cancelled()?;
            let (stage, path, executable) = places[at];
            let stage = &mut open[stage];
            for writer in &mut stage.writers {
                writer.write_file(path, executable, bytes)?;
            }
            let kind =
                TreeKind::File { executable, size: bytes.len() as u64, digest: Digest::of(bytes) };
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
    fn read_skill(
        &self,
        shown: &str,
        id: &str,
        bytes: &[u8],
        problems: &Mutex<Vec<Report>>,
    ) -> Option<String> {
        let folder = id.rsplit('/').next().unwrap_or(id);
        let (skill, mut report) = skill::read(shown, folder, bytes, &self.session.limits);
        if skill.is_some() {
            downgrade_to_warnings(&mut report);
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
            self.session.context.emit(Event::Findings(report));
        }
        Ok(())
    }
}

/// What is to the letter is `sp check`'s business: whoever installs is warned of what may not work.
fn downgrade_to_warnings(report: &mut Report) {
    report
        .findings
        .retain(|finding| finding.severity > Severity::Note && finding.check.id != AS_05.id);
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
    fn finish(mut self) -> Result<StagedSkill> {
        self.entries.sort_by(|a, b| a.path.cmp(&b.path));
        let digest = Tree { entries: self.entries }.digest();
        let copies: Result<Vec<_>> =
            self.writers.into_iter().map(|writer| Ok(writer.finish()?)).collect();
        Ok(StagedSkill { digest, source_stamps: None, copy_stamps: copies?, name: self.name })
    }
}
