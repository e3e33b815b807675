//! What is known of a directory or of a zip file without reading it.
//!
//! Neither has a version, so that they have to be compared with the lockfile each time. The digest
//! index has the stamps that directories and files had when they were read. As long as none of them
//! has changed, neither have the skills and their digests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sp_formats::workspace::{CATALOG_FILE, SKILLS_DIR};
use sp_tree::{
    Digest, DigestIndex, Dir, DirSnapshot, FileStamp, Follow, Name, PathStamps, StampScope,
    WalkReport,
};

use super::ROOT_ID;
use super::skill_dirs::SkillDirs;
use crate::home::DigestIndexes;
use crate::session::Session;
use crate::source::{regular_matches, resolve_path};

/// What was read of a directory.
pub(super) struct ReadDir {
    /// The real path.
    root: PathBuf,
    walk: WalkReport,
    /// When the walk ended.
    walked_at: i64,
    /// The skills that were loaded, by ID. None if they changed too recently to be cached.
    snapshots: Mutex<BTreeMap<String, Option<DirSnapshot>>>,
}

/// A zip file that was read.
pub(super) struct ReadZip {
    file: ZipFile,
    /// None if the file changed too recently to be cached.
    snapshot: Option<DirSnapshot>,
}

/// A zip file, without links in its path.
struct ZipFile {
    dir: PathBuf,
    name: Name,
}

impl ZipFile {
    fn at(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        let name = Name::new(path.file_name()?.to_str()?).ok()?;
        Some(Self { dir: path.parent()?.to_path_buf(), name })
    }
}

/// The stamp of a zip file before it is read.
pub(super) struct ZipStamp {
    file: ZipFile,
    stamp: FileStamp,
}

impl ZipStamp {
    /// None if the file does not exist.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let file = ZipFile::at(path)?;
        let stamp = Dir::open(&file.dir).ok()?.stat(&file.name, Follow::Never).ok()??;
        Some(Self { file, stamp })
    }

    /// Adds what was read.
    pub(super) fn read(self, session: &Session<'_>, digest: Digest) -> ReadZip {
        let now = (session.context.wall_clock)();
        let stamps = vec![("".into(), self.stamp)];
        let snapshot = DirSnapshot::from_settled(self.file.name.as_str(), digest, stamps, now);
        ReadZip { file: self.file, snapshot }
    }
}

impl ReadZip {
    pub(super) fn add_to_index(&self, indexes: &mut DigestIndexes<'_>) {
        let index = indexes.for_source(&self.file.dir);
        index.set_snapshot(self.file.name.as_str(), self.snapshot.as_ref());
    }
}

/// Returns the digest of a zip file. None if it may have changed since it was read.
pub(crate) fn indexed_zip_digest(
    session: &Session<'_>,
    base: &Path,
    path: &str,
    indexes: &mut DigestIndexes<'_>,
) -> Option<Digest> {
    let file = ZipFile::at(&resolve_path(session, base, path))?;
    let dir = Dir::open(&file.dir).ok()?;
    let index = indexes.for_source(&file.dir);
    index.digest(&dir, file.name.as_str(), Follow::Never, StampScope::All)
}

/// A directory whose skills the index knows.
pub(crate) struct IndexedDir<'i> {
    dir: Dir,
    index: &'i DigestIndex,
    /// The IDs of its skills.
    pub ids: Vec<String>,
}

fn id_of(folder: &str) -> &str {
    if folder.is_empty() { ROOT_ID } else { folder }
}

impl ReadDir {
    /// None if the directory does not exist anymore.
    pub(super) fn new(session: &Session<'_>, root: &Path, walk: WalkReport) -> Option<Self> {
        let walked_at = (session.context.wall_clock)();
        let root = root.canonicalize().ok()?;
        Some(Self { root, walk, walked_at, snapshots: Mutex::default() })
    }

    /// Adds a folder that was loaded.
    pub(super) fn record(&self, folder: &str, digest: Digest, stamps: PathStamps, now: i64) {
        let id = id_of(folder);
        let snapshot = DirSnapshot::from_settled(id, digest, stamps, now);
        let mut snapshots = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        snapshots.insert(id.to_owned(), snapshot);
    }

    pub(super) fn add_to_index(&self, indexes: &mut DigestIndexes<'_>) {
        let index = indexes.for_source(&self.root);
        index.set_cached_walk(&self.walk, self.walked_at);
        let snapshots = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, snapshot) in snapshots.iter() {
            index.set_snapshot(id, snapshot.as_ref());
        }
    }
}

impl<'i> IndexedDir<'i> {
    /// Opens the directory of a source. None if something in it may have changed since the index
    /// was made, or if it is a SkillBag source, which is validated as a whole.
    pub(crate) fn open(
        session: &Session<'_>,
        base: &Path,
        path: &str,
        indexes: &'i mut DigestIndexes<'_>,
    ) -> Option<Self> {
        let root = resolve_path(session, base, path).canonicalize().ok()?;
        if root.join(SKILLS_DIR).join(CATALOG_FILE).exists() {
            return None;
        }
        let dir = Dir::open(&root).ok()?;
        let index = indexes.for_source(&root);
        let walk = index.cached_walk(&dir)?;
        let skills = SkillDirs::select(regular_matches(&walk).collect());
        let ids = skills.paths.iter().map(|folder| id_of(folder).to_owned()).collect();
        Some(Self { dir, index, ids })
    }

    /// Returns the digest of a skill. None if something in it may have changed.
    pub(crate) fn digest(&self, id: &str) -> Option<Digest> {
        // Directories that are not searched for skills are part of them nevertheless.
        self.index.digest(&self.dir, id, Follow::Never, StampScope::All)
    }
}
