//! Finding every directory that holds a file of a given name, in parallel.

use std::ffi::OsStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;

use crate::dir::{Dir, DirEntry, EntryKind, Follow, escape_bytes};
use crate::file_error::FileError;
use crate::limits::Limits;
use crate::path::{Name, PathError, check_not_git};
use crate::stamp::Stamps;

/// Why a walk ended before its end.
#[derive(Debug, Error)]
pub enum WalkError {
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// Too much to walk.
    #[error("`{path}` has more than {limit} files and folders")]
    TooMany {
        /// The top of the walk.
        path: String,
        /// The limit that was passed.
        limit: u64,
    },
}

/// A directory whose name no id can have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the folder `{path}` cannot be part of a skill's id: {why}")]
pub struct Unnamed {
    /// The path, what is not UTF-8 escaped.
    pub path: String,
    /// What is wrong with it.
    pub why: PathError,
}

/// A directory that holds the file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundLink {
    /// Where the directory is, from the top of the walk; "" is the top itself.
    pub path: Box<str>,
    /// Whether the directory is a link.
    pub dir_is_link: bool,
    /// Whether the file is a link.
    pub file_is_link: bool,
}

/// What a walk found, sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The directories that hold the file.
    pub holders: Vec<FoundLink>,
    /// Directories that were not walked because of their names.
    pub unnamed: Vec<Unnamed>,
    /// Directories that were not walked because they lie too deep.
    pub too_deep: Vec<Box<str>>,
    /// Links that lead back to a folder that they lie in; they were not followed.
    pub cycles: Vec<Box<str>>,
    /// Every directory that was read, as it looked just before.
    pub dirs: Stamps,
}

/// Walks `root`, following links to directories and passing over `.git`.
pub fn find_holders(root: Dir, file: &Name, limits: &Limits) -> Result<Found, WalkError> {
    let walk = Walk {
        file,
        limits,
        top: root.path().display().to_string(),
        seen: AtomicU64::new(0),
        found: Mutex::default(),
        failed: Mutex::default(),
    };
    let level =
        Arc::new(Level { dir: root, path: "".into(), depth: 0, above: None, dir_is_link: false, linked: false });
    rayon::scope(|scope| walk.visit(scope, &level));
    if let Some(error) = walk.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let mut found = walk.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.holders.sort_unstable();
    found.unnamed.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    found.too_deep.sort_unstable();
    found.cycles.sort_unstable();
    found.dirs.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

struct Walk<'a> {
    file: &'a Name,
    limits: &'a Limits,
    top: String,
    seen: AtomicU64,
    found: Mutex<Found>,
    failed: Mutex<Option<WalkError>>,
}

struct Level {
    dir: Dir,
    /// From the top of the walk. Not a `RelPath`: what could not be installed is only found here.
    path: Box<str>,
    depth: u64,
    above: Option<Arc<Level>>,
    dir_is_link: bool,
    linked: bool,
}

impl Level {
    fn encloses(&self, identity: (u64, u64)) -> Result<bool, FileError> {
        if self.dir.identity()? == identity {
            return Ok(true);
        }
        self.above.as_ref().map_or(Ok(false), |above| above.encloses(identity))
    }
}

impl<'a> Walk<'a> {
    fn visit<'s>(&'s self, scope: &rayon::Scope<'s>, level: &Arc<Level>) {
        if let Err(error) = self.read(scope, level) {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(error);
        }
    }

    fn read<'s>(&'s self, scope: &rayon::Scope<'s>, level: &Arc<Level>) -> Result<(), WalkError> {
        let stamp = level.dir.stamp()?;
        let entries = level.dir.entries()?;
        self.count(entries.len() as u64)?;
        let mut holder = None;
        for entry in &entries {
            let is_file = matches!(entry.kind, EntryKind::File | EntryKind::Link);
            if is_file && entry.name() == OsStr::new(self.file.as_str()) {
                holder = Some(FoundLink {
                    path: level.path.clone(),
                    dir_is_link: level.dir_is_link,
                    file_is_link: entry.kind == EntryKind::Link,
                });
            } else if let Some(follow) = leads_on(&level.dir, entry)? {
                self.descend(scope, level, entry, follow)?;
            }
        }
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.holders.extend(holder);
        found.dirs.push((level.path.clone(), stamp));
        Ok(())
    }

    fn descend<'s>(
        &'s self,
        scope: &rayon::Scope<'s>,
        level: &Arc<Level>,
        entry: &DirEntry,
        follow: Follow,
    ) -> Result<(), WalkError> {
        let path = match child_path(level, entry) {
            Ok(path) => path,
            Err(unnamed) => {
                self.found.lock().unwrap_or_else(PoisonError::into_inner).unnamed.push(unnamed);
                return Ok(());
            }
        };
        if level.depth >= self.limits.depth {
            self.found.lock().unwrap_or_else(PoisonError::into_inner).too_deep.push(path);
            return Ok(());
        }
        let (level, entry) = (Arc::clone(level), entry.clone());
        scope.spawn(move |scope| match self.open(&level, &entry, path, follow) {
            Ok(Some(child)) => self.visit(scope, &Arc::new(child)),
            Ok(None) => {}
            Err(error) => {
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert(error);
            }
        });
        Ok(())
    }

    fn open(
        &self,
        above: &Arc<Level>,
        entry: &DirEntry,
        path: Box<str>,
        follow: Follow,
    ) -> Result<Option<Level>, WalkError> {
        let dir = above.dir.open_dir(entry, follow)?;
        let dir_is_link = follow == Follow::Links;
        let linked = above.linked || dir_is_link;
        if linked && above.encloses(dir.identity()?)? {
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.cycles.push(path);
            return Ok(None);
        }
        Ok(Some(Level { dir, path, depth: above.depth + 1, above: Some(Arc::clone(above)), dir_is_link, linked }))
    }

    fn count(&self, entries: u64) -> Result<(), WalkError> {
        let seen = self.seen.fetch_add(entries, Ordering::Relaxed) + entries;
        let limit = self.limits.repo_entries;
        if seen > limit {
            return Err(WalkError::TooMany { path: self.top.clone(), limit });
        }
        Ok(())
    }
}

fn child_path(level: &Level, entry: &DirEntry) -> Result<Box<str>, Unnamed> {
    let checked = entry.name().to_str().ok_or(PathError::NotUtf8);
    let checked = checked.and_then(|name| match name.chars().find(|c| c.is_control()) {
        Some(c) => Err(PathError::Control(c)),
        None => check_not_git(name).map(|()| name),
    });
    let refused = |why| Unnamed { path: escape_bytes(level.dir.path_of(entry).as_os_str()), why };
    let name = checked.map_err(refused)?;
    Ok(if level.path.is_empty() { name.into() } else { format!("{}/{name}", level.path).into() })
}

/// Whether an entry is a directory to walk into, and through a link or not.
fn leads_on(dir: &Dir, entry: &DirEntry) -> Result<Option<Follow>, FileError> {
    if entry.name() == OsStr::new(".git") {
        return Ok(None);
    }
    match entry.kind {
        EntryKind::Dir => Ok(Some(Follow::Never)),
        // A link that loops or leads nowhere is no directory; it matters only inside a skill.
        EntryKind::Link => match dir.look(entry, Follow::Links) {
            Ok(Some(stamp)) if stamp.kind() == EntryKind::Dir => Ok(Some(Follow::Links)),
            _ => Ok(None),
        },
        EntryKind::File | EntryKind::Special => Ok(None),
    }
}
