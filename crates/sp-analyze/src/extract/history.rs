//! The commit history of a project, as values.

use std::collections::BTreeMap;

use jiff::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileHistory {
    pub last_changed: Timestamp,
    /// Number of commits that changed the file.
    pub commits: u32,
}

/// A commit that reverts another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevertCommit {
    pub at: Timestamp,
    /// First line of the message.
    pub subject: String,
    /// The rest of the message.
    pub body: String,
    /// The changed files.
    pub files: Vec<String>,
}

/// Change times and counts of a project's files.
#[derive(Debug, Clone, Default)]
pub struct CommitHistory {
    files: BTreeMap<String, FileHistory>,
    /// Number of commits of the most frequently changed file.
    max_commits: u32,
    /// Revert commits, newest first.
    pub(crate) reverts: Vec<RevertCommit>,
    /// Time of the newest commit. Files that are not committed yet count as this old.
    newest: Option<Timestamp>,
}

impl CommitHistory {
    /// Takes the history of each file by path, and the revert commits, newest first.
    pub fn new(files: BTreeMap<String, FileHistory>, reverts: Vec<RevertCommit>) -> Self {
        let max_commits = files.values().map(|file| file.commits).max().unwrap_or(0);
        let newest = files.values().map(|file| file.last_changed).max();
        Self { files, max_commits, reverts, newest }
    }

    /// Returns when a file last changed; `None` if it is not in the history.
    pub fn last_changed(&self, path: &str) -> Option<Timestamp> {
        self.files.get(path).map(|file| file.last_changed)
    }

    /// Returns when a file last changed, or the time of the newest commit.
    pub(crate) fn last_changed_or_newest(&self, path: &str) -> Option<Timestamp> {
        self.last_changed(path).or(self.newest)
    }

    /// The number of commits relative to the most frequently changed file, from 0 to 1.
    pub(crate) fn activity(&self, path: &str) -> f64 {
        let own = self.files.get(path).map_or(0, |file| file.commits);
        if self.max_commits == 0 {
            0.5
        } else {
            f64::from(own + 1).ln() / f64::from(self.max_commits + 1).ln()
        }
    }
}
