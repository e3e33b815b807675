//! Everything that the engine takes from its surroundings, handed in by the caller.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use sp_formats::Report;
use sp_formats::printable::printable;
use sp_tree::transaction::Recovery;
use sp_tree::{Dir, DirLock, FileError};

use crate::error::{Error, FailureKind, Result};

/// How often somebody who waits looks whether the waiting is over.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Whether the network may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Where a command needs it.
    Allowed,
    /// Never.
    Offline,
}

/// Something worth telling while a verb is at work.
#[derive(Debug)]
pub enum Event<'a> {
    /// Another `sp` is changing things; this one waits.
    Waiting,
    /// An earlier run had been interrupted, and was completed or taken back.
    Recovered(&'a Recovery),
    /// A repository is being fetched from; git's own words on how far it is, if it said any.
    Fetching {
        /// The repository, without credentials.
        repo: &'a str,
        /// What git says.
        progress: Option<&'a str>,
    },
    /// A repository is there.
    Fetched {
        /// The repository, without credentials.
        repo: &'a str,
    },
    /// Something comes from a registry.
    Downloading {
        /// What comes.
        what: &'a str,
        /// How many bytes are here.
        done: u64,
        /// How many there are.
        total: u64,
    },
    /// Something is being sent to a registry.
    Sending {
        /// The registry.
        to: &'a str,
        /// How many bytes are on their way.
        done: u64,
        /// How many there are.
        total: u64,
    },
    /// Skills are being prepared.
    Staging {
        /// How many are done.
        done: usize,
        /// How many there are.
        total: usize,
    },
    /// Skills are being checked.
    Checking {
        /// How many are done.
        done: usize,
    },
    /// The files of a project or of a knowledge base are being read.
    Reading {
        /// How many are done.
        done: usize,
        /// How many there are.
        total: usize,
    },
    /// A context pack is being composed.
    Composing {
        /// How many steps are done.
        done: usize,
        /// How many there are.
        total: usize,
    },
    /// A file was fixed.
    Rewritten {
        /// The file.
        file: &'a str,
        /// Its text before the fix.
        before: &'a str,
        /// Its text now.
        after: &'a str,
    },
    /// Something is odd, but not wrong.
    Warning(String),
    /// Something is odd in a file.
    Findings(&'a Report),
    /// Something that helps and was not asked for.
    Hint(String),
    /// A detail for `--verbose`.
    Detail(String),
}

/// Takes what is worth telling, and says when to stop. Called from several threads.
pub trait EventListener: Sync {
    /// Tells one thing.
    fn on_event(&self, event: Event<'_>);

    /// Whether nobody wants the result any more. Asked often: work then ends soon, with nothing half-done.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// The surroundings.
#[derive(Clone)]
pub struct Context<'a> {
    /// The user's home directory.
    pub user_home: PathBuf,
    /// Skillpack's own directory.
    pub home: PathBuf,
    /// Where git repositories are cached, if not in the home.
    pub cache: Option<PathBuf>,
    /// The current directory.
    pub current_dir: PathBuf,
    /// The environment.
    pub env: BTreeMap<String, String>,
    /// The time that is written into records.
    pub now: Timestamp,
    /// The system's clock in nanoseconds, to be held against file times.
    pub wall_clock: fn() -> i64,
    /// Fills bytes with random ones, from the system.
    pub random: fn(&mut [u8]) -> std::io::Result<()>,
    /// A name for this run, unlike that of any other.
    pub run_id: String,
    /// The ceilings that flags raise, by name; they win over the config's.
    pub limits: Vec<(String, u64)>,
    /// Whether the network may be used.
    pub network: Network,
    /// Who is told what happens.
    pub listener: &'a dyn EventListener,
}

impl Context<'_> {
    /// Where git repositories are cached.
    pub fn cache_dir(&self) -> PathBuf {
        self.cache.clone().unwrap_or_else(|| self.home.join("cache"))
    }

    /// Opens a directory in the home or in the cache, and makes it first where it is missing. It is private: what is
    /// created beneath it belongs to the user alone.
    pub(crate) fn open_private_dir(&self, path: &Path) -> std::result::Result<Dir, FileError> {
        Dir::create_all_private(path)
    }

    /// The time that goes into packages and records: whole seconds, in RFC 3339.
    pub(crate) fn timestamp(&self) -> String {
        self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// Says that it is worth to go on: an error once nobody wants the result any more.
    ///
    /// Asked before each piece of long work, and never once something is being changed for good.
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        match self.listener.is_cancelled() {
            true => Err(Error::new(FailureKind::Cancelled, "it was cancelled")
                .hint("nothing was changed: ask again")),
            false => Ok(()),
        }
    }

    /// Takes the lock of a directory, as soon as whoever has it lets go.
    pub(crate) fn lock(&self, dir: &Dir) -> Result<DirLock> {
        match DirLock::try_acquire(dir)? {
            Some(lock) => Ok(lock),
            None => {
                self.emit(Event::Waiting);
                self.lock_silently(dir)
            }
        }
    }

    /// Takes the lock of a directory without a word about the waiting.
    pub(crate) fn lock_silently(&self, dir: &Dir) -> Result<DirLock> {
        loop {
            if let Some(lock) = DirLock::try_acquire(dir)? {
                return Ok(lock);
            }
            self.check_cancelled()?;
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Tells the listener.
    pub fn emit(&self, event: Event<'_>) {
        self.listener.on_event(event);
    }

    /// A path as a user writes it: `~` is the home, and what is relative starts at the current directory.
    pub(crate) fn expand(&self, path: &str) -> PathBuf {
        match path.strip_prefix('~') {
            Some("") => self.user_home.clone(),
            Some(rest) if rest.starts_with('/') => {
                self.user_home.join(rest.trim_start_matches('/'))
            }
            _ => self.absolute(Path::new(path)),
        }
    }

    /// A path from the current directory.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        self.current_dir.join(path)
    }

    /// A path as it is shown where it is likely to be near: from the current directory, if it lies below it.
    pub fn display_relative_path(&self, path: &Path) -> String {
        match path.strip_prefix(&self.current_dir) {
            Ok(relative) if !relative.as_os_str().is_empty() => {
                printable(&relative.to_string_lossy()).into_owned()
            }
            _ => self.display_path(path),
        }
    }

    /// A path as it is shown: below the user's home with `~`, and nothing hidden in it.
    pub fn display_path(&self, path: &Path) -> String {
        let shown = match path.strip_prefix(&self.user_home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".into(),
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        };
        printable(&shown).into_owned()
    }
}
