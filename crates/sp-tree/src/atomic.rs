//! Atomic replacement of a file: readers see the old bytes or the new ones, even after a power
//! failure.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use sp_tree::atomic::{self, Durability, TempFile};
//! use sp_tree::{Dir, StaticName};
//!
//! let temp = tempfile::tempdir()?;
//! let dir = Dir::open(temp.path())?;
//! for state in ["old", "new"] {
//!     let temp_file = TempFile { dir: &dir, name: StaticName("state.json.tmp") };
//!     let name = StaticName("state.json");
//!     atomic::replace(&dir, &name, temp_file, state.as_bytes(), Durability::Durable)?;
//! }
//! assert_eq!(std::fs::read_to_string(temp.path().join("state.json"))?, "new");
//! # Ok(())
//! # }
//! ```

use std::io::ErrorKind;
use std::path::Path;

use crate::dir::{Dir, Follow};
use crate::file_error::FileError;
use crate::file_stamp::{EntryKind, FileStamp};
use crate::path::Name;
use crate::segment::{DirEntry, Segment, StaticName};
use crate::staged_file::{StagedFile, remove_leftovers};

pub use crate::new_file::FileAccess;
pub use crate::staged_file::create_locked_file;

/// Whether the new bytes must survive a power failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Syncs the file, renames it, and syncs the directory.
    Durable,
    /// For caches, which can be regenerated.
    Cache,
}

/// The temporary file that is written and then renamed.
#[derive(Debug, Clone, Copy)]
pub struct TempFile<'a> {
    /// A directory on the same file system as the target.
    pub dir: &'a Dir,
    /// The caller holds the lock of the directory, so an existing file with this name is left over
    /// from a crash.
    pub name: StaticName,
}

/// Replaces `name` in `dir` with `bytes`.
pub fn replace(
    dir: &Dir,
    name: &(impl Segment + ?Sized),
    temp: TempFile<'_>,
    bytes: &[u8],
    durability: Durability,
) -> Result<(), FileError> {
    let write = || {
        temp.dir.remove_tree(&temp.name)?;
        let mut file = temp.dir.create_file(&temp.name, false)?;
        file.write(bytes)?;
        if durability == Durability::Durable {
            file.sync()?;
        }
        temp.dir.rename_replace(&temp.name, dir, name)
    };
    if let Err(error) = write() {
        // Best effort: the next replacement removes it.
        let _ = temp.dir.remove_tree(&temp.name);
        return Err(error);
    }
    match durability {
        Durability::Durable => dir.sync(),
        Durability::Cache => Ok(()),
    }
}

/// Replaces the bytes of a user's file, keeping its permissions, if it still has the stamp `like`.
/// Returns whether it was replaced. `run_id` is unique.
pub fn replace_if_unchanged(
    dir: &Dir,
    name: &Name,
    like: &FileStamp,
    run_id: &str,
    bytes: &[u8],
) -> Result<bool, FileError> {
    remove_leftovers(dir);
    let mut staged = StagedFile::create(dir, run_id, FileAccess::Private)?;
    staged.file.copy_permissions(like)?;
    staged.file.write(bytes)?;
    staged.file.sync()?;
    if dir.stat(name, Follow::Never)?.as_ref() != Some(like) {
        return Ok(false);
    }
    staged.place_over(name)?;
    dir.sync()?;
    Ok(true)
}

/// A file to write completely or not at all.
#[derive(Debug, Clone, Copy)]
pub struct OutputFile<'a> {
    pub bytes: &'a [u8],
    pub access: FileAccess,
    pub if_exists: ExistingFilePolicy,
}

/// What to do if the file exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingFilePolicy {
    /// Fail.
    Refuse,
    /// Replace it. Its permissions are kept unless the new file is private.
    Replace,
}

/// Writes a file to a path that the user chose. `run_id` is unique.
pub fn write_output(path: &Path, run_id: &str, output: OutputFile<'_>) -> Result<(), FileError> {
    let name = DirEntry::from_path(path)
        .ok_or_else(|| FileError::new("write", path, ErrorKind::IsADirectory))?;
    let dir = Dir::open(
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")),
    )?;
    write_file(&dir, &name, run_id, output)
}

/// Writes a file in `dir`. `run_id` is unique.
pub fn write_file(
    dir: &Dir,
    name: &(impl Segment + ?Sized),
    run_id: &str,
    output: OutputFile<'_>,
) -> Result<(), FileError> {
    remove_leftovers(dir);
    let old = match output.if_exists {
        ExistingFilePolicy::Refuse => None,
        ExistingFilePolicy::Replace => {
            dir.stat(name, Follow::Never)?.filter(|old| old.kind() == EntryKind::File)
        }
    };
    let replaced = old.filter(|_| output.access == FileAccess::Ordinary);
    let access = if replaced.is_some() { FileAccess::Private } else { output.access };
    let mut staged = StagedFile::create(dir, run_id, access)?;
    staged.file.write(output.bytes)?;
    if let Some(old) = replaced {
        staged.file.copy_permissions(&old)?;
    }
    staged.file.sync()?;
    match output.if_exists {
        ExistingFilePolicy::Refuse => staged.place_new(name)?,
        ExistingFilePolicy::Replace => staged.place_over(name)?,
    }
    dir.sync()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test creates its own files")]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn rewrite_keeps_permissions_and_skips_changed_files() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("SKILL.md");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let name = Name::new("SKILL.md").unwrap();
        let original = dir.stat(&name, Follow::Never).unwrap().unwrap();
        assert!(replace_if_unchanged(&dir, &name, &original, "run", b"new").unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(!replace_if_unchanged(&dir, &name, &original, "run", b"newer").unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(dir.entries().unwrap().len(), 1);
    }
}
