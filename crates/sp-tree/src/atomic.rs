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

/// Replaces `name` in `dir` by `bytes`; `temp` is the name of the file that is renamed.
///
/// Callers hold the lock of `dir`, so a `temp` that is there was left by a death and is removed.
pub fn replace(
    dir: &Dir,
    name: &(impl Segment + ?Sized),
    temp: Fixed,
    bytes: &[u8],
    durability: Durability,
) -> Result<(), FileError> {
    let write = || {
        dir.remove_tree(&temp)?;
        let mut file = dir.create_file(&temp, false)?;
        file.write(bytes)?;
        if durability == Durability::Durable {
            file.sync()?;
        }
        dir.rename_over(&temp, name)
    };
    if let Err(error) = write() {
        // Best effort: the next replacement removes what stays.
        let _ = dir.remove_tree(&temp);
        return Err(error);
    }
    match durability {
        Durability::Durable => dir.sync(),
        Durability::Cache => Ok(()),
    }
}
