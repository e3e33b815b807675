//! The audit of resolved content: the same for directories, commits and packages.
//!
//! [`AuditFiles`] holds the files of one skill, wherever they come from. [`audit_content`] audits
//! them, or returns the result of an earlier run: results are stored by the digest of the files and
//! the version of the rules. [`finding_reports`] and [`to_audited_skill`] convert the result to the
//! values that reports consist of.

mod cache;
mod convert;

use std::io::ErrorKind;

use sp_analyze::audit::{AuditInput, ContentAudit, audit_tree};
use sp_tree::{Dir, FileStamp, Listing, ListingKind, LoadedTree, RelPath, read_beneath};

pub(crate) use convert::{capability_items, finding_reports, to_audited_skill};

use crate::context::Context;
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

    /// The text of a file; empty if it is not text.
    fn text(&self, path: &str) -> &str {
        let file = self.files.iter().find(|file| file.path == path);
        let bytes = file.and_then(|file| file.bytes.as_deref()).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

/// Audits the files of a skill.
pub(crate) fn audit_content(context: &Context<'_>, files: &AuditFiles) -> ContentAudit {
    let key = cache::key(files);
    if let Some(known) = cache::read(context, &key) {
        return known;
    }
    let audit = audit_uncached(files);
    cache::store(context, &key, &audit);
    audit
}

/// Audits the files of a skill without looking for an earlier result.
pub(crate) fn audit_uncached(files: &AuditFiles) -> ContentAudit {
    let inputs: Vec<AuditInput<'_>> = files
        .files
        .iter()
        .map(|file| AuditInput {
            path: &file.path,
            executable: file.executable,
            bytes: file.bytes.as_deref(),
            size: file.size,
        })
        .collect();
    audit_tree(&inputs)
}
