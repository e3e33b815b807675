//! Ending a transaction, in the run that began it or in the next one.

use std::io::ErrorKind;
use std::path::Path;

use rayon::prelude::*;

use super::journal::{Journal, JournalChange, JournalRoot, Phase};
use super::keep::Disposal;
use super::{Kept, TransactionError, coming, going};
use crate::dir::{Dir, DirEntry, FileError, Follow};
use crate::limits::Limits;
use crate::path::Name;

/// What became of a transaction that an earlier run left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It had not been committed: everything is as before it.
    TakenBack,
    /// It had been committed: the rest of it was done.
    Finished,
}

/// A transaction of an earlier run that was ended now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// Which way it ended.
    pub outcome: Outcome,
    /// Folders that were kept because they were not as we left them.
    pub kept: Vec<Kept>,
}

/// Whether an earlier run left a transaction, or the beginnings of one, behind.
pub fn pending(home: &Dir) -> Result<bool, FileError> {
    Journal::exists(home)
}

/// Ends what an earlier run left behind; the state that is stored has this generation.
pub fn recover(home: &Dir, generation: u64, limits: &Limits) -> Result<Option<Recovery>, TransactionError> {
    let Some(journal) = Journal::load(home)? else {
        // A death while the first journal was being written: nothing else was touched.
        Journal::clear(home)?;
        return Ok(None);
    };
    if generation < journal.generation {
        take_back(home, &journal).map_err(TransactionError::Unfinished)?;
        return Ok(Some(Recovery { outcome: Outcome::TakenBack, kept: Vec::new() }));
    }
    let finished = dispose_all(home, &journal, limits).and_then(|kept| {
        // Best effort: an empty directory must not make every later command fail.
        let _ = remove_empty(&journal.remove_if_empty);
        Journal::clear(home).map(|()| kept)
    });
    let kept = finished.map_err(|error| TransactionError::Incomplete(Box::new(error)))?;
    Ok(Some(Recovery { outcome: Outcome::Finished, kept }))
}

/// Puts everything back as it was before the transaction.
pub(super) fn take_back(home: &Dir, journal: &Journal) -> Result<(), FileError> {
    if journal.phase == Phase::Swapping {
        for (index, change) in journal.changes.iter().enumerate().rev() {
            if let Some((dir, stage)) = open_root(&journal.roots[change.root])? {
                put_back(index, change, &dir, &stage)?;
            }
        }
    }
    for root in &journal.roots {
        remove_stage(root)?;
        remove_empty(&root.made)?;
    }
    Journal::clear(home)
}

/// Disposes of what was replaced, and removes the stages, the directories that are to go and the journal.
pub(super) fn finish(home: &Dir, journal: &Journal, limits: &Limits) -> Result<Vec<Kept>, FileError> {
    let kept = dispose_all(home, journal, limits)?;
    remove_empty(&journal.remove_if_empty)?;
    Journal::clear(home)?;
    Ok(kept)
}

/// Disposes of what was replaced and removes the stages.
fn dispose_all(home: &Dir, journal: &Journal, limits: &Limits) -> Result<Vec<Kept>, FileError> {
    let roots: Result<Vec<_>, FileError> = journal.roots.iter().map(open_root).collect();
    let roots = roots?;
    let replaced: Vec<(usize, &JournalChange)> =
        journal.changes.iter().enumerate().filter(|(_, change)| change.goes.is_some()).collect();
    let kept: Result<Vec<Option<Kept>>, FileError> = replaced
        .par_iter()
        .map(|(index, change)| match &roots[change.root] {
            Some((dir, stage)) => Disposal { home, journal, limits, dir, stage }.dispose(*index, change),
            None => Ok(None),
        })
        .collect();
    let kept = kept?.into_iter().flatten().collect();
    for root in &journal.roots {
        remove_stage(root)?;
    }
    Ok(kept)
}

/// Moves one folder back. Ours is known by its inode, and whatever else stands in its place stays.
fn put_back(index: usize, change: &JournalChange, dir: &Dir, stage: &Dir) -> Result<(), FileError> {
    let (coming, going) = (coming(index), going(index));
    let name = &change.name;
    let placed = change.comes.is_some() && inode(dir, name)? == change.comes;
    // What is in the stage and was not prepared there stood in the folder's place, even if somebody
    // replaced it after the journal was written.
    let stood_there = |slot: &Name| Ok(inode(stage, slot)?.is_some_and(|inode| Some(inode) != change.comes));
    let exchanged = placed && stood_there(&coming)?;
    if exchanged && dir.exchange(name, stage, &coming)? {
        return dir.sync();
    }
    if placed {
        let aside = if exchanged { Name::numbered(index, ".new") } else { coming.clone() };
        dir.rename_new(name, stage, &aside)?;
    }
    for slot in [&coming, &going] {
        if stood_there(slot)? && inode(dir, name)?.is_none() {
            stage.rename_new(slot, dir, name)?;
        }
    }
    dir.sync()
}

pub(super) fn inode(dir: &Dir, name: &Name) -> Result<Option<u64>, FileError> {
    Ok(dir.look(name, Follow::Never)?.map(|stamp| stamp.inode))
}

/// A root and its stage, or `None` where somebody has removed either.
fn open_root(root: &JournalRoot) -> Result<Option<(Dir, Dir)>, FileError> {
    let Some(dir) = found(Dir::open(&root.path))? else {
        return Ok(None);
    };
    Ok(found(dir.open_dir(&root.stage, Follow::Never))?.map(|stage| (dir, stage)))
}

fn found<T>(result: Result<T, FileError>) -> Result<Option<T>, FileError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(e),
    }
}

fn remove_stage(root: &JournalRoot) -> Result<(), FileError> {
    if let Some(dir) = found(Dir::open(&root.path))? {
        dir.remove_tree(&root.stage)?;
        dir.sync()?;
    }
    Ok(())
}

/// Removes directories, outermost first in the list, as far as nothing is in them by now.
fn remove_empty(dirs: &[std::path::PathBuf]) -> Result<(), FileError> {
    for path in dirs.iter().rev() {
        let (Some(parent), Some(entry)) = (path.parent(), DirEntry::of(path)) else {
            continue;
        };
        let parent = if parent == Path::new("") { Path::new(".") } else { parent };
        let Some(parent) = found(Dir::open(parent))? else {
            continue;
        };
        match parent.remove_dir(&entry) {
            Ok(()) => {}
            Err(e)
                if matches!(
                    e.kind(),
                    ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::DirectoryNotEmpty
                ) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
