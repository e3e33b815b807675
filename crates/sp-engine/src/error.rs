//! The error type of the engine.
//!
//! An [`Error`] has a message (what failed), a source (why) and hints (how to fix it). Its
//! [`ErrorCode`] is stable across releases and determines the [`FailureKind`] and the exit code.
//! Errors of `sp-tree` are converted here, which is where they get their codes and hints.

use std::error::Error as StdError;
use std::fmt;
use std::io::ErrorKind;
use std::ops::Range;

pub use sp_formats::error_code::{ErrorCode, FailureKind};
use sp_formats::output::ErrorPositionItem;
use sp_formats::printable::printable_lines;
use sp_formats::report::{FindingLocation, LineColumn, Report, Severity};
use sp_formats::suggest::{did_you_mean, list_few};
use sp_tree::transaction::{JournalError, TransactionError};
use sp_tree::{ArchiveError, FileError, PathError, ScanError, WalkError};

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What failed, why, and how to fix it.
#[derive(Debug)]
pub struct Error {
    pub(crate) code: ErrorCode,
    /// What failed, as a fragment without a period.
    pub message: String,
    /// Why it failed.
    pub source: Option<Box<dyn StdError + Send + Sync>>,
    /// How to fix it.
    pub hints: Vec<String>,
    /// The findings in files that caused the failure.
    pub reports: Vec<Report>,
    /// The text in a file that the error is about.
    pub position: Option<Box<ErrorPosition>>,
    pub(crate) concurrent_change: bool,
}

/// A position in a file of the user.
#[derive(Debug)]
pub struct ErrorPosition {
    /// The path of the file for display.
    pub file: String,
    pub location: FindingLocation,
}

impl ErrorPosition {
    /// Converts the position for JSON output.
    pub fn to_item(&self) -> ErrorPositionItem {
        let LineColumn { line, column } = self.location.start;
        ErrorPositionItem { file: self.file.clone(), line, column }
    }
}

impl Error {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            source: None,
            hints: Vec::new(),
            reports: Vec::new(),
            position: None,
            concurrent_change: false,
        }
    }

    /// Creates an error that is caused by findings in a file.
    pub fn in_file(code: ErrorCode, message: impl Into<String>, report: Report) -> Self {
        let mut error = Self::new(code, message);
        error.reports.push(report);
        error
    }

    /// Returns the stable code: the rule ID of the first finding that caused the failure, or else
    /// the [`ErrorCode`].
    pub fn code(&self) -> &'static str {
        // The findings of an audit are why content is blocked, and not what failed.
        if self.code == ErrorCode::BlockedContent {
            return self.code.as_str();
        }
        let mut findings = self.reports.iter().flat_map(|report| &report.findings);
        let rule = findings.find(|finding| finding.severity == Severity::Error);
        rule.map_or(self.code.as_str(), |finding| finding.check.id)
    }

    pub(crate) fn has_code(&self, code: ErrorCode) -> bool {
        self.code == code
    }

    pub fn kind(&self) -> FailureKind {
        self.code.kind()
    }

    /// Replaces the code, and with it the kind, where the context gives the failure another one.
    pub fn with_code(self, code: ErrorCode) -> Self {
        Self { code, ..self }
    }

    /// Sets the cause.
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Sets the position: a span of the text that a report is about.
    pub(crate) fn at(mut self, report: &Report, span: &Range<usize>) -> Self {
        let location = report.locate(span);
        self.position = Some(Box::new(ErrorPosition { file: report.file.clone(), location }));
        self
    }

    /// Sets the position, unless a more precise one is known.
    pub(crate) fn within(self, report: &Report, span: &Range<usize>) -> Self {
        let is_known = self.position.is_some() || !self.reports.is_empty();
        if is_known { self } else { self.at(report, span) }
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds a hint with the known names that are closest to `name`. If none is close, it lists a
    /// few of them after `label`.
    pub(crate) fn suggest(self, name: &str, known: &[impl AsRef<str>], label: &str) -> Self {
        match did_you_mean(name, known.iter().map(AsRef::as_ref)) {
            Some(question) => self.hint(question),
            None if known.is_empty() => self,
            None => self.hint(format!("{label}: {}", list_few(known))),
        }
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
                "free some disk space, then run the command again; nothing was changed"
            }
            ErrorKind::PermissionDenied if error.is_reading() => {
                "you do not have permission to read it: run `ls -ld` on it and on the directories \
                 above it"
            }
            ErrorKind::NotFound if error.is_reading() => "check the path, and that the file exists",
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                "make the directory writable, or choose another one with `--path`; nothing was \
                 changed"
            }
            ErrorKind::FileTooLarge => {
                "raise the limit with `--limit file-bytes=<bytes>` if you trust the file"
            }
            _ => "fix the cause, then run the command again; nothing was changed",
        };
        let code = match error.kind() {
            ErrorKind::FileTooLarge => ErrorCode::LimitExceeded,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ErrorCode::DiskFull,
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                ErrorCode::PermissionDenied
            }
            _ => ErrorCode::Io,
        };
        let message = error.to_string();
        Self::new(code, message).because(error.source).hint(hint)
    }
}

impl From<PathError> for Error {
    fn from(error: PathError) -> Self {
        Self::new(ErrorCode::UnsafePath, "invalid file name").because(error)
    }
}

impl From<ScanError> for Error {
    fn from(error: ScanError) -> Self {
        let message = error.to_string();
        match error {
            ScanError::File(error) => error.into(),
            ScanError::Listing { why, .. } => match why.limit_name() {
                Some(name) => Self::new(ErrorCode::LimitExceeded, message).hint(format!(
                    "raise the limit with `--limit {name}=<number>` if you trust the source"
                )),
                None => Self::new(ErrorCode::NameCollision, message).hint("rename one of the two"),
            },
            ScanError::Name { .. } => {
                Self::new(ErrorCode::UnsafePath, message).hint("rename the file or directory")
            }
            ScanError::Dangling(_) | ScanError::Cycle(_) | ScanError::Link(_) => {
                Self::new(ErrorCode::UnsafeLink, message)
                    .hint("remove the link, or replace it with a copy")
            }
            ScanError::Special(_) => Self::new(ErrorCode::SpecialFile, message)
                .hint("remove it; only files and directories can be installed"),
        }
    }
}

impl From<ArchiveError> for Error {
    fn from(error: ArchiveError) -> Self {
        let message = error.to_string();
        match error {
            ArchiveError::File(error) => error.into(),
            other => match other.limit_name() {
                Some(name) => Self::new(ErrorCode::LimitExceeded, message).hint(format!(
                    "raise the limit with `--limit {name}=<number>` if you trust the archive"
                )),
                None => Self::new(ErrorCode::InvalidArchive, message)
                    .hint("ask the author of the archive to fix it; nothing was changed"),
            },
        }
    }
}

impl From<WalkError> for Error {
    fn from(error: WalkError) -> Self {
        let message = error.to_string();
        match error {
            WalkError::File(error) => error.into(),
            WalkError::TooMany { .. } => Self::new(ErrorCode::LimitExceeded, message)
                .hint("raise the limit with `--limit repo-entries=<number>`"),
        }
    }
}

impl From<JournalError> for Error {
    fn from(error: JournalError) -> Self {
        let message = error.to_string();
        match error {
            JournalError::File(error) => error.into(),
            JournalError::Broken { path, source } => {
                let hint = format!(
                    "a previous run was interrupted and its journal is damaged; look for \
                     directories named `.skillpack-…` in the directories of your agents, then \
                     remove `{}`",
                    path.display()
                );
                Self::new(ErrorCode::InvalidState, message).because(source).hint(hint)
            }
            JournalError::UnsupportedVersion { .. } => Self::new(ErrorCode::InvalidState, message)
                .hint("use the newer version of `sp` that wrote it"),
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
                let error = Self::new(ErrorCode::NotOwned, message).hint(
                    "move it to another directory, or set a different `install.prefix` in the \
                     pack; nothing was changed",
                );
                Self { concurrent_change: true, ..error }
            }
            TransactionError::Changed(_) => {
                let error = Self::new(ErrorCode::ChangedMeanwhile, message)
                    .hint("run the command again; nothing was changed");
                Self { concurrent_change: true, ..error }
            }
            TransactionError::CleanupFailed(error) => Self::new(ErrorCode::CleanupFailed, message)
                .because(error)
                .hint("fix the cause, then run `sp installed` to finish the cleanup"),
            TransactionError::RootReplaced(_) => Self::new(ErrorCode::DirectoryReplaced, message)
                .hint("find out what replaced it, then run the command again; nothing was changed"),
            TransactionError::RootMismatch { path, journal } => Self::new(
                ErrorCode::DirectoryReplaced,
                message,
            )
            .hint(format!(
                "move the directory back to `{}`, then run the command again; nothing was changed",
                path.display()
            ))
            .hint(format!(
                "if the directory was deleted, remove `{}` to discard the interrupted change",
                journal.display()
            )),
            TransactionError::RollbackFailed(error) => {
                let hint = "fix the cause, then run `sp installed` to complete or roll back the \
                            interrupted change";
                Self::new(ErrorCode::RollbackFailed, message).because(error).hint(hint)
            }
        }
    }
}
