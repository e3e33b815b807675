//! Staging the skills of one commit: all blobs are read with one `git cat-file`.

use std::sync::Arc;

use sp_formats::skill::SKILL_FILE;
use sp_tree::{Digest, ListingKind, RelPath, Tree, TreeEntry, TreeKind};

use super::{SkillWriters, StageRun, StagedSkill};
use crate::content_audit::AuditFiles;
use crate::content_gate::{ContentOwner, GatedContent};
use crate::error::Result;
use crate::source::git::{GitCheckout, GitListing, read_blobs};

/// The skills of a commit, listed and fetched.
pub(super) struct CheckoutJob {
    pub checkout: Arc<GitCheckout>,
    pub skills: Vec<GitJob>,
}

/// A skill of a commit.
pub(super) struct GitJob {
    pub id: String,
    /// The slots of the transaction to write it into.
    pub slots: Vec<usize>,
    pub listing: GitListing,
}

/// A skill of an import while it is being written.
struct GitStage<'a> {
    id: &'a str,
    folders: SkillWriters,
    entries: Vec<TreeEntry>,
    name: Option<String>,
    /// What was written, until it is audited.
    written: AuditFiles,
    /// The number of files that are not written yet.
    missing: usize,
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
        mut folders: SkillWriters,
    ) -> Result<()> {
        let mut entries = Vec::new();
        let mut missing = 0;
        for entry in &listing.entries {
            let path = &entry.path;
            match &entry.kind {
                ListingKind::Dir => {
                    folders.writers.iter_mut().try_for_each(|writer| writer.create_dir(path))?;
                    entries.push(TreeEntry { path: path.clone(), kind: TreeKind::Dir });
                }
                ListingKind::File { executable, handle, .. } => {
                    let (stage, executable) = (self.stages.len(), *executable);
                    self.targets.push(BlobTarget { stage, path, executable });
                    self.blobs.push(handle.clone());
                    missing += 1;
                }
            }
        }
        let written = AuditFiles::default();
        self.stages.push(GitStage { id, folders, entries, name: None, written, missing });
        Ok(())
    }
}

impl GitStage<'_> {
    fn write_file(&mut self, path: &RelPath, executable: bool, bytes: &[u8]) -> Result<()> {
        for writer in &mut self.folders.writers {
            writer.write_file(path, executable, bytes)?;
        }
        let kind =
            TreeKind::File { executable, size: bytes.len() as u64, digest: Digest::of(bytes) };
        self.entries.push(TreeEntry { path: path.clone(), kind });
        self.written.push(path, executable, bytes);
        self.missing -= 1;
        Ok(())
    }

    fn digest(&self) -> Digest {
        let mut entries = self.entries.clone();
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Tree { entries }.digest()
    }

    fn finish(self) -> Result<StagedSkill> {
        let digest = self.digest();
        Ok(StagedSkill { digest, source: None, copies: self.folders.finish()?, name: self.name })
    }
}

impl StageRun<'_> {
    /// Stages skills of one commit.
    pub(super) fn stage_checkout(&self, job: CheckoutJob) -> Result<Vec<StagedSkill>> {
        let CheckoutJob { checkout, skills } = job;
        let mut batch = GitBatch::default();
        for GitJob { id, slots, listing } in &skills {
            batch.add(id, listing, self.writers(slots.clone())?)?;
        }
        let GitBatch { mut stages, blobs, targets } = batch;
        let source = checkout.repo.to_string();
        // Skills are audited while the next ones are read.
        rayon::scope(|scope| {
            read_blobs(self.session.context, &checkout, &blobs, |number, bytes| {
                self.session.context.check_cancelled()?;
                let BlobTarget { stage, path, executable } = targets[number];
                let stage = &mut stages[stage];
                stage.write_file(path, executable, bytes)?;
                if path.as_str() == SKILL_FILE {
                    let label = format!("{}/{SKILL_FILE} of {source}", stage.id);
                    stage.name = self.read_skill(&label, stage.id, bytes);
                }
                if stage.missing == 0 {
                    let (digest, written) = (stage.digest(), std::mem::take(&mut stage.written));
                    let (gate, id, source) = (self.gate, stage.id, &*source);
                    let owner = ContentOwner::Fetched;
                    let content = GatedContent { id, source, owner };
                    gate.refuse_unlocked(content);
                    scope.spawn(move |_| gate.check_written(content, digest, written));
                }
                Ok(())
            })
        })?;
        let finish = |stage: GitStage<'_>| Ok(self.finish(stage.finish()?));
        stages.into_iter().map(finish).collect()
    }
}
