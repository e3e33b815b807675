//! Objects: immutable bytes by SHA-256.
//!
//! [`ObjectStore`] is what the registry uses: it verifies digests, caches small objects, and
//! streams large ones to clients in small pieces. Where the bytes are kept is behind
//! [`ObjectBackend`]: in a directory ([`FileObjects`]) or in a bucket ([`S3Objects`]).
//!
//! An object is verified when it is written, and once per process before its first use. After
//! that, it is read without verification as long as its version is the same.

mod backend;
mod body;
mod bucket;
mod files;
mod s3;
mod s3_http;
mod storage_health;

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use sp_engine::DigestCache;
use sp_tree::{Digest, FileError, Hasher};

pub(crate) use backend::{ListedObject, ObjectBackend, ObjectReader, ObjectVersion};
pub use bucket::{BucketSettings, BucketUrl, BucketUrlError};
pub(crate) use files::{FileObjects, INCOMING_DIR, MARKER_FILE, OBJECTS_DIR};
pub(crate) use s3::S3Objects;
pub(crate) use storage_health::{StorageCounts, is_unavailable};

/// Limits of the read cache.
const MAX_CACHE_BYTES: u64 = 64 * 1024 * 1024;
const MAX_CACHED_OBJECT_BYTES: u64 = 1024 * 1024;
/// Number of verified objects that are remembered.
const MAX_VERIFIED_OBJECTS: usize = 1_000_000;
/// Objects are verified one at a time within each of these groups.
const VERIFICATION_GROUPS: usize = 16;
const VERIFICATION_BUFFER_BYTES: usize = 64 * 1024;

/// What is done with the objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectAccess {
    /// All. Incomplete writes of an earlier run are removed.
    Serve,
    /// Some are written or deleted, while another process may use them.
    Share,
    /// They are only read, while another process may use them.
    Read,
}

/// An object store. Clones share everything.
#[derive(Clone)]
pub(crate) struct ObjectStore {
    backend: Arc<dyn ObjectBackend>,
    /// Small objects that were read and verified.
    cache: Arc<DigestCache<Bytes>>,
    verified: Arc<VerifiedObjects>,
}

/// The versions of the objects that this process has verified.
#[derive(Default)]
struct VerifiedObjects {
    versions: Mutex<HashMap<Digest, ObjectVersion>>,
    groups: [Mutex<()>; VERIFICATION_GROUPS],
    damaged: AtomicU64,
}

impl ObjectStore {
    /// Opens the objects in a bucket, or in a data directory if there is none.
    pub(crate) fn open(
        folder: &Path,
        bucket: Option<&BucketSettings>,
        access: ObjectAccess,
    ) -> Result<Self, FileError> {
        match (bucket, access) {
            (Some(bucket), _) => S3Objects::open(bucket, access).map(Self::new),
            (None, ObjectAccess::Serve) => FileObjects::open(folder).map(Self::new),
            (None, ObjectAccess::Share) => Ok(Self::new(FileObjects::open_shared(folder))),
            (None, ObjectAccess::Read) => Ok(Self::new(FileObjects::open_read_only(folder))),
        }
    }

    /// Returns all objects that were written before a time.
    pub(crate) fn written_before(&self, time: i64) -> Result<Vec<ListedObject>, FileError> {
        let mut found = Vec::new();
        self.backend
            .list(&mut |object| found.extend(Some(object).filter(|it| it.written_at < time)))?;
        Ok(found)
    }

    /// Deletes an object, unless it was written after a time.
    pub(crate) fn remove(&self, digest: &Digest, not_after: i64) -> Result<(), FileError> {
        self.backend.remove(digest, not_after)
    }

    /// Stores an object again if it was deleted after it was stored.
    pub(crate) fn ensure(&self, digest: &Digest, bytes: &Bytes) -> Result<(), FileError> {
        match self.put_derived(digest, bytes) {
            // It was stored a moment ago, and what is that recent is not collected as garbage.
            Err(error) if is_unavailable(&error) => Ok(()),
            done => done,
        }
    }

    /// Returns the ID of the registry that the objects belong to, if it was written.
    pub(crate) fn read_marker(&self) -> Result<Option<String>, FileError> {
        self.backend.read_marker()
    }

    pub(crate) fn write_marker(&self, id: &str) -> Result<(), FileError> {
        self.backend.write_marker(id)
    }

    /// Writes, reads and deletes a file, to find out whether that is possible.
    pub(crate) fn probe(&self, name: &str) -> Result<(), FileError> {
        self.backend.probe(name)
    }

    /// Whether the storage responds.
    pub(crate) fn ping(&self) -> Result<(), FileError> {
        self.backend.ping()
    }

    pub(crate) fn counts(&self) -> StorageCounts {
        self.backend.counts()
    }

    /// The directory or URL of all objects, for messages.
    pub(crate) fn describe(&self) -> String {
        self.backend.describe()
    }

    /// Reads an object completely and returns its size. Fails if it is missing or damaged.
    pub(crate) fn check(&self, digest: &Digest) -> Result<u64, FileError> {
        let missing =
            || FileError::new("read", digest.hex(), std::io::Error::from(ErrorKind::NotFound));
        let object = self.backend.open(digest)?.ok_or_else(missing)?;
        self.verify(digest, &*object)?;
        Ok(object.version().size)
    }

    fn new(backend: impl ObjectBackend + 'static) -> Self {
        let cache = DigestCache::new(MAX_CACHE_BYTES, |bytes: &Bytes| bytes.len() as u64);
        Self { backend: Arc::new(backend), cache: cache.into(), verified: Arc::default() }
    }

    /// The number of objects whose digest did not match.
    pub(crate) fn damaged_count(&self) -> u64 {
        self.verified.damaged.load(Ordering::Relaxed)
    }

    /// Stores bytes durably.
    pub(crate) fn put(&self, bytes: &Bytes) -> Result<Digest, FileError> {
        let digest = Digest::of(bytes);
        self.backend.put(&digest, bytes)?;
        Ok(digest)
    }

    /// Stores bytes unless they are stored already. Only for objects that can be made again.
    pub(crate) fn put_derived(&self, digest: &Digest, bytes: &Bytes) -> Result<(), FileError> {
        match self.backend.open(digest)? {
            Some(_) => Ok(()),
            None => self.backend.put(digest, bytes),
        }
    }

    /// Returns an object from the cache.
    pub(crate) fn get_cached(&self, digest: &Digest) -> Option<Bytes> {
        self.cache.get(digest)
    }

    /// Reads an object and caches it if it is small.
    pub(crate) fn get_and_cache(&self, digest: &Digest) -> Result<Option<Bytes>, FileError> {
        if let Some(bytes) = self.get_cached(digest) {
            return Ok(Some(bytes));
        }
        let bytes = self.get(digest)?.map(Bytes::from);
        if let Some(bytes) =
            bytes.as_ref().filter(|bytes| bytes.len() as u64 <= MAX_CACHED_OBJECT_BYTES)
        {
            self.cache.insert(*digest, bytes.clone());
        }
        Ok(bytes)
    }

    /// Reads an object; `None` if it does not exist. Fails if its digest is wrong.
    pub(crate) fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, FileError> {
        let Some(object) = self.backend.open(digest)? else { return Ok(None) };
        let mut bytes = Vec::new();
        read_pieces(&*object, VERIFICATION_BUFFER_BYTES, |piece| bytes.extend_from_slice(piece))?;
        if Digest::of(&bytes) != *digest {
            return Err(self.report_damage(digest));
        }
        self.verified.remember(digest, object.version());
        Ok(Some(bytes))
    }

    /// Reads an object that the database refers to. Fails if it is missing, for example because it
    /// was damaged.
    pub(crate) fn require(&self, digest: &Digest) -> Result<Vec<u8>, FileError> {
        let missing =
            || FileError::new("read", digest.hex(), std::io::Error::from(ErrorKind::NotFound));
        self.get(digest)?.ok_or_else(missing)
    }

    pub(crate) fn contains(&self, digest: &Digest) -> Result<bool, FileError> {
        Ok(self.backend.open(digest)?.is_some())
    }

    /// Opens an object to read parts of it; `None` if it does not exist. Fails if its digest is
    /// wrong.
    fn open_verified(&self, digest: &Digest) -> Result<Option<Arc<dyn ObjectReader>>, FileError> {
        let Some(object) = self.backend.open(digest)? else { return Ok(None) };
        if !self.verified.contains(digest, object.version()) {
            // Many clients may ask for the same object at once.
            let _group = self.verified.lock_group(digest);
            if !self.verified.contains(digest, object.version()) {
                self.verify(digest, &*object)?;
            }
        }
        Ok(Some(Arc::from(object)))
    }

    fn verify(&self, digest: &Digest, object: &dyn ObjectReader) -> Result<(), FileError> {
        let mut hasher = Hasher::default();
        read_pieces(object, VERIFICATION_BUFFER_BYTES, |piece| hasher.update(piece))?;
        if hasher.finish() != *digest {
            return Err(self.report_damage(digest));
        }
        self.verified.remember(digest, object.version());
        Ok(())
    }

    /// Counts a damaged object and moves it away, so that it can be stored again.
    fn report_damage(&self, digest: &Digest) -> FileError {
        self.verified.damaged.fetch_add(1, Ordering::Relaxed);
        let why = std::io::Error::new(ErrorKind::InvalidData, "the digest does not match");
        let error = FileError::new("verify", self.backend.location(digest), why);
        // The object is not served either way.
        let _ = self.backend.quarantine(digest);
        error
    }
}

impl VerifiedObjects {
    fn versions(&self) -> MutexGuard<'_, HashMap<Digest, ObjectVersion>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn contains(&self, digest: &Digest, version: &ObjectVersion) -> bool {
        self.versions().get(digest).is_some_and(|known| known == version)
    }

    fn remember(&self, digest: &Digest, version: &ObjectVersion) {
        let mut versions = self.versions();
        if versions.len() >= MAX_VERIFIED_OBJECTS {
            versions.clear();
        }
        versions.insert(*digest, version.clone());
    }

    fn lock_group(&self, digest: &Digest) -> MutexGuard<'_, ()> {
        let group = usize::from(digest.as_bytes()[0]) % VERIFICATION_GROUPS;
        self.groups[group].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads an object to its end.
fn read_pieces(
    object: &dyn ObjectReader,
    piece_bytes: usize,
    mut visit: impl FnMut(&[u8]),
) -> Result<(), FileError> {
    let mut buffer = vec![0; piece_bytes];
    let mut offset = 0;
    loop {
        match object.read_at(offset, &mut buffer)? {
            0 => return Ok(()),
            count => {
                visit(&buffer[..count]);
                offset += count as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data directory that is removed at the end.
    struct DataDir(tempfile::TempDir);

    impl DataDir {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn object(&self, digest: &Digest) -> std::path::PathBuf {
            let hex = digest.hex();
            self.0.path().join(OBJECTS_DIR).join(&hex[..2]).join(&hex[2..])
        }
    }

    fn open(data: &DataDir) -> ObjectStore {
        ObjectStore::open(data.0.path(), None, ObjectAccess::Serve).unwrap()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "damages an object behind the store's back")]
    fn rg_79_object_is_verified_once_and_again_if_it_changes() {
        let data = DataDir::new();
        let written = open(&data);
        let bytes = Bytes::from(vec![7; 200_000]);
        let digest = written.put(&bytes).unwrap();
        let store = open(&data);
        assert!(store.open_verified(&digest).unwrap().is_some());
        let version = store.verified.versions()[&digest].clone();
        assert!(store.open_verified(&digest).unwrap().is_some());
        assert_eq!(store.verified.versions()[&digest], version);
        std::fs::write(data.object(&digest), vec![8; 200_000]).unwrap();
        assert!(store.open_verified(&digest).is_err());
        // It was moved away, so it is missing and can be stored again.
        assert!(store.open_verified(&digest).unwrap().is_none());
        assert_eq!(store.damaged_count(), 1);
        store.put(&bytes).unwrap();
        assert_eq!(store.get(&digest).unwrap(), Some(bytes.to_vec()));
    }

    #[test]
    fn rg_82_stored_bytes_are_written_again() {
        let data = DataDir::new();
        let store = open(&data);
        let digest = store.put(&Bytes::from_static(b"notes")).unwrap();
        let version = store.backend.open(&digest).unwrap().unwrap().version().clone();
        assert_eq!(store.put(&Bytes::from_static(b"notes")).unwrap(), digest);
        assert_ne!(store.backend.open(&digest).unwrap().unwrap().version(), &version);
    }
}
