//! Copies a registry, also one that runs: that is how it is backed up, and how a backup becomes a registry again.
//!
//! First a snapshot of what it knows, then the bytes that the snapshot names. Bytes are stored before anything speaks
//! of them and are never removed, so all of them are there. The snapshot gets its name last: a folder with
//! `registry.db` in it is whole.

use std::path::{Path, PathBuf};

use sp_tree::{Digest, Dir, FileError, Follow, Name};
use thiserror::Error;

use crate::registry::metadata::{DATABASE, Metadata, MetadataError, snapshot};
use crate::registry::objects::{INCOMING, OBJECTS, Objects};

const PART: &str = "registry.db.part";

/// Why a registry cannot be copied.
#[derive(Debug, Error)]
pub enum CopyError {
    /// There is none.
    #[error("there is no registry with SQLite in `{}`", .0.display())]
    Nothing(PathBuf),
    /// There is something where the copy is to be.
    #[error("`{}` is not empty", .0.display())]
    NotEmpty(PathBuf),
    /// What it knows cannot be read, or not be written.
    #[error("cannot copy what the registry knows")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Bytes that it knows of are gone.
    #[error("the bytes `{0}` are missing")]
    Missing(String),
    /// A file cannot be read, or not be written; or it is not what was stored.
    #[error("cannot copy the bytes of packages")]
    File(#[from] FileError),
}

impl From<MetadataError> for CopyError {
    fn from(error: MetadataError) -> Self {
        Self::Database(error.into())
    }
}

/// What was copied.
pub struct Copied {
    /// How many packages' bytes.
    pub objects: u64,
    /// How many they are.
    pub bytes: u64,
}

/// Copies a registry into a folder that is empty or not there. Every digest is verified. If that fails, the folder
/// is as it was.
pub fn copy(from: &Path, to: &Path) -> Result<Copied, CopyError> {
    let nothing = || CopyError::Nothing(from.into());
    let source = Dir::open(from).map_err(|_| nothing())?;
    source.look(&name(DATABASE)?, Follow::Never)?.ok_or_else(nothing)?;
    let target = Dir::create_private(to)?;
    if !target.entries()?.is_empty() {
        return Err(CopyError::NotEmpty(to.into()));
    }
    let copied = copy_into(from, &target);
    if copied.is_err() {
        for made in [PART, OBJECTS, INCOMING].iter().filter_map(|made| name(made).ok()) {
            let _ = target.remove_tree(&made);
        }
    }
    copied
}

fn copy_into(from: &Path, target: &Dir) -> Result<Copied, CopyError> {
    let part = target.path().join(PART);
    snapshot(&from.join(DATABASE), &part)?;
    let (source, stored) = (Objects::of(from), Objects::open(target.path())?);
    let mut copied = Copied { objects: 0, bytes: 0 };
    for digest in named(&part)? {
        let bytes = source.get(&digest)?.ok_or_else(|| CopyError::Missing(digest.hex()))?;
        copied.objects += 1;
        copied.bytes += bytes.len() as u64;
        stored.put(&bytes)?;
    }
    target.remove_tree(&name(INCOMING)?)?;
    target.sync_filesystem()?;
    target.rename_new(&name(PART)?, target, &name(DATABASE)?)?;
    target.sync()?;
    Ok(copied)
}

/// The digests of all that a registry knows of.
fn named(database: &Path) -> Result<Vec<Digest>, MetadataError> {
    Metadata::in_file(database)?.now(crate::registry::metadata::Database::digests)
}

fn name(text: &str) -> Result<Name, FileError> {
    Name::new(text).map_err(|e| FileError::new("name", text, std::io::Error::other(e)))
}
