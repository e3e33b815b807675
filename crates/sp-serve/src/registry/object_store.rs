//! Objects: immutable bytes on disk, by SHA-256.
//!
//! An object is written to a temporary file, synced, and renamed to its digest, so every object is
//! complete. Reads verify the digest.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Bytes;
use sp_engine::DigestCache;
use sp_tree::{Digest, Dir, FileError, Follow, Name};

pub(crate) const OBJECTS_DIR: &str = "objects";
pub(crate) const INCOMING_DIR: &str = "incoming";

/// Limits of the read cache.
const MAX_CACHE_BYTES: u64 = 64 * 1024 * 1024;
const MAX_CACHED_OBJECT_BYTES: usize = 1024 * 1024;

/// An object store. Clones share its cache.
#[derive(Clone)]
pub(crate) struct ObjectStore {
    root: Arc<Path>,
    temp_counter: Arc<AtomicU64>,
    /// Objects that were read and verified.
    cache: Arc<DigestCache<Bytes>>,
}

impl ObjectStore {
    /// Opens the objects in a data directory, and removes incomplete writes of an earlier run.
    pub(crate) fn open(folder: &Path) -> Result<Self, FileError> {
        Dir::create_all_private(&folder.join(OBJECTS_DIR))?;
        let data = Dir::open(folder)?;
        data.remove_tree(&entry_name(INCOMING_DIR)?)?;
        Dir::create_all_private(&folder.join(INCOMING_DIR))?;
        Ok(Self::open_read_only(folder))
    }

    /// Opens the objects in a data directory that another process may use. Only for reading.
    pub(crate) fn open_read_only(folder: &Path) -> Self {
        let cache = DigestCache::new(MAX_CACHE_BYTES, |bytes: &Bytes| bytes.len() as u64);
        Self { root: folder.into(), temp_counter: Arc::default(), cache: cache.into() }
    }

    fn object_path(&self, digest: &Digest) -> Result<(PathBuf, Name), FileError> {
        let hex = digest.hex();
        Ok((self.root.join(OBJECTS_DIR).join(&hex[..2]), entry_name(&hex[2..])?))
    }

    /// Stores bytes durably.
    pub(crate) fn put(&self, bytes: &[u8]) -> Result<Digest, FileError> {
        let digest = Digest::of(bytes);
        let (folder, target) = self.object_path(&digest)?;
        let dir = Dir::create_all_private(&folder)?;
        if dir.stat(&target, Follow::Never)?.is_some() {
            return Ok(digest);
        }
        let incoming = Dir::create_all_private(&self.root.join(INCOMING_DIR))?;
        let temporary =
            entry_name(&format!("{}", self.temp_counter.fetch_add(1, Ordering::Relaxed)))?;
        let written = || -> Result<(), FileError> {
            let mut file = incoming.create_file(&temporary, false)?;
            file.write(bytes)?;
            file.sync()?;
            match incoming.rename_noreplace(&temporary, &dir, &target) {
                // Another request stored the same bytes.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => incoming.remove_file(&temporary),
                other => other,
            }?;
            dir.sync()
        };
        if let Err(error) = written() {
            let _ = incoming.remove_tree(&temporary);
            return Err(error);
        }
        Ok(digest)
    }

    /// Returns an object from the cache, without reading the disk.
    pub(crate) fn get_cached(&self, digest: &Digest) -> Option<Bytes> {
        self.cache.get(digest)
    }

    /// Reads an object and caches it.
    pub(crate) fn get_and_cache(&self, digest: &Digest) -> Result<Option<Bytes>, FileError> {
        let bytes = self.get(digest)?.map(Bytes::from);
        if let Some(bytes) = bytes.as_ref().filter(|bytes| bytes.len() <= MAX_CACHED_OBJECT_BYTES) {
            self.cache.insert(*digest, bytes.clone());
        }
        Ok(bytes)
    }

    /// Reads an object; `None` if it does not exist. Fails if its digest is wrong.
    pub(crate) fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, FileError> {
        let (folder, target) = self.object_path(digest)?;
        let mut file =
            match Dir::open(&folder).and_then(|dir| dir.open_file(&target, Follow::Never)) {
                Ok(file) => file,
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
                Err(e) => return Err(e),
            };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|e| FileError::new("read", &folder, e))?;
        if Digest::of(&bytes) != *digest {
            return Err(FileError::new(
                "verify",
                &folder,
                std::io::Error::new(ErrorKind::InvalidData, "the digest does not match"),
            ));
        }
        Ok(Some(bytes))
    }
}

fn entry_name(text: &str) -> Result<Name, FileError> {
    Name::new(text).map_err(|e| FileError::new("name", text, std::io::Error::other(e)))
}
