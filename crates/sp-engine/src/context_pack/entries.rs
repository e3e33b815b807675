//! What lies in the folder of a pack, or in a zip with such a folder.

use std::io::Read;
use std::path::Path;

use sp_formats::context_pack::{Entries, Entry, MANIFEST};
use sp_tree::{Archive, Dir, EntryKind, Follow, Limits, ListingKind};

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
        let mut walk = Walk { limits: &session.limits, entries: Entries::new(), bytes: 0 };
        walk.folder(&Dir::open(folder)?, "", 0)?;
        return Ok(walk.entries);
    }
    read_zip(session, path)
}

struct Walk<'a> {
    limits: &'a Limits,
    entries: Entries,
    bytes: u64,
}

impl Walk<'_> {
    fn folder(&mut self, dir: &Dir, above: &str, depth: u64) -> Result<()> {
        if depth > self.limits.depth {
            return Err(self.too_much("nested deeper", self.limits.depth, "depth"));
        }
        for entry in dir.entries()? {
            let Some(name) = entry.name().to_str() else {
                return Err(Error::new(Kind::Data, "a file in the pack has a name that is not UTF-8")
                    .hint("rename it: the names of a pack are UTF-8"));
            };
            let path = format!("{above}{name}");
            if self.entries.len() as u64 >= self.limits.skill_entries {
                return Err(self.too_much("more files", self.limits.skill_entries, "skill-entries"));
            }
            match entry.kind {
                EntryKind::Dir => self.folder(&dir.open_dir(&entry, Follow::Never)?, &format!("{path}/"), depth + 1)?,
                EntryKind::File => {
                    let bytes = self.file(dir, &entry)?;
                    self.entries.insert(path, Entry::File(bytes));
                }
                EntryKind::Link | EntryKind::Special => drop(self.entries.insert(path, Entry::Other)),
            }
        }
        Ok(())
    }

    fn file(&mut self, dir: &Dir, entry: &sp_tree::DirEntry) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let limit = self.limits.skill_bytes.saturating_sub(self.bytes);
        let read = dir.open_file(entry, Follow::Never)?.take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|e| sp_tree::FileError::new("read", Path::new(entry.name()), e))?;
        self.bytes += bytes.len() as u64;
        if self.bytes > self.limits.skill_bytes {
            return Err(self.too_much("more bytes", self.limits.skill_bytes, "skill-bytes"));
        }
        Ok(bytes)
    }

    fn too_much(&self, what: &str, limit: u64, name: &str) -> Error {
        Error::new(Kind::Data, format!("the pack has {what} than {limit}"))
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
    let mut tops: Vec<&str> = entries.keys().filter_map(|path| path.split_once('/')).map(|(top, _)| top).collect();
    tops.dedup();
    let is_one_folder = tops.len() == 1 && entries.keys().all(|path| path.contains('/'));
    match tops.first() {
        Some(top) if is_one_folder => {
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
