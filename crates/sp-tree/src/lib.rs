//! Trees of files: name them, hash them, write them, replace them. Never interpret them.
//!
//! A directory, a commit, a zip and a download all become a [`Listing`] of safe paths, and
//! when their bytes have been read a [`Tree`] with digests. Nothing above this crate walks a
//! directory, joins an untrusted path, or changes the file system by itself: all of that goes
//! through a [`Dir`], which only takes names that were checked when they were made, and whose
//! every mutating call passes the one seam where [`fault`] can strike.
//!
//! This crate knows no format, reads neither environment nor clock, and uses no network.

mod archive;
pub mod atomic;
mod digest;
mod dir;
pub mod fault;
mod file_error;
mod fold;
mod git_name;
mod hex;
mod index;
mod limits;
mod listing;
mod lock;
mod new_file;
mod pack_zip;
mod path;
mod pinned;
mod read;
mod scan;
mod sign;
mod stamp;
mod store;
pub mod transaction;
mod tree;
mod walk;
mod write;
mod zip_error;
mod zip_layout;
mod zstd;

pub use archive::{Archive, ArchiveError, Packed};
pub use digest::{Digest, DigestError, Hasher};
pub use dir::{Dir, DirEntry, EntryKind, Fixed, Follow, Segment, Stamp, escape_bytes};
pub use file_error::FileError;
pub use fold::fold;
pub use hex::{from_hex, to_hex};
pub use index::{Check, Index, Snapshot};
pub use limits::{LIMIT_NAMES, LimitError, Limits};
pub use listing::{Listing, ListingBuilder, ListingEntry, ListingError, ListingKind};
pub use lock::Lock;
pub use new_file::NewFile;
pub use pack_zip::{stored_zip, zip_of};
pub use path::{Name, PathError, RelPath};
pub use pinned::PinnedDir;
pub use read::{read_beneath, read_limited, read_optional, read_text};
pub use scan::{Measured, ScanError, Scanned, copy_scanned, glance, hash_scanned, load, measure, scan, survey};
pub use sign::{KeyError, Mac, PrivateKey, PublicKey, Signature, SignatureError};
pub use stamp::Stamps;
pub use store::Store;
pub use tree::{Content, Tree, TreeEntry, TreeKind};
pub use walk::{Found, FoundLink, Unnamed, WalkError, find_holders};
pub use write::TreeWriter;
pub use zeroize::{Zeroize, Zeroizing};
pub use zip_error::Refusal;
pub use zstd::{ZstdError, compress, decompress};
