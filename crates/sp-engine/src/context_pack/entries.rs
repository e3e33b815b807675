//! What lies in the folder of a pack, or in a zip with such a folder.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use sp_formats::context_pack::{Entries, Entry, MANIFEST};
use sp_formats::printable::printable;
use sp_tree::{Archive, Dir, EntryKind, Follow, Limits, ListingKind, RelPath};

use crate::config::Session;
use crate::error::{Error, Kind, Result};

/// The zip that a pack travels in.
pub(crate) const ZIP_ENDING: &str = "zip";

/// Whether a context pack is at a path: a folder with `pack.json`, that file itself, or a zip.
pub(crate) fn is_pack(path: &Path) -> bool {
    let is_zip = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(ZIP_ENDING));
    let is_manifest = path.file_name().is_some_and(|name| name == MANIFEST);
    path.join(MANIFEST).symlink_metadata().is_ok() || ((is_zip || is_manifest) && path.is_file())
}

/// Everything that lies in a pack. Of a zip, what lies in its one folder.
pub(crate) fn read_entries(session: &Session<'_>, path: &Path) -> Result<Entries> {
    let folder = if path.file_name().is_some_and(|name| name == MANIFEST) { path.parent() } else { None };
    let folder = folder.unwrap_or(path);
    if folder.is_dir() {
        let name = session.context.show_near(folder);
        let mut walk = Walk { name, limits: &session.limits, entries: Entries::new(), bytes: 0 };
        walk.folder(&Dir::open(folder)?, "", 0)?;
        return Ok(walk.entries);
    }
    read_zip(session, path)
}

struct Walk<'a> {
    /// The pack, as the user would name it.
    name: String,
    limits: &'a Limits,
    entries: Entries,
    bytes: u64,
}

impl Walk<'_> {
    fn folder(&mut self, dir: &Dir, above: &str, depth: u64) -> Result<()> {
        if depth > self.limits.depth {
            return Err(self.too_much("deeper folders", self.limits.depth, "depth"));
        }
        for entry in dir.entries()? {
            let Some(name) = entry.name().to_str() else {
                let shown = format!("{above}{}", entry.name().to_string_lossy());
                let message = format!("`{}` in `{}` has a name that is not UTF-8", printable(&shown), self.name);
                return Err(Error::new(Kind::Data, message).hint("rename it: the names of a pack are UTF-8"));
            };
            let path = format!("{above}{name}");
            // A pack that is committed: what git keeps is not the pack's.
            if path == ".git" {
                continue;
            }
            if self.entries.len() as u64 >= self.limits.skill_entries {
                return Err(self.too_much("more files", self.limits.skill_entries, "skill-entries"));
            }
            match entry.kind {
                EntryKind::Dir => self.folder(&dir.open_dir(&entry, Follow::Never)?, &format!("{path}/"), depth + 1)?,
                EntryKind::File => {
                    let bytes = self.file(dir, &entry, &path)?;
                    self.entries.insert(path, Entry::File(bytes));
                }
                EntryKind::Link | EntryKind::Special => drop(self.entries.insert(path, Entry::Other)),
            }
        }
        Ok(())
    }

    fn file(&mut self, dir: &Dir, entry: &sp_tree::DirEntry, path: &str) -> Result<Vec<u8>> {
        let (limits, mut bytes) = (self.limits, Vec::new());
        let limit = limits.skill_bytes.saturating_sub(self.bytes).min(limits.file_bytes);
        let read = dir.open_file(entry, Follow::Never)?.take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|e| sp_tree::FileError::new("read", Path::new(path), e))?;
        self.bytes += bytes.len() as u64;
        if bytes.len() as u64 > limits.file_bytes {
            let message = format!("`{}` in `{}` has more bytes than {}", printable(path), self.name, limits.file_bytes);
            return Err(
                Error::new(Kind::Data, message).hint("raise it with `--limit file-bytes=<number>`, if you trust it")
            );
        }
        if self.bytes > limits.skill_bytes {
            return Err(self.too_much("more bytes", limits.skill_bytes, "skill-bytes"));
        }
        Ok(bytes)
    }

    fn too_much(&self, what: &str, limit: u64, name: &str) -> Error {
        Error::new(Kind::Data, format!("the context pack `{}` has {what} than {limit}", self.name))
            .hint(format!("raise it with `--limit {name}=<number>`, if you trust it"))
    }
}

fn read_zip(session: &Session<'_>, path: &Path) -> Result<Entries> {
    let archive = Archive::open(path, &session.limits)?;
    let mut entries = Entries::new();
    for entry in &archive.listing.entries {
        match &entry.kind {
            ListingKind::Dir => {}
            ListingKind::File { handle, .. } => {
                let bytes = archive.read(&entry.path, handle)?;
                entries.insert(entry.path.to_string(), Entry::File(bytes));
            }
        }
    }
    let top = |path: &RelPath| path.segments().next().unwrap_or_default().to_owned();
    let tops: BTreeSet<String> = archive.listing.entries.iter().map(|entry| top(&entry.path)).collect();
    match tops.first() {
        Some(top) if tops.len() == 1 && !entries.contains_key(top) => {
            let inside = format!("{top}/");
            Ok(entries
                .into_iter()
                .filter_map(|(path, entry)| Some((path.strip_prefix(&inside)?.to_owned(), entry)))
                .collect())
        }
        _ => Err(Error::new(Kind::Data, format!("`{}` is no context pack", session.context.show_near(path)))
            .because("a zip of a pack has one folder at its top, and everything in it")
            .hint("`sp context zip <folder>` makes one")),
    }
}
