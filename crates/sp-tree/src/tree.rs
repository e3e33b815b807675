//! Files by safe path, each with the digest of its bytes, and one digest over them all.

use crate::digest::{Digest, Hasher};
use crate::path::RelPath;

/// A folder, or a file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeKind {
    /// A folder.
    Dir,
    /// A file.
    File {
        /// Whether it may be executed.
        executable: bool,
        /// How many bytes it has.
        size: u64,
        /// The digest of its bytes.
        digest: Digest,
    },
}

/// One entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Where it is, from the top of the tree.
    pub path: RelPath,
    /// What it is.
    pub kind: TreeKind,
}

/// Files that were read, sorted by path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    /// The entries; a folder stands before what is in it.
    pub entries: Vec<TreeEntry>,
}

impl Tree {
    /// The digest of the tree: equal if and only if the paths, the executable bits and the bytes are.
    ///
    /// It is the SHA-256 of one line an entry, sorted by path: `d <path>` for a folder,
    /// `f <hex> <path>` or, where it is executable, `x <hex> <path>` for a file. A path
    /// cannot hold a line feed, so no two trees give the same lines.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        for entry in &self.entries {
            match &entry.kind {
                TreeKind::Dir => hasher.update(b"d "),
                TreeKind::File { executable, digest, .. } => {
                    hasher.update(if *executable { b"x " } else { b"f " });
                    hasher.update(digest.hex().as_bytes());
                    hasher.update(b" ");
                }
            }
            hasher.update(entry.path.as_str().as_bytes());
            hasher.update(b"\n");
        }
        hasher.finish()
    }
}
