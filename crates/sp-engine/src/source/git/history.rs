//! When the files of a repository were changed, and what was taken back. Nothing of the repository's own is run.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use sp_analyze::extract::{CommitHistory, FileHistory, RevertCommit};
use sp_tree::Limits;

use super::command::{GitRepository, bounded_output};
use crate::context::Context;

/// Older commits say little about what is alive.
const MAX_COMMITS_ARG: &str = "--max-count=20000";
const MAX_REVERTS_ARG: &str = "--max-count=200";
/// With this a commit begins in what git prints.
const COMMIT_MARKER: char = '\u{1}';

/// The history of a folder; none if it is in no repository, or if its history cannot be read.
pub(crate) fn read_history(context: &Context<'_>, dir: &Path) -> Option<CommitHistory> {
    let dir = dir.canonicalize().ok()?;
    let top = dir.ancestors().find(|dir| dir.join(".git").exists())?;
    let below = dir.strip_prefix(top).ok()?.to_str()?;
    let log = GitLog {
        git: GitRepository::new(context, &top.join(".git"), (&Limits::default()).into()),
        folder: below,
    };
    let files = log.files()?;
    // A folder that no commit knows has no history, whatever lies around it.
    (!files.is_empty()).then(|| CommitHistory::new(files, log.reverts().unwrap_or_default()))
}

struct GitLog<'a> {
    git: GitRepository<'a>,
    /// The folder below the top of the repository; empty for the top itself.
    folder: &'a str,
}

impl GitLog<'_> {
    fn run(&self, args: &[&str]) -> Option<String> {
        let below = format!(":(top,literal){}", self.folder);
        let common =
            ["log", "--no-show-signature", "--no-ext-diff", "--no-renames", "--name-only", "-z"];
        let mut all: Vec<&str> = [&common[..], args, &["HEAD"]].concat();
        if !self.folder.is_empty() {
            all.extend(["--", &below]);
        }
        bounded_output(self.git.local_command(&all))
            .map(|printed| String::from_utf8_lossy(&printed).into_owned())
    }

    /// A path below the folder.
    fn strip_folder<'p>(&self, path: &'p str) -> Option<&'p str> {
        let path = path.trim_start_matches('\n');
        let rest = path.strip_prefix(self.folder)?;
        let rest = if self.folder.is_empty() { rest } else { rest.strip_prefix('/')? };
        (!rest.is_empty()).then_some(rest)
    }

    /// When each file was changed last, and how often; newest first, as git prints it.
    fn files(&self) -> Option<BTreeMap<String, FileHistory>> {
        let printed = self.run(&[MAX_COMMITS_ARG, "--format=%x01%ct"])?;
        let mut files: BTreeMap<String, FileHistory> = BTreeMap::new();
        let mut at = None;
        for word in printed.split('\0') {
            match (word.strip_prefix(COMMIT_MARKER), at, self.strip_folder(word)) {
                (Some(seconds), ..) => {
                    at = seconds
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

    /// Commits that took others back.
    fn reverts(&self) -> Option<Vec<RevertCommit>> {
        let printed =
            self.run(&[MAX_REVERTS_ARG, "--grep=^Revert \"", "--format=%x01%ct%x00%s%x00%b"])?;
        let commits = printed.split(COMMIT_MARKER).skip(1).filter_map(|record| {
            let mut words = record.split('\0');
            let at = Timestamp::from_second(words.next()?.parse().ok()?).ok()?;
            let subject = words.next()?.trim_start_matches("Revert ").trim_matches('"').to_owned();
            let body = words
                .next()?
                .lines()
                .filter(|line| !line.starts_with("This reverts commit"))
                .collect::<Vec<_>>()
                .join("\n");
            let files = words.filter_map(|path| self.strip_folder(path)).map(Into::into).collect();
            Some(RevertCommit { at, subject, body: body.trim().to_owned(), files })
        });
        Some(commits.collect())
    }
}
