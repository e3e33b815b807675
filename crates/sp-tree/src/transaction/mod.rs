//! Replacing many folders in several directories, wholly or not at all.
//!
//! ```text
//! begin    journal "staging": what will be touched, before anything is
//!          make the roots and, in each, a hidden stage on the same file system
//! stage    the caller writes the new folders into the stage; one sync makes them durable
//! swap     journal "swapping": the inode of every folder that comes or goes
//!          per folder one rename: exchange for what exists, no-replace for what is new
//! commit   the caller writes its state with the next generation: the point of no return
//! finish   what was replaced is deleted, or kept if a person had edited it; directories that
//!          were to go if empty are removed; journal removed
//! ```
//!
//! After a death anywhere, [`recover`] compares the journal's generation with the state's: an
//! older state means that the commit was not reached, and everything goes back; otherwise the
//! finish is done again. A folder is moved or removed only if its inode is the one in the
//! journal, so what somebody else put in its place meanwhile is never touched.
//!
//! Each root is opened once, as a [`PinnedDir`], and all of this happens through that handle. If
//! its path leads elsewhere before the swap or before the commit, the change is reverted.
//! Recovery opens the path again, and goes on only if it finds the same device and inode.

mod disposal;
mod journal;
mod recover;

use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

pub use journal::JournalError;
pub use recover::{Recovery, RecoveryOutcome, is_pending, recover};

use crate::atomic::FileAccess;
use crate::digest::Digest;
use crate::dir::{Dir, EntryKind, FileStamp, Follow, StaticName};
use crate::file_error::FileError;
use crate::limits::Limits;
use crate::path::Name;
use crate::pinned_dir::PinnedDir;
use journal::{Journal, JournalChange, JournalPhase, JournalRoot};
use recover::{OpenRoot, Rollback};

/// Why a transaction could not be done. Nothing changed, unless it is [`TransactionError::Unfinished`] or
/// [`TransactionError::Incomplete`].
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
    /// The path of a root leads to another directory than when the plan was made.
    #[error("`{}` was replaced by another directory or link while the change was being made", .0.display())]
    RootReplaced(PathBuf),
    /// The root of an interrupted change is not where it was.
    #[error("`{}` is not the directory in which an interrupted change was made", path.display())]
    RootMismatch {
        /// Where the root was.
        path: PathBuf,
        /// The journal of the interrupted change.
        journal: PathBuf,
    },
    /// A file that belongs to the user changed after it was read.
    #[error("`{}` changed while the command was running", .0.display())]
    Changed(PathBuf),
    /// The change could neither be completed nor taken back.
    #[error("the change could not be taken back; the next `sp` command will try again")]
    RollbackFailed(#[source] FileError),
    /// The change was committed, and what remains to be done is cleanup.
    #[error("the change was made, but cleanup failed; the next `sp` command will finish it")]
    CleanupFailed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// What is to become of one folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionAction {
    /// A folder from the stage takes this place.
    Put,
    /// The folder goes.
    Remove,
}

/// What the plan saw in a folder's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriorState {
    /// Nothing: nothing may be there when the change is made.
    Absent,
    /// Our own folder, with this digest if it is known. Whatever else it holds by now is kept.
    /// Of a file it is the digest of its bytes.
    Ours(Option<Digest>),
    /// A file that belongs to the user, as it looked before it was read, and the digest of what was
    /// read. If it looks different when the change is made, the change fails.
    UserFile(FileStamp, Digest),
}

/// One folder that comes, is replaced, or goes.
#[derive(Debug, Clone)]
pub struct TransactionChange {
    /// In which of the transaction's roots.
    pub root: usize,
    /// The folder's name.
    pub name: Name,
    /// What happens to it.
    pub action: TransactionAction,
    /// What the plan saw there.
    pub prior: PriorState,
}

/// Everything that a transaction will touch.
#[derive(Debug, Clone)]
pub struct TransactionPlan {
    /// A name for this run, unlike that of any other.
    pub id: Name,
    /// The generation that the state will have when this is done.
    pub generation: u64,
    /// The directories in which folders change. Missing ones are made.
    pub roots: Vec<Arc<PinnedDir>>,
    /// The changes.
    pub changes: Vec<TransactionChange>,
    /// Directories that are removed in the end if they are empty then, by real path, outermost first.
    pub remove_if_empty: Vec<PathBuf>,
}

/// An old folder that was kept because it was not as we left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashedEntry {
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
    pinned: Vec<Arc<PinnedDir>>,
    /// In the order of `pinned`; fewer while they are being opened.
    roots: Vec<OpenRoot>,
}

impl<'a> Transaction<'a> {
    /// Writes down what will be touched, then makes the roots and their stages.
    ///
    /// The caller holds the lock of `home` and has recovered.
    pub fn begin(
        home: &'a Dir,
        limits: &'a Limits,
        intent: TransactionPlan,
    ) -> Result<Self, TransactionError> {
        let pinned = intent.roots.clone();
        let mut transaction =
            Self { home, limits, journal: Journal::from_plan(intent)?, pinned, roots: Vec::new() };
        let prepared = transaction.prepare();
        transaction.or_roll_back(prepared)?;
        Ok(transaction)
    }

    fn prepare(&mut self) -> Result<(), TransactionError> {
        self.journal.store(self.home)?;
        for (pinned, root) in self.pinned.iter().zip(&mut self.journal.roots) {
            let dir = pinned.create(self.home)?;
            root.identity = Some(dir.identity()?);
            dir.create_dir(&root.stage)?;
            self.roots.push(OpenRoot { stage: dir.open_dir(&root.stage, Follow::Never)?, dir });
        }
        self.verify_roots()
    }

    /// Fails if a path leads elsewhere than when it was resolved.
    fn verify_roots(&self) -> Result<(), TransactionError> {
        for (pinned, root) in self.pinned.iter().zip(&self.roots) {
            if !pinned.verify(&root.dir)? {
                return Err(TransactionError::RootReplaced(pinned.path().into()));
            }
        }
        Ok(())
    }

    /// The directory into which the caller writes the new folder of change `index`.
    pub fn stage_dir(&self, index: usize) -> Result<Dir, FileError> {
        let stage = &self.roots[self.journal.changes[index].root].stage;
        let name = staged_name(index);
        stage.create_dir(&name)?;
        stage.open_dir(&name, Follow::Never)
    }

    /// Writes the new file of change `index`, where a file and not a folder changes. It gets the
    /// permission bits of the file that it replaces; `readers` decides where it replaces none.
    pub fn stage_file(
        &self,
        index: usize,
        bytes: &[u8],
        readers: FileAccess,
    ) -> Result<(), FileError> {
        let change = &self.journal.changes[index];
        let OpenRoot { dir, stage } = &self.roots[change.root];
        let replaced =
            dir.stat(&change.name, Follow::Never)?.filter(|old| old.kind() == EntryKind::File);
        let mut file = match (replaced, readers) {
            (None, FileAccess::Ordinary) => stage.create_file(&staged_name(index), false)?,
            // The staged copy is never readable by more people than the file itself.
            _ => stage.create_private_file(&staged_name(index))?,
        };
        file.write(bytes)?;
        replaced.map_or(Ok(()), |old| file.copy_permissions(&old))
    }

    /// Ends the transaction because something failed: everything is as it was before.
    pub fn abort(self) -> Result<(), TransactionError> {
        self.roll_back()
    }

    fn roll_back(&self) -> Result<(), TransactionError> {
        let roots: Vec<Option<&OpenRoot>> = self.roots.iter().map(Some).collect();
        Rollback { home: self.home, journal: &self.journal, roots: &roots }
            .run()
            .map_err(TransactionError::RollbackFailed)
    }

    /// Puts every folder into its place. On an error everything is as it was before.
    pub fn swap(&mut self) -> Result<(), TransactionError> {
        let swapped = self.swap_all();
        self.or_roll_back(swapped)
    }

    fn swap_all(&mut self) -> Result<(), TransactionError> {
        let mut synced = std::collections::HashSet::new();
        for root in &self.roots {
            // One call covers every root on the same file system.
            if synced.insert(root.dir.identity()?.0) {
                root.dir.sync_filesystem()?;
            }
        }
        self.record_inodes()?;
        self.verify_roots()?;
        self.journal.phase = JournalPhase::Swapping;
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

    fn record_inodes(&mut self) -> Result<(), TransactionError> {
        for (index, change) in self.journal.changes.iter_mut().enumerate() {
            let root = &self.roots[change.root];
            let coming = root.stage.stat(&staged_name(index), Follow::Never)?;
            let there = root.dir.stat(&change.name, Follow::Never)?;
            change.comes = coming.map(|stamp| stamp.inode);
            change.goes = there.map(|stamp| stamp.inode);
            if !change.ours && there.is_some() {
                return Err(TransactionError::Appeared(root.dir.path_of(&change.name)));
            }
            if change.seen.is_some() && change.seen != there {
                return Err(TransactionError::Changed(root.dir.path_of(&change.name)));
            }
        }
        Ok(())
    }

    fn swap_one(&self, index: usize, change: &JournalChange) -> Result<(), TransactionError> {
        let OpenRoot { dir, stage } = &self.roots[change.root];
        let name = &change.name;
        match (change.comes, change.goes) {
            (Some(_), Some(_)) => {
                if !stage.exchange(&staged_name(index), dir, name)? {
                    dir.rename_noreplace(name, stage, &old_name(index))?;
                    stage.rename_noreplace(&staged_name(index), dir, name)?;
                }
            }
            (Some(_), None) => stage.rename_noreplace(&staged_name(index), dir, name).map_err(
                |error| match error.kind() {
                    std::io::ErrorKind::AlreadyExists => {
                        TransactionError::Appeared(dir.path_of(name))
                    }
                    _ => error.into(),
                },
            )?,
            (None, Some(_)) => dir.rename_noreplace(name, stage, &old_name(index))?,
            // It was to go, and is gone already.
            (None, None) => {}
        }
        self.check_unchanged(index, change)
    }

    /// Fails if what was moved out of its place is not what stood there when the journal was written.
    fn check_unchanged(
        &self,
        index: usize,
        change: &JournalChange,
    ) -> Result<(), TransactionError> {
        let OpenRoot { dir, stage } = &self.roots[change.root];
        let same = |old: &FileStamp| {
            // The move itself changed nothing but the time of the last change of status.
            let is_as_seen = |seen: FileStamp| {
                (seen.size, seen.modified, seen.mode) == (old.size, old.modified, old.mode)
            };
            Some(old.inode) == change.goes && change.seen.is_none_or(is_as_seen)
        };
        for slot in [staged_name(index), old_name(index)] {
            if stage.stat(&slot, Follow::Never)?.is_some_and(|old| !same(&old)) {
                return Err(TransactionError::Changed(dir.path_of(&change.name)));
            }
        }
        Ok(())
    }

    /// Runs `write_state`, which must store the new generation durably, and finishes.
    ///
    /// `generation` reads the generation that is stored, for when `write_state` fails: it may
    /// have failed before or after the state was replaced.
    pub fn commit<E: From<TransactionError> + std::error::Error + Send + Sync + 'static>(
        self,
        write_state: impl FnOnce() -> Result<(), E>,
        generation: impl FnOnce() -> Option<u64>,
    ) -> Result<Vec<TrashedEntry>, E> {
        let verified = self.verify_roots();
        self.or_roll_back(verified)?;
        if let Err(error) = write_state() {
            if generation().is_none_or(|stored| stored < self.journal.generation) {
                self.abort()?;
                return Err(error);
            }
            return Err(TransactionError::CleanupFailed(Box::new(error)).into());
        }
        let roots: Vec<Option<&OpenRoot>> = self.roots.iter().map(Some).collect();
        recover::finish(self.home, &self.journal, &roots, self.limits)
            .map_err(|error| TransactionError::CleanupFailed(Box::new(error)).into())
    }

    /// The directory of a root, for looking at what was put there.
    pub fn root_dir(&self, index: usize) -> &Dir {
        &self.roots[index].dir
    }

    fn or_roll_back<T>(&self, result: Result<T, TransactionError>) -> Result<T, TransactionError> {
        result.or_else(|error| {
            self.roll_back()?;
            Err(error)
        })
    }
}

/// Where in the stage the new folder of a change waits, and where an exchange leaves the old one.
fn staged_name(index: usize) -> Name {
    Name::from_number(index, "")
}

/// Where in the stage an old folder goes that was moved away by itself.
fn old_name(index: usize) -> Name {
    Name::from_number(index, ".old")
}

/// Where in the stage an old folder goes that may be deleted: it is ours, or a copy of it was kept.
fn discarded_name(index: usize) -> Name {
    Name::from_number(index, ".doomed")
}

impl Journal {
    fn from_plan(intent: TransactionPlan) -> Result<Self, FileError> {
        let stage = Name::for_stage(&intent.id);
        let root = |root: Arc<PinnedDir>| {
            Ok(JournalRoot {
                path: root.path().into(),
                stage: stage.clone(),
                made: root.missing_paths(),
                identity: root.dir().map(Dir::identity).transpose()?,
            })
        };
        let roots: Result<Vec<JournalRoot>, FileError> =
            intent.roots.into_iter().map(root).collect();
        let changes = intent.changes.into_iter().map(|change| JournalChange {
            root: change.root,
            name: change.name,
            puts: change.action == TransactionAction::Put,
            ours: change.prior != PriorState::Absent,
            digest: match change.prior {
                PriorState::Ours(digest) => digest,
                PriorState::UserFile(_, digest) => Some(digest),
                PriorState::Absent => None,
            },
            comes: None,
            goes: None,
            seen: match change.prior {
                PriorState::UserFile(stamp, _) => Some(stamp),
                PriorState::Ours(_) | PriorState::Absent => None,
            },
        });
        Ok(Self {
            version: journal::JOURNAL_VERSION,
            id: intent.id,
            generation: intent.generation,
            phase: JournalPhase::Staging,
            roots: roots?,
            changes: changes.collect(),
            remove_if_empty: intent.remove_if_empty,
        })
    }
}

/// The name under which the trash keeps old folders, in the home directory.
pub const TRASH_DIR: StaticName = StaticName("trash");
