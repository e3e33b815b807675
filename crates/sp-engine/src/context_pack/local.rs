//! Reads context packs from a directory or a zip on this machine.

use std::path::Path;

use sp_formats::context_pack::{
    ContextPackEntries, ContextPackEntry, ContextPackZipError, unzip_entries,
};
use sp_formats::printable::printable;
use sp_tree::{Archive, Dir, DirEntry, EntryKind, FileError, Follow, Name, PathError};

use super::read_budget::ContextPackReadBudget;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// The file extension of a zipped pack.
pub(super) const ZIP_EXTENSION: &str = "zip";

/// Reads everything below a directory.
pub(super) fn read_dir(session: &Session<'_>, dir: &Path) -> Result<ContextPackEntries> {
    let name = session.context.display_relative_path(dir);
    let budget = ContextPackReadBudget::new(name, &session.limits);
    let mut walk = ContextPackWalk { budget, entries: ContextPackEntries::new() };
    walk.read_dir(&Dir::open(dir)?, "", 0)?;
    Ok(walk.entries)
}

struct ContextPackWalk<'a> {
    budget: ContextPackReadBudget<'a>,
    entries: ContextPackEntries,
}

impl ContextPackWalk<'_> {
    fn read_dir(&mut self, dir: &Dir, prefix: &str, depth: u64) -> Result<()> {
        self.budget.check_depth(depth)?;
        for entry in dir.entries()? {
            let Some(name) = entry.name().to_str() else {
                return Err(self.not_utf8_error(prefix, &entry));
            };
            let path = format!("{prefix}{name}");
            // A pack may be in a repository, or contain one; `.git` is not part of it.
            if name == ".git" {
                continue;
            }
            if let Err(why @ PathError::GitDir(_)) = Name::new(name) {
                return Err(self.unsafe_name_error(&path, why));
            }
            if entry.kind == EntryKind::Dir {
                let folder = dir.open_dir(&entry, Follow::Never)?;
                self.read_dir(&folder, &format!("{path}/"), depth + 1)?;
                continue;
            }
            self.budget.take_file(depth)?;
            let content = match entry.kind {
                EntryKind::File => ContextPackEntry::File(self.read_file(dir, &entry, &path)?),
                _ => ContextPackEntry::NotAFile,
            };
            self.entries.insert(path, content);
        }
        Ok(())
    }

    fn not_utf8_error(&self, prefix: &str, entry: &DirEntry) -> Error {
        let path = format!("{prefix}{}", entry.name().to_string_lossy());
        let message = format!(
            "the name of `{}` in `{}` is not valid UTF-8",
            printable(&path),
            self.budget.name
        );
        Error::new(ErrorCode::NotUtf8, message)
            .hint("rename it; file names in a context pack must be UTF-8")
    }

    fn unsafe_name_error(&self, path: &str, why: PathError) -> Error {
        let message = format!("invalid file name `{}` in `{}`", printable(path), self.budget.name);
        Error::new(ErrorCode::UnsafePath, message).because(why).hint("rename or remove the file")
    }

    fn read_file(&mut self, dir: &Dir, entry: &DirEntry, path: &str) -> Result<Vec<u8>> {
        let failed = |error| FileError::new("read", Path::new(path), error).into();
        self.budget.read(dir.open_file(entry, Follow::Never)?, path, failed)
    }
}

/// Reads the one directory that a zip contains. `label` names the zip in errors.
pub(super) fn read_zip(
    session: &Session<'_>,
    path: &Path,
    label: &str,
) -> Result<ContextPackEntries> {
    let archive = Archive::open(path, &session.limits)?;
    unzip_entries(&archive).map_err(|why| match why {
        ContextPackZipError::Archive(why) => why.into(),
        ContextPackZipError::NoFolder => {
            Error::new(ErrorCode::InvalidContextPack, format!("`{label}` is not a context pack"))
                .because(why)
                .hint("run `sp context zip <dir>` to create one")
        }
    })
}
