//! Auditing the skills of a dry run, which writes nothing.

use rayon::prelude::*;
use sp_tree::{Dir, ListingKind};

use super::checkout::CheckoutJob;
use super::prepare::{LoadedJob, LocalJob};
use super::{SkillStager, StageJobs};
use crate::content_audit::AuditFiles;
use crate::content_gate::{ContentOwner, GatePosition, GatedContent};
use crate::error::Result;
use crate::source::git::read_blobs;

impl SkillStager<'_> {
    /// Audits everything that would be written.
    pub(in crate::install) fn audit(self, jobs: &StageJobs) -> Result<()> {
        jobs.local.par_iter().try_for_each(|job| self.audit_local(job))?;
        jobs.loaded.par_iter().try_for_each(|job| self.audit_loaded(job))?;
        jobs.checkouts.iter().try_for_each(|job| self.audit_checkout(job))?;
        self.gate.finish(None, GatePosition::Last)
    }

    fn audit_local(&self, job: &LocalJob) -> Result<()> {
        self.session.context.check_cancelled()?;
        let dir = Dir::open(&job.skills_dir.join(&job.id))?;
        let limit = self.session.limits.file_bytes;
        let files = AuditFiles::from_dir(&dir, &job.scanned.listing, limit)?;
        let content = GatedContent { id: &job.id, source: "", owner: ContentOwner::User };
        self.gate.check_files(content, files);
        Ok(())
    }

    fn audit_loaded(&self, job: &LoadedJob) -> Result<()> {
        self.session.context.check_cancelled()?;
        let content = GatedContent { id: &job.id, source: &job.source, owner: job.owner };
        self.gate.check_tree(content, &job.content);
        Ok(())
    }

    fn audit_checkout(&self, job: &CheckoutJob) -> Result<()> {
        for skill in &job.skills {
            self.session.context.check_cancelled()?;
            let mut targets = Vec::new();
            let mut blobs = Vec::new();
            for entry in &skill.listing.entries {
                if let ListingKind::File { executable, handle, .. } = &entry.kind {
                    targets.push((&entry.path, *executable));
                    blobs.push(handle.clone());
                }
            }
            let mut files = AuditFiles::default();
            read_blobs(self.session.context, &job.checkout, &blobs, |number, bytes| {
                let (path, executable) = targets[number];
                files.push(path, executable, bytes);
                Ok(())
            })?;
            let source = job.checkout.repo.to_string();
            let owner = ContentOwner::Fetched;
            let content = GatedContent { id: &skill.id, source: &source, owner };
            self.gate.refuse_unlocked(content);
            self.gate.check_files(content, files);
        }
        Ok(())
    }
}
