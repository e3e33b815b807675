//! Ending a transaction, in the run that started it or in the next one.

use std::io::ErrorKind;
use std::path::PathBuf;

use rayon::prelude::*;

use super::disposal::{Disposal, entry_inode};
use super::journal::{Journal, JournalChange, JournalError, JournalPhase, JournalRoot};
use super::{TransactionError, TrashedEntry, discarded_name, old_name, staged_name};
use crate::dir::{Dir, Follow};
use crate::file_error::FileError;
use crate::limits::Limits;
use crate::path::Name;
use crate::segment::DirEntry;

/// How a transaction of an earlier run was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryOutcome {
    /// It was not committed and was rolled back.
    RolledBack,
    /// It was committed and was finished.
    Finished,
}

/// A transaction of an earlier run that was ended by this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    pub outcome: RecoveryOutcome,
    /// Folders that were kept because they were edited.
    pub trashed: Vec<TrashedEntry>,
}

/// Whether an earlier run left an incomplete transaction behind.
pub fn is_pending(home: &Dir) -> Result<bool, FileError> {
    Journal::exists(home)
}

/// Returns the directories for staging of an incomplete transaction, without changing anything.
/// `None` if no transaction is pending.
pub fn pending_stages(home: &Dir) -> Result<Option<Vec<PathBuf>>, JournalError> {
    match Journal::load(home)? {
        Some(journal) => {
            let stage = |root: &JournalRoot| root.path.join(root.stage.as_str());
            Ok(Some(journal.roots.iter().map(stage).collect()))
        }
        None => Ok(Journal::exists(home)?.then(Vec::new)),
    }
}

/// An open root of a transaction and its stage.
pub(super) struct OpenRoot {
    pub dir: Dir,
    pub stage: Dir,
}

/// Ends an incomplete transaction of an earlier run. `generation` is that of the stored state.
pub fn recover(
    home: &Dir,
    generation: u64,
    limits: &Limits,
) -> Result<Option<Recovery>, TransactionError> {
    let Some(journal) = Journal::load(home)? else {
        // The process crashed while writing the first journal: nothing else was touched.
        Journal::clear(home)?;
        return Ok(None);
    };
    let opened: Result<Vec<Option<OpenRoot>>, TransactionError> =
        journal.roots.iter().map(|root| open_root(home, root)).collect();
    let opened = opened?;
    let roots: Vec<Option<&OpenRoot>> = opened.iter().map(Option::as_ref).collect();
    if generation < journal.generation {
        Rollback { home, journal: &journal, roots: &roots }
            .run()
            .map_err(TransactionError::RollbackFailed)?;
        return Ok(Some(Recovery { outcome: RecoveryOutcome::RolledBack, trashed: Vec::new() }));
    }
    let finished = dispose_all(home, &journal, &roots, limits).and_then(|trashed| {
        // Best effort: an empty directory must not make every later command fail.
        let _ = remove_empty_dirs(&journal.remove_if_empty);
        Journal::clear(home).map(|()| trashed)
    });
    let trashed = finished.map_err(|error| TransactionError::CleanupFailed(Box::new(error)))?;
    Ok(Some(Recovery { outcome: RecoveryOutcome::Finished, trashed }))
}

/// Reverts a transaction.
pub(super) struct Rollback<'a> {
    pub home: &'a Dir,
    pub journal: &'a Journal,
    /// In the order of the journal; `None` if it could not be opened.
    pub roots: &'a [Option<&'a OpenRoot>],
}

impl Rollback<'_> {
    pub(super) fn run(&self) -> Result<(), FileError> {
        if self.journal.phase == JournalPhase::Swapping {
            for (index, change) in self.journal.changes.iter().enumerate().rev() {
                if let Some(OpenRoot { dir, stage }) = self.root(change.root) {
                    restore_entry(index, change, dir, stage)?;
                }
            }
        }
        for (number, root) in self.journal.roots.iter().enumerate() {
            match self.root(number) {
                Some(open) => remove_stage(root, &open.dir)?,
                // The stage may have been created, but not opened.
                None => {
                    if let Some(dir) = ignore_missing(Dir::open_without_links(&root.path))? {
                        remove_stage(root, &dir)?;
                    }
                }
            }
            remove_empty_dirs(&root.made)?;
        }
        Journal::clear(self.home)
    }

    fn root(&self, number: usize) -> Option<&OpenRoot> {
        self.roots.get(number).copied().flatten()
    }
}

/// Disposes of replaced folders, and removes the stages, directories to remove, and the journal.
pub(super) fn finish(
    home: &Dir,
    journal: &Journal,
    roots: &[Option<&OpenRoot>],
    limits: &Limits,
) -> Result<Vec<TrashedEntry>, FileError> {
    let trashed = dispose_all(home, journal, roots, limits)?;
    remove_empty_dirs(&journal.remove_if_empty)?;
    Journal::clear(home)?;
    Ok(trashed)
}

/// Disposes of replaced folders and removes the stages.
fn dispose_all(
    home: &Dir,
    journal: &Journal,
    roots: &[Option<&OpenRoot>],
    limits: &Limits,
) -> Result<Vec<TrashedEntry>, FileError> {
    let replaced: Vec<(usize, &JournalChange)> =
        journal.changes.iter().enumerate().filter(|(_, change)| change.goes.is_some()).collect();
    let trashed: Result<Vec<Option<TrashedEntry>>, FileError> = replaced
        .par_iter()
        .map(|(index, change)| match roots[change.root] {
            Some(OpenRoot { dir, stage }) => {
                Disposal { home, journal, limits, dir, stage }.dispose(*index, change)
            }
            None => Ok(None),
        })
        .collect();
    let trashed = trashed?.into_iter().flatten().collect();
    // From here on, everything in the stages may be deleted, and a crash does no harm.
    if !replaced.is_empty() {
        roots.iter().flatten().try_for_each(|root| root.stage.sync())?;
    }
    remove_discarded(&replaced, roots)?;
    remove_stages(journal, roots)?;
    Ok(trashed)
}

fn remove_discarded(
    replaced: &[(usize, &JournalChange)],
    roots: &[Option<&OpenRoot>],
) -> Result<(), FileError> {
    replaced.par_iter().try_for_each(|(index, change)| match roots[change.root] {
        Some(root) => root.stage.remove_tree(&discarded_name(*index)),
        None => Ok(()),
    })
}

fn remove_stages(journal: &Journal, roots: &[Option<&OpenRoot>]) -> Result<(), FileError> {
    for (root, open) in journal.roots.iter().zip(roots) {
        if let Some(open) = open {
            remove_stage(root, &open.dir)?;
        }
    }
    Ok(())
}

/// Moves a folder back. Our folder is recognized by its inode; anything else in its place stays.
fn restore_entry(
    index: usize,
    change: &JournalChange,
    dir: &Dir,
    stage: &Dir,
) -> Result<(), FileError> {
    let (coming, going) = (staged_name(index), old_name(index));
    let name = &change.name;
    let placed = change.comes.is_some() && entry_inode(dir, name)? == change.comes;
    // What is in the stage and was not staged was in the folder's place, even if someone replaced
    // it after the journal was written.
    let stood_there = |slot: &Name| {
        Ok(entry_inode(stage, slot)?.is_some_and(|inode| Some(inode) != change.comes))
    };
    let exchanged = placed && stood_there(&coming)?;
    if exchanged && dir.exchange(name, stage, &coming)? {
        return dir.sync();
    }
    if placed {
        let aside = if exchanged { Name::from_number(index, ".new") } else { coming.clone() };
        dir.rename_noreplace(name, stage, &aside)?;
    }
    for slot in [&coming, &going] {
        if stood_there(slot)? && entry_inode(dir, name)?.is_none() {
            stage.rename_noreplace(slot, dir, name)?;
        }
    }
    dir.sync()
}

/// Opens a root and its stage, or returns `None` if either was removed.
fn open_root(home: &Dir, root: &JournalRoot) -> Result<Option<OpenRoot>, TransactionError> {
    let misplaced =
        || TransactionError::RootMismatch { path: root.path.clone(), journal: Journal::path(home) };
    let dir = match Dir::open_without_links(&root.path) {
        Ok(dir) => dir,
        // Paths in the journal are resolved, so a link in one was created later.
        Err(e) if e.is_not_real_dir() && root.path.is_dir() => return Err(misplaced()),
        Err(e) => return Ok(ignore_missing(Err(e))?),
    };
    if root.identity.is_some() && root.identity != Some(dir.identity()?) {
        return Err(misplaced());
    }
    Ok(ignore_missing(dir.open_dir(&root.stage, Follow::Never))?
        .map(|stage| OpenRoot { dir, stage }))
}

fn ignore_missing<T>(result: Result<T, FileError>) -> Result<Option<T>, FileError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if e.is_not_real_dir() => Ok(None),
        Err(e) => Err(e),
    }
}

fn remove_stage(root: &JournalRoot, dir: &Dir) -> Result<(), FileError> {
    dir.remove_tree(&root.stage)?;
    dir.sync()
}

/// Removes directories that are empty; the list is outermost first.
fn remove_empty_dirs(dirs: &[std::path::PathBuf]) -> Result<(), FileError> {
    for path in dirs.iter().rev() {
        let (Some(parent), Some(entry)) = (path.parent(), DirEntry::from_path(path)) else {
            continue;
        };
        let Some(parent) = ignore_missing(Dir::open_without_links(parent))? else {
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
