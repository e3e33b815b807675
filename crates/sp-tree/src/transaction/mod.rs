//! Replacing many folders in several directories, wholly or not at all.
//!
//! ```text
//! begin    journal "staging": what will be touched, before anything is
//!          make the roots and, in each, a hidden stage on the same file system
//! stage    the caller writes the new folders into the stage; one sync makes them durable
//! swap     journal "swapping": the inode of every folder that comes or goes
//!          per folder one rename: exchange for what exists, no-replace for what is new
//! commit   the caller writes its state with the next generation: the point of no return
//! finish   what was replaced is deleted, or kept if a person had edited it; journal removed
//! ```
//!
//! After a death anywhere, [`recover`] compares the journal's generation with the state's: an
//! older state means that the commit was not reached, and everything goes back; otherwise the
//! finish is done again. A folder is moved or removed only if its inode is the one in the
//! journal, so what somebody else put in its place meanwhile is never touched.

mod journal;
mod keep;
mod recover;

use std::path::{Path, PathBuf};

use thiserror::Error;

pub use journal::JournalError;
pub use recover::{Outcome, Recovery, pending, recover};

use crate::digest::Digest;
use crate::dir::{Dir, FileError, Fixed, Follow};
use crate::limits::Limits;
use crate::path::Name;
use journal::{Journal, JournalChange, JournalRoot, Phase};

/// Why a transaction could not be done. Unless [`TransactionError::Unfinished`], nothing changed.
#[derive(Debug, Error)]
pub enum TransactionError {
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// The journal of an earlier run cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Something stands where nothing stood when the plan was made.
    #[error("`{}` appeared while the change was being made", .0.display())]
    Appeared(PathBuf),
    /// The change could neither be completed nor taken back.
    #[error("the change could not be taken back; the next `sp` command will try again")]
    Unfinished(#[source] FileError),
}

/// What is to become of one folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A folder from the stage takes this place.
    Put,
    /// The folder goes.
    Remove,
}

/// What the plan saw in a folder's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// Nothing: nothing may be there when the change is made.
    Nothing,
    /// Our own folder, with this digest if it is known. Whatever else it holds by now is kept.
    /// Of a file it is the digest of its bytes.
    Ours(Option<Digest>),
}

/// One folder that comes, is replaced, or goes.
#[derive(Debug, Clone)]
pub struct Change {
    /// In which of the transaction's roots.
    pub root: usize,
    /// The folder's name.
    pub name: Name,
    /// What happens to it.
    pub action: Action,
    /// What the plan saw there.
    pub before: Before,
}

/// Everything that a transaction will touch.
#[derive(Debug, Clone)]
pub struct Intent {
    /// A name for this run, unlike that of any other.
    pub id: Name,
    /// The generation that the state will have when this is done.
    pub generation: u64,
    /// The directories in which folders change, by real path. Missing ones are made.
    pub roots: Vec<PathBuf>,
    /// The changes.
    pub changes: Vec<Change>,
}

/// An old folder that was kept because it was not as we left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Where it stood.
    pub from: PathBuf,
    /// Where it is now.
    pub to: PathBuf,
}

/// A transaction between its begin and its end.
pub struct Transaction<'a> {
    home: &'a Dir,
    limits: &'a Limits,
    journal: Journal,
    roots: Vec<Root>,
}

struct Root {
    dir: Dir,
    stage: Dir,
}

impl<'a> Transaction<'a> {
    /// Writes down what will be touched, then makes the roots and their stages.
    ///
    /// The caller holds the lock of `home` and has recovered.
    pub fn begin(home: &'a Dir, limits: &'a Limits, intent: Intent) -> Result<Self, TransactionError> {
        let mut transaction = Self { home, limits, journal: Journal::of(intent), roots: Vec::new() };
        let prepared = transaction.prepare();
        transaction.or_take_back(prepared)?;
        Ok(transaction)
    }

    fn prepare(&mut self) -> Result<(), TransactionError> {
        self.journal.store(self.home)?;
        for root in &self.journal.roots {
            let dir = self.home.create_with_own_access(&root.path)?;
            dir.create_dir(&root.stage)?;
            let stage = dir.open_dir(&root.stage, Follow::Never)?;
            self.roots.push(Root { dir, stage });
        }
        Ok(())
    }

    /// The directory into which the caller writes the new folder of change `index`.
    pub fn slot(&self, index: usize) -> Result<Dir, FileError> {
        let stage = &self.roots[self.journal.changes[index].root].stage;
        let name = coming(index);
        stage.create_dir(&name)?;
        stage.open_dir(&name, Follow::Never)
    }

    /// Writes the new file of change `index`, where a file and not a folder changes.
    pub fn file(&self, index: usize, bytes: &[u8]) -> Result<(), FileError> {
        let stage = &self.roots[self.journal.changes[index].root].stage;
        stage.create_file(&coming(index), false)?.write(bytes)
    }

    /// Ends the transaction because something failed: everything is as it was before.
    pub fn abandon(self) -> Result<(), TransactionError> {
        recover::take_back(self.home, &self.journal).map_err(TransactionError::Unfinished)
    }

    /// Puts every folder into its place. On an error everything is as it was before.
    pub fn swap(&mut self) -> Result<(), TransactionError> {
        let swapped = self.swap_all();
        self.or_take_back(swapped)
    }

    fn swap_all(&mut self) -> Result<(), TransactionError> {
        for root in &self.roots {
            root.dir.sync_filesystem()?;
        }
        self.note_inodes()?;
        self.journal.phase = Phase::Swapping;
        self.journal.store(self.home)?;
        for (index, change) in self.journal.changes.iter().enumerate() {
            self.swap_one(index, change)?;
        }
        for root in &self.roots {
            root.stage.sync()?;
            root.dir.sync()?;
        }
        Ok(())
    }

    fn note_inodes(&mut self) -> Result<(), TransactionError> {
        for (index, change) in self.journal.changes.iter_mut().enumerate() {
            let root = &self.roots[change.root];
            let coming = root.stage.look(&coming(index), Follow::Never)?;
            let there = root.dir.look(&change.name, Follow::Never)?;
            change.comes = coming.map(|stamp| stamp.inode);
            change.goes = there.map(|stamp| stamp.inode);
            if !change.ours && there.is_some() {
                return Err(TransactionError::Appeared(root.dir.path_of(&change.name)));
            }
        }
        Ok(())
    }

    fn swap_one(&self, index: usize, change: &JournalChange) -> Result<(), TransactionError> {
        let Root { dir, stage } = &self.roots[change.root];
        let name = &change.name;
        match (change.comes, change.goes) {
            (Some(_), Some(_)) => {
                if !stage.exchange(&coming(index), dir, name)? {
                    dir.rename_new(name, stage, &going(index))?;
                    stage.rename_new(&coming(index), dir, name)?;
                }
            }
            (Some(_), None) => stage.rename_new(&coming(index), dir, name).map_err(|error| match error.kind() {
                std::io::ErrorKind::AlreadyExists => TransactionError::Appeared(dir.path_of(name)),
                _ => error.into(),
            })?,
            (None, Some(_)) => dir.rename_new(name, stage, &going(index))?,
            // It was to go, and is gone already.
            (None, None) => {}
        }
        Ok(())
    }

    /// Runs `write_state`, which must store the new generation durably, and finishes.
    ///
    /// `generation` reads the generation that is stored, for when `write_state` fails: it may
    /// have failed before or after the state was replaced.
    pub fn commit<E: From<TransactionError>>(
        self,
        write_state: impl FnOnce() -> Result<(), E>,
        generation: impl FnOnce() -> Option<u64>,
    ) -> Result<Vec<Kept>, E> {
        if let Err(error) = write_state() {
            if generation().is_none_or(|stored| stored < self.journal.generation) {
                self.abandon()?;
            }
            return Err(error);
        }
        recover::finish(self.home, &self.journal, self.limits)
            .map_err(|error| TransactionError::Unfinished(error).into())
    }

    /// The directory of a root, for looking at what was put there.
    pub fn root(&self, index: usize) -> &Dir {
        &self.roots[index].dir
    }

    fn or_take_back<T>(&self, result: Result<T, TransactionError>) -> Result<T, TransactionError> {
        result.or_else(|error| {
            recover::take_back(self.home, &self.journal).map_err(TransactionError::Unfinished)?;
            Err(error)
        })
    }
}

/// Where in the stage the new folder of a change waits, and where an exchange leaves the old one.
fn coming(index: usize) -> Name {
    Name::numbered(index, "")
}

/// Where in the stage an old folder goes that was moved away by itself.
fn going(index: usize) -> Name {
    Name::numbered(index, ".old")
}

/// Directories above and including `path` that are missing, outermost first.
fn missing(path: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = path
        .ancestors()
        .take_while(|dir| !dir.as_os_str().is_empty() && std::fs::symlink_metadata(dir).is_err())
        .map(Into::into)
        .collect();
    missing.reverse();
    missing
}

impl Journal {
    fn of(intent: Intent) -> Self {
        let stage = Name::stage(&intent.id);
        let roots =
            intent.roots.into_iter().map(|path| JournalRoot { made: missing(&path), stage: stage.clone(), path });
        let changes = intent.changes.into_iter().map(|change| JournalChange {
            root: change.root,
            name: change.name,
            puts: change.action == Action::Put,
            ours: change.before != Before::Nothing,
            digest: match change.before {
                Before::Ours(digest) => digest,
                Before::Nothing => None,
            },
            comes: None,
            goes: None,
        });
        Self {
            version: journal::VERSION,
            id: intent.id,
            generation: intent.generation,
            phase: Phase::Staging,
            roots: roots.collect(),
            changes: changes.collect(),
        }
    }
}

/// The name under which the trash keeps old folders, in the home directory.
pub const TRASH: Fixed = Fixed("trash");
