//! Downloaded archives in the cache.
//!
//! A [`DownloadedFile`] lives in `zip/` below the cache directory and is removed when it is
//! dropped. While it is in use its file is locked, so [`remove_stale_downloads`] removes only the
//! files of processes that died. An archive whose URL is not recorded in full cannot be fetched
//! again and moves to `archives/`, where it is found by its digest.
//!
//! This module does not use the network: see `source::web` for that.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use sp_tree::atomic::{self, Durability, TempFile};
use sp_tree::{Digest, Dir, Follow, Name, NewFile, StaticName, read_limited};

use crate::context::Context;
use crate::error::Result;

/// The directory of the cache for indexes and artifacts of hosts.
pub(crate) const ARTIFACTS_DIR: &str = "artifacts";

/// The number of downloads of this process, which makes their file names unique.
static DOWNLOAD_COUNT: AtomicUsize = AtomicUsize::new(0);

/// A downloaded file, removed on drop.
pub(crate) struct DownloadedFile {
    // The lock marks the file as in use, so that another process does not remove it as stale.
    _locked_file: File,
    dir: Dir,
    name: Name,
    path: PathBuf,
    pub digest: Digest,
}

impl DownloadedFile {
    /// Creates an empty file in the cache. The caller writes it and then sets the digest.
    pub(crate) fn create(context: &Context<'_>) -> Result<(Self, NewFile)> {
        let dir = context.open_private_dir(&download_dir(context))?;
        let number = DOWNLOAD_COUNT.fetch_add(1, Ordering::Relaxed);
        let name = Name::new(&format!("{}-{number}.zip", context.run_id))?;
        let path = dir.path_of(&name);
        let file = atomic::create_locked_file(&dir, &name)?;
        let locked_file = file.try_clone_handle()?;
        let digest = Digest::of(b"");
        Ok((Self { _locked_file: locked_file, dir, name, path, digest }, file))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the file to the path that [`archive_path`] returns for its digest.
    pub(crate) fn keep_in_cache(self, context: &Context<'_>) -> Result<()> {
        let archives = context.open_private_dir(&archive_dir(context))?;
        let name = Name::new(&archive_name(&self.digest))?;
        archives.remove_tree(&name)?;
        Ok(self.dir.rename_noreplace(&self.name, &archives, &name)?)
    }
}

impl Drop for DownloadedFile {
    fn drop(&mut self) {
        // Best effort: a file that stays is removed by the next run or by `sp clean --cache`.
        let _ = self.dir.remove_tree(&self.name);
    }
}

/// Returns the path of the archive with this digest. It exists only if it was kept.
pub(crate) fn archive_path(context: &Context<'_>, digest: &Digest) -> PathBuf {
    archive_dir(context).join(archive_name(digest))
}

/// Removes the downloads of processes that died. Best effort, because it is a cache.
pub(crate) fn remove_stale_downloads(context: &Context<'_>) {
    let Ok(dir) = Dir::open(&download_dir(context)) else {
        return;
    };
    for entry in dir.entries().unwrap_or_default() {
        let unused = dir.open_file(&entry, Follow::Never).is_ok_and(|file| file.try_lock().is_ok());
        if unused {
            let _ = dir.remove_tree(&entry);
        }
    }
}

/// Returns an artifact that was kept under a key.
pub(crate) fn read_artifact(context: &Context<'_>, key: &Digest, limit: u64) -> Option<Vec<u8>> {
    read_limited(&artifact_path(context, key), limit).ok()
}

/// Returns the path of the artifact with this key. It exists only if it was kept.
pub(crate) fn artifact_path(context: &Context<'_>, key: &Digest) -> PathBuf {
    artifact_dir(context).join(key.hex())
}

/// Keeps a small file of the web in the cache. The key is its digest, if it has to be verified.
pub(crate) fn keep_artifact(context: &Context<'_>, key: &Digest, bytes: &[u8]) -> Result<()> {
    let dir = context.open_private_dir(&artifact_dir(context))?;
    let name = Name::new(&key.hex())?;
    let _lock = context.lock_silently(&dir)?;
    let temp = TempFile { dir: &dir, name: StaticName("tmp_artifact") };
    Ok(atomic::replace(&dir, &name, temp, bytes, Durability::Cache)?)
}

fn artifact_dir(context: &Context<'_>) -> PathBuf {
    context.cache_dir().join(ARTIFACTS_DIR)
}

fn download_dir(context: &Context<'_>) -> PathBuf {
    context.cache_dir().join("zip")
}

fn archive_dir(context: &Context<'_>) -> PathBuf {
    context.cache_dir().join("archives")
}

fn archive_name(digest: &Digest) -> String {
    format!("{}.zip", digest.hex())
}
