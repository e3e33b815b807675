//! Files by safe path, each with the digest of its bytes, and one digest over them all.

use crate::digest::{Digest, Hasher};
use crate::file_error::FileError;
use crate::path::RelPath;
use crate::tree_writer::TreeWriter;

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
/// A tree with the bytes of its files, in memory.
#[derive(Debug, Clone, Default)]
pub struct LoadedTree {
    tree: Tree,
    /// The bytes of each file, by its place in the tree; empty for a folder.
    bytes: Vec<Vec<u8>>,
}

impl LoadedTree {
    /// Adds a folder.
    pub fn add_dir(&mut self, path: RelPath) {
        self.tree.entries.push(TreeEntry { path, kind: TreeKind::Dir });
        self.bytes.push(Vec::new());
    }

    /// Adds a file.
    pub fn add_file(&mut self, path: RelPath, executable: bool, bytes: Vec<u8>) {
        let kind =
            TreeKind::File { executable, size: bytes.len() as u64, digest: Digest::of(&bytes) };
        self.tree.entries.push(TreeEntry { path, kind });
        self.bytes.push(bytes);
    }

    /// The digest of the tree.
    pub fn digest(&self) -> Digest {
        self.tree.digest()
    }

    /// The bytes of a file.
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        let at = self.tree.entries.iter().position(|entry| entry.path.as_str() == path)?;
        matches!(self.tree.entries[at].kind, TreeKind::File { .. })
            .then(|| self.bytes[at].as_slice())
    }

    /// How many files and folders there are.
    pub fn len(&self) -> usize {
        self.tree.entries.len()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.tree.entries.is_empty()
    }

    /// The files with their digests and sizes, in the order of their paths.
    pub fn file_digests(&self) -> impl Iterator<Item = (&RelPath, Digest, u64)> {
        self.tree.entries.iter().filter_map(|entry| match entry.kind {
            TreeKind::Dir => None,
            TreeKind::File { digest, size, .. } => Some((&entry.path, digest, size)),
        })
    }

    /// The files with their bytes, in the order of their paths.
    pub fn files(&self) -> impl Iterator<Item = (&RelPath, bool, &[u8])> {
        self.tree.entries.iter().zip(&self.bytes).filter_map(|(entry, bytes)| match entry.kind {
            TreeKind::Dir => None,
            TreeKind::File { executable, .. } => Some((&entry.path, executable, bytes.as_slice())),
        })
    }

    /// What lies below a folder, with paths from there.
    pub fn subtree(&self, folder: &RelPath) -> Self {
        let mut below = Self::default();
        for (entry, bytes) in self.tree.entries.iter().zip(&self.bytes) {
            let inner = entry
                .path
                .as_str()
                .strip_prefix(folder.as_str())
                .and_then(|rest| rest.strip_prefix('/'));
            // The rest of a safe path, cut at a separator, is a safe path.
            let Some(path) = inner.and_then(|inner| RelPath::new(inner).ok()) else { continue };
            below.tree.entries.push(TreeEntry { path, kind: entry.kind.clone() });
            below.bytes.push(bytes.clone());
        }
        below
    }

    /// The bytes of all files together.
    pub fn total_bytes(&self) -> u64 {
        self.bytes.iter().map(|bytes| bytes.len() as u64).sum()
    }

    /// Writes it; folders stand before what is in them.
    pub fn write_to(&self, writer: &mut TreeWriter) -> Result<(), FileError> {
        for (entry, bytes) in self.tree.entries.iter().zip(&self.bytes) {
            match entry.kind {
                TreeKind::Dir => writer.create_dir(&entry.path)?,
                TreeKind::File { executable, .. } => {
                    writer.write_file(&entry.path, executable, bytes)?
                }
            }
        }
        Ok(())
    }
}
