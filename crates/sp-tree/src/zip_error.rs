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
    #[error("it is a link")]
    Link,
    /// A device, pipe or socket.
    #[error("it is neither a file nor a folder")]
    Special,
    #[error("it is encrypted")]
    Encrypted,
    #[error("it is compressed by a method that is not supported")]
    UnsupportedMethod,
    /// Its two headers differ.
    #[error("its local header and the directory of the archive have a different {field}")]
    HeaderMismatch { field: &'static str },
    #[error("an extra field gives it another name")]
    ConflictingName,
    /// It is in another part of a split archive.
    #[error("its disk number is not 0")]
    NonzeroDisk,
    /// A directory with content.
    #[error("it is a folder with content")]
    DirWithContent,
    #[error("it shares its bytes with another member")]
    Overlap,
    /// Size or checksum are wrong.
    #[error("its bytes are not what its header says")]
    ContentMismatch,
}
