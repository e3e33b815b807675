//! Reading and parsing the tree objects of a commit.
//!
//! `git ls-tree -r` prints full paths, which do not show whether a slash is part of a name. So the
//! objects themselves are read with `git cat-file --batch` and parsed here. [`read_trees`] visits
//! all folders of a commit. It refuses a tree with an invalid name or with duplicate names: git
//! does not write such trees, and programs disagree about their content.

use std::collections::{HashSet, VecDeque};
use std::io::{self, BufRead, BufReader, Read, Write};

use sp_formats::git_repo::GitRepo;
use sp_formats::printable::printable;
use sp_formats::text::truncate;
use sp_tree::{Limits, escape_non_utf8, to_hex};

use super::command::{GitCommand, spawn_piped};
use crate::error::{Error, ErrorCode, Result};

/// The maximum length of a path in bytes, which is that of common file systems.
const MAX_PATH_LEN: usize = 4096;
/// The length of the longest mode, `0160000`, and the space after it.
const MAX_MODE_LEN: u64 = 8;
/// The maximum number of requested objects that were not read yet. Their IDs fit into the smallest
/// pipe buffer, so writing never blocks while git waits for its output to be read.
const MAX_PENDING_REQUESTS: usize = 128;

/// The type of a tree entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GitEntryKind {
    Folder,
    File { executable: bool },
    Link,
    Submodule,
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitObject {
    pub kind: GitEntryKind,
    pub id: Box<str>,
}

/// Reads all trees of a commit with `command`, a `git cat-file --batch`, and calls `insert` with
/// each path and its object.
pub(super) fn read_trees(
    command: GitCommand,
    commit: &str,
    limits: &Limits,
    repo: &GitRepo,
    mut insert: impl FnMut(Vec<u8>, GitObject),
) -> Result<()> {
    let mut child = spawn_piped(command)?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Error::new(ErrorCode::Git, "cannot communicate with git"));
    };
    let mut reader = GitTreeReader {
        stdout: BufReader::with_capacity(1 << 16, stdout),
        remaining_entries: limits.repo_entries,
    };
    let mut read_all = || -> std::result::Result<(), GitTreeError> {
        // Depth first keeps the list short. One tree may occur in many folders, and each is
        // visited.
        let mut folders = vec![(Vec::new(), format!("{commit}^{{tree}}").into_boxed_str())];
        let mut requested = VecDeque::new();
        loop {
            while requested.len() < MAX_PENDING_REQUESTS
                && let Some((path, id)) = folders.pop()
            {
                stdin.write_all(format!("{id}\n").as_bytes())?;
                requested.push_back(path);
            }
            let Some(folder) = requested.pop_front() else { return Ok(()) };
            reader.read_tree(&folder, &mut |path, object| {
                if object.kind == GitEntryKind::Folder {
                    folders.push((path.clone(), object.id.clone()));
                }
                insert(path, object);
            })?;
        }
    };
    let result = read_all();
    if result.is_err() {
        let _ = child.kill();
    }
    drop(stdin);
    let _ = child.wait();
    result.map_err(|error| error.into_error(repo, limits))
}

enum GitTreeError {
    /// Git did not return the tree.
    Unreadable(io::Error),
    TooManyEntries,
    /// A path that git does not allow in a tree.
    Name(Vec<u8>),
    Duplicate(Vec<u8>),
    TooLong(Vec<u8>),
}

impl From<io::Error> for GitTreeError {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

impl GitTreeError {
    fn into_error(self, repo: &GitRepo, limits: &Limits) -> Error {
        let invalid = |message: String| {
            Error::new(ErrorCode::InvalidGitTree, message)
                .hint("ask its author to fix the commit, or specify another commit")
        };
        match self {
            Self::Unreadable(why) => {
                Error::new(ErrorCode::Git, format!("cannot read the files of `{repo}`"))
                    .because(why)
                    .hint("the cache may be damaged; remove it with `sp clean --cache`")
            }
            Self::TooManyEntries => {
                let message =
                    format!("`{repo}` has more than {} files and directories", limits.repo_entries);
                Error::new(ErrorCode::LimitExceeded, message).hint(
                    "raise the limit with `--limit repo-entries=<number>` if you trust the \
                         repository",
                )
            }
            Self::Name(path) => {
                invalid(format!("`{repo}` has the invalid path `{}`", display_path_bytes(&path)))
            }
            Self::Duplicate(path) => invalid(format!(
                "`{repo}` has two entries with the path `{}`",
                display_path_bytes(&path)
            )),
            Self::TooLong(path) => {
                let path = display_path_bytes(&path);
                let start = truncate(&path, 80);
                invalid(format!("`{repo}` has a path longer than {MAX_PATH_LEN} bytes: `{start}`"))
            }
        }
    }
}

/// Parses the output of a `git cat-file --batch`.
struct GitTreeReader<R> {
    stdout: R,
    /// How many more entries the limit allows.
    remaining_entries: u64,
}

impl<R: BufRead> GitTreeReader<R> {
    /// Reads the next object, which is the tree of `folder`.
    fn read_tree(
        &mut self,
        folder: &[u8],
        each: &mut dyn FnMut(Vec<u8>, GitObject),
    ) -> std::result::Result<(), GitTreeError> {
        let mut header = String::new();
        self.stdout.read_line(&mut header)?;
        let mut fields = header.split_ascii_whitespace();
        let (Some(id), Some("tree"), Some(Ok(size))) =
            (fields.next(), fields.next(), fields.next().map(str::parse))
        else {
            return Err(io::Error::other(format!(
                "unexpected output from git: `{}`",
                header.trim()
            ))
            .into());
        };
        let id_length = id.len() / 2;
        let mut names = HashSet::new();
        let mut tree = (&mut self.stdout).take(size);
        while tree.limit() > 0 {
            let (name, object) = read_entry(&mut tree, id_length)?;
            let path =
                if folder.is_empty() { name.clone() } else { [folder, b"/", &name].concat() };
            self.remaining_entries =
                self.remaining_entries.checked_sub(1).ok_or(GitTreeError::TooManyEntries)?;
            if matches!(name.as_slice(), b"" | b"." | b"..") || name.contains(&b'/') {
                return Err(GitTreeError::Name(path));
            }
            if path.len() > MAX_PATH_LEN {
                return Err(GitTreeError::TooLong(path));
            }
            if !names.insert(name) {
                return Err(GitTreeError::Duplicate(path));
            }
            each(path, object);
        }
        let mut end = [0];
        self.stdout.read_exact(&mut end)?;
        Ok(())
    }
}

/// Reads `<mode> <name>NUL<id>`.
fn read_entry(
    tree: &mut io::Take<impl BufRead>,
    id_length: usize,
) -> io::Result<(Vec<u8>, GitObject)> {
    let broken = || io::Error::other("malformed tree object");
    let (mut mode, mut name, mut id) = (Vec::new(), Vec::new(), vec![0; id_length]);
    tree.by_ref().take(MAX_MODE_LEN).read_until(b' ', &mut mode)?;
    let digits = mode
        .strip_suffix(b" ")
        .and_then(|digits| std::str::from_utf8(digits).ok())
        .ok_or_else(broken)?;
    let mode = u32::from_str_radix(digits, 8).map_err(|_| broken())?;
    tree.by_ref().take(MAX_PATH_LEN as u64 + 2).read_until(0, &mut name)?;
    if name.pop() != Some(0) {
        return Err(broken());
    }
    tree.read_exact(&mut id)?;
    let item = match mode {
        0o040_000 => GitEntryKind::Folder,
        0o120_000 => GitEntryKind::Link,
        0o160_000 => GitEntryKind::Submodule,
        0o100_755 => GitEntryKind::File { executable: true },
        _ => GitEntryKind::File { executable: false },
    };
    Ok((name, GitObject { kind: item, id: to_hex(&id).into() }))
}

/// Formats a path for display. Bytes that are not UTF-8 are escaped.
pub(super) fn display_path_bytes(path: &[u8]) -> String {
    use std::os::unix::ffi::OsStrExt;
    printable(&escape_non_utf8(std::ffi::OsStr::from_bytes(path))).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut tree = Vec::new();
        for (mode, name) in entries {
            tree.extend([mode.as_bytes(), b" ", name, b"\0", &[7; 20]].concat());
        }
        let header = format!("{} tree {}\n", "0".repeat(40), tree.len());
        [header.as_bytes(), &tree, b"\n"].concat()
    }

    fn read(
        response: &[u8],
        limit: u64,
    ) -> std::result::Result<Vec<(Vec<u8>, GitObject)>, GitTreeError> {
        let mut found = Vec::new();
        GitTreeReader { stdout: response, remaining_entries: limit }
            .read_tree(b"a", &mut |path, object| found.push((path, object)))?;
        Ok(found)
    }

    #[test]
    fn entries_have_full_path_kind_and_id() {
        let bytes = response(&[
            ("40000", b"d"),
            ("100755", b"x"),
            ("0120000", b"l"),
            ("160000", b"s"),
            ("100664", b"\xff"),
        ]);
        let found = read(&bytes, 5).unwrap_or_default();
        let kinds: Vec<(&[u8], &GitEntryKind)> =
            found.iter().map(|(path, object)| (path.as_slice(), &object.kind)).collect();
        let (executable, plain) =
            (GitEntryKind::File { executable: true }, GitEntryKind::File { executable: false });
        let expected: [(&[u8], &GitEntryKind); 5] = [
            (b"a/d", &GitEntryKind::Folder),
            (b"a/x", &executable),
            (b"a/l", &GitEntryKind::Link),
            (b"a/s", &GitEntryKind::Submodule),
            (b"a/\xff", &plain),
        ];
        assert_eq!(kinds, expected);
        assert!(found.iter().all(|(_, object)| *object.id == *"07".repeat(20)));
        assert!(matches!(read(&bytes, 4), Err(GitTreeError::TooManyEntries)));
    }

    #[test]
    fn invalid_and_duplicate_names_are_refused() {
        for name in [&b""[..], b".", b"..", b"x/y", b"/", b"x/"] {
            let result = read(&response(&[("100644", name)]), 9);
            assert!(
                matches!(result, Err(GitTreeError::Name(_))),
                "{:?}",
                String::from_utf8_lossy(name)
            );
        }
        // Git sorts a folder as if its name ended in a slash, so duplicates need not be adjacent.
        let duplicates = response(&[("100644", b"x"), ("100644", b"x.y"), ("40000", b"x")]);
        assert!(
            matches!(read(&duplicates, 9), Err(GitTreeError::Duplicate(path)) if path == b"a/x")
        );
        let long = [b'x'; MAX_PATH_LEN];
        assert!(matches!(read(&response(&[("100644", &long)]), 9), Err(GitTreeError::TooLong(_))));
        assert!(read(&response(&[("100644", &long[2..])]), 9).is_ok());
    }

    #[test]
    fn se_14_truncated_or_unexpected_output_is_refused() {
        let whole = response(&[("40000", b"d"), ("100644", b"f")]);
        for cut in 0..whole.len() {
            assert!(matches!(read(&whole[..cut], 9), Err(GitTreeError::Unreadable(_))), "{cut}");
        }
        for other in ["x missing\n", "0000 blob 3\nabc\n", "0000 tree many\n", "\n"] {
            assert!(
                matches!(read(other.as_bytes(), 9), Err(GitTreeError::Unreadable(_))),
                "{other}"
            );
        }
    }
}
