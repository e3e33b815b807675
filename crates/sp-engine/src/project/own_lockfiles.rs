//! The lockfiles of single formats, which `skillpack.lock` replaces in a project with a manifest.
//!
//! The next change of the project writes their content to `skillpack.lock`, and removes them in the
//! same transaction.

use std::collections::BTreeMap;
use std::path::Path;

use sp_formats::JsonRecord;
use sp_formats::package::lock::LOCKFILE_NAME;
use sp_formats::package::{PackageName, VersionRange};
use sp_formats::project::lock::ProjectLock;
use sp_formats::project::manifest::ProjectManifest;
use sp_formats::project::manifest_edit::ManifestEdit;
use sp_formats::project::rules::LC_06;
use sp_formats::workspace::{LOCK_FILE, SKILLS_DIR, WorkspaceLock};

use super::file_on_disk::FileOnDisk;
use crate::error::{Error, ErrorCode, Result};
use crate::install::plan::FilePlan;
use crate::pkg::parse_own_lock;
use crate::session::Session;

const MAX_LOCK_BYTES: u64 = 64 * 1024 * 1024;

/// The lockfiles that a project still has.
#[derive(Default)]
pub(super) struct OwnLockfiles {
    files: Vec<FileOnDisk>,
    /// The packages that `ctxpkg.lock` requests.
    pub requests: BTreeMap<PackageName, VersionRange>,
}

impl OwnLockfiles {
    /// Reads the files in the directory of a manifest, and adds what `lock` lacks to it.
    pub(super) fn read(session: &Session<'_>, dir: &Path, lock: &mut ProjectLock) -> Result<Self> {
        let mut own = Self::default();
        let file = FileOnDisk::read(session, dir.join(LOCKFILE_NAME), MAX_LOCK_BYTES, &LC_06)?;
        if let Some(text) = &file.text {
            let packages = parse_own_lock(session, dir, text.as_bytes())?;
            for (name, mut locked) in packages.packages {
                locked.from = locked.from.for_others();
                lock.packages.entry(name).or_insert(locked);
            }
            lock.merged = lock.merged.take().or(packages.context);
            own.requests = packages.requests;
            own.files.push(file);
        }
        own.read_workspace(session, dir, lock)?;
        Ok(own)
    }

    /// Reads the lockfile of a workspace in the directory. If `.skills` is a link that points
    /// outside the project, the lockfile belongs to another workspace.
    fn read_workspace(
        &mut self,
        session: &Session<'_>,
        dir: &Path,
        lock: &mut ProjectLock,
    ) -> Result<()> {
        let skills = dir.join(SKILLS_DIR);
        let skills = skills.canonicalize().unwrap_or(skills);
        if !skills.starts_with(dir) {
            return Ok(());
        }
        let file = FileOnDisk::read(session, skills.join(LOCK_FILE), MAX_LOCK_BYTES, &LC_06)?;
        let Some(text) = &file.text else { return Ok(()) };
        let workspace = WorkspaceLock::parse(text.as_bytes()).map_err(|why| {
            let message = format!("`{}` is invalid", file.label(session));
            Error::new(ErrorCode::InvalidProject, message).because(why).hint(
                "restore it from version control, or remove it: without it, `sp` treats all skills \
                 of the workspace as edited",
            )
        })?;
        for (name, skill) in workspace.skills {
            lock.workspace.entry(name).or_insert(skill);
        }
        self.files.push(file);
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the names of the files.
    pub(super) fn names(&self) -> Vec<String> {
        self.files.iter().map(FileOnDisk::name).collect()
    }

    /// Returns the edits that add the requests of the files to a manifest.
    pub(super) fn edits(&self, manifest: &ProjectManifest) -> Vec<ManifestEdit> {
        let is_missing =
            |name: &PackageName| manifest.packages.iter().all(|entry| entry.name != *name);
        let requests = self.requests.iter().filter(|(name, _)| is_missing(name));
        requests
            .map(|(name, range)| ManifestEdit::SetPackage {
                name: name.clone(),
                range: range.clone(),
            })
            .collect()
    }

    /// Plans the removal of the files.
    pub(super) fn removals(&self) -> Result<Vec<FilePlan>> {
        self.files.iter().map(|file| file.plan(None)).collect()
    }
}
