//! What the engine gets from its caller: environment, clock, randomness, and an event listener.
//!
//! The engine reads none of these itself. A test passes a [`Context`] with a fixed clock and a
//! temporary home directory and gets reproducible results.
//!
//! An operation reports what happens on the way as [`Event`]s. The [`EventListener`] that receives
//! them can also cancel the operation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use sp_formats::Report;
use sp_formats::printable::printable;
use sp_formats::time::format_seconds;
use sp_tree::transaction::Recovery;
use sp_tree::{Dir, DirLock, FileError};

use crate::error::{Error, ErrorCode, Result};

/// How often waiting code checks for its result and for cancellation.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Whether the network may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    Allowed,
    /// Only cached content may be used (`--offline`).
    Offline,
}

/// What the user agreed to before content is installed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstallConsent {
    /// The IDs of findings that do not block an installation (`--accept`).
    pub findings: Vec<String>,
    pub capabilities: CapabilityConsent,
}

/// Which capabilities an update may add to installed skills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CapabilityConsent {
    /// None, unless the listener approves them.
    #[default]
    Ask,
    /// All (`--accept-capabilities`).
    All,
    /// Those in this list, which the user was shown.
    Shown(String),
}

/// Something that happens during an operation.
#[derive(Debug)]
pub enum Event<'a> {
    /// Another process has the lock, and this one waits for it.
    Waiting,
    /// An interrupted run was finished or rolled back.
    Recovered(&'a Recovery),
    /// A repository or URL is being fetched.
    Fetching {
        /// The URL, without credentials.
        repo: &'a str,
        /// A progress message, such as a line that git printed.
        progress: Option<&'a str>,
    },
    /// A fetch finished.
    Fetched {
        /// The URL, without credentials.
        repo: &'a str,
    },
    /// Something is being downloaded from a registry. Counts bytes.
    Downloading {
        what: &'a str,
        done: u64,
        total: u64,
    },
    /// Something is being uploaded. Counts bytes.
    Sending {
        /// The URL of the registry or receiver.
        to: &'a str,
        done: u64,
        total: u64,
    },
    /// Skills are being staged.
    Staging {
        done: usize,
        total: usize,
    },
    /// Skills are being checked. The total is not known in advance.
    Checking {
        done: usize,
    },
    /// The files of a project or of a knowledge base are being read.
    Reading {
        done: usize,
        total: usize,
    },
    /// A context pack is being generated. Counts steps.
    Composing {
        done: usize,
        total: usize,
    },
    /// A file was fixed.
    Rewritten {
        file: &'a str,
        /// The text before the fix.
        before: &'a str,
        /// The text after the fix.
        after: &'a str,
    },
    Warning(String),
    /// Findings in a file that do not prevent its use.
    Findings(&'a Report),
    Hint(String),
    /// How many details were left out, which `--verbose` prints.
    Omitted(String),
    /// A detail for `--verbose`.
    Detail(String),
}

/// Receives events and can cancel the operation. Called from several threads.
pub trait EventListener: Sync {
    fn on_event(&self, event: Event<'_>);

    /// Whether to cancel the operation.
    ///
    /// Called often. A cancelled operation fails soon after, and changes nothing.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Whether the user approves the capabilities that an update adds. By default, no one can be
    /// asked.
    fn approves_capabilities(&self, _added: &str) -> bool {
        false
    }
}

/// Everything an operation depends on besides its request.
#[derive(Clone)]
pub struct Context<'a> {
    /// The user's home directory.
    pub user_home: PathBuf,
    /// The home directory of `sp`, by default `~/.skillpack`.
    pub home: PathBuf,
    /// The cache directory, if it is not `cache` in the home directory of `sp`.
    pub cache: Option<PathBuf>,
    pub current_dir: PathBuf,
    /// The environment variables.
    pub env: BTreeMap<String, String>,
    /// The time of the operation, as written into records and packages.
    pub now: Timestamp,
    /// Returns the current time in nanoseconds since the epoch, for comparison with file times.
    pub wall_clock: fn() -> i64,
    /// Fills a buffer with random bytes of the system.
    pub random: fn(&mut [u8]) -> std::io::Result<()>,
    /// A unique name of this run.
    pub run_id: String,
    /// The limits given as flags, by name. They override those of the configuration.
    pub limits: Vec<(String, u64)>,
    pub network: Network,
    pub consent: InstallConsent,
    pub listener: &'a dyn EventListener,
}

impl Context<'_> {
    /// Returns the directory for everything that can be fetched again.
    pub fn cache_dir(&self) -> PathBuf {
        self.cache.clone().unwrap_or_else(|| self.home.join("cache"))
    }

    /// Opens a directory of the home or cache, creating it if it is missing. Only the user can
    /// access a created directory.
    pub(crate) fn open_private_dir(&self, path: &Path) -> std::result::Result<Dir, FileError> {
        Dir::create_all_private(path)
    }

    /// Returns the time of the operation in RFC 3339, in whole seconds.
    pub(crate) fn timestamp(&self) -> String {
        format_seconds(self.now)
    }

    /// Fails if the operation was cancelled.
    ///
    /// Call it before each piece of long work, and never between the first and the last change.
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        if self.listener.is_cancelled() {
            return Err(Error::new(ErrorCode::Cancelled, "the operation was cancelled")
                .hint("run the command again; nothing was changed"));
        }
        Ok(())
    }

    /// Locks a directory. Emits an event if it has to wait.
    pub(crate) fn lock(&self, dir: &Dir) -> Result<DirLock> {
        match DirLock::try_acquire(dir)? {
            Some(lock) => Ok(lock),
            None => {
                self.emit(Event::Waiting);
                self.lock_silently(dir)
            }
        }
    }

    /// Locks a directory without emitting an event.
    pub(crate) fn lock_silently(&self, dir: &Dir) -> Result<DirLock> {
        loop {
            if let Some(lock) = DirLock::try_acquire(dir)? {
                return Ok(lock);
            }
            self.check_cancelled()?;
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    pub fn emit(&self, event: Event<'_>) {
        self.listener.on_event(event);
    }

    /// Makes a path that the user wrote absolute. `~` is the user's home directory.
    pub(crate) fn expand(&self, path: &str) -> PathBuf {
        match path.strip_prefix('~') {
            Some("") => self.user_home.clone(),
            Some(rest) if rest.starts_with('/') => {
                self.user_home.join(rest.trim_start_matches('/'))
            }
            _ => self.absolute(Path::new(path)),
        }
    }

    /// Makes a path absolute. It is relative to the current directory.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        self.current_dir.join(path)
    }

    /// Formats a path for display, relative to the current directory if it is below it.
    pub fn display_relative_path(&self, path: &Path) -> String {
        match path.strip_prefix(&self.current_dir) {
            Ok(relative) if !relative.as_os_str().is_empty() => {
                printable(&relative.to_string_lossy()).into_owned()
            }
            _ => self.display_path(path),
        }
    }

    /// Formats a path for display, with `~` for the user's home directory and control characters
    /// escaped.
    pub fn display_path(&self, path: &Path) -> String {
        let text = match path.strip_prefix(&self.user_home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".into(),
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        };
        printable(&text).into_owned()
    }
}
