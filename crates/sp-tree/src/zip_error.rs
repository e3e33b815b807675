//! Why a member of a zip archive cannot be taken.

use thiserror::Error;

use crate::listing::ListingError;
use crate::path::PathError;

/// Why a member cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ZipMemberError {
    /// A name that no tree can hold.
    #[error(transparent)]
    Name(#[from] PathError),
    /// Too deep, too large, or a name that collides with another.
    #[error(transparent)]
    Listing(#[from] ListingError),
    /// A link.
    #[error("it is a link")]
    Link,
    /// A device, pipe or socket.
    #[error("it is neither a file nor a folder")]
    Special,
    /// Encrypted.
    #[error("it is encrypted")]
    Encrypted,
    /// A method that nobody uses for text.
    #[error("it is compressed by a method that is not supported")]
    UnsupportedMethod,
    /// Its two headers say different things.
    #[error("its local header and the directory of the archive have a different {field}")]
    HeaderMismatch {
        /// What differs.
        field: &'static str,
    },
    /// An extra field gives it another name.
    #[error("an extra field gives it another name")]
    ConflictingName,
    /// It is said to be in another part of a split archive.
    #[error("its disk number is not 0")]
    NonzeroDisk,
    /// A folder that has bytes.
    #[error("it is a folder with content")]
    DirWithContent,
    /// Its bytes are those of another member too.
    #[error("it shares its bytes with another member")]
    Overlap,
    /// Its bytes are not what was announced.
    #[error("its bytes are not what its header says")]
    ContentMismatch,
}
