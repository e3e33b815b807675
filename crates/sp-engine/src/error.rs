//! The error type of the engine.
//!
//! An [`Error`] says what failed (`message`), why (`source`) and how to fix it (`hints`). Its
//! [`FailureKind`] determines the exit code. Errors of `sp-tree` are converted here, which is where
//! they get their hints.

use std::error::Error as StdError;
use std::fmt;
use std::io::ErrorKind;

use sp_formats::Report;
use sp_formats::printable::printable_lines;
use sp_tree::transaction::{JournalError, TransactionError};
use sp_tree::{ArchiveError, FileError, ScanError, WalkError};

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of a failure, which determines the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The request cannot be fulfilled.
    Request,
    /// Invalid arguments.
    Usage,
    /// Invalid data.
    Data,
    /// A hash, signature or owner does not match.
    Trust,
    /// Disk, network or git failed.
    Environment,
    /// The [`EventListener`](crate::EventListener) cancelled the operation.
    Cancelled,
}

impl FailureKind {
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Request | Self::Cancelled => 1,
            Self::Usage => 2,
            Self::Data => 3,
            Self::Trust => 4,
            Self::Environment => 5,
        }
    }
}

/// What failed, why, and how to fix it.
#[derive(Debug)]
pub struct Error {
    pub kind: FailureKind,
    /// What failed, as a fragment without a period.
    pub message: String,
    /// Why it failed.
    pub source: Option<Box<dyn StdError + Send + Sync>>,
    /// How to fix it.
    pub hints: Vec<String>,
    /// The findings in files that caused the failure.
    pub reports: Vec<Report>,
    pub(crate) concurrent_change: bool,
}

impl Error {
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
            hints: Vec::new(),
            reports: Vec::new(),
            concurrent_change: false,
        }
    }

    /// Creates an error that is caused by findings in a file.
    pub fn in_file(message: impl Into<String>, report: Report) -> Self {
        let mut error = Self::new(FailureKind::Data, message);
        error.reports.push(report);
        error
    }

    /// Sets the cause.
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Whether nothing was changed because another process changed a file after it was read. A
    /// retry may succeed.
    pub(crate) fn is_concurrent_change(&self) -> bool {
        self.concurrent_change
    }

    /// Returns the chain of causes, outermost first.
    pub fn causes(&self) -> Vec<String> {
        let mut causes = Vec::new();
        let mut current: Option<&(dyn StdError + 'static)> = self.source.as_deref().map(|e| e as _);
        while let Some(error) = current {
            causes.push(printable_lines(&error.to_string()));
            current = error.source();
        }
        causes
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable_lines(&self.message))
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|e| e as _)
    }
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        let hint = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                "nothing was changed: free some space and run it again"
            }
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                "nothing was changed: make the place writable, or choose another with `--path`"
            }
            ErrorKind::FileTooLarge => {
                "raise the limit with `--limit file-bytes=<bytes>` if you trust the file"
            }
            _ => "nothing was changed; run it again when the cause is mended",
        };
        let kind = if error.kind() == ErrorKind::FileTooLarge {
            FailureKind::Data
        } else {
            FailureKind::Environment
        };
        let message = error.to_string();
        Self::new(kind, message).because(error.source).hint(hint)
    }
}

impl From<ScanError> for Error {
    fn from(error: ScanError) -> Self {
        let message = error.to_string();
        match error {
            ScanError::File(error) => error.into(),
            ScanError::Listing { why, .. } => match why.limit_name() {
                Some(name) => Self::new(FailureKind::Data, message).hint(format!(
                    "raise it with `--limit {name}=<number>` if you trust the source"
                )),
                None => Self::new(FailureKind::Data, message).hint("rename one of the two"),
            },
            ScanError::Name { .. } => Self::new(FailureKind::Data, message).hint("rename it"),
            ScanError::Dangling(_) | ScanError::Cycle(_) | ScanError::Link(_) => {
                Self::new(FailureKind::Data, message)
                    .hint("remove the link, or put a copy in its place")
            }
            ScanError::Special(_) => Self::new(FailureKind::Data, message)
                .hint("remove it: only files and folders can be installed"),
        }
    }
}

impl From<ArchiveError> for Error {
    fn from(error: ArchiveError) -> Self {
        let message = error.to_string();
        match error {
            ArchiveError::File(error) => error.into(),
            other => match other.limit_name() {
                Some(name) => Self::new(FailureKind::Data, message).hint(format!(
                    "raise it with `--limit {name}=<number>` if you trust the archive"
                )),
                None => Self::new(FailureKind::Data, message)
                    .hint("nothing was changed: ask whoever made the archive to mend it"),
            },
        }
    }
}

impl From<WalkError> for Error {
    fn from(error: WalkError) -> Self {
        let message = error.to_string();
        match error {
            WalkError::File(error) => error.into(),
            WalkError::TooMany { .. } => Self::new(FailureKind::Data, message)
                .hint("raise it with `--limit repo-entries=<number>`"),
        }
    }
}

impl From<JournalError> for Error {
    fn from(error: JournalError) -> Self {
        let message = error.to_string();
        match error {
            JournalError::File(error) => error.into(),
            JournalError::Broken { path, source } => Self::new(FailureKind::Data, message).because(source).hint(format!(
                "an earlier run was interrupted and its record is damaged: look for folders called `.skillpack-…` in your sinks, then remove `{}`",
                path.display()
            )),
            JournalError::UnsupportedVersion { .. } => Self::new(FailureKind::Data, message).hint("run the newer `sp` that wrote it"),
        }
    }
}

impl From<TransactionError> for Error {
    fn from(error: TransactionError) -> Self {
        let message = error.to_string();
        match error {
            TransactionError::File(error) => error.into(),
            TransactionError::Journal(error) => error.into(),
            TransactionError::Appeared(_) => {
                let error = Self::new(FailureKind::Trust, message).hint(
                    "nothing was changed: move it away, or give the pack another `install.prefix`",
                );
                Self { concurrent_change: true, ..error }
            }
            TransactionError::Changed(_) => {
                let error = Self::new(FailureKind::Request, message)
                    .hint("nothing was changed: run the command again");
                Self { concurrent_change: true, ..error }
            }
            TransactionError::CleanupFailed(error) => Self::new(FailureKind::Environment, message)
                .because(error)
                .hint("fix the cause, then run `sp installed`: it finishes the cleanup"),
            TransactionError::RootReplaced(_) => Self::new(FailureKind::Trust, message)
                .hint("nothing was changed: find out what replaced it, then run the command again"),
            TransactionError::RootMismatch { path, journal } => Self::new(
                FailureKind::Trust,
                message,
            )
            .hint(format!(
                "nothing was changed: move the directory back to `{}`, then run the command again",
                path.display()
            ))
            .hint(format!(
                "if the directory was deleted, remove `{}` to give up the interrupted change",
                journal.display()
            )),
            TransactionError::RollbackFailed(error) => {
                let hint = "mend the cause, then run `sp installed`: it completes or takes back what was begun";
                Self::new(FailureKind::Environment, message).because(error).hint(hint)
            }
        }
    }
}
