//! The commit history of a folder: when its files changed, and which commits were reverted.
//!
//! Runs no hook or filter of the repository.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use sp_analyze::extract::{CommitHistory, FileHistory, RevertCommit};
use sp_tree::Limits;

use super::command::{GitRepository, bounded_output};
use crate::context::Context;

/// Older commits say little about the current state of a project.
const MAX_COMMITS_ARG: &str = "--max-count=20000";
const MAX_REVERTS_ARG: &str = "--max-count=200";
/// The first character of each commit in git's output.
const COMMIT_MARKER: char = '\u{1}';

/// Reads the history of a folder. Returns `None` if it is not in a repository or not in any commit,
/// or if git fails.
pub(crate) fn read_history(context: &Context<'_>, dir: &Path) -> Option<CommitHistory> {
    let dir = dir.canonicalize().ok()?;
    let top = dir.ancestors().find(|dir| dir.join(".git").exists())?;
    let below = dir.strip_prefix(top).ok()?.to_str()?;
    let log = GitLog {
        git: GitRepository::new(context, &top.join(".git"), (&Limits::default()).into()),
        folder: below,
    };
    let files = log.files()?;
    (!files.is_empty()).then(|| CommitHistory::new(files, log.reverts().unwrap_or_default()))
}

struct GitLog<'a> {
    git: GitRepository<'a>,
    /// The path of the folder in the repository. Empty for its root.
    folder: &'a str,
}

impl GitLog<'_> {
    fn run(&self, args: &[&str]) -> Option<String> {
        let pathspec = format!(":(top,literal){}", self.folder);
        let common =
            ["log", "--no-show-signature", "--no-ext-diff", "--no-renames", "--name-only", "-z"];
        let mut args: Vec<&str> = [&common[..], args, &["HEAD"]].concat();
        if !self.folder.is_empty() {
            args.extend(["--", &pathspec]);
        }
        bounded_output(self.git.local_command(&args))
            .map(|output| String::from_utf8_lossy(&output).into_owned())
    }

    /// Makes a path relative to the folder.
    fn strip_folder<'p>(&self, path: &'p str) -> Option<&'p str> {
        let path = path.trim_start_matches('\n');
        let rest = path.strip_prefix(self.folder)?;
        let rest = if self.folder.is_empty() { rest } else { rest.strip_prefix('/')? };
        (!rest.is_empty()).then_some(rest)
    }

    /// Returns when each file last changed, and how often. Git prints the newest commits first.
    fn files(&self) -> Option<BTreeMap<String, FileHistory>> {
        let output = self.run(&[MAX_COMMITS_ARG, "--format=%x01%ct"])?;
        let mut files: BTreeMap<String, FileHistory> = BTreeMap::new();
        let mut commit_time = None;
        for field in output.split('\0') {
            match (field.strip_prefix(COMMIT_MARKER), commit_time, self.strip_folder(field)) {
                (Some(seconds), ..) => {
                    commit_time = seconds
                        .parse()
                        .ok()
                        .and_then(|seconds| Timestamp::from_second(seconds).ok());
                }
                (None, Some(changed), Some(path)) => {
                    files
                        .entry(path.to_owned())
                        .or_insert(FileHistory { last_changed: changed, commits: 0 })
                        .commits += 1;
                }
                _ => {}
            }
        }
        Some(files)
    }

    /// Returns the commits that `git revert` created.
    fn reverts(&self) -> Option<Vec<RevertCommit>> {
        let output =
            self.run(&[MAX_REVERTS_ARG, "--grep=^Revert \"", "--format=%x01%ct%x00%s%x00%b"])?;
        let commits = output.split(COMMIT_MARKER).skip(1).filter_map(|record| {
            let mut fields = record.split('\0');
            let time = Timestamp::from_second(fields.next()?.parse().ok()?).ok()?;
            let subject = fields.next()?.trim_start_matches("Revert ").trim_matches('"').to_owned();
            let body = fields
                .next()?
                .lines()
                .filter(|line| !line.starts_with("This reverts commit"))
                .collect::<Vec<_>>()
                .join("\n");
            let files = fields.filter_map(|path| self.strip_folder(path)).map(Into::into).collect();
            Some(RevertCommit { at: time, subject, body: body.trim().to_owned(), files })
        });
        Some(commits.collect())
    }
}
