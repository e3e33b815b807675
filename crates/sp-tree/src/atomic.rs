//! Replacing one file so that a reader, and a power cut, see the old bytes or the new.

use crate::dir::{Dir, FileError, Fixed, Segment};

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
pub struct Temp<'a> {
    /// The directory, on the same file system as the target.
    pub dir: &'a Dir,
    /// The name. Callers hold the lock of the directory, so a file that has it was left by a death.
    pub name: Fixed,
}

/// Replaces `name` in `dir` by `bytes`.
pub fn replace(
    dir: &Dir,
    name: &(impl Segment + ?Sized),
    temp: Temp<'_>,
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
        temp.dir.rename_over(&temp.name, dir, name)
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
