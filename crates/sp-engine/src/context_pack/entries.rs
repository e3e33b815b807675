//! What lies in the folder of a pack, in a zip with such a folder, or at an address of either.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sp_formats::context_pack::{
    ContextPackEntries, ContextPackEntry, ContextPackZipError, MANIFEST_FILE, unzip_entries,
};
use sp_formats::printable::printable;
use sp_tree::{Archive, Dir, EntryKind, Follow, Limits, Name, PathError};

use super::remote::{self, RemoteContextPack, is_url};
use crate::context::Context;
use crate::error::{Error, FailureKind, Result};
use crate::session::Session;

/// The zip that a pack travels in.
pub(crate) const ZIP_EXTENSION: &str = "zip";

/// Whether a context pack is at a path: a folder with `pack.json`, that file itself, or a zip.
pub(crate) fn is_context_pack(path: &Path) -> bool {
    let is_zip = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(ZIP_EXTENSION));
    let is_manifest = path.file_name().is_some_and(|name| name == MANIFEST_FILE);
    path.join(MANIFEST_FILE).symlink_metadata().is_ok()
        || ((is_zip || is_manifest) && path.is_file())
}

/// Where a pack is, as somebody wrote it.
#[derive(Debug)]
pub(crate) enum ContextPackLocation {
    /// A folder, its `pack.json`, or a zip of this machine.
    Local(PathBuf),
    /// An address.
    Remote(RemoteContextPack),
}

impl ContextPackLocation {
    /// What a user means.
    pub(crate) fn new(context: &Context<'_>, given: &Path) -> Result<Self> {
        let text = given.to_string_lossy();
        match is_url(&text) {
            true => RemoteContextPack::new(&text).map(Self::Remote),
            false => Ok(Self::Local(context.expand(&text))),
        }
    }

    /// The place as it is shown.
    pub(crate) fn display_name(&self, context: &Context<'_>) -> String {
        match self {
            Self::Local(path) => context.display_relative_path(path),
            Self::Remote(address) => address.to_string(),
        }
    }
}

/// Everything that lies in a pack. Of a zip, what lies in its one folder.
pub(crate) fn read_entries(
    session: &Session<'_>,
    place: &ContextPackLocation,
) -> Result<ContextPackEntries> {
    let path = match place {
        ContextPackLocation::Local(path) => path,
        ContextPackLocation::Remote(address) => return remote::fetch(session, address),
    };
    let folder = if path.file_name().is_some_and(|name| name == MANIFEST_FILE) {
        path.parent()
    } else {
        None
    };
    let folder = folder.unwrap_or(path);
    if folder.is_dir() {
        let budget = ContextPackReadBudget::new(
            session.context.display_relative_path(folder),
            &session.limits,
        );
        let mut walk = ContextPackWalk { budget, entries: ContextPackEntries::new() };
        walk.read_dir(&Dir::open(folder)?, "", 0)?;
        return Ok(walk.entries);
    }
    read_zip(session, path, &session.context.display_relative_path(path))
}

/// How much of a pack is taken, wherever it comes from.
pub(super) struct ContextPackReadBudget<'a> {
    /// The pack, as the user would name it.
    name: String,
    limits: &'a Limits,
    files: u64,
    bytes: u64,
}

impl<'a> ContextPackReadBudget<'a> {
    pub(super) fn new(name: String, limits: &'a Limits) -> Self {
        Self { name, limits, files: 0, bytes: 0 }
    }

    /// Takes one more file, so many folders deep.
    pub(super) fn take_file(&mut self, depth: u64) -> Result<()> {
        self.check_depth(depth)?;
        self.files += 1;
        match self.files > self.limits.skill_entries {
            true => Err(self.limit_error("more files", self.limits.skill_entries, "skill-entries")),
            false => Ok(()),
        }
    }

    fn check_depth(&self, depth: u64) -> Result<()> {
        match depth > self.limits.depth {
            true => Err(self.limit_error("deeper folders", self.limits.depth, "depth")),
            false => Ok(()),
        }
    }

    /// How many bytes of the next file are read: all that it may have, and one more that shows if it has more.
    pub(super) fn read_limit(&self) -> u64 {
        let limits = self.limits;
        limits.skill_bytes.saturating_sub(self.bytes).min(limits.file_bytes).saturating_add(1)
    }

    /// Takes the bytes of a file, no more than may be.
    pub(super) fn read(
        &mut self,
        from: impl Read,
        path: &str,
        failed: impl FnOnce(io::Error) -> Error,
    ) -> Result<Vec<u8>> {
        let (limits, mut bytes) = (self.limits, Vec::new());
        from.take(self.read_limit()).read_to_end(&mut bytes).map_err(failed)?;
        self.bytes += bytes.len() as u64;
        if bytes.len() as u64 > limits.file_bytes {
            let message = format!(
                "`{}` in `{}` has more bytes than {}",
                printable(path),
                self.name,
                limits.file_bytes
            );
            return Err(Error::new(FailureKind::Data, message)
                .hint("raise it with `--limit file-bytes=<number>`, if you trust it"));
        }
        if self.bytes > limits.skill_bytes {
            return Err(self.limit_error("more bytes", limits.skill_bytes, "skill-bytes"));
        }
        Ok(bytes)
    }

    fn limit_error(&self, what: &str, limit: u64, name: &str) -> Error {
        Error::new(
            FailureKind::Data,
            format!("the context pack `{}` has {what} than {limit}", self.name),
        )
        .hint(format!("raise it with `--limit {name}=<number>`, if you trust it"))
    }
}

struct ContextPackWalk<'a> {
    budget: ContextPackReadBudget<'a>,
    entries: ContextPackEntries,
}

impl ContextPackWalk<'_> {
    fn read_dir(&mut self, dir: &Dir, above: &str, depth: u64) -> Result<()> {
        self.budget.check_depth(depth)?;
        for entry in dir.entries()? {
            let Some(name) = entry.name().to_str() else {
                let shown = format!("{above}{}", entry.name().to_string_lossy());
                let message = format!(
                    "`{}` in `{}` has a name that is not UTF-8",
                    printable(&shown),
                    self.budget.name
                );
                return Err(Error::new(FailureKind::Data, message)
                    .hint("rename it: the names of a pack are UTF-8"));
            };
            let path = format!("{above}{name}");
            // A pack that is committed, or has a repository inside: what git keeps is not the pack's.
            if name == ".git" {
                continue;
            }
            if let Err(why @ PathError::GitDir(_)) = Name::new(name) {
                let message =
                    format!("`{}` in `{}` cannot be used", printable(&path), self.budget.name);
                return Err(Error::new(FailureKind::Data, message)
                    .because(why)
                    .hint("remove it, or rename it"));
            }
            if entry.kind == EntryKind::Dir {
                self.read_dir(
                    &dir.open_dir(&entry, Follow::Never)?,
                    &format!("{path}/"),
                    depth + 1,
                )?;
                continue;
            }
            self.budget.take_file(depth)?;
            let found = match entry.kind {
                EntryKind::File => ContextPackEntry::File(self.read_file(dir, &entry, &path)?),
                _ => ContextPackEntry::NotAFile,
            };
            self.entries.insert(path, found);
        }
        Ok(())
    }

    fn read_file(&mut self, dir: &Dir, entry: &sp_tree::DirEntry, path: &str) -> Result<Vec<u8>> {
        let failed = |error| sp_tree::FileError::new("read", Path::new(path), error).into();
        self.budget.read(dir.open_file(entry, Follow::Never)?, path, failed)
    }
}

/// What lies in the one folder of a zip, which is shown by this name.
pub(super) fn read_zip(
    session: &Session<'_>,
    path: &Path,
    shown: &str,
) -> Result<ContextPackEntries> {
    let archive = Archive::open(path, &session.limits)?;
    unzip_entries(&archive).map_err(|why| match why {
        ContextPackZipError::Archive(why) => why.into(),
        ContextPackZipError::NoFolder => {
            Error::new(FailureKind::Data, format!("`{shown}` is no context pack"))
                .because(why)
                .hint("`sp context zip <folder>` makes one")
        }
    })
}
