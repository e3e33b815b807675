//! The home directory of `sp` (`~/.skillpack`): its lock, the state, the indexes, and recovery.
//!
//! A [`LockedHome`] is proof that this process holds the lock and that no interrupted transaction
//! is pending; everything that writes to the home directory or runs a transaction takes one. The
//! state is replaced atomically, so [`read_state`] needs no lock.
//!
//! An index is a cache of digests. Losing one costs time and nothing else, so a failure to read or
//! write it is never an error.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;

use sp_formats::state::{self, InstallState};
use sp_tree::atomic::{self, Durability, TempFile};
use sp_tree::transaction::{self, Transaction, TransactionPlan, TrashedEntry};
use sp_tree::{
    Digest, DigestIndex, Dir, DirLock, FileError, Follow, Limits, Name, StaticName, read_limited,
};

use crate::apply_mode::ApplyMode;
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};

const STATE_FILE: StaticName = StaticName("state.json");
const STATE_TEMP: StaticName = StaticName("state.json.tmp");
const INDEX_DIR: StaticName = StaticName("index");
const INDEX_TEMP: StaticName = StaticName("index.tmp");
const MAX_STATE_BYTES: u64 = 256 * 1024 * 1024;
const MAX_INDEX_BYTES: u64 = 1024 * 1024 * 1024;

/// The locked home directory, with no interrupted transaction pending.
pub(crate) struct LockedHome<'a> {
    context: &'a Context<'a>,
    pub dir: Dir,
    _lock: DirLock,
}

impl<'a> LockedHome<'a> {
    /// Creates the home directory if it is missing, locks it, and recovers from an interrupted run.
    pub(crate) fn open(context: &'a Context<'a>, limits: &Limits) -> Result<Self> {
        let dir = context.open_private_dir(&context.home)?;
        // Earlier versions created a directory that others could read. Best effort: the directory
        // of another user cannot be restricted.
        let _ = dir.restrict_to_owner();
        let lock = context.lock(&dir)?;
        let home = Self { context, dir, _lock: lock };
        home.recover(limits)?;
        Ok(home)
    }

    /// Opens the home directory unless it is a dry run, which takes no lock.
    pub(crate) fn open_unless_dry_run(
        context: &'a Context<'a>,
        limits: &Limits,
        mode: ApplyMode,
    ) -> Result<Option<Self>> {
        match mode {
            ApplyMode::Apply => Self::open(context, limits).map(Some),
            ApplyMode::DryRun => Ok(None),
        }
    }

    /// Opens the home directory to change sinks. A dry run does not create a missing one.
    pub(crate) fn open_unless_missing(
        context: &'a Context<'a>,
        limits: &Limits,
        mode: ApplyMode,
    ) -> Result<Option<Self>> {
        match mode {
            ApplyMode::DryRun if !context.home.exists() => Ok(None),
            ApplyMode::DryRun | ApplyMode::Apply => Self::open(context, limits).map(Some),
        }
    }

    fn recover(&self, limits: &Limits) -> Result<()> {
        if transaction::is_pending(&self.dir)? {
            let generation = self.state()?.generation;
            if let Some(recovery) = transaction::recover(&self.dir, generation, limits)? {
                self.context.emit(Event::Recovered(&recovery));
            }
        }
        self.dir.remove_tree(&STATE_TEMP)?;
        Ok(self.dir.remove_tree(&INDEX_TEMP)?)
    }

    pub(crate) fn state(&self) -> Result<InstallState> {
        read_state(self.context)
    }

    /// Returns the generation of the state that follows `state`.
    pub(crate) fn next_generation(&self, state: &InstallState) -> Result<u64> {
        state.next_generation().ok_or_else(|| {
            let path = self.context.display_path(&self.context.home.join(STATE_FILE.0));
            Error::new(
                ErrorCode::InvalidState,
                format!("cannot update the state file `{path}`"),
            )
            .because(format!(
                "its `generation` is {}, the maximum value",
                state.generation
            ))
            .hint(format!(
                "set `generation` to 1 in `{path}`, then run the command again; nothing was changed"
            ))
        })
    }

    /// Replaces the state atomically and durably.
    pub(crate) fn store_state(&self, state: &InstallState) -> Result<()> {
        let bytes = state.to_json().map_err(|e| {
            Error::new(ErrorCode::Internal, "cannot serialize the state").because(e)
        })?;
        Ok(atomic::replace(
            &self.dir,
            &STATE_FILE,
            TempFile { dir: &self.dir, name: STATE_TEMP },
            &bytes,
            Durability::Durable,
        )?)
    }

    /// Begins a transaction and stages its content. If that fails, everything is as it was.
    pub(crate) fn stage_transaction<'t, T>(
        &'t self,
        limits: &'t Limits,
        plan: TransactionPlan,
        stage: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<(Transaction<'t>, T)> {
        let transaction = Transaction::begin(&self.dir, limits, plan)?;
        match stage(&transaction) {
            Ok(staged) => Ok((transaction, staged)),
            Err(error) => {
                transaction.abort()?;
                Err(error)
            }
        }
    }

    /// Commits a transaction that was swapped, by storing the next state. Returns what was edited
    /// and is now in the trash.
    pub(crate) fn commit_transaction(
        &self,
        transaction: Transaction<'_>,
        next_state: &InstallState,
    ) -> Result<Vec<TrashedEntry>> {
        transaction.commit(
            || self.store_state(next_state),
            || self.state().ok().map(|state| state.generation),
        )
    }

    /// Locks the home directory for writing an index. Returns `None` if another process has the
    /// lock or the directory cannot be written. Does not recover.
    pub(crate) fn try_open(context: &'a Context<'a>) -> Option<Self> {
        let dir = context.open_private_dir(&context.home).ok()?;
        let lock = DirLock::try_acquire(&dir).ok()??;
        Some(Self { context, dir, _lock: lock })
    }

    /// Stores the indexes that a command without the lock has learned, unless another process has
    /// it.
    pub(crate) fn store_indexes(context: &'a Context<'a>, indexes: &DigestIndexes<'_>) {
        if indexes.is_changed()
            && let Some(home) = Self::try_open(context)
        {
            indexes.store(&home);
        }
    }

    /// Stores an index file. A failure is only a detail: the next run is slower.
    pub(crate) fn store_index_file(&self, name: &str, bytes: &[u8]) {
        let store = || -> std::result::Result<(), FileError> {
            let dir = match self.dir.create_dir(&INDEX_DIR) {
                Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(e),
                _ => self.dir.open_dir(&INDEX_DIR, Follow::Never)?,
            };
            let name = Name::new(name)
                .map_err(|e| FileError::new("name", name, std::io::Error::other(e)))?;
            atomic::replace(
                &dir,
                &name,
                TempFile { dir: &self.dir, name: INDEX_TEMP },
                bytes,
                Durability::Cache,
            )
        };
        if let Err(error) = store() {
            self.context.emit(Event::Detail(format!("cannot save the index: {error}")));
        }
    }
}

/// Reads an index file. A missing or unreadable one is empty.
pub(crate) fn read_index_file(context: &Context<'_>, name: &str) -> Vec<u8> {
    read_limited(&context.home.join(INDEX_DIR.0).join(name), MAX_INDEX_BYTES).unwrap_or_default()
}

/// Stores an index file, unless another process holds the lock.
pub(crate) fn write_index_file(context: &Context<'_>, name: &str, bytes: &[u8]) {
    if let Some(home) = LockedHome::try_open(context) {
        home.store_index_file(name, bytes);
    }
}

/// The digest indexes of directories, each read on first use.
pub(crate) struct DigestIndexes<'a> {
    context: &'a Context<'a>,
    /// By the name of the file.
    by_name: HashMap<String, DigestIndex>,
}

impl<'a> DigestIndexes<'a> {
    pub(crate) fn new(context: &'a Context<'a>) -> Self {
        Self { context, by_name: HashMap::new() }
    }

    /// Returns the index of everything below `root`.
    pub(crate) fn for_dir(&mut self, root: &Path) -> &mut DigestIndex {
        self.named(index_name(root.as_os_str().as_encoded_bytes()))
    }

    /// Returns the index of a directory that a project uses as a source. Other links are followed
    /// there than in the `skills/` of a repository, so that the two have an index each.
    pub(crate) fn for_source(&mut self, root: &Path) -> &mut DigestIndex {
        let key = [b"source ", root.as_os_str().as_encoded_bytes()].concat();
        self.named(index_name(&key))
    }

    fn named(&mut self, name: String) -> &mut DigestIndex {
        let context = self.context;
        self.by_name
            .entry(name)
            .or_insert_with_key(|name| DigestIndex::decode(read_index_file(context, name)))
    }

    fn is_changed(&self) -> bool {
        self.by_name.values().any(DigestIndex::is_changed)
    }

    /// Writes the indexes that changed.
    pub(crate) fn store(&self, home: &LockedHome<'_>) {
        for (name, index) in self.by_name.iter().filter(|(_, index)| index.is_changed()) {
            home.store_index_file(name, &index.encode());
        }
    }
}

fn index_name(key: &[u8]) -> String {
    Digest::of(key).hex()[..32].to_owned()
}

/// Reads the state. No lock is needed, because the state is replaced atomically.
pub(crate) fn read_state(context: &Context<'_>) -> Result<InstallState> {
    let path = context.home.join(STATE_FILE.0);
    let bytes = match read_limited(&path, MAX_STATE_BYTES) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(InstallState::default()),
        Err(e) => {
            let error = Error::from(e);
            return Err(Error { hints: vec![repair_hint(context, &path)], ..error });
        }
    };
    InstallState::parse(&bytes).map_err(|why| {
        Error::new(
            ErrorCode::InvalidState,
            format!("the state file `{}` is invalid", context.display_path(&path)),
        )
        .because(why)
        .hint(repair_hint(context, &path))
    })
}

/// Returns the names of the installed packs, without reading what is installed of them; none if the
/// state cannot be read.
pub(crate) fn installed_pack_names(context: &Context<'_>) -> Vec<String> {
    let bytes = read_limited(&context.home.join(STATE_FILE.0), MAX_STATE_BYTES).ok();
    let names = bytes.and_then(|bytes| state::installed_pack_names(&bytes).ok());
    names.unwrap_or_default()
}

fn repair_hint(context: &Context<'_>, path: &Path) -> String {
    let path = context.display_path(path);
    format!(
        "fix the file, or move it away to start with an empty state (`mv {path} {path}.broken`); \
         then remove the skills that `sp` installed before by hand, and install them again; \
         nothing was changed"
    )
}

/// Finishes or rolls back an interrupted run, if there was one.
pub(crate) fn recover_interrupted(context: &Context<'_>, limits: &Limits) -> Result<()> {
    let was_interrupted = match Dir::open(&context.home) {
        Ok(dir) => {
            let exists = |name| Ok::<_, FileError>(dir.stat(&name, Follow::Never)?.is_some());
            transaction::is_pending(&dir)? || exists(STATE_TEMP)? || exists(INDEX_TEMP)?
        }
        Err(e) if e.kind() == ErrorKind::NotFound => false,
        Err(e) => return Err(e.into()),
    };
    if was_interrupted {
        LockedHome::open(context, limits)?;
    }
    Ok(())
}
