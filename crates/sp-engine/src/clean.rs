//! `sp clean`: empties the trash and, on request, the cache.

use std::path::Path;

use sp_formats::output::CleanReport;
use sp_tree::transaction::TRASH_DIR;
use sp_tree::{Dir, DirEntry, EntryKind, FileError, Follow, Segment};

use crate::apply_mode::ApplyMode;
use crate::context::Context;
use crate::error::Result;
use crate::home::LockedHome;
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
pub fn clean(context: &Context<'_>, scope: CleanScope, mode: ApplyMode) -> Result<CleanReport> {
    let mut report =
        CleanReport { applied: mode == ApplyMode::Apply, removed: Vec::new(), bytes: 0 };
    if !context.home.exists() {
        return Ok(report);
    }
    let session = Session::begin(context)?;
    let home = LockedHome::open(context, &session.limits)?;
    if let Ok(trash) = home.dir.open_dir(&TRASH_DIR, Follow::Never) {
        empty_dir(&trash, mode, &mut report)?;
    }
    if scope == CleanScope::TrashAndCache {
        let cached = ["git", "zip", "archives"].map(|name| context.cache_dir().join(name));
        for dir in cached.into_iter().chain([downloads_dir(context)]) {
            if dir.is_dir() {
                empty_dir(&Dir::open(&dir)?, mode, &mut report)?;
            }
        }
    }
    Ok(report)
}

fn empty_dir(dir: &Dir, mode: ApplyMode, report: &mut CleanReport) -> Result<()> {
    let mut entries = dir.entries()?;
    entries.sort_by(|a, b| a.name().cmp(b.name()));
    for entry in entries {
        report.bytes += entry_size(dir, &entry)?;
        report.removed.push(Path::new(dir.path()).join(entry.segment()));
        if mode == ApplyMode::Apply {
            dir.remove_tree(&entry)?;
        }
    }
    Ok(())
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
