//! The interface to the storage of objects.

use std::path::PathBuf;

use axum::body::Bytes;
use sp_tree::{Digest, FileError};

use super::storage_health::StorageCounts;

/// Keeps objects by digest. Needs only what every object storage offers: write, read a part, list,
/// delete. All calls block.
///
/// Writes are idempotent: the same digest always has the same bytes, so an object may be replaced
/// at any time.
pub(crate) trait ObjectBackend: Send + Sync {
    /// Stores an object durably, even if it exists. It is then as recent as a new one.
    fn put(&self, digest: &Digest, bytes: &Bytes) -> Result<(), FileError>;

    /// Opens an object; `None` if it does not exist.
    fn open(&self, digest: &Digest) -> Result<Option<Box<dyn ObjectReader>>, FileError>;

    /// Calls `visit` with every object.
    fn list(&self, visit: &mut dyn FnMut(ListedObject)) -> Result<(), FileError>;

    /// Deletes an object, unless it was written after a time. An object that does not exist is not
    /// an error.
    fn remove(&self, digest: &Digest, not_after: i64) -> Result<(), FileError>;

    /// Moves a damaged object away, where an operator can look at it.
    fn quarantine(&self, digest: &Digest) -> Result<(), FileError>;

    /// Where an object is, for messages.
    fn location(&self, digest: &Digest) -> PathBuf;

    /// Returns the ID of the registry that the objects belong to, if it was written.
    fn read_marker(&self) -> Result<Option<String>, FileError>;

    fn write_marker(&self, id: &str) -> Result<(), FileError>;

    /// Writes, reads and deletes a file, to find out whether that is possible.
    fn probe(&self, name: &str) -> Result<(), FileError>;

    /// Whether the storage responds.
    fn ping(&self) -> Result<(), FileError>;

    /// For metrics; nothing is counted for local files.
    fn counts(&self) -> StorageCounts;

    /// The directory or URL of all objects, for messages.
    fn describe(&self) -> String;
}

/// An object in a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListedObject {
    pub digest: Digest,
    pub size: u64,
    /// When it was written, in nanoseconds since the Unix epoch.
    pub written_at: i64,
}

/// An object that is being read.
pub(crate) trait ObjectReader: Send + Sync {
    fn version(&self) -> &ObjectVersion;

    /// Reads bytes at an offset; 0 at the end.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, FileError>;
}

/// Changes whenever an object is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObjectVersion {
    pub size: u64,
    /// Inode and modification time, or what else identifies a write.
    pub tag: (u64, i64),
}
