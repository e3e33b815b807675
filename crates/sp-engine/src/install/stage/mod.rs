//! Staging: writing the skills of a plan into the transaction, beside their destinations.
//!
//! Staging has two phases. [`SkillStager::prepare`] lists everything that will be copied and
//! fetches missing blobs, so that unreadable skills and missing disk space are found before
//! anything is written; a dry run stops there. [`SkillStager::stage`] then reads each skill once
//! and writes it into all of its slots, hashing on the way. The bytes that are written are audited:
//! [`ContentGate`] decides whether they may be installed.

mod audit;
mod checkout;
mod prepare;

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use sp_formats::report::{Report, Severity};
use sp_formats::skill::rules::AS_05;
use sp_formats::skill::{self, SKILL_FILE};
use sp_tree::transaction::Transaction;
use sp_tree::{
    Digest, Dir, FileStamp, Listing, ListingKind, PathStamps, RelPath, TreeWriter, copy_scanned,
};

use super::plan::{ChangePlan, PlanAcceptance};
use crate::content_audit::AuditFiles;
use crate::content_gate::{ContentGate, ContentOwner, GatePosition, GatedContent};
use crate::context::Event;
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::session::Session;
pub(super) use prepare::StageJobs;
use prepare::{LoadedJob, LocalJob};

/// Stages the skills of a plan.
pub(super) struct SkillStager<'a> {
    session: &'a Session<'a>,
    gate: ContentGate<'a>,
}

/// A skill that was written.
pub(super) struct StagedSkill {
    pub digest: Digest,
    /// What the digest index can remember of the source, if it is local.
    pub source: Option<StagedSource>,
    pub copies: Vec<StagedCopy>,
    /// The `name` in the skill's frontmatter.
    pub name: Option<String>,
}

/// A local skill as it was when it was copied.
pub(super) struct StagedSource {
    pub skills_dir: Arc<Path>,
    pub id: String,
    pub stamps: PathStamps,
}

/// One of the new folders of a skill.
pub(super) struct StagedCopy {
    /// The slot of the folder in the transaction.
    pub slot: usize,
    pub stamps: PathStamps,
}

/// One run of [`SkillStager::stage`].
struct StageRun<'a> {
    session: &'a Session<'a>,
    gate: &'a ContentGate<'a>,
    transaction: &'a Transaction<'a>,
    total: usize,
    done: AtomicUsize,
    /// The problems of the skills that were read.
    problems: Mutex<Vec<Report>>,
}

/// The new folders of one skill, while they are written.
struct SkillWriters {
    slots: Vec<usize>,
    writers: Vec<TreeWriter>,
}

impl StagedSkill {
    /// Returns the digest of each new folder, by slot.
    pub(super) fn digests(&self) -> impl Iterator<Item = (usize, Digest)> {
        self.copies.iter().map(|copy| (copy.slot, self.digest))
    }
}

impl SkillWriters {
    fn finish(self) -> Result<Vec<StagedCopy>> {
        let copy =
            |(slot, writer): (usize, TreeWriter)| Ok(StagedCopy { slot, stamps: writer.finish()? });
        self.slots.into_iter().zip(self.writers).map(copy).collect()
    }
}

impl<'a> SkillStager<'a> {
    pub(super) fn new(session: &'a Session<'a>, plan: &ChangePlan) -> Result<Self> {
        let PlanAcceptance { root, locked } = &plan.acceptance;
        Ok(Self { session, gate: ContentGate::new(session, root.as_deref(), locked)? })
    }

    /// Writes every new folder into the stage: local and loaded skills in parallel, then the
    /// skills of each checkout as one stream.
    pub(super) fn stage(
        self,
        transaction: &Transaction<'_>,
        jobs: StageJobs,
        home: &LockedHome<'_>,
    ) -> Result<Vec<StagedSkill>> {
        let run = StageRun {
            session: self.session,
            gate: &self.gate,
            transaction,
            total: jobs.len(),
            done: AtomicUsize::new(0),
            problems: Mutex::default(),
        };
        let local = jobs.local.into_par_iter().map(|job| run.stage_local(job));
        let loaded = jobs.loaded.into_par_iter().map(|job| run.stage_loaded(job));
        let mut staged: Vec<StagedSkill> = local.chain(loaded).collect::<Result<_>>()?;
        for job in jobs.checkouts {
            staged.extend(run.stage_checkout(job)?);
        }
        run.report_problems()?;
        self.gate.finish(Some(home), GatePosition::Last)?;
        // The last point at which the operation can be cancelled: the swap runs to its end.
        if !staged.is_empty() {
            self.session.context.check_cancelled()?;
        }
        Ok(staged)
    }
}

impl StageRun<'_> {
    fn stage_local(&self, job: LocalJob) -> Result<StagedSkill> {
        self.session.context.check_cancelled()?;
        let LocalJob { skills_dir, id, slots, scanned } = job;
        let path = skills_dir.join(&id);
        let dir = Dir::open(&path)?;
        let mut folders = self.writers(slots)?;
        let mut name = None;
        let mut audited = AuditFiles::default();
        let executables = executable_files(&scanned.listing);
        let mut visit = |file: &RelPath, bytes: &[u8]| {
            audited.push(file, executables.contains(file), bytes);
            if file.as_str() == SKILL_FILE {
                let label = self.session.context.display_path(&path.join(SKILL_FILE));
                name = self.read_skill(&label, &id, bytes);
            }
        };
        let limits = &self.session.limits;
        let copied = copy_scanned(&dir, &scanned, &mut folders.writers, limits, &mut visit)?;
        let digest = copied.tree.digest();
        let content = GatedContent { id: &id, source: "", owner: ContentOwner::User };
        self.gate.check_written(content, digest, audited);
        Ok(self.finish(StagedSkill {
            digest,
            copies: folders.finish()?,
            source: Some(StagedSource { skills_dir, id, stamps: copied.stamps }),
            name,
        }))
    }

    fn stage_loaded(&self, job: LoadedJob) -> Result<StagedSkill> {
        self.session.context.check_cancelled()?;
        let LoadedJob { source, owner, id, slots, content } = job;
        self.gate.check_tree(GatedContent { id: &id, source: &source, owner }, &content);
        let label = format!("{id}/{SKILL_FILE} of {source}");
        let name = self.read_skill(&label, &id, content.get(SKILL_FILE).unwrap_or_default());
        let mut folders = self.writers(slots)?;
        for writer in &mut folders.writers {
            content.write_to(writer)?;
        }
        let copies = folders.finish()?;
        Ok(self.finish(StagedSkill { digest: content.digest(), source: None, copies, name }))
    }

    fn writers(&self, slots: Vec<usize>) -> Result<SkillWriters> {
        let writer = |&slot: &usize| Ok(TreeWriter::new(self.transaction.stage_dir(slot)?));
        let writers = slots.iter().map(writer).collect::<Result<_>>()?;
        Ok(SkillWriters { slots, writers })
    }

    /// Reports the progress.
    fn finish(&self, staged: StagedSkill) -> StagedSkill {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.session.context.emit(Event::Staging { done, total: self.total });
        staged
    }

    /// Reads a `SKILL.md`, adds its problems to `problems`, and returns the name in it.
    ///
    /// An install only requires that the file can be read: all findings of a readable one become
    /// warnings.
    fn read_skill(&self, label: &str, id: &str, bytes: &[u8]) -> Option<String> {
        let folder = id.rsplit('/').next().unwrap_or(id);
        let (skill, mut report) = skill::read(label, folder, bytes, &self.session.limits);
        if skill.is_some() {
            downgrade_to_warnings(&mut report);
        }
        if !report.findings.is_empty() {
            self.problems.lock().unwrap_or_else(PoisonError::into_inner).push(report);
        }
        skill.and_then(|skill| skill.name)
    }

    fn report_problems(self) -> Result<()> {
        let mut problems = self.problems.into_inner().unwrap_or_else(PoisonError::into_inner);
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

/// The paths of the executable files.
fn executable_files(listing: &Listing<FileStamp>) -> HashSet<RelPath> {
    let is_executable =
        |kind: &ListingKind<FileStamp>| matches!(kind, ListingKind::File { executable: true, .. });
    let entries = listing.entries.iter().filter(|entry| is_executable(&entry.kind));
    entries.map(|entry| entry.path.clone()).collect()
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
