//! The audit of resolved content: the same for directories, commits and packages.
//!
//! [`AuditFiles`] holds the files of one skill, wherever they come from. [`audit_content`] audits
//! them, or returns the result of an earlier run: an [`AuditCache`] has results by the digest of
//! the files and the version of the rules. [`finding_reports`] and [`to_audited_skill`] convert the
//! result to the values that reports consist of.

mod cache;
mod convert;

use std::io::ErrorKind;

use sp_analyze::audit::{AuditInput, ContentAudit, audit_tree};
use sp_formats::package::Package;
use sp_tree::{Digest, Dir, FileStamp, Listing, ListingKind, LoadedTree, RelPath, read_beneath};

pub(crate) use cache::{AuditCache, AuditKey};
pub(crate) use convert::{capability_items, finding_reports, to_audited_skill};

use crate::error::Result;

/// The files of a skill.
#[derive(Debug, Default)]
pub(crate) struct AuditFiles {
    files: Vec<AuditedFile>,
}

#[derive(Debug)]
struct AuditedFile {
    path: String,
    executable: bool,
    /// `None` if the file is larger than the limit.
    bytes: Option<Vec<u8>>,
    size: u64,
}

impl AuditFiles {
    /// Reads the files of a directory.
    pub(crate) fn from_dir(dir: &Dir, listing: &Listing<FileStamp>, limit: u64) -> Result<Self> {
        let mut all = Self::default();
        for entry in &listing.entries {
            let ListingKind::File { executable, size, .. } = &entry.kind else { continue };
            let bytes = match read_beneath(dir, &entry.path, limit) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::FileTooLarge => None,
                Err(error) => return Err(error.into()),
            };
            let path = entry.path.as_str().to_owned();
            all.files.push(AuditedFile { path, executable: *executable, bytes, size: *size });
        }
        Ok(all)
    }

    /// Takes the files below a folder of a tree; all of them if the folder is empty.
    pub(crate) fn from_tree(tree: &LoadedTree, folder: &str) -> Self {
        let inside = |path: &RelPath| match folder {
            "" => Some(path.as_str().to_owned()),
            folder => {
                let rest = path.as_str().strip_prefix(folder)?;
                rest.strip_prefix('/').map(str::to_owned)
            }
        };
        let file = |(path, executable, bytes): (&RelPath, bool, &[u8])| {
            let size = bytes.len() as u64;
            Some(AuditedFile { path: inside(path)?, executable, bytes: Some(bytes.to_vec()), size })
        };
        Self { files: tree.files().filter_map(file).collect() }
    }

    /// Adds a file that was read before.
    pub(crate) fn add(&mut self, path: &str, bytes: &[u8]) {
        self.files.push(AuditedFile {
            path: path.into(),
            executable: false,
            bytes: Some(bytes.to_vec()),
            size: bytes.len() as u64,
        });
    }

    /// Adds a file of a tree that is being written.
    pub(crate) fn push(&mut self, path: &RelPath, executable: bool, bytes: &[u8]) {
        self.files.push(AuditedFile {
            path: path.as_str().into(),
            executable,
            bytes: Some(bytes.to_vec()),
            size: bytes.len() as u64,
        });
    }

    fn inputs(&self) -> Vec<AuditInput<'_>> {
        self.files
            .iter()
            .map(|file| AuditInput {
                path: &file.path,
                executable: file.executable,
                bytes: file.bytes.as_deref(),
                size: file.size,
            })
            .collect()
    }

    /// The bytes of a file; none if there is no such file, or if it is too large.
    pub(crate) fn bytes(&self, path: &str) -> Option<&[u8]> {
        self.files.iter().find(|file| file.path == path)?.bytes.as_deref()
    }

    /// The text of a file; empty if it is not text.
    fn text(&self, path: &str) -> &str {
        std::str::from_utf8(self.bytes(path).unwrap_or_default()).unwrap_or_default()
    }
}

/// Audits the files of a skill, or returns the result of an earlier audit.
pub(crate) fn audit_content(cache: &AuditCache<'_>, files: &AuditFiles) -> ContentAudit {
    audit_keyed(cache, &AuditKey::of_files(files), || files.inputs())
}

/// Audits the knowledge of a package as a file with this name, or returns the result of an earlier
/// audit.
pub(crate) fn audit_knowledge(
    cache: &AuditCache<'_>,
    name: &str,
    package: &Package,
) -> ContentAudit {
    let inputs = || vec![AuditInput::new(name, package.text().as_bytes())];
    audit_keyed(cache, &AuditKey::of_package(package.digest()), inputs)
}

/// Audits a tree, or returns the result of an earlier audit.
pub(crate) fn audit_loaded_tree(cache: &AuditCache<'_>, tree: &LoadedTree) -> ContentAudit {
    audit_keyed(cache, &AuditKey::of_tree(tree.digest()), || tree_inputs(tree))
}

/// Audits files that were read while they were written, and whose tree has a digest.
pub(crate) fn audit_written_tree(
    cache: &AuditCache<'_>,
    digest: Digest,
    files: &AuditFiles,
) -> ContentAudit {
    audit_keyed(cache, &AuditKey::of_tree(digest), || files.inputs())
}

fn audit_keyed<'f>(
    cache: &AuditCache<'_>,
    key: &AuditKey,
    inputs: impl FnOnce() -> Vec<AuditInput<'f>>,
) -> ContentAudit {
    if let Some(known) = cache.get(key) {
        return known;
    }
    let audit = audit_tree(&inputs());
    cache.insert(key, &audit);
    audit
}

fn tree_inputs(tree: &LoadedTree) -> Vec<AuditInput<'_>> {
    tree.files()
        .map(|(path, executable, bytes)| AuditInput {
            executable,
            ..AuditInput::new(path.as_str(), bytes)
        })
        .collect()
}
