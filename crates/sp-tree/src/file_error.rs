//! A file-system call that failed.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;
use thiserror::Error;

/// A file-system call that failed, and where.
#[derive(Debug, Error)]
#[error("cannot {action} `{}`", path.display())]
pub struct FileError {
    /// What was tried: a verb.
    pub action: &'static str,
    /// On what.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl FileError {
    /// Makes the error.
    pub fn new(
        action: &'static str,
        path: impl Into<PathBuf>,
        source: impl Into<io::Error>,
    ) -> Self {
        Self { action, path: path.into(), source: source.into() }
    }

    /// What kind of failure it was.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }

    pub(crate) fn is_errno(&self, errno: Errno) -> bool {
        self.source.raw_os_error() == Some(errno.raw_os_error())
    }

    /// Whether a path could not be opened because it no longer leads to a directory, or leads there over a link.
    pub(crate) fn is_not_real_dir(&self) -> bool {
        [Errno::NOENT, Errno::NOTDIR, Errno::LOOP].iter().any(|errno| self.is_errno(*errno))
    }
}
