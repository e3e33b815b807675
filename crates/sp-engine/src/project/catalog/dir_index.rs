//! What is known of a directory without reading its files.
//!
//! A directory has no version, so that it has to be compared with the lockfile each time. The
//! digest index has the stamps that its directories and files had when they were read. As long as
//! none of them has changed, neither have its skills and their digests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sp_formats::workspace::{CATALOG_FILE, SKILLS_DIR};
use sp_tree::{Digest, DigestIndex, Dir, DirSnapshot, Follow, PathStamps, StampScope, WalkReport};

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
