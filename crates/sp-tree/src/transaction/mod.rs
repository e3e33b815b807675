//! Journaled transactions: many folders in several directories are replaced, all or none.
//!
//! ```text
//! begin    journal "staging": what will be touched, before anything is
//!          create the roots and, in each, a hidden stage on the same file system
//! stage    the caller writes the new folders into the stage; one sync makes them durable
//! swap     journal "swapping": the inode of every new and old folder
//!          one rename per folder: exchange for existing ones, no-replace for new ones
//! commit   the caller writes its state with the next generation: the point of no return
//! finish   replaced folders are deleted, or kept if the user edited them; directories that were
//!          to be removed if empty are removed; the journal is removed
//! ```
//!
//! After a crash, [`recover()`] compares the generation in the journal with that of the state: an
//! older state means that the commit was not reached, and everything is rolled back; otherwise the
//! finish is repeated. A folder is moved or removed only if its inode is the one in the journal, so
//! what someone else put in its place is never touched.
//!
//! Each root is opened once, as a [`PinnedDir`], and all of this happens through that handle. If
//! its path leads elsewhere before the swap or the commit, the change is rolled back. Recovery
//! opens the path again, and continues only if it finds the same device and inode.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use sp_tree::transaction::{
//!     PriorState, Transaction, TransactionAction, TransactionChange, TransactionError,
//!     TransactionPlan,
//! };
//! use sp_tree::{Dir, Limits, Name, PinnedDir, RelPath, TreeWriter};
//!
//! let temp = tempfile::tempdir()?;
//! let home = Dir::create_all_private(&temp.path().join("home"))?;
//! let limits = Limits::default();
//! let plan = TransactionPlan {
//!     id: Name::new("run-1")?,
//!     generation: 1,
//!     roots: vec![Arc::new(PinnedDir::open(&temp.path().join("skills"))?)],
//!     changes: vec![TransactionChange {
//!         root: 0,
//!         name: Name::new("review")?,
//!         action: TransactionAction::Put,
//!         prior: PriorState::Absent,
//!     }],
//!     remove_if_empty: Vec::new(),
//! };
//!
//! let mut transaction = Transaction::begin(&home, &limits, plan)?;
//! let mut writer = TreeWriter::new(transaction.stage_dir(0)?);
//! writer.write_file(&RelPath::new("SKILL.md")?, false, b"Read the diff first.")?;
//! assert!(!temp.path().join("skills/review").exists());
//! transaction.swap()?;
//! // A caller with a state stores its generation here.
//! transaction.commit(|| Ok::<(), TransactionError>(()), || Some(1))?;
//! assert!(temp.path().join("skills/review/SKILL.md").is_file());
//! # Ok(())
//! # }
//! ```

mod disposal;
mod journal;
mod recover;

use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

pub use journal::JournalError;
pub use recover::{Recovery, RecoveryOutcome, is_pending, pending_stages, recover};

use crate::atomic::FileAccess;
use crate::digest::Digest;
use crate::dir::{Dir, Follow};
use crate::file_error::FileError;
use crate::file_stamp::{EntryKind, FileStamp};
use crate::limits::Limits;
use crate::path::Name;
use crate::pinned_dir::PinnedDir;
use crate::segment::StaticName;
use journal::{Journal, JournalChange, JournalPhase, JournalRoot};
use recover::{OpenRoot, Rollback};

/// Why a transaction failed. Nothing has changed, except for [`TransactionError::RollbackFailed`]
/// and [`TransactionError::CleanupFailed`].
#[derive(Debug, Error)]
pub enum TransactionError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Something exists where nothing did when the plan was made.
    #[error("`{}` was created by another process during the change", .0.display())]
    Appeared(PathBuf),
    /// The path of a root leads to a different directory than when the plan was made.
    #[error("`{}` was replaced by another directory or link during the change", .0.display())]
    RootReplaced(PathBuf),
    /// The root of an interrupted change is no longer there.
    #[error("`{}` is not the directory of the interrupted change", path.display())]
    RootMismatch {
        path: PathBuf,
        /// The journal of the interrupted change.
        journal: PathBuf,
    },
    /// A user's file changed after it was read.
    #[error("`{}` changed while the command was running", .0.display())]
    Changed(PathBuf),
    /// The change could neither be completed nor rolled back.
    #[error("the change could not be rolled back; the next `sp` command will retry")]
    RollbackFailed(#[source] FileError),
    /// The change was committed, but cleanup failed.
    #[error("the change was applied, but cleanup failed; the next `sp` command will finish it")]
    CleanupFailed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionAction {
    /// Put the staged folder in place.
    Put,
    /// Remove the folder.
    Remove,
}

/// What was in the place of a folder when the plan was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriorState {
    /// Nothing, and nothing may be there when the change is made.
    Absent,
    /// An installed folder, with its digest if it is known. If its content differs, it is kept in
    /// the trash. For a file it is the digest of its bytes.
    Ours(Option<Digest>),
    /// A user's file: its stamp before it was read, and the digest of what was read. If the stamp
    /// differs when the change is made, the change fails.
    UserFile(FileStamp, Digest),
}

/// One folder that is added, replaced or removed.
#[derive(Debug, Clone)]
pub struct TransactionChange {
    /// An index into [`TransactionPlan::roots`].
    pub root: usize,
    pub name: Name,
    pub action: TransactionAction,
    pub prior: PriorState,
}

/// Everything that a transaction will touch.
#[derive(Debug, Clone)]
pub struct TransactionPlan {
    /// A unique name for this run.
    pub id: Name,
    /// The generation of the state after the transaction.
    pub generation: u64,
    /// The directories in which folders change. Missing ones are created.
    pub roots: Vec<Arc<PinnedDir>>,
    pub changes: Vec<TransactionChange>,
    /// Directories to remove at the end if they are empty, by resolved path, outermost first.
    pub remove_if_empty: Vec<PathBuf>,
}

/// An old folder that was kept because it was edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashedEntry {
    pub from: PathBuf,
    pub to: PathBuf,
}

/// A transaction in progress.
pub struct Transaction<'a> {
    home: &'a Dir,
    limits: &'a Limits,
    journal: Journal,
    pinned: Vec<Arc<PinnedDir>>,
    /// In the order of `pinned`; fewer while they are being opened.
    roots: Vec<OpenRoot>,
}

impl<'a> Transaction<'a> {
    /// Writes the journal, then creates the roots and their stages.
    ///
    /// The caller holds the lock of `home` and has recovered.
    #[tracing::instrument(level = "debug", skip_all)]
    pub fn begin(
        home: &'a Dir,
        limits: &'a Limits,
        plan: TransactionPlan,
    ) -> Result<Self, TransactionError> {
        let pinned = plan.roots.clone();
        let mut transaction =
            Self { home, limits, journal: Journal::from_plan(plan)?, pinned, roots: Vec::new() };
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

    /// Writes the new file of change `index`, if the change is about a file. It gets the
    /// permissions of the file that it replaces; if there is none, `readers` decides.
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
            (None, FileAccess::Executable) => stage.create_file(&staged_name(index), true)?,
            // The staged copy must not be more accessible than the file itself.
            _ => stage.create_private_file(&staged_name(index))?,
        };
        file.write(bytes)?;
        replaced.map_or(Ok(()), |old| file.copy_permissions(&old))
    }

    /// Rolls the transaction back.
    pub fn abort(self) -> Result<(), TransactionError> {
        self.roll_back()
    }

    fn roll_back(&self) -> Result<(), TransactionError> {
        let roots: Vec<Option<&OpenRoot>> = self.roots.iter().map(Some).collect();
        Rollback { home: self.home, journal: &self.journal, roots: &roots }
            .run()
            .map_err(TransactionError::RollbackFailed)
    }

    /// Puts every folder into its place. On an error everything is rolled back.
    #[tracing::instrument(level = "debug", skip_all, fields(changes = self.journal.changes.len()))]
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
            let current = root.dir.stat(&change.name, Follow::Never)?;
            change.comes = coming.map(|stamp| stamp.inode);
            change.goes = current.map(|stamp| stamp.inode);
            if !change.ours && current.is_some() {
                return Err(TransactionError::Appeared(root.dir.path_of(&change.name)));
            }
            if change.seen.is_some() && change.seen != current {
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
            // It was to be removed and is already gone.
            (None, None) => {}
        }
        self.check_unchanged(index, change)
    }

    /// Fails if what was moved away is not what was there when the journal was written.
    fn check_unchanged(
        &self,
        index: usize,
        change: &JournalChange,
    ) -> Result<(), TransactionError> {
        let OpenRoot { dir, stage } = &self.roots[change.root];
        let same = |old: &FileStamp| {
            // The move itself changes only the status change time.
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
    /// `generation` reads the stored generation in case `write_state` fails, which may happen
    /// before or after the state was replaced.
    #[tracing::instrument(level = "debug", skip_all)]
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

    /// The directory of a root, for inspecting what was put there.
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

/// The name in the stage of the new folder, and of the old one after an exchange.
fn staged_name(index: usize) -> Name {
    Name::from_number(index, "")
}

/// The name in the stage of an old folder that was moved away without an exchange.
fn old_name(index: usize) -> Name {
    Name::from_number(index, ".old")
}

/// The name in the stage of an old folder that may be deleted.
fn discarded_name(index: usize) -> Name {
    Name::from_number(index, ".doomed")
}

impl JournalRoot {
    fn from_pinned(root: &PinnedDir, stage: &Name) -> Result<Self, FileError> {
        Ok(Self {
            path: root.path().into(),
            stage: stage.clone(),
            made: root.missing_paths(),
            identity: root.dir().map(Dir::identity).transpose()?,
        })
    }
}

impl From<TransactionChange> for JournalChange {
    fn from(change: TransactionChange) -> Self {
        let (digest, seen) = match change.prior {
            PriorState::Absent => (None, None),
            PriorState::Ours(digest) => (digest, None),
            PriorState::UserFile(stamp, digest) => (Some(digest), Some(stamp)),
        };
        Self {
            root: change.root,
            name: change.name,
            puts: change.action == TransactionAction::Put,
            ours: change.prior != PriorState::Absent,
            digest,
            comes: None,
            goes: None,
            seen,
        }
    }
}

impl Journal {
    fn from_plan(plan: TransactionPlan) -> Result<Self, FileError> {
        let stage = Name::for_stage(&plan.id);
        let roots: Result<Vec<JournalRoot>, FileError> =
            plan.roots.iter().map(|root| JournalRoot::from_pinned(root, &stage)).collect();
        Ok(Self {
            version: journal::JOURNAL_VERSION,
            id: plan.id,
            generation: plan.generation,
            phase: JournalPhase::Staging,
            roots: roots?,
            changes: plan.changes.into_iter().map(JournalChange::from).collect(),
            remove_if_empty: plan.remove_if_empty,
        })
    }
}

/// The directory of the trash in the home directory.
pub const TRASH_DIR: StaticName = StaticName("trash");
