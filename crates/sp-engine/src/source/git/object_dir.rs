//! The object directory of a cached repository, as far as `sp` itself looks into it.
//!
//! Git owns these files. `sp` only measures them while git fetches, and removes what a git that was
//! killed left behind.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use sp_tree::{Dir, EntryKind, Follow, StaticName};

use crate::error::Result;

/// Removes the lock files and temporary files of a git that was killed.
///
/// A leftover lock file would make every later git fail. The caller must hold the lock of the
/// cached repository.
pub(super) fn remove_stale_files(repository: &Dir) -> Result<()> {
    remove_stale_files_in(repository)?;
    match open_pack_dir(repository) {
        Some(packs) => remove_stale_files_in(&packs),
        None => Ok(()),
    }
}

fn remove_stale_files_in(dir: &Dir) -> Result<()> {
    for entry in dir.entries()? {
        let name = entry.name().as_encoded_bytes();
        if entry.kind == EntryKind::File && (name.ends_with(b".lock") || name.starts_with(b"tmp_"))
        {
            dir.remove_file(&entry)?;
        }
    }
    Ok(())
}

/// Opens the directory of the pack files, if the repository has one.
pub(super) fn open_pack_dir(repository: &Dir) -> Option<Dir> {
    let objects = repository.open_dir(&StaticName("objects"), Follow::Never).ok()?;
    objects.open_dir(&StaticName("pack"), Follow::Never).ok()
}

/// Returns the sizes of the pack files, by name.
pub(super) fn pack_sizes(repository: &Path) -> HashMap<OsString, u64> {
    let entries =
        std::fs::read_dir(repository.join("objects/pack")).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name(), entry.metadata().ok()?.len()))).collect()
}
