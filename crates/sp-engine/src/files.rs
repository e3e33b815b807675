//! Files of the user that `sp` creates or replaces.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sp_tree::atomic::{self, Durability, TempFile};
use sp_tree::transaction::PriorState;
use sp_tree::{Digest, Dir, FileError, Follow, Name, StaticName, read_optional};

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};

/// What a path on the command line has to lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputKind {
    File,
    Directory,
    FileOrDirectory,
}

/// Refuses a path on the command line that does not exist. Other failures are left to the code that
/// opens it.
pub(crate) fn require_input(context: &Context<'_>, path: &Path, kind: InputKind) -> Result<()> {
    let is_missing =
        |e: std::io::Error| matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    if !path.metadata().is_err_and(is_missing) {
        return Ok(());
    }
    let (code, noun) = match kind {
        InputKind::File => (ErrorCode::FileNotFound, "file"),
        InputKind::Directory => (ErrorCode::DirectoryNotFound, "directory"),
        InputKind::FileOrDirectory => (ErrorCode::FileNotFound, "file or directory"),
    };
    let message = format!("{noun} `{}` not found", context.display_path(path));
    Err(Error::new(code, message).hint("check the path; nothing was changed"))
}

/// Reads a file that is going to be replaced. Returns its bytes, and the prior state that the
/// transaction has to find.
pub(crate) fn read_for_update(path: &Path, limit: u64) -> Result<(Option<Vec<u8>>, PriorState)> {
    let (dir, name) = parent_and_name(path)?;
    // Stat before reading, so that a change during the read is detected later.
    let stamp = match Dir::open(dir) {
        Ok(dir) => dir.stat(&name, Follow::Never)?,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
        Err(e) => return Err(e.into()),
    };
    let bytes = read_optional(path, limit)?;
    let before = match (stamp, &bytes) {
        (Some(stamp), Some(bytes)) => PriorState::UserFile(stamp, Digest::of(bytes)),
        _ => PriorState::Absent,
    };
    Ok((bytes, before))
}

/// Splits the path of a file into its directory and its name.
pub(crate) fn parent_and_name(path: &Path) -> Result<(&Path, Name)> {
    let name =
        path.file_name().ok_or_else(|| FileError::new("write", path, ErrorKind::IsADirectory))?;
    let name = Name::new(&name.to_string_lossy()).map_err(|why| {
        Error::new(ErrorCode::InvalidName, format!("invalid file name in `{}`", path.display()))
            .because(why)
            .hint("choose a different file name")
    })?;
    Ok((path.parent().unwrap_or(Path::new("/")), name))
}

/// Resolves the links of a path, as far as it exists.
pub(crate) fn canonicalize_existing(path: &Path) -> PathBuf {
    let resolved = path.ancestors().find_map(|existing| {
        let rest = path.strip_prefix(existing).ok()?;
        let real = existing.canonicalize().ok()?;
        Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
    });
    resolved.unwrap_or_else(|| path.into())
}

/// Writes files into a directory, creating it if needed. Each file is replaced atomically.
pub fn write_files(dir: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    let dir = Dir::create_all(dir)?;
    for (name, bytes) in files {
        let name = Name::new(name)?;
        let temp = TempFile { dir: &dir, name: StaticName(".sp-new") };
        atomic::replace(&dir, &name, temp, bytes, Durability::Durable)?;
    }
    Ok(())
}
