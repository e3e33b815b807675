//! Trees: files by safe path, each with the digest of its bytes, and one digest of the whole.

use crate::digest::{Digest, Hasher};
use crate::file_error::FileError;
use crate::path::RelPath;
use crate::tree_writer::TreeWriter;

/// A directory, or a file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeKind {
    Dir,
    File { executable: bool, size: u64, digest: Digest },
}

impl TreeKind {
    pub(crate) fn of_file(bytes: &[u8], executable: bool) -> Self {
        Self::File { executable, size: bytes.len() as u64, digest: Digest::of(bytes) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Relative to the root of the tree.
    pub path: RelPath,
    pub kind: TreeKind,
}

/// Files that were read, sorted by path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    /// A directory comes before its content.
    pub entries: Vec<TreeEntry>,
}

impl Tree {
    /// The digest of the tree: equal if and only if paths, executable bits and bytes are.
    ///
    /// It is the SHA-256 of one line per entry, sorted by path: `d <path>` for a directory, `f
    /// <hex> <path>` for a file, and `x <hex> <path>` for an executable file. A path cannot contain
    /// a line feed, so the encoding is unambiguous.
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

/// A tree with the bytes of its files in memory. Its entries keep the order in which they are
/// added: sorted by path, a directory before its content.
///
/// ```
/// use sp_tree::{LoadedTree, RelPath};
///
/// let mut tree = LoadedTree::default();
/// tree.add_dir(RelPath::new("scripts")?);
/// tree.add_file(RelPath::new("scripts/run.sh")?, true, b"exit 0\n".to_vec());
/// assert_eq!(tree.get("scripts/run.sh"), Some(&b"exit 0\n"[..]));
///
/// let scripts = tree.subtree(&RelPath::new("scripts")?);
/// assert_eq!(scripts.get("run.sh"), tree.get("scripts/run.sh"));
/// assert_ne!(scripts.digest(), tree.digest());
/// # Ok::<(), sp_tree::PathError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct LoadedTree {
    tree: Tree,
    /// By index of the entry; empty for a directory.
    bytes: Vec<Vec<u8>>,
}

impl LoadedTree {
    pub fn add_dir(&mut self, path: RelPath) {
        self.tree.entries.push(TreeEntry { path, kind: TreeKind::Dir });
        self.bytes.push(Vec::new());
    }

    pub fn add_file(&mut self, path: RelPath, executable: bool, bytes: Vec<u8>) {
        let kind = TreeKind::of_file(&bytes, executable);
        self.tree.entries.push(TreeEntry { path, kind });
        self.bytes.push(bytes);
    }

    pub fn digest(&self) -> Digest {
        self.tree.digest()
    }

    pub fn get(&self, path: &str) -> Option<&[u8]> {
        let index = self.tree.entries.iter().position(|entry| entry.path.as_str() == path)?;
        matches!(self.tree.entries[index].kind, TreeKind::File { .. })
            .then(|| self.bytes[index].as_slice())
    }

    /// The number of files and directories.
    pub fn len(&self) -> usize {
        self.tree.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tree.entries.is_empty()
    }

    /// The files with their digests and sizes, in path order.
    pub fn file_digests(&self) -> impl Iterator<Item = (&RelPath, Digest, u64)> {
        self.tree.entries.iter().filter_map(|entry| match entry.kind {
            TreeKind::Dir => None,
            TreeKind::File { digest, size, .. } => Some((&entry.path, digest, size)),
        })
    }

    /// The directories, in path order.
    pub fn dirs(&self) -> impl Iterator<Item = &RelPath> {
        let dirs = self.tree.entries.iter().filter(|entry| entry.kind == TreeKind::Dir);
        dirs.map(|entry| &entry.path)
    }

    /// The files with their executable bits and bytes, in path order.
    pub fn files(&self) -> impl Iterator<Item = (&RelPath, bool, &[u8])> {
        self.tree.entries.iter().zip(&self.bytes).filter_map(|(entry, bytes)| match entry.kind {
            TreeKind::Dir => None,
            TreeKind::File { executable, .. } => Some((&entry.path, executable, bytes.as_slice())),
        })
    }

    /// The content of a directory, with paths relative to it.
    pub fn subtree(&self, folder: &RelPath) -> Self {
        let mut below = Self::default();
        for (entry, bytes) in self.tree.entries.iter().zip(&self.bytes) {
            let inner = entry
                .path
                .as_str()
                .strip_prefix(folder.as_str())
                .and_then(|suffix| suffix.strip_prefix('/'));
            // A suffix of a safe path that starts after a separator is a safe path.
            let Some(path) = inner.and_then(|inner| RelPath::new(inner).ok()) else { continue };
            below.tree.entries.push(TreeEntry { path, kind: entry.kind.clone() });
            below.bytes.push(bytes.clone());
        }
        below
    }

    /// The total size of all files.
    pub fn total_bytes(&self) -> u64 {
        self.bytes.iter().map(|bytes| bytes.len() as u64).sum()
    }

    /// Writes the tree. Directories are created before their content.
    pub fn write_to(&self, writer: &mut TreeWriter) -> Result<(), FileError> {
        for (entry, bytes) in self.tree.entries.iter().zip(&self.bytes) {
            match entry.kind {
                TreeKind::Dir => writer.create_dir(&entry.path)?,
                TreeKind::File { executable, .. } => {
                    writer.write_file(&entry.path, executable, bytes)?;
                }
            }
        }
        Ok(())
    }
}
