//! `sp clean`: empties the trash, removes versions that no project needs, and, on request, empties
//! the cache.

use std::path::{Path, PathBuf};

use sp_formats::output::{CleanReport, CleanedItem};
use sp_tree::transaction::TRASH_DIR;
use sp_tree::{Dir, DirEntry, EntryKind, FileError, Follow, Segment};

use crate::context::{Context, Event};
use crate::downloads::ARTIFACTS_DIR;
use crate::error::Result;
use crate::home::LockedHome;
use crate::plan_id::{ApplyOptions, PlanHasher, PlanId};
use crate::project::unneeded_bases;
use crate::registry::downloads_dir;
use crate::session::Session;

/// What to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleanScope {
    /// Edited folders and files that were moved to the trash.
    Trash,
    /// The trash, and everything that was downloaded.
    TrashAndCache,
}

/// Empties the trash and, depending on the scope, the cache.
pub fn clean(context: &Context<'_>, scope: CleanScope, apply: ApplyOptions) -> Result<CleanReport> {
    let Some(CleanedHome { session, home }) = open_home(context)? else {
        let status = apply.confirm(plan_id(&[]))?;
        return Ok(CleanReport { status, removed: Vec::new(), items: Vec::new(), bytes: 0 });
    };
    let mut dirs = Vec::new();
    dirs.extend(home.dir.open_dir(&TRASH_DIR, Follow::Never).ok());
    if scope == CleanScope::TrashAndCache {
        let cached =
            ["git", "zip", "archives", ARTIFACTS_DIR].map(|name| context.cache_dir().join(name));
        let cached = cached.into_iter().chain([downloads_dir(context)]);
        for dir in cached.filter(|dir| dir.is_dir()) {
            dirs.push(Dir::open(&dir)?);
        }
    }
    let (bases, unneeded) = match unneeded_bases(&session) {
        Ok((dir, unneeded)) => (Dir::open(&dir).ok(), unneeded),
        Err(error) => {
            context.emit(Event::Warning(format!("kept all stored versions: {error}")));
            (None, Vec::new())
        }
    };
    let mut entries: Vec<CleanedEntry<'_>> =
        dirs.iter().map(list_entries).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    if let Some(dir) = &bases {
        let listed = list_entries(dir)?;
        let is_unneeded = |entry: &CleanedEntry<'_>| {
            unneeded.iter().any(|name| entry.entry.name() == name.as_str())
        };
        entries.extend(listed.into_iter().filter(is_unneeded));
    }
    let status = apply.confirm(plan_id(&entries))?;
    if status.applied {
        entries.iter().try_for_each(|entry| entry.dir.remove_tree(&entry.entry))?;
    }
    Ok(CleanReport {
        status,
        removed: entries.iter().map(CleanedEntry::path).collect(),
        items: entries
            .iter()
            .map(|entry| CleanedItem { path: entry.path(), bytes: entry.bytes })
            .collect(),
        bytes: entries.iter().map(|entry| entry.bytes).sum(),
    })
}

/// Opens the home directory; none if there is none, so that nothing is to be removed.
fn open_home<'a>(context: &'a Context<'a>) -> Result<Option<CleanedHome<'a>>> {
    if !context.home.exists() {
        return Ok(None);
    }
    let session = Session::begin(context)?;
    let home = LockedHome::open(context, &session.limits)?;
    Ok(Some(CleanedHome { session, home }))
}

/// The locked home directory, and the configuration.
struct CleanedHome<'a> {
    session: Session<'a>,
    home: LockedHome<'a>,
}

/// An entry that is removed.
struct CleanedEntry<'d> {
    dir: &'d Dir,
    entry: DirEntry,
    bytes: u64,
}

impl CleanedEntry<'_> {
    fn path(&self) -> PathBuf {
        Path::new(self.dir.path()).join(self.entry.segment())
    }
}

fn list_entries(dir: &Dir) -> Result<Vec<CleanedEntry<'_>>> {
    let mut entries = dir.entries()?;
    entries.sort_by(|a, b| a.name().cmp(b.name()));
    let sized = |entry| {
        let bytes = entry_size(dir, &entry)?;
        Ok(CleanedEntry { dir, entry, bytes })
    };
    entries.into_iter().map(sized).collect()
}

fn plan_id(entries: &[CleanedEntry<'_>]) -> PlanId {
    let mut hasher = PlanHasher::of_operation("clean");
    hasher.list(entries.iter(), |hasher, entry| {
        hasher.path(&entry.path());
        hasher.bytes(&entry.bytes.to_le_bytes());
    });
    hasher.finish()
}

fn entry_size(dir: &Dir, entry: &DirEntry) -> std::result::Result<u64, FileError> {
    let own = dir.stat(entry, Follow::Never)?.map_or(0, |stamp| stamp.size);
    match entry.kind {
        EntryKind::Dir => {
            let below = dir.open_dir(entry, Follow::Never)?;
            below.entries()?.iter().try_fold(0, |sum, entry| Ok(sum + entry_size(&below, entry)?))
        }
        _ => Ok(own),
    }
}
