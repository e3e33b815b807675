//! Staging: writing the skills of a plan into the transaction, beside their destinations.
//!
//! Staging has two phases. [`SkillStager::prepare`] lists everything that will be copied and
//! fetches missing blobs, so that unreadable skills and missing disk space are found before
//! anything is written; a dry run stops there. [`SkillStager::stage`] then reads each skill once
//! and writes it into all of its slots, hashing on the way.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use sp_formats::checks::AS_05;
use sp_formats::report::{Report, Severity};
use sp_formats::skill::{self, SKILL_FILE};
use sp_tree::transaction::Transaction;
use sp_tree::{
    Digest, Dir, ListingKind, PathStamps, RelPath, ScannedDir, Tree, TreeEntry, TreeKind,
    TreeWriter, copy_scanned, scan_dir,
};

use super::plan::ChangePlan;
use super::selection::{ResolvedPack, SkillIndex};
use crate::context::Event;
use crate::error::{Error, ErrorCode, Result};
use crate::select::{SelectedSkill, SkillSource};
use crate::session::Session;
use crate::source::git::{GitListing, read_blobs};

/// Stages the skills of packs.
pub(super) struct SkillStager<'a> {
    pub session: &'a Session<'a>,
    pub packs: &'a [ResolvedPack],
}

/// A skill to write, and the slots of the transaction to write it into.
pub(super) struct StageJob {
    pub skill: SkillIndex,
    pub slots: Vec<usize>,
    source: StageSource,
}

/// The content of a skill, listed but not yet read.
enum StageSource {
    Local(ScannedDir),
    Git(GitListing),
    /// In memory: the index of the skill in its package.
    Package(usize),
}

/// A skill that was written.
pub(super) struct StagedSkill {
    pub digest: Digest,
    /// The stamps of the source, if it is local.
    pub source_stamps: Option<PathStamps>,
    /// The stamps of each copy, in the order of the slots.
    pub copy_stamps: Vec<PathStamps>,
    /// The `name` in the skill's frontmatter.
    pub name: Option<String>,
}

pub(super) type StagedSkills = HashMap<SkillIndex, StagedSkill>;

impl StageSource {
    /// Estimates the disk space of one copy.
    fn estimated_size(&self, pack: &ResolvedPack) -> u64 {
        const BLOCK_BYTES: u64 = 4096;
        let (bytes, entries) = match self {
            Self::Package(number) => {
                let content =
                    pack.packaged_skills.as_ref().map(|packaged| &packaged.contents[*number]);
                content.map_or((0, 0), |content| (content.total_bytes(), content.len()))
            }
            Self::Local(scanned) => (scanned.listing.bytes, scanned.listing.entries.len()),
            Self::Git(listing) => (listing.bytes, listing.entries.len()),
        };
        bytes + entries as u64 * BLOCK_BYTES
    }
}

/// A skill of an import while it is being written.
struct GitStage<'a> {
    id: &'a str,
    writers: Vec<TreeWriter>,
    entries: Vec<TreeEntry>,
    name: Option<String>,
}

/// Where the bytes of a blob are written.
struct BlobTarget<'a> {
    /// The index of the [`GitStage`].
    stage: usize,
    path: &'a RelPath,
    executable: bool,
}

/// The skills of one checkout, and the blobs to read for them.
#[derive(Default)]
struct GitBatch<'a> {
    stages: Vec<GitStage<'a>>,
    blobs: Vec<Box<str>>,
    /// Where each of the blobs is written.
    targets: Vec<BlobTarget<'a>>,
}

impl<'a> GitBatch<'a> {
    /// Creates the folders of a skill, and adds its files.
    fn add(
        &mut self,
        id: &'a str,
        listing: &'a GitListing,
        mut writers: Vec<TreeWriter>,
    ) -> Result<()> {
        let mut entries = Vec::new();
        for entry in &listing.entries {
            let path = &entry.path;
            match &entry.kind {
                ListingKind::Dir => {
                    writers.iter_mut().try_for_each(|writer| writer.create_dir(path))?;
                    entries.push(TreeEntry { path: path.clone(), kind: TreeKind::Dir });
                }
                ListingKind::File { executable, handle, .. } => {
                    let (stage, executable) = (self.stages.len(), *executable);
                    self.targets.push(BlobTarget { stage, path, executable });
                    self.blobs.push(handle.clone());
                }
            }
        }
        self.stages.push(GitStage { id, writers, entries, name: None });
        Ok(())
    }
}

impl GitStage<'_> {
    fn write_file(&mut self, path: &RelPath, executable: bool, bytes: &[u8]) -> Result<()> {
        for writer in &mut self.writers {
            writer.write_file(path, executable, bytes)?;
        }
        let kind =
            TreeKind::File { executable, size: bytes.len() as u64, digest: Digest::of(bytes) };
        self.entries.push(TreeEntry { path: path.clone(), kind });
        Ok(())
    }

    fn finish(mut self) -> Result<StagedSkill> {
        self.entries.sort_by(|a, b| a.path.cmp(&b.path));
        let digest = Tree { entries: self.entries }.digest();
        let copies: Result<Vec<_>> =
            self.writers.into_iter().map(|writer| Ok(writer.finish()?)).collect();
        Ok(StagedSkill { digest, source_stamps: None, copy_stamps: copies?, name: self.name })
    }
}

impl SkillStager<'_> {
    /// Lists everything that will be copied, and checks that it can be read and fits on the disk.
    pub(super) fn prepare(&self, plan: &ChangePlan) -> Result<Vec<StageJob>> {
        let slots = slots_by_skill(plan);
        let skills: Vec<SkillIndex> = slots.iter().map(|(skill, _)| *skill).collect();
        let mut listings = self.fetch_imports(&skills)?;
        let inputs: Vec<_> = slots
            .into_iter()
            .map(|(skill, slots)| (skill, slots, listings.remove(&skill)))
            .collect();
        let jobs: Result<Vec<StageJob>> = inputs
            .into_par_iter()
            .map(|(skill, slots, listing)| {
                self.session.context.check_cancelled()?;
                let source = match listing {
                    Some(listing) => StageSource::Git(listing),
                    None => self.local_source(skill)?,
                };
                Ok(StageJob { skill, slots, source })
            })
            .collect();
        let jobs = jobs?;
        self.check_space(plan, &jobs)?;
        Ok(jobs)
    }

    fn pack_and_skill(&self, index: SkillIndex) -> (&ResolvedPack, &SelectedSkill) {
        let pack = &self.packs[index.pack];
        (pack, &pack.skills[index.skill])
    }

    /// Lists a skill of the repository or of a package.
    fn local_source(&self, index: SkillIndex) -> Result<StageSource> {
        let (pack, skill) = self.pack_and_skill(index);
        if let SkillSource::Package(number) = skill.source {
            return Ok(StageSource::Package(number));
        }
        let dir = Dir::open(&pack.local_skill_dir(&skill.id))?;
        Ok(StageSource::Local(scan_dir(&dir, &self.session.limits)?))
    }

    /// Fetches the blobs of the imported skills among `skills`: one batch per checkout, all
    /// checkouts at the same time.
    fn fetch_imports(&self, skills: &[SkillIndex]) -> Result<HashMap<SkillIndex, GitListing>> {
        let mut by_checkout: HashMap<(usize, usize), Vec<SkillIndex>> = HashMap::new();
        for index in skills {
            if let SkillSource::Import(import) = self.pack_and_skill(*index).1.source {
                by_checkout.entry((index.pack, import)).or_default().push(*index);
            }
        }
        let mut batches: Vec<_> = by_checkout.into_iter().collect();
        batches.sort_unstable();
        let fetch = |(pack, import): (usize, usize), skills: &[SkillIndex]| {
            let ids: Vec<String> = skills
                .iter()
                .map(|index| self.packs[pack].skills[index.skill].id.clone())
                .collect();
            self.packs[pack].checkouts[import].fetch_listings(
                self.session.context,
                &self.session.limits,
                &ids,
            )
        };
        let fetched: Vec<Result<Vec<GitListing>>> = std::thread::scope(|scope| {
            let threads: Vec<_> = batches
                .iter()
                .map(|(checkout, skills)| scope.spawn(move || fetch(*checkout, skills)))
                .collect();
            let panicked = || Err(Error::new(ErrorCode::TaskFailed, "a fetch ended unexpectedly"));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| panicked())).collect()
        });
        let mut listings = HashMap::new();
        for ((_, skills), fetched) in batches.into_iter().zip(fetched) {
            listings.extend(skills.into_iter().zip(fetched?));
        }
        Ok(listings)
    }

    /// Refuses a plan that does not fit on the disk. Sinks on one file system share its space.
    fn check_space(&self, plan: &ChangePlan, jobs: &[StageJob]) -> Result<()> {
        let sink_of_slot: Vec<usize> = plan.changed_folders().map(|(sink, _)| sink).collect();
        let mut needed_by_device: HashMap<u64, u64> = HashMap::new();
        let dirs: Vec<&Dir> =
            plan.sinks.iter().map(|sink| sink.sink.pinned.nearest_existing()).collect();
        for job in jobs {
            for slot in &job.slots {
                let device = dirs[sink_of_slot[*slot]].identity()?.0;
                *needed_by_device.entry(device).or_default() +=
                    job.source.estimated_size(&self.packs[job.skill.pack]);
            }
        }
        for (sink, dir) in plan.sinks.iter().zip(&dirs) {
            let free = dir.free_bytes()?;
            let needed = needed_by_device.get(&dir.identity()?.0).copied().unwrap_or(0);
            if needed > free {
                let message = format!(
                    "`{}` has too little space",
                    self.session.context.display_path(&sink.sink.path)
                );
                return Err(Error::new(ErrorCode::DiskFull, message)
                    .because(format!("about {needed} bytes are needed, and {free} are free"))
                    .hint("nothing was changed: free some space and run it again"));
            }
        }
        Ok(())
    }

    /// Writes every new folder into the stage: local skills in parallel, then the imports of each
    /// checkout as one stream.
    pub(super) fn stage(
        &self,
        transaction: &Transaction<'_>,
        jobs: &[StageJob],
    ) -> Result<StagedSkills> {
        let done = AtomicUsize::new(0);
        let problems: Mutex<Vec<Report>> = Mutex::default();
        let finish = |job: &StageJob, staged: StagedSkill| {
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            self.session.context.emit(Event::Staging { done, total: jobs.len() });
            (job.skill, staged)
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
        // The last point at which the operation can be cancelled: the swap runs to its end.
        if !jobs.is_empty() {
            self.session.context.check_cancelled()?;
        }
        Ok(staged)
    }

    fn checkout_key(&self, job: &StageJob) -> (usize, SkillSource) {
        (job.skill.pack, self.pack_and_skill(job.skill).1.source)
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
        let (pack, skill) = self.pack_and_skill(job.skill);
        let path = pack.local_skill_dir(&skill.id);
        let StageSource::Local(scanned) = &job.source else {
            return Err(Error::new(ErrorCode::Unsupported, "not a local skill"));
        };
        let dir = Dir::open(&path)?;
        let mut writers = self.writers(transaction, job)?;
        let mut name = None;
        let copied =
            copy_scanned(&dir, scanned, &mut writers, &self.session.limits, &mut |file, bytes| {
                if file.as_str() == SKILL_FILE {
                    let label = self.session.context.display_path(&path.join(SKILL_FILE));
                    name = self.read_skill(&label, &skill.id, bytes, problems);
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
        let (pack, skill) = self.pack_and_skill(job.skill);
        let Some(packaged) = &pack.packaged_skills else {
            return Err(Error::new(ErrorCode::Unsupported, "not a skill of a package"));
        };
        let (content, id) = (&packaged.contents[number], &skill.id);
        let label = format!("{id}/{SKILL_FILE} of {}", pack.name());
        let name =
            self.read_skill(&label, id, content.get(SKILL_FILE).unwrap_or_default(), problems);
        let mut copies = Vec::new();
        for mut writer in self.writers(transaction, job)? {
            content.write_to(&mut writer)?;
            copies.push(writer.finish()?);
        }
        Ok(StagedSkill { digest: content.digest(), source_stamps: None, copy_stamps: copies, name })
    }

    /// Stages skills of one checkout. All blobs are read with one `git cat-file`.
    fn stage_git(
        &self,
        transaction: &Transaction<'_>,
        group: &[&StageJob],
        problems: &Mutex<Vec<Report>>,
    ) -> Result<Vec<StagedSkill>> {
        let (pack, SkillSource::Import(import)) = self.checkout_key(group[0]) else {
            return Ok(Vec::new());
        };
        let checkout = &self.packs[pack].checkouts[import];
        let mut batch = GitBatch::default();
        for job in group {
            if let StageSource::Git(listing) = &job.source {
                let id = &self.pack_and_skill(job.skill).1.id;
                batch.add(id, listing, self.writers(transaction, job)?)?;
            }
        }
        let GitBatch { mut stages, blobs, targets } = batch;
        read_blobs(self.session.context, checkout, &blobs, |number, bytes| {
            self.session.context.check_cancelled()?;
            let BlobTarget { stage, path, executable } = targets[number];
            let stage = &mut stages[stage];
            stage.write_file(path, executable, bytes)?;
            if path.as_str() == SKILL_FILE {
                let label = format!("{}/{SKILL_FILE} of {}", stage.id, checkout.repo);
                stage.name = self.read_skill(&label, stage.id, bytes, problems);
            }
            Ok(())
        })?;
        stages.into_iter().map(GitStage::finish).collect()
    }

    /// Reads a `SKILL.md`, adds its problems to `problems`, and returns the name in it.
    ///
    /// An install only requires that the file can be read: all findings of a readable one become
    /// warnings.
    fn read_skill(
        &self,
        label: &str,
        id: &str,
        bytes: &[u8],
        problems: &Mutex<Vec<Report>>,
    ) -> Option<String> {
        let folder = id.rsplit('/').next().unwrap_or(id);
        let (skill, mut report) = skill::read(label, folder, bytes, &self.session.limits);
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
        if let Some(unusable) = problems.iter().position(|report| !report.is_usable()) {
            return Err(Error::in_file(
                ErrorCode::InvalidSkill,
                "a skill cannot be read",
                problems.swap_remove(unusable),
            ));
        }
        for report in &problems {
            self.session.context.emit(Event::Findings(report));
        }
        Ok(())
    }
}

/// Returns the slots of each skill that has to be written, sorted by skill.
fn slots_by_skill(plan: &ChangePlan) -> Vec<(SkillIndex, Vec<usize>)> {
    let mut by_skill: HashMap<SkillIndex, Vec<usize>> = HashMap::new();
    for (slot, (_, folder)) in plan.changed_folders().enumerate() {
        if let Some(skill) = folder.skill {
            by_skill.entry(skill).or_default().push(slot);
        }
    }
    let mut slots: Vec<_> = by_skill.into_iter().collect();
    slots.sort_unstable();
    slots
}

/// Turns findings into warnings, and drops those that only matter to authors and to `sp check`.
fn downgrade_to_warnings(report: &mut Report) {
    report
        .findings
        .retain(|finding| finding.severity > Severity::Note && finding.check.id != AS_05.id);
    for finding in &mut report.findings {
        finding.severity = Severity::Warning;
    }
}
