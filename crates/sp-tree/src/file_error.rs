//! The error of a file system call.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;
use thiserror::Error;

/// A file system call that failed.
#[derive(Debug, Error)]
#[error("cannot {action} `{}`", path.display())]
pub struct FileError {
    /// A verb, such as "open".
    pub action: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
}

impl FileError {
    pub fn new(
        action: &'static str,
        path: impl Into<PathBuf>,
        source: impl Into<io::Error>,
    ) -> Self {
        Self { action, path: path.into(), source: source.into() }
    }

    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }

    /// Whether nothing was to be changed.
    pub fn is_reading(&self) -> bool {
        self.action == "read"
            || self.action.starts_with("read ")
            || self.action.starts_with("open")
            || matches!(self.action, "find" | "list")
    }

    pub(crate) fn is_errno(&self, errno: Errno) -> bool {
        self.source.raw_os_error() == Some(errno.raw_os_error())
    }

    /// Whether opening failed because the path is not a directory or contains a link.
    pub(crate) fn is_not_real_dir(&self) -> bool {
        [Errno::NOENT, Errno::NOTDIR, Errno::LOOP].iter().any(|errno| self.is_errno(*errno))
    }
}
