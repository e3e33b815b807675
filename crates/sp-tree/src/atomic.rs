//! Replacing one file so that a reader, and a power cut, see the old bytes or the new.

use std::io::ErrorKind;
use std::path::Path;

use crate::dir::{Dir, DirEntry, EntryKind, FileStamp, Follow, Segment, StaticName};
use crate::file_error::FileError;
use crate::path::Name;

/// Whether the new bytes must survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// They must: sync the file, rename, sync the directory.
    Durable,
    /// They are a cache, and worth nothing that cannot be made again.
    Cache,
}

/// The file that is written and then renamed, and the directory in which it is.
#[derive(Debug, Clone, Copy)]
pub struct TempFile<'a> {
    /// The directory, on the same file system as the target.
    pub dir: &'a Dir,
    /// The name. Callers hold the lock of the directory, so a file that has it was left by a death.
    pub name: StaticName,
}

/// Replaces `name` in `dir` by `bytes`.
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
        // Best effort: the next replacement removes what stays.
        let _ = temp.dir.remove_tree(&temp.name);
        return Err(error);
    }
    match durability {
        Durability::Durable => dir.sync(),
        Durability::Cache => Ok(()),
    }
}

/// Replaces the bytes of a user's own file, which keeps its permissions, if it still looks like
/// `like`. Whether it did, is told.
pub fn replace_if_unchanged(
    dir: &Dir,
    name: &Name,
    like: &FileStamp,
    temp: &Name,
    bytes: &[u8],
) -> Result<bool, FileError> {
    let write = || {
        // Callers hold a lock, so a file that has this name was left by a death.
        dir.remove_tree(temp)?;
        let mut file = dir.create_file(temp, false)?;
        file.copy_permissions(like)?;
        file.write(bytes)?;
        file.sync()?;
        let unchanged = dir.stat(name, Follow::Never)?.as_ref() == Some(like);
        match unchanged {
            true => dir.rename_replace(temp, dir, name)?,
            false => dir.remove_file(temp)?,
        }
        Ok(unchanged)
    };
    let written = write().inspect_err(|_| {
        let _ = dir.remove_tree(temp);
    })?;
    dir.sync()?;
    Ok(written)
}

/// A file that is given to somebody, whole or not at all.
#[derive(Debug, Clone, Copy)]
pub struct OutputFile<'a> {
    /// What it holds.
    pub bytes: &'a [u8],
    /// Who may read it.
    pub access: FileAccess,
    /// What becomes of a file that is there already.
    pub if_exists: ExistingFilePolicy,
}

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// Whoever the user's own mask allows.
    Ordinary,
    /// Its owner alone.
    Private,
}

/// What becomes of a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingFilePolicy {
    /// It stays, and the new one is refused.
    Refuse,
    /// The new one takes its place, and keeps its permissions if anybody may read it.
    Replace,
}

/// Writes a file where a user wants it; `temp` is a name that nobody else has.
pub fn write_output(path: &Path, temp: &Name, delivery: OutputFile<'_>) -> Result<(), FileError> {
    let name = DirEntry::from_path(path)
        .ok_or_else(|| FileError::new("write", path, ErrorKind::IsADirectory))?;
    let dir = Dir::open(
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")),
    )?;
    let write = || {
        let old = dir.stat(&name, Follow::Never)?.filter(|old| old.kind() == EntryKind::File);
        let replaced = old.filter(|_| {
            delivery.if_exists == ExistingFilePolicy::Replace
                && delivery.access == FileAccess::Ordinary
        });
        let mut file = match (delivery.access, replaced) {
            (FileAccess::Ordinary, None) => dir.create_file(temp, false)?,
            _ => dir.create_private_file(temp)?,
        };
        file.write(delivery.bytes)?;
        if let Some(old) = replaced {
            file.copy_permissions(&old)?;
        }
        file.sync()?;
        match delivery.if_exists {
            ExistingFilePolicy::Refuse => dir.rename_noreplace(temp, &dir, &name),
            ExistingFilePolicy::Replace => dir.rename_replace(temp, &dir, &name),
        }
    };
    write().inspect_err(|_| {
        let _ = dir.remove_tree(temp);
    })?;
    dir.sync()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test makes the files that it needs")]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_rewritten_file_keeps_its_permissions_and_what_changed_meanwhile_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("SKILL.md");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let (name, beside) = (Name::new("SKILL.md").unwrap(), Name::new("beside").unwrap());
        let like = dir.stat(&name, Follow::Never).unwrap().unwrap();
        assert!(replace_if_unchanged(&dir, &name, &like, &beside, b"new").unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(!replace_if_unchanged(&dir, &name, &like, &beside, b"newer").unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert!(!temp.path().join("beside").exists());
    }
}
