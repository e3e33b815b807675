//! The journal: what a transaction is about to do, written before it is done.

use std::io::ErrorKind;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::atomic::{self, Durability, TempFile};
use crate::digest::Digest;
use crate::dir::{Dir, Follow};
use crate::file_error::FileError;
use crate::file_stamp::FileStamp;
use crate::path::Name;
use crate::read::read_open;
use crate::segment::StaticName;

const JOURNAL_FILE: StaticName = StaticName("journal.json");
const JOURNAL_TEMP_FILE: StaticName = StaticName("journal.json.tmp");
pub(super) const JOURNAL_VERSION: u32 = 1;
/// Far more than two thousand folders need.
const MAX_JOURNAL_BYTES: u64 = 256 * 1024 * 1024;

/// Why the journal of an earlier run cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    #[error(transparent)]
    File(#[from] FileError),
    /// Not a valid journal.
    #[error("invalid journal `{}`", path.display())]
    Broken { path: PathBuf, source: serde_json::Error },
    /// Written by a newer `sp`.
    #[error("the journal `{}` has the unsupported version {version}", path.display())]
    UnsupportedVersion { path: PathBuf, version: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum JournalPhase {
    /// Only the stages may have been changed.
    Staging,
    /// Folders may have been moved.
    Swapping,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Journal {
    pub version: u32,
    pub id: Name,
    pub generation: u64,
    pub phase: JournalPhase,
    pub roots: Vec<JournalRoot>,
    pub changes: Vec<JournalChange>,
    /// Directories to remove at the end if they are empty, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_if_empty: Vec<PathBuf>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct JournalRoot {
    pub path: PathBuf,
    pub stage: Name,
    /// Directories that were missing, outermost first.
    pub made: Vec<PathBuf>,
    /// Device and inode of the directory, unless it was missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<(u64, u64)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct JournalChange {
    pub root: usize,
    pub name: Name,
    pub puts: bool,
    pub ours: bool,
    /// The digest of the old folder when it was installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The inode of the new folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comes: Option<u64>,
    /// The inode of the old folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goes: Option<u64>,
    /// What the caller expects there. Not stored, because recovery uses inodes.
    #[serde(skip)]
    pub seen: Option<FileStamp>,
}

impl Journal {
    pub(super) fn store(&self, home: &Dir) -> Result<(), FileError> {
        let bytes = serde_json::to_vec(self).map_err(|e| {
            FileError::new("write", home.path_of(&JOURNAL_FILE), std::io::Error::from(e))
        })?;
        atomic::replace(
            home,
            &JOURNAL_FILE,
            TempFile { dir: home, name: JOURNAL_TEMP_FILE },
            &bytes,
            Durability::Durable,
        )
    }

    pub(super) fn load(home: &Dir) -> Result<Option<Self>, JournalError> {
        let file = match home.open_file(&JOURNAL_FILE, Follow::Never) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        let path = home.path_of(&JOURNAL_FILE);
        let mut bytes = Vec::new();
        read_open(&file, MAX_JOURNAL_BYTES, &mut bytes)
            .map_err(|e| FileError::new("read", &path, e))?;
        let journal: Self = serde_json::from_slice(&bytes)
            .map_err(|source| JournalError::Broken { path: path.clone(), source })?;
        if journal.version > JOURNAL_VERSION {
            return Err(JournalError::UnsupportedVersion { path, version: journal.version });
        }
        Ok(Some(journal))
    }

    /// The path of the journal, for messages.
    pub(super) fn path(home: &Dir) -> PathBuf {
        home.path_of(&JOURNAL_FILE)
    }

    pub(super) fn exists(home: &Dir) -> Result<bool, FileError> {
        Ok(home.stat(&JOURNAL_FILE, Follow::Never)?.is_some()
            || home.stat(&JOURNAL_TEMP_FILE, Follow::Never)?.is_some())
    }

    pub(super) fn clear(home: &Dir) -> Result<(), FileError> {
        home.remove_tree(&JOURNAL_TEMP_FILE)?;
        home.remove_tree(&JOURNAL_FILE)?;
        home.sync()
    }
}

impl Name {
    /// The name of the hidden directory in which a transaction stages folders.
    pub(super) fn for_stage(id: &Name) -> Self {
        Self::with_prefix(".skillpack-", id)
    }
}
