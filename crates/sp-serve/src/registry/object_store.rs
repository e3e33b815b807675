//! The bytes of packages, by their digest, on the local disk. What is there is whole: a name is given last.

use std::collections::{HashMap, VecDeque};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use sp_tree::{Digest, Dir, FileError, Follow, Name};

pub(crate) const OBJECTS_DIR: &str = "objects";
pub(crate) const INCOMING_DIR: &str = "incoming";

/// So many bytes that were read are kept, and none that are more than this.
const MAX_CACHE_BYTES: usize = 64 * 1024 * 1024;
const MAX_CACHED_OBJECT_BYTES: usize = 1024 * 1024;

/// The objects of a registry.
#[derive(Clone)]
pub(crate) struct ObjectStore {
    root: Arc<Path>,
    temp_counter: Arc<AtomicU64>,
    cache: Arc<Mutex<ObjectCache>>,
}

/// What was read and verified lately.
#[derive(Default)]
struct ObjectCache {
    bytes: HashMap<Digest, Bytes>,
    order: VecDeque<Digest>,
    total_bytes: usize,
}

impl ObjectCache {
    fn insert(&mut self, digest: Digest, bytes: &Bytes) {
        if bytes.len() > MAX_CACHED_OBJECT_BYTES
            || self.bytes.insert(digest, bytes.clone()).is_some()
        {
            return;
        }
        self.order.push_back(digest);
        self.total_bytes += bytes.len();
        while self.total_bytes > MAX_CACHE_BYTES
            && let Some(oldest) =
                self.order.pop_front().and_then(|digest| self.bytes.remove(&digest))
        {
            self.total_bytes -= oldest.len();
        }
    }
}

impl ObjectStore {
    /// The objects in a folder. What an interrupted run left half-written is removed.
    pub(crate) fn open(folder: &Path) -> Result<Self, FileError> {
        Dir::create_all_private(&folder.join(OBJECTS_DIR))?;
        let data = Dir::open(folder)?;
        data.remove_tree(&entry_name(INCOMING_DIR)?)?;
        Dir::create_all_private(&folder.join(INCOMING_DIR))?;
        Ok(Self::open_read_only(folder))
    }

    /// The objects in a folder, which a registry may be using: to be read only.
    pub(crate) fn open_read_only(folder: &Path) -> Self {
        Self { root: folder.into(), temp_counter: Arc::default(), cache: Arc::default() }
    }

    fn object_path(&self, digest: &Digest) -> Result<(PathBuf, Name), FileError> {
        let hex = digest.hex();
        Ok((self.root.join(OBJECTS_DIR).join(&hex[..2]), entry_name(&hex[2..])?))
    }

    /// Keeps bytes; once this returns they survive a power cut.
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
                // Somebody else stored the same bytes meanwhile.
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

    /// Bytes that were read lately, without a look at the disk: they never change.
    pub(crate) fn get_cached(&self, digest: &Digest) -> Option<Bytes> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).bytes.get(digest).cloned()
    }

    /// The bytes with a digest, which are kept for the next who asks.
    pub(crate) fn get_and_cache(&self, digest: &Digest) -> Result<Option<Bytes>, FileError> {
        let bytes = self.get(digest)?.map(Bytes::from);
        if let Some(bytes) = &bytes {
            self.cache.lock().unwrap_or_else(PoisonError::into_inner).insert(*digest, bytes);
        }
        Ok(bytes)
    }

    /// The bytes with a digest; none if they are not there. Other bytes in their place are an error.
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
        match Digest::of(&bytes) == *digest {
            true => Ok(Some(bytes)),
            false => Err(FileError::new(
                "trust",
                &folder,
                std::io::Error::other("its bytes are not those that were stored"),
            )),
        }
    }
}

fn entry_name(text: &str) -> Result<Name, FileError> {
    Name::new(text).map_err(|e| FileError::new("name", text, std::io::Error::other(e)))
}
