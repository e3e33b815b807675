//! When the files of a repository were changed, and what was taken back. Nothing of the repository's own is run.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use sp_analyze::extract::{Commit, FileHistory, History};
use sp_tree::Limits;

use super::command::{Git, bounded};
use crate::context::Context;

/// Older commits say little about what is alive.
const MOST_COMMITS: &str = "--max-count=20000";
const MOST_REVERTS: &str = "--max-count=200";
/// With this a commit begins in what git prints.
const MARK: char = '\u{1}';

/// The history of a folder; none if it is in no repository, or if its history cannot be read.
pub(crate) fn history(context: &Context<'_>, dir: &Path) -> Option<History> {
    let dir = dir.canonicalize().ok()?;
    let top = dir.ancestors().find(|dir| dir.join(".git").exists())?;
    let below = dir.strip_prefix(top).ok()?.to_str()?;
    let log = Log { git: Git::new(context, &top.join(".git"), (&Limits::default()).into()), below };
    let files = log.files()?;
    // A folder that no commit knows has no history, whatever lies around it.
    (!files.is_empty()).then(|| History::new(files, log.reverts().unwrap_or_default()))
}

struct Log<'a> {
    git: Git<'a>,
    /// The folder below the top of the repository; empty for the top itself.
    below: &'a str,
}

impl Log<'_> {
    fn print(&self, args: &[&str]) -> Option<String> {
        let below = format!(":(top,literal){}", self.below);
        let common = ["log", "--no-show-signature", "--no-ext-diff", "--no-renames", "--name-only", "-z"];
        let mut all: Vec<&str> = [&common[..], args, &["HEAD"]].concat();
        if !self.below.is_empty() {
            all.extend(["--", &below]);
        }
        bounded(self.git.local(&all)).map(|printed| String::from_utf8_lossy(&printed).into_owned())
    }

    /// A path below the folder.
    fn own<'p>(&self, path: &'p str) -> Option<&'p str> {
        let path = path.trim_start_matches('\n');
        let rest = path.strip_prefix(self.below)?;
        let rest = if self.below.is_empty() { rest } else { rest.strip_prefix('/')? };
        (!rest.is_empty()).then_some(rest)
    }

    /// When each file was changed last, and how often; newest first, as git prints it.
    fn files(&self) -> Option<BTreeMap<String, FileHistory>> {
        let printed = self.print(&[MOST_COMMITS, "--format=%x01%ct"])?;
        let mut files: BTreeMap<String, FileHistory> = BTreeMap::new();
        let mut at = None;
        for word in printed.split('\0') {
            match (word.strip_prefix(MARK), at, self.own(word)) {
                (Some(seconds), ..) => {
                    at = seconds.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
                }
                (None, Some(changed), Some(path)) => {
                    files.entry(path.to_owned()).or_insert(FileHistory { changed, commits: 0 }).commits += 1;
                }
                _ => {}
            }
        }
        Some(files)
    }

    /// Commits that took others back.
    fn reverts(&self) -> Option<Vec<Commit>> {
        let printed = self.print(&[MOST_REVERTS, "--grep=^Revert \"", "--format=%x01%ct%x00%s%x00%b"])?;
        let commits = printed.split(MARK).skip(1).filter_map(|record| {
            let mut words = record.split('\0');
            let at = Timestamp::from_second(words.next()?.parse().ok()?).ok()?;
            let subject = words.next()?.trim_start_matches("Revert ").trim_matches('"').to_owned();
            let body = words
                .next()?
                .lines()
                .filter(|line| !line.starts_with("This reverts commit"))
                .collect::<Vec<_>>()
                .join("\n");
            let files = words.filter_map(|path| self.own(path)).map(Into::into).collect();
            Some(Commit { at, subject, body: body.trim().to_owned(), files })
        });
        Some(commits.collect())
    }
}
