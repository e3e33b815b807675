//! Trees of files: naming, hashing, writing and replacing them, without interpreting them.
//!
//! A directory, a commit, a zip and a download all become a [`Listing`] of safe paths and, after
//! their bytes are read, a [`Tree`] with digests. Nothing above this crate walks a directory, joins
//! an untrusted path, or changes the file system by itself: all of that goes through a [`Dir`],
//! which only accepts names that were checked when they were created. Every mutating call passes
//! one function, where tests can inject a [`fault`].
//!
//! Changes to many directories at once are a [`transaction`]; replacing a single file is
//! [`atomic`].
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use sp_tree::{Dir, Limits, LoadedTree, RelPath, TreeWriter, load_untrusted};
//!
//! let mut tree = LoadedTree::default();
//! tree.add_file(RelPath::new("SKILL.md")?, false, b"Read the diff first.".to_vec());
//!
//! let temp = tempfile::tempdir()?;
//! let dir = Dir::create_all(&temp.path().join("review"))?;
//! let mut writer = TreeWriter::new(Dir::open(dir.path())?);
//! tree.write_to(&mut writer)?;
//!
//! let read = load_untrusted(&dir, &Limits::default())?;
//! assert_eq!(read.digest(), tree.digest());
//! # Ok(())
//! # }
//! ```
//!
//! This crate knows no format, reads neither the environment nor the clock, and does not use the
//! network.

mod archive;
pub mod atomic;
mod blob_store;
mod byte_size;
mod digest;
mod digest_index;
mod dir;
mod dir_lock;
pub mod fault;
mod file_error;
mod file_stamp;
mod fold;
mod git_name;
mod hashed_bytes;
mod hex;
mod limits;
mod listing;
mod new_file;
mod path;
mod pinned_dir;
mod read;
pub mod read_trace;
mod scan;
mod segment;
mod sign;
mod staged_file;
pub mod transaction;
mod tree;
mod tree_writer;
mod walk;
mod zip_error;
mod zip_layout;
mod zip_writer;
mod zstd;

pub use archive::{Archive, ArchiveError, ZipMemberHandle};
pub use blob_store::BlobStore;
pub use byte_size::{ByteSize, OverLimit};
pub use digest::{Digest, DigestError, Hasher};
pub use digest_index::{DigestIndex, DirSnapshot, StampScope};
pub use dir::{Dir, Follow};
pub use dir_lock::DirLock;
pub use file_error::FileError;
pub use file_stamp::{EntryKind, FileStamp, PathStamps};
pub use fold::fold_name;
pub use hashed_bytes::HashedBytes;
pub use hex::{from_hex, to_hex};
pub use limits::{LIMIT_NAMES, LimitError, Limits};
pub use listing::{Listing, ListingBuilder, ListingEntry, ListingError, ListingKind};
pub use new_file::NewFile;
pub use path::{Name, PathError, RelPath};
pub use pinned_dir::PinnedDir;
pub use read::{read_beneath, read_limited, read_optional, read_text};
pub use scan::{
    HashedDir, LoadedDir, ScanError, ScannedDir, copy_scanned, count_untrusted, hash_installed,
    hash_scanned, load_untrusted, load_untrusted_dir, scan_dir, visit_untrusted,
};
pub use segment::{DirEntry, Segment, StaticName, escape_non_utf8};
pub use sign::{HmacSha256, KeyError, PrivateKey, PublicKey, Signature, SignatureError};
pub use tree::{LoadedTree, Tree, TreeEntry, TreeKind};
pub use tree_writer::TreeWriter;
pub use walk::{DirSearch, InvalidDirName, MatchedDir, WalkError, WalkReport, find_dirs_with_file};
pub use zeroize::{Zeroize, Zeroizing};
pub use zip_error::ZipMemberError;
pub use zip_writer::{zip_files, zip_tree};
pub use zstd::{ZstdError, compress, decompress};
