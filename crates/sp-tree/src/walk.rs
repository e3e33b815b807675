//! A parallel walk that finds every directory with a file of a given name.

use std::ffi::OsStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;

use crate::dir::{Dir, Follow};
use crate::file_error::FileError;
use crate::file_stamp::{EntryKind, PathStamps};
use crate::limits::Limits;
use crate::path::{Name, PathError, check_not_git};
use crate::segment::{DirEntry, escape_non_utf8};

/// Why a walk was aborted.
#[derive(Debug, Error)]
pub enum WalkError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{path}` contains more than {limit} files and directories")]
    TooMany {
        /// The root of the walk.
        path: String,
        limit: u64,
    },
}

/// A directory whose name cannot be part of an ID.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the directory name `{path}` is not valid in a skill ID: {why}")]
pub struct InvalidDirName {
    /// The path, with bytes that are not UTF-8 escaped.
    pub path: String,
    pub why: PathError,
}

/// A directory with the file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MatchedDir {
    /// Relative to the root of the walk; "" for the root itself.
    pub path: Box<str>,
    pub dir_is_link: bool,
    pub file_is_link: bool,
}

/// The result of a walk, sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WalkReport {
    pub matches: Vec<MatchedDir>,
    /// Directories that were skipped because of their names.
    pub invalid_names: Vec<InvalidDirName>,
    /// Directories that were skipped because they are nested too deeply.
    pub too_deep: Vec<Box<str>>,
    /// Links to one of their own parents, which were not followed.
    pub cycles: Vec<Box<str>>,
    /// The stamp of every directory just before it was read.
    pub dirs: PathStamps,
}

impl WalkReport {
    fn sort(&mut self) {
        self.matches.sort_unstable();
        self.invalid_names.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.too_deep.sort_unstable();
        self.cycles.sort_unstable();
        self.dirs.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    }
}

/// Walks `root`, following links to directories and skipping `.git`.
pub fn find_dirs_with_file(
    root: Dir,
    file: &Name,
    limits: &Limits,
) -> Result<WalkReport, WalkError> {
    DirSearch { file, skipped: &[], limits }.run(root)
}

/// A search for directories with a file.
pub struct DirSearch<'a> {
    pub file: &'a Name,
    /// The names of directories that are not searched, besides `.git`.
    pub skipped: &'a [&'a str],
    pub limits: &'a Limits,
}

impl DirSearch<'_> {
    /// Walks `root`, following links to directories.
    pub fn run(&self, root: Dir) -> Result<WalkReport, WalkError> {
        let walk = DirWalker {
            search: self,
            top: root.path().display().to_string(),
            entry_count: AtomicU64::new(0),
            report: Mutex::default(),
            error: Mutex::default(),
        };
        let level = Arc::new(WalkLevel::root(root));
        rayon::scope(|scope| walk.visit(scope, &level));
        if let Some(error) = walk.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let mut report = walk.report.into_inner().unwrap_or_else(PoisonError::into_inner);
        report.sort();
        Ok(report)
    }

    fn skips(&self, entry: &DirEntry) -> bool {
        self.skipped.iter().any(|name| entry.name() == OsStr::new(name))
    }
}

struct DirWalker<'a> {
    search: &'a DirSearch<'a>,
    top: String,
    entry_count: AtomicU64,
    report: Mutex<WalkReport>,
    error: Mutex<Option<WalkError>>,
}

struct WalkLevel {
    dir: Dir,
    /// Relative to the root of the walk. Not a `RelPath`, because unsafe names are only detected
    /// here.
    path: Box<str>,
    depth: u64,
    parent: Option<Arc<WalkLevel>>,
    dir_is_link: bool,
    is_via_link: bool,
}

impl WalkLevel {
    fn root(dir: Dir) -> Self {
        Self {
            dir,
            path: "".into(),
            depth: 0,
            parent: None,
            dir_is_link: false,
            is_via_link: false,
        }
    }

    fn has_ancestor(&self, identity: (u64, u64)) -> Result<bool, FileError> {
        if self.dir.identity()? == identity {
            return Ok(true);
        }
        self.parent.as_ref().map_or(Ok(false), |above| above.has_ancestor(identity))
    }
}

impl<'a> DirWalker<'a> {
    fn visit<'s>(&'s self, scope: &rayon::Scope<'s>, level: &Arc<WalkLevel>) {
        if let Err(error) = self.read_dir(scope, level) {
            self.fail(error);
        }
    }

    /// Keeps the first error.
    fn fail(&self, error: WalkError) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn report(&self) -> MutexGuard<'_, WalkReport> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_dir<'s>(
        &'s self,
        scope: &rayon::Scope<'s>,
        level: &Arc<WalkLevel>,
    ) -> Result<(), WalkError> {
        let stamp = level.dir.stamp()?;
        let entries = level.dir.entries()?;
        self.count_entries(entries.len() as u64)?;
        let mut matched = None;
        for entry in &entries {
            let is_file = matches!(entry.kind, EntryKind::File | EntryKind::Link);
            if is_file && entry.name() == OsStr::new(self.search.file.as_str()) {
                matched = Some(MatchedDir {
                    path: level.path.clone(),
                    dir_is_link: level.dir_is_link,
                    file_is_link: entry.kind == EntryKind::Link,
                });
            } else if let Some(follow) = follow_into(&level.dir, entry)?
                && !self.search.skips(entry)
            {
                self.descend(scope, level, entry, follow);
            }
        }
        let mut report = self.report();
        report.matches.extend(matched);
        report.dirs.push((level.path.clone(), stamp));
        Ok(())
    }

    fn descend<'s>(
        &'s self,
        scope: &rayon::Scope<'s>,
        level: &Arc<WalkLevel>,
        entry: &DirEntry,
        follow: Follow,
    ) {
        let path = match child_path(level, entry) {
            Ok(path) => path,
            Err(invalid) => return self.report().invalid_names.push(invalid),
        };
        if level.depth >= self.search.limits.depth {
            return self.report().too_deep.push(path);
        }
        let (level, entry) = (Arc::clone(level), entry.clone());
        scope.spawn(move |scope| match self.open_child(&level, &entry, path, follow) {
            Ok(Some(child)) => self.visit(scope, &Arc::new(child)),
            Ok(None) => {}
            Err(error) => self.fail(error),
        });
    }

    fn open_child(
        &self,
        above: &Arc<WalkLevel>,
        entry: &DirEntry,
        path: Box<str>,
        follow: Follow,
    ) -> Result<Option<WalkLevel>, WalkError> {
        let dir = above.dir.open_dir(entry, follow)?;
        let dir_is_link = follow == Follow::Links;
        let linked = above.is_via_link || dir_is_link;
        if linked && above.has_ancestor(dir.identity()?)? {
            self.report().cycles.push(path);
            return Ok(None);
        }
        Ok(Some(WalkLevel {
            dir,
            path,
            depth: above.depth + 1,
            parent: Some(Arc::clone(above)),
            dir_is_link,
            is_via_link: linked,
        }))
    }

    fn count_entries(&self, entries: u64) -> Result<(), WalkError> {
        let seen = self.entry_count.fetch_add(entries, Ordering::Relaxed) + entries;
        let limit = self.search.limits.repo_entries;
        if seen > limit {
            return Err(WalkError::TooMany { path: self.top.clone(), limit });
        }
        Ok(())
    }
}

fn child_path(level: &WalkLevel, entry: &DirEntry) -> Result<Box<str>, InvalidDirName> {
    let checked = entry.name().to_str().ok_or(PathError::NotUtf8);
    let checked = checked.and_then(|name| match name.chars().find(|c| c.is_control()) {
        Some(c) => Err(PathError::Control(c)),
        None => check_not_git(name).map(|()| name),
    });
    let refused =
        |why| InvalidDirName { path: escape_non_utf8(level.dir.path_of(entry).as_os_str()), why };
    let name = checked.map_err(refused)?;
    Ok(if level.path.is_empty() { name.into() } else { format!("{}/{name}", level.path).into() })
}

/// Whether an entry is a directory to walk, and whether through a link.
fn follow_into(dir: &Dir, entry: &DirEntry) -> Result<Option<Follow>, FileError> {
    if entry.name() == OsStr::new(".git") {
        return Ok(None);
    }
    match entry.kind {
        EntryKind::Dir => Ok(Some(Follow::Never)),
        // A link that loops or dangles is not a directory; it only matters inside a skill.
        EntryKind::Link => match dir.stat(entry, Follow::Links) {
            Ok(Some(stamp)) if stamp.kind() == EntryKind::Dir => Ok(Some(Follow::Links)),
            _ => Ok(None),
        },
        EntryKind::File | EntryKind::Special => Ok(None),
    }
}
