//! What the history of a project tells of its files, as values.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// What is known of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileHistory {
    /// When it was changed last.
    pub last_changed: Timestamp,
    /// How many commits changed it.
    pub commits: u32,
}

/// A commit that took another back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevertCommit {
    /// When it was made.
    pub at: Timestamp,
    /// Its first line.
    pub subject: String,
    /// The rest of its message.
    pub body: String,
    /// The files that it changed.
    pub files: Vec<String>,
}

/// What is known of a project.
#[derive(Debug, Clone, Default)]
pub struct CommitHistory {
    files: BTreeMap<String, FileHistory>,
    /// How many commits changed the file that most did.
    max_commits: u32,
    /// Commits that took others back, the newest first.
    pub(crate) reverts: Vec<RevertCommit>,
    /// The time of the newest commit: what is not in the history yet is as old as this.
    newest: Option<Timestamp>,
}

impl CommitHistory {
    /// What is known of each file, by its path, and the commits that took others back, the newest first.
    pub fn new(files: BTreeMap<String, FileHistory>, reverts: Vec<RevertCommit>) -> Self {
        let max_commits = files.values().map(|file| file.commits).max().unwrap_or(0);
        let newest = files.values().map(|file| file.last_changed).max();
        Self { files, max_commits, reverts, newest }
    }

    /// When a file was changed last; none if the history does not know it.
    pub fn last_changed(&self, path: &str) -> Option<Timestamp> {
        self.files.get(path).map(|file| file.last_changed)
    }

    /// When a file was changed last, or might have been.
    pub(crate) fn last_changed_or_newest(&self, path: &str) -> Option<Timestamp> {
        self.last_changed(path).or(self.newest)
    }

    /// How lively a file is, from 0 to 1, beside the liveliest.
    pub(crate) fn activity(&self, path: &str) -> f64 {
        let own = self.files.get(path).map_or(0, |file| file.commits);
        if self.max_commits == 0 {
            0.5
        } else {
            f64::from(own + 1).ln() / f64::from(self.max_commits + 1).ln()
        }
    }
}
