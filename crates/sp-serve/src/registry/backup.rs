//! Copies a registry, for backup and restore. The registry may be running.
//!
//! The copy starts with a snapshot of the database and continues with the objects that the snapshot
//! refers to. Objects are stored before metadata refers to them, so all of them exist. The database
//! is renamed into place last: a directory that contains `registry.db` is complete.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sp_formats::output::RegistryDamage;
use sp_tree::{Digest, Dir, FileError, Follow, Name};
use thiserror::Error;

use crate::registry::metadata::{DATABASE_FILE, Database, MetadataError, snapshot};
use crate::registry::object_store::{INCOMING_DIR, OBJECTS_DIR, ObjectAccess, ObjectStore};

const PARTIAL_DATABASE_FILE: &str = "registry.db.part";

#[derive(Debug, Error)]
pub enum RegistryCopyError {
    #[error("no SQLite registry in `{}`", .0.display())]
    NoRegistry(PathBuf),
    /// The target directory is not empty.
    #[error("`{}` is not empty", .0.display())]
    TargetNotEmpty(PathBuf),
    /// The database cannot be read or written.
    #[error("cannot copy the database of the registry")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// An object cannot be written.
    #[error("cannot copy the objects of the registry")]
    File(#[from] FileError),
}

impl From<MetadataError> for RegistryCopyError {
    fn from(error: MetadataError) -> Self {
        Self::Database(error.into())
    }
}

pub struct RegistryCopySummary {
    /// Number of objects.
    pub objects: u64,
    /// Total size of the objects.
    pub bytes: u64,
    /// Objects that could not be copied.
    pub damaged: Vec<RegistryDamage>,
}

/// Copies a registry into a directory that is empty or missing, and verifies every digest. Objects
/// that are missing or damaged are left out and reported. On failure, the directory is left empty.
pub fn copy_registry(from: &Path, to: &Path) -> Result<RegistryCopySummary, RegistryCopyError> {
    let nothing = || RegistryCopyError::NoRegistry(from.into());
    let source = Dir::open(from).map_err(|_| nothing())?;
    source.stat(&entry_name(DATABASE_FILE)?, Follow::Never)?.ok_or_else(nothing)?;
    let target = Dir::create_all_private(to)?;
    if !target.entries()?.is_empty() {
        return Err(RegistryCopyError::TargetNotEmpty(to.into()));
    }
    let copied = copy_into(from, &target);
    if copied.is_err() {
        for made in [PARTIAL_DATABASE_FILE, OBJECTS_DIR, INCOMING_DIR]
            .iter()
            .filter_map(|made| entry_name(made).ok())
        {
            let _ = target.remove_tree(&made);
        }
    }
    copied
}

fn copy_into(from: &Path, target: &Dir) -> Result<RegistryCopySummary, RegistryCopyError> {
    let part = target.path().join(PARTIAL_DATABASE_FILE);
    snapshot(&from.join(DATABASE_FILE), &part)?;
    let source = ObjectStore::open(from, None, ObjectAccess::Read)?;
    let stored = ObjectStore::open(target.path(), None, ObjectAccess::Serve)?;
    let mut copied = RegistryCopySummary { objects: 0, bytes: 0, damaged: Vec::new() };
    for (digest, used_by) in Database::open_file(&part)?.referenced_objects()? {
        match source.require(&digest) {
            Ok(bytes) => {
                copied.objects += 1;
                copied.bytes += bytes.len() as u64;
                stored.put(&bytes.into())?;
            }
            Err(error) => copied.damaged.push(describe_damage(&digest, used_by, &error)),
        }
    }
    target.remove_tree(&entry_name(INCOMING_DIR)?)?;
    target.sync_filesystem()?;
    target.rename_noreplace(
        &entry_name(PARTIAL_DATABASE_FILE)?,
        target,
        &entry_name(DATABASE_FILE)?,
    )?;
    target.sync()?;
    Ok(copied)
}

/// Describes an object that cannot be read.
pub(super) fn describe_damage(
    digest: &Digest,
    used_by: Vec<String>,
    error: &FileError,
) -> RegistryDamage {
    let problem = match error.kind() {
        ErrorKind::NotFound => "missing",
        ErrorKind::InvalidData => "damaged",
        _ => "unreadable",
    };
    RegistryDamage { sha256: digest.hex(), problem: problem.into(), used_by }
}

fn entry_name(text: &str) -> Result<Name, FileError> {
    Name::new(text).map_err(|e| FileError::new("name", text, std::io::Error::other(e)))
}
