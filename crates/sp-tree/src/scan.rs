//! Scanning directories on the local disk: first their entries, then their bytes.
//!
//! An author's directory, a sink and an untrusted directory follow different rules for links and
//! `.git`; there is a function for each.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use thiserror::Error;

use crate::dir::{Dir, Follow};
use crate::file_error::FileError;
use crate::file_stamp::{EntryKind, FileStamp, PathStamps};
use crate::limits::Limits;
use crate::listing::{Listing, ListingBuilder, ListingError, ListingKind};
use crate::path::{PathError, RelPath};
use crate::read::read_open;
use crate::segment::{DirEntry, escape_non_utf8};
use crate::tree::{LoadedTree, Tree, TreeEntry, TreeKind};
use crate::tree_writer::TreeWriter;

/// Why a directory cannot become a tree.
#[derive(Debug, Error)]
pub enum ScanError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{path}` cannot be installed: {why}")]
    Name {
        /// The path, with bytes that are not UTF-8 escaped.
        path: String,
        why: PathError,
    },
    /// A limit is exceeded, or names collide.
    #[error("`{}` cannot be installed: {why}", path.display())]
    Listing {
        /// The root of the scan.
        path: PathBuf,
        why: ListingError,
    },
    #[error("broken symbolic link `{}`", .0.display())]
    Dangling(PathBuf),
    /// A link to one of its own parent directories.
    #[error("symbolic link `{}` points to one of its parent directories", .0.display())]
    Cycle(PathBuf),
    /// A FIFO, socket or device.
    #[error("`{}` is not a regular file or directory", .0.display())]
    Special(PathBuf),
    /// A link where links are not allowed.
    #[error("`{}` is a symbolic link", .0.display())]
    Link(PathBuf),
}

/// A directory that was scanned, but not read.
#[derive(Debug, Clone)]
pub struct ScannedDir {
    pub listing: Listing<FileStamp>,
    /// The stamp of each directory before it was listed; the root has the path "".
    dirs: PathStamps,
}

/// A directory that was read and hashed.
#[derive(Debug, Clone)]
pub struct HashedDir {
    pub tree: Tree,
    /// The stamps when it was read.
    pub stamps: PathStamps,
}

/// Which rules apply.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScanMode {
    /// An author's directory: links are followed, `.git` is skipped.
    Author,
    /// A sink: links are not ours.
    Sink,
    /// An untrusted directory: links are rejected, `.git` is skipped.
    Untrusted,
}

/// Scans an author's directory, following links and skipping `.git`.
pub fn scan_dir(dir: &Dir, limits: &Limits) -> Result<ScannedDir, ScanError> {
    scan_with_mode(dir, limits, ScanMode::Author)
}

fn scan_with_mode(dir: &Dir, limits: &Limits, mode: ScanMode) -> Result<ScannedDir, ScanError> {
    let mut scan =
        DirScanner { top: dir, mode, builder: ListingBuilder::new(limits), dirs: Vec::new() };
    scan.visit_dir(&ScanLevel { dir, parent: None, is_via_link: false }, None)?;
    Ok(ScannedDir { listing: scan.builder.finish(), dirs: scan.dirs })
}

struct DirScanner<'a> {
    top: &'a Dir,
    mode: ScanMode,
    builder: ListingBuilder<'a, FileStamp>,
    dirs: PathStamps,
}

/// A directory on the way down, for detecting link cycles.
struct ScanLevel<'a> {
    dir: &'a Dir,
    parent: Option<&'a ScanLevel<'a>>,
    is_via_link: bool,
}

impl DirScanner<'_> {
    fn visit_dir(
        &mut self,
        level: &ScanLevel<'_>,
        path: Option<&RelPath>,
    ) -> Result<(), ScanError> {
        self.dirs.push((path.map_or("", RelPath::as_str).into(), level.dir.stamp()?));
        let mut entries = level.dir.entries()?;
        // Sorting makes the first reported problem independent of the file system.
        entries.sort_unstable_by(|a, b| a.name().cmp(b.name()));
        for entry in entries {
            if self.mode != ScanMode::Sink && entry.name() == OsStr::new(".git") {
                continue;
            }
            let child = self.child_path(path, &entry)?;
            self.visit_entry(level, &entry, child)?;
        }
        Ok(())
    }

    fn child_path(&self, path: Option<&RelPath>, entry: &DirEntry) -> Result<RelPath, ScanError> {
        let name = entry.name().as_bytes();
        let joined = match path {
            None => RelPath::from_bytes(name),
            Some(path) => RelPath::from_bytes(&[path.as_str().as_bytes(), b"/", name].concat()),
        };
        joined.map_err(|why| ScanError::Name {
            path: escape_non_utf8(
                self.top
                    .path()
                    .join(path.map_or("", RelPath::as_str))
                    .join(entry.name())
                    .as_os_str(),
            ),
            why,
        })
    }

    fn visit_entry(
        &mut self,
        level: &ScanLevel<'_>,
        entry: &DirEntry,
        path: RelPath,
    ) -> Result<(), ScanError> {
        let full_path = || level.dir.path_of(entry);
        let follow = match entry.kind {
            EntryKind::Special => return Err(ScanError::Special(full_path())),
            EntryKind::Link if self.mode != ScanMode::Author => {
                return Err(ScanError::Link(full_path()));
            }
            EntryKind::Link => Follow::Links,
            EntryKind::Dir => return self.descend(level, entry, &path, Follow::Never),
            EntryKind::File => Follow::Never,
        };
        let stamp = stat_entry(level.dir, entry, follow)?;
        match stamp.kind() {
            EntryKind::Dir => self.descend(level, entry, &path, follow),
            EntryKind::File => {
                let added = self.builder.add_file(path, stamp.is_executable(), stamp.size, stamp);
                self.map_listing_error(added)
            }
            _ => Err(ScanError::Special(full_path())),
        }
    }

    fn descend(
        &mut self,
        level: &ScanLevel<'_>,
        entry: &DirEntry,
        path: &RelPath,
        follow: Follow,
    ) -> Result<(), ScanError> {
        let dir = level.dir.open_dir(entry, follow)?;
        let linked = level.is_via_link || follow == Follow::Links;
        if linked && has_ancestor(level, dir.identity()?)? {
            return Err(ScanError::Cycle(dir.path().into()));
        }
        let added = self.builder.add_dir(path.clone());
        self.map_listing_error(added)?;
        self.visit_dir(
            &ScanLevel { dir: &dir, parent: Some(level), is_via_link: linked },
            Some(path),
        )
    }

    fn map_listing_error(&self, result: Result<(), ListingError>) -> Result<(), ScanError> {
        result.map_err(|why| ScanError::Listing { path: self.top.path().into(), why })
    }
}

/// The stamp of an entry, which may be a link that leads nowhere.
fn stat_entry(dir: &Dir, entry: &DirEntry, follow: Follow) -> Result<FileStamp, ScanError> {
    match dir.stat(entry, follow) {
        Ok(Some(stamp)) => Ok(stamp),
        Ok(None) => Err(ScanError::Dangling(dir.path_of(entry))),
        Err(e) if e.is_errno(rustix::io::Errno::LOOP) => Err(ScanError::Cycle(dir.path_of(entry))),
        Err(e) => Err(e.into()),
    }
}

/// Whether a directory is one of the parents of `level`.
fn has_ancestor(level: &ScanLevel<'_>, identity: (u64, u64)) -> Result<bool, FileError> {
    let mut current = Some(level);
    while let Some(level) = current {
        if level.dir.identity()? == identity {
            return Ok(true);
        }
        current = level.parent;
    }
    Ok(false)
}

/// Reads an author's directory once, writes it to each of `writers`, and returns its hashes.
pub fn copy_scanned(
    dir: &Dir,
    scanned: &ScannedDir,
    writers: &mut [TreeWriter],
    limits: &Limits,
    look: &mut dyn FnMut(&RelPath, &[u8]),
) -> Result<HashedDir, FileError> {
    read_scanned(dir, scanned, Follow::Links, limits, &mut |entry, bytes| {
        for writer in &mut *writers {
            match (&entry.kind, bytes) {
                (ListingKind::File { executable, .. }, Some(bytes)) => {
                    writer.write_file(&entry.path, *executable, bytes)?;
                }
                _ => writer.create_dir(&entry.path)?,
            }
        }
        if let Some(bytes) = bytes {
            look(&entry.path, bytes);
        }
        Ok(())
    })
}

/// Reads and hashes an author's directory.
pub fn hash_scanned(
    dir: &Dir,
    scanned: &ScannedDir,
    limits: &Limits,
) -> Result<HashedDir, FileError> {
    read_scanned(dir, scanned, Follow::Links, limits, &mut |_, _| Ok(()))
}

type ScanEntry = crate::listing::ListingEntry<FileStamp>;
/// Receives an entry and, for a file, its bytes.
type ScanEntryCallback<'a> = &'a mut dyn FnMut(&ScanEntry, Option<&[u8]>) -> Result<(), FileError>;

fn read_scanned(
    dir: &Dir,
    scanned: &ScannedDir,
    follow: Follow,
    limits: &Limits,
    on_entry: ScanEntryCallback<'_>,
) -> Result<HashedDir, FileError> {
    let mut tree = Tree::default();
    let mut stamps = scanned.dirs.clone();
    let mut buffer = Vec::new();
    for entry in &scanned.listing.entries {
        let kind = match &entry.kind {
            ListingKind::Dir => {
                on_entry(entry, None)?;
                TreeKind::Dir
            }
            ListingKind::File { executable, .. } => {
                let file = dir.open_beneath(&entry.path, follow)?;
                let stamp = read_open(&file, limits.file_bytes, &mut buffer)
                    .map_err(|e| FileError::new("read", dir.path().join(entry.path.as_str()), e))?;
                stamps.push((entry.path.as_str().into(), stamp));
                on_entry(entry, Some(&buffer))?;
                TreeKind::of_file(&buffer, *executable)
            }
        };
        tree.entries.push(TreeEntry { path: entry.path.clone(), kind });
    }
    Ok(HashedDir { tree, stamps })
}

/// An untrusted directory that was read into memory.
#[derive(Debug, Clone)]
pub struct LoadedDir {
    pub tree: LoadedTree,
    /// The stamps when it was read.
    pub stamps: PathStamps,
}

/// Reads an untrusted directory into memory.
pub fn load_untrusted(dir: &Dir, limits: &Limits) -> Result<LoadedTree, ScanError> {
    load_untrusted_dir(dir, limits).map(|loaded| loaded.tree)
}

/// Reads an untrusted directory into memory, with the stamps of what was read.
pub fn load_untrusted_dir(dir: &Dir, limits: &Limits) -> Result<LoadedDir, ScanError> {
    let scanned = scan_with_mode(dir, limits, ScanMode::Untrusted)?;
    let mut tree = LoadedTree::default();
    let hashed = read_scanned(dir, &scanned, Follow::Never, limits, &mut |entry, bytes| {
        match (&entry.kind, bytes) {
            (ListingKind::File { executable, .. }, Some(bytes)) => {
                tree.add_file(entry.path.clone(), *executable, bytes.to_vec());
            }
            _ => tree.add_dir(entry.path.clone()),
        }
        Ok(())
    })?;
    Ok(LoadedDir { tree, stamps: hashed.stamps })
}

/// Returns the number of files in an untrusted directory and their total size, without reading
/// them.
pub fn count_untrusted(dir: &Dir, limits: &Limits) -> Result<(usize, u64), ScanError> {
    let scanned = scan_with_mode(dir, limits, ScanMode::Untrusted)?;
    let sizes = scanned.listing.entries.iter().filter_map(|entry| match entry.kind {
        ListingKind::File { size, .. } => Some(size),
        ListingKind::Dir => None,
    });
    Ok(sizes.fold((0, 0), |(files, bytes), size| (files + 1, bytes + size)))
}

/// Calls `look` for every file in an untrusted directory.
pub fn visit_untrusted(
    dir: &Dir,
    limits: &Limits,
    look: &mut dyn FnMut(&RelPath, &[u8]),
) -> Result<HashedDir, ScanError> {
    let scanned = scan_with_mode(dir, limits, ScanMode::Untrusted)?;
    let measured = read_scanned(dir, &scanned, Follow::Never, limits, &mut |entry, bytes| {
        if let Some(bytes) = bytes {
            look(&entry.path, bytes);
        }
        Ok(())
    });
    Ok(measured?)
}

/// Hashes an installed folder. Returns `None` if it contains anything that `sp` never writes.
pub fn hash_installed(dir: &Dir, limits: &Limits) -> Result<Option<HashedDir>, FileError> {
    let scanned = match scan_with_mode(dir, limits, ScanMode::Sink) {
        Ok(scanned) => scanned,
        Err(ScanError::File(e)) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        // A link, FIFO, name or size that was never installed: someone else changed it.
        Err(_) => return Ok(None),
    };
    read_scanned(dir, &scanned, Follow::Never, limits, &mut |_, _| Ok(())).map(Some)
}
