//! `sp clean`: empties the trash and, where asked, the git cache.

use std::path::Path;

use sp_formats::output::CleanReport;
use sp_tree::transaction::TRASH;
use sp_tree::{Dir, DirEntry, EntryKind, FileError, Follow, Segment};

use crate::config::Session;
use crate::context::Context;
use crate::error::Result;
use crate::home::Home;
use crate::install::Mode;
use crate::pkg::downloads_in;

/// What is cleaned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleaning {
    /// Old folders that were kept.
    Trash,
    /// Those, and the git cache.
    TrashAndCache,
}

/// Removes what is kept for the user's sake or for speed.
pub fn clean(context: &Context<'_>, what: Cleaning, mode: Mode) -> Result<CleanReport> {
    let mut report = CleanReport { applied: mode == Mode::Apply, removed: Vec::new(), bytes: 0 };
    if !context.home.exists() {
        return Ok(report);
    }
    let session = Session::begin(context)?;
    let home = Home::open(context, &session.limits)?;
    if let Ok(trash) = home.dir.open_dir(&TRASH, Follow::Never) {
        empty(&trash, mode, &mut report)?;
    }
    let cached = ["git", "zip", "archives"].map(|name| context.cache_dir().join(name));
    for cached in cached.into_iter().chain([downloads_in(context)]) {
        if what == Cleaning::TrashAndCache && cached.is_dir() {
            empty(&Dir::open(&cached)?, mode, &mut report)?;
        }
    }
    Ok(report)
}

fn empty(dir: &Dir, mode: Mode, report: &mut CleanReport) -> Result<()> {
    let mut entries = dir.entries()?;
    entries.sort_by(|a, b| a.name().cmp(b.name()));
    for entry in entries {
        report.bytes += size(dir, &entry)?;
        report.removed.push(Path::new(dir.path()).join(entry.segment()));
        if mode == Mode::Apply {
            dir.remove_tree(&entry)?;
        }
    }
    Ok(())
}

fn size(dir: &Dir, entry: &DirEntry) -> std::result::Result<u64, FileError> {
    let own = dir.look(entry, Follow::Never)?.map_or(0, |stamp| stamp.size);
    match entry.kind {
        EntryKind::Dir => {
            let below = dir.open_dir(entry, Follow::Never)?;
            below.entries()?.iter().try_fold(0, |sum, entry| Ok(sum + size(&below, entry)?))
        }
        _ => Ok(own),
    }
}
