//! Listing everything that will be staged, before anything is written.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use sp_formats::text::ByteSize;
use sp_tree::{Dir, Listing, LoadedTree, ScannedDir, scan_dir};

use super::SkillStager;
use super::checkout::{CheckoutJob, GitJob};
use crate::content_gate::ContentOwner;
use crate::error::{Error, ErrorCode, Result};
use crate::install::plan::ChangePlan;
use crate::install::skill_set::{SkillContainer, SkillSource};
use crate::source::git::GitCheckout;

/// The skills to write, by kind of source.
pub(in crate::install) struct StageJobs {
    pub(super) local: Vec<LocalJob>,
    pub(super) loaded: Vec<LoadedJob>,
    pub(super) checkouts: Vec<CheckoutJob>,
}

/// A skill of a repository.
pub(super) struct LocalJob {
    pub skills_dir: Arc<Path>,
    pub id: String,
    /// The slots of the transaction to write it into.
    pub slots: Vec<usize>,
    pub scanned: ScannedDir,
}

/// A skill in memory.
pub(super) struct LoadedJob {
    /// Where it comes from, for messages.
    pub source: String,
    pub owner: ContentOwner,
    pub id: String,
    pub slots: Vec<usize>,
    pub content: Arc<LoadedTree>,
}

/// A source, and the slots to write it into.
struct WrittenSource<'p> {
    source: &'p SkillSource,
    slots: Vec<usize>,
}

/// The sources in one commit.
struct CheckoutSources<'p> {
    checkout: &'p Arc<GitCheckout>,
    skills: Vec<(&'p str, &'p [usize])>,
}

/// What a job writes into each of its slots.
struct JobSize<'j> {
    slots: &'j [usize],
    bytes: u64,
    entries: usize,
}

impl StageJobs {
    /// The number of skills.
    pub(in crate::install) fn len(&self) -> usize {
        let imported: usize = self.checkouts.iter().map(|job| job.skills.len()).sum();
        self.local.len() + self.loaded.len() + imported
    }

    fn sizes(&self) -> impl Iterator<Item = JobSize<'_>> {
        let local = self.local.iter().map(|job| JobSize::of(&job.slots, &job.scanned.listing));
        let loaded = self.loaded.iter().map(|job| JobSize {
            slots: &job.slots,
            bytes: job.content.total_bytes(),
            entries: job.content.len(),
        });
        let imported = self.checkouts.iter().flat_map(|job| &job.skills);
        let imported = imported.map(|job| JobSize::of(&job.slots, &job.listing));
        local.chain(loaded).chain(imported)
    }
}

impl<'j> JobSize<'j> {
    fn of<H>(slots: &'j [usize], listing: &Listing<H>) -> Self {
        Self { slots, bytes: listing.bytes, entries: listing.entries.len() }
    }

    /// Estimates the disk space of one copy.
    fn disk_space(&self) -> u64 {
        const BLOCK_BYTES: u64 = 4096;
        self.bytes + self.entries as u64 * BLOCK_BYTES
    }
}

impl SkillStager<'_> {
    /// Lists everything that will be copied, and checks that it can be read and fits on the disk.
    pub(in crate::install) fn prepare(&self, plan: &ChangePlan) -> Result<StageJobs> {
        let written = written_sources(plan);
        let jobs = StageJobs {
            checkouts: self.checkout_jobs(&written)?,
            local: self.local_jobs(&written)?,
            loaded: written
                .iter()
                .filter_map(|it| loaded_job(it).transpose())
                .collect::<Result<_>>()?,
        };
        self.check_space(plan, &jobs)?;
        Ok(jobs)
    }

    /// Lists the skills of repositories.
    fn local_jobs(&self, written: &[WrittenSource<'_>]) -> Result<Vec<LocalJob>> {
        let job = |WrittenSource { source, slots }: &WrittenSource<'_>| {
            let SkillSource::Local { skills_dir, id, .. } = source else { return Ok(None) };
            self.session.context.check_cancelled()?;
            let dir = Dir::open(&skills_dir.join(id))?;
            let scanned = scan_dir(&dir, &self.session.limits)?;
            let (skills_dir, id, slots) = (Arc::clone(skills_dir), id.clone(), slots.clone());
            Ok(Some(LocalJob { skills_dir, id, slots, scanned }))
        };
        written.par_iter().filter_map(|written| job(written).transpose()).collect()
    }

    /// Fetches the blobs of imported skills: one batch for each checkout, all checkouts at the same
    /// time.
    fn checkout_jobs(&self, written: &[WrittenSource<'_>]) -> Result<Vec<CheckoutJob>> {
        let checkouts = sources_by_checkout(written);
        std::thread::scope(|scope| {
            let threads: Vec<_> = checkouts
                .iter()
                .map(|sources| scope.spawn(move || self.checkout_job(sources)))
                .collect();
            let panicked = || Err(Error::new(ErrorCode::TaskFailed, "a fetch ended unexpectedly"));
            let results: Vec<Result<CheckoutJob>> = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| panicked()))
                .collect();
            results.into_iter().collect()
        })
    }

    fn checkout_job(&self, sources: &CheckoutSources<'_>) -> Result<CheckoutJob> {
        let CheckoutSources { checkout, skills } = sources;
        let ids: Vec<String> = skills.iter().map(|(id, _)| (*id).to_owned()).collect();
        let listings = checkout.fetch_listings(self.session.context, &self.session.limits, &ids)?;
        let jobs = ids.into_iter().zip(skills).zip(listings);
        let skills =
            jobs.map(|((id, (_, slots)), listing)| GitJob { id, slots: slots.to_vec(), listing });
        Ok(CheckoutJob { checkout: Arc::clone(checkout), skills: skills.collect() })
    }

    /// Refuses a plan that does not fit on the disk. Sinks on one file system share its space.
    fn check_space(&self, plan: &ChangePlan, jobs: &StageJobs) -> Result<()> {
        let sink_of_slot: Vec<usize> = plan.changed_folders().map(|(sink, _)| sink).collect();
        let mut needed_by_device: HashMap<u64, u64> = HashMap::new();
        let dirs: Vec<&Dir> =
            plan.sinks.iter().map(|sink| sink.sink.pinned.nearest_existing()).collect();
        for size in jobs.sizes() {
            for slot in size.slots {
                let device = dirs[sink_of_slot[*slot]].identity()?.0;
                *needed_by_device.entry(device).or_default() += size.disk_space();
            }
        }
        for (sink, dir) in plan.sinks.iter().zip(&dirs) {
            let free = dir.free_bytes()?;
            let needed = needed_by_device.get(&dir.identity()?.0).copied().unwrap_or(0);
            if needed > free {
                let message = format!(
                    "not enough space in `{}`",
                    self.session.context.display_path(&sink.sink.path)
                );
                return Err(Error::new(ErrorCode::DiskFull, message)
                    .because(format!(
                        "about {} are required, but only {} are available",
                        ByteSize(needed),
                        ByteSize(free)
                    ))
                    .hint(
                        "nothing was changed: free some disk space, then run the command again",
                    ));
            }
        }
        Ok(())
    }
}

/// Returns the sources that have to be written, in the order of their first slots.
fn written_sources(plan: &ChangePlan) -> Vec<WrittenSource<'_>> {
    let mut written: Vec<WrittenSource<'_>> = Vec::new();
    let mut positions: HashMap<(SkillContainer<'_>, &str), usize> = HashMap::new();
    for (slot, (_, folder)) in plan.changed_folders().enumerate() {
        let Some(source) = &folder.source else { continue };
        let position = *positions.entry((source.container(), source.id())).or_insert_with(|| {
            written.push(WrittenSource { source, slots: Vec::new() });
            written.len() - 1
        });
        written[position].slots.push(slot);
    }
    written
}

fn loaded_job(written: &WrittenSource<'_>) -> Result<Option<LoadedJob>> {
    let (source, owner, content) = match written.source {
        SkillSource::Local { .. } | SkillSource::Git { .. } => return Ok(None),
        SkillSource::Package { package, content, .. } => {
            (package.to_string(), ContentOwner::Fetched, content)
        }
        SkillSource::Locked(locked) => match &locked.content {
            Some(content) => (locked.source.to_string(), locked.owner, content),
            None => {
                let message = format!("the content of `{}` was not loaded", locked.id);
                return Err(Error::new(ErrorCode::Internal, message));
            }
        },
    };
    let (id, slots) = (written.source.id().to_owned(), written.slots.clone());
    Ok(Some(LoadedJob { source, owner, id, slots, content: Arc::clone(content) }))
}

fn sources_by_checkout<'p>(written: &'p [WrittenSource<'p>]) -> Vec<CheckoutSources<'p>> {
    let mut checkouts: Vec<CheckoutSources<'p>> = Vec::new();
    let mut positions: HashMap<SkillContainer<'_>, usize> = HashMap::new();
    for WrittenSource { source, slots } in written {
        let SkillSource::Git { checkout, id, .. } = source else { continue };
        let position = *positions.entry(source.container()).or_insert_with(|| {
            checkouts.push(CheckoutSources { checkout, skills: Vec::new() });
            checkouts.len() - 1
        });
        checkouts[position].skills.push((id, slots));
    }
    checkouts
}
