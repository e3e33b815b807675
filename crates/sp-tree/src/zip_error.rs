//! Why an entry of a zip archive is rejected.

use thiserror::Error;

use crate::listing::ListingError;
use crate::path::PathError;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ZipMemberError {
    #[error(transparent)]
    Name(#[from] PathError),
    /// Exceeds a limit, or its name collides with another.
    #[error(transparent)]
    Listing(#[from] ListingError),
    #[error("it is a symbolic link")]
    Link,
    /// A device, pipe or socket.
    #[error("it is not a regular file or directory")]
    Special,
    #[error("it is encrypted")]
    Encrypted,
    #[error("unsupported compression method")]
    UnsupportedMethod,
    /// Its two headers differ.
    #[error("the local header and the central directory have a different {field}")]
    HeaderMismatch { field: &'static str },
    #[error("an extra field contains a different name")]
    ConflictingName,
    /// It is in another part of a split archive.
    #[error("its disk number is not 0")]
    NonzeroDisk,
    /// A directory with content.
    #[error("it is a directory with content")]
    DirWithContent,
    #[error("it overlaps another entry")]
    Overlap,
    /// Size or checksum are wrong.
    #[error("its content does not match the size or checksum in its header")]
    ContentMismatch,
}
