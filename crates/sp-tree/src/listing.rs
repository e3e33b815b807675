//! What a source holds, before any of its bytes are read: safe paths, sizes, modes.
//!
//! Every source fills a [`ListingBuilder`], so the ceilings and the search for colliding
//! names stand here once.

use std::collections::HashMap;

use thiserror::Error;

use crate::fold::fold_name;
use crate::limits::Limits;
use crate::path::RelPath;

/// Why a set of files cannot become a listing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ListingError {
    /// Too many files and folders.
    #[error("it has more than {limit} files and folders")]
    TooManyEntries {
        /// The limit that was passed.
        limit: u64,
    },
    /// Too many levels.
    #[error("`{path}` lies more than {limit} folders deep")]
    TooDeep {
        /// Where.
        path: RelPath,
        /// The limit that was passed.
        limit: u64,
    },
    /// Too many bytes in all.
    #[error("its files have more than {limit} bytes together")]
    TooLarge {
        /// The limit that was passed.
        limit: u64,
    },
    /// Too many bytes in one file.
    #[error("`{path}` has {size} bytes, more than the limit of {limit}")]
    FileTooLarge {
        /// Which file.
        path: RelPath,
        /// Its size.
        size: u64,
        /// The limit that was passed.
        limit: u64,
    },
    /// Two names that are one name on some file systems.
    #[error("`{0}` and `{1}` are one name where case or Unicode form does not count")]
    Collision(RelPath, RelPath),
}

impl ListingError {
    /// The name of the limit that would have to be raised, if it was a limit.
    pub fn limit_name(&self) -> Option<&'static str> {
        match self {
            Self::TooManyEntries { .. } => Some("skill-entries"),
            Self::TooDeep { .. } => Some("depth"),
            Self::TooLarge { .. } => Some("skill-bytes"),
            Self::FileTooLarge { .. } => Some("file-bytes"),
            Self::Collision(..) => None,
        }
    }
}

/// A folder or a file, with what its source needs to read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListingKind<H> {
    /// A folder.
    Dir,
    /// A file.
    File {
        /// Whether it may be executed.
        executable: bool,
        /// Its size in bytes, as far as the source can tell before reading.
        size: u64,
        /// How its source finds it again.
        handle: H,
    },
}

/// One entry of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListingEntry<H> {
    /// Where it is, from the top of the listing.
    pub path: RelPath,
    /// What it is.
    pub kind: ListingKind<H>,
}

/// What a source holds, sorted by path; a folder stands before what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing<H> {
    /// The entries.
    pub entries: Vec<ListingEntry<H>>,
    /// The bytes of all files together.
    pub bytes: u64,
}

/// Gathers a listing, and refuses what is too much or collides.
pub struct ListingBuilder<'a, H> {
    limits: &'a Limits,
    entries: Vec<ListingEntry<H>>,
    bytes: u64,
    folded: HashMap<String, usize>,
}

impl<'a, H> ListingBuilder<'a, H> {
    /// Starts an empty listing under these limits.
    pub fn new(limits: &'a Limits) -> Self {
        Self { limits, entries: Vec::new(), bytes: 0, folded: HashMap::new() }
    }

    /// Adds a folder.
    pub fn add_dir(&mut self, path: RelPath) -> Result<(), ListingError> {
        self.push(path, ListingKind::Dir)
    }

    /// Adds a file.
    pub fn add_file(
        &mut self,
        path: RelPath,
        executable: bool,
        size: u64,
        handle: H,
    ) -> Result<(), ListingError> {
        let limit = self.limits.file_bytes;
        if size > limit {
            return Err(ListingError::FileTooLarge { path, size, limit });
        }
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > self.limits.skill_bytes {
            return Err(ListingError::TooLarge { limit: self.limits.skill_bytes });
        }
        self.push(path, ListingKind::File { executable, size, handle })
    }

    /// Adds the folders that a path lies in, outermost first, as far as they are not there. How many, is told.
    pub fn add_parents(&mut self, path: &RelPath) -> Result<u64, ListingError> {
        let mut added = 0;
        for (at, _) in path.as_str().match_indices('/') {
            let folder = &path.as_str()[..at];
            // A part of a safe path, cut at a separator, is a safe path.
            let Ok(folder) = RelPath::new(folder) else { continue };
            if !self.has_dir(&folder) {
                self.add_dir(folder)?;
                added += 1;
            }
        }
        Ok(added)
    }

    /// Whether this very folder is there.
    pub(crate) fn has_dir(&self, path: &RelPath) -> bool {
        let there = self.folded.get(&fold_name(path.as_str())).map(|&at| &self.entries[at]);
        there.is_some_and(|entry| entry.path == *path && matches!(entry.kind, ListingKind::Dir))
    }

    fn push(&mut self, path: RelPath, kind: ListingKind<H>) -> Result<(), ListingError> {
        if self.entries.len() as u64 >= self.limits.skill_entries {
            return Err(ListingError::TooManyEntries { limit: self.limits.skill_entries });
        }
        if path.depth() as u64 > self.limits.depth {
            return Err(ListingError::TooDeep { path, limit: self.limits.depth });
        }
        if let Some(&twin) = self.folded.get(&fold_name(path.as_str())) {
            return Err(ListingError::Collision(self.entries[twin].path.clone(), path));
        }
        self.folded.insert(fold_name(path.as_str()), self.entries.len());
        self.entries.push(ListingEntry { path, kind });
        Ok(())
    }

    /// The listing, sorted.
    pub fn finish(mut self) -> Listing<H> {
        self.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Listing { entries: self.entries, bytes: self.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::new(text).unwrap()
    }

    #[test]
    fn se_03_twins_by_case_or_normalization_collide() {
        let limits = Limits::default();
        for (a, b) in [("README.md", "readme.md"), ("caf\u{e9}", "cafe\u{301}")] {
            let mut builder = ListingBuilder::new(&limits);
            builder.add_file(path(a), false, 1, ()).unwrap();
            let error = builder.add_file(path(b), false, 1, ()).unwrap_err();
            assert_eq!(error, ListingError::Collision(path(a), path(b)));
        }
    }

    #[test]
    fn se_14_each_ceiling_holds_at_the_limit_and_breaks_one_past_it() {
        let limits = Limits {
            skill_entries: 2,
            depth: 2,
            skill_bytes: 10,
            file_bytes: 6,
            ..Limits::default()
        };
        let mut builder = ListingBuilder::new(&limits);
        assert_eq!(
            builder.add_file(path("big"), false, 7, ()).unwrap_err().limit_name(),
            Some("file-bytes")
        );
        builder.add_file(path("a"), false, 6, ()).unwrap();
        assert_eq!(
            builder.add_file(path("b/c/d"), false, 1, ()).unwrap_err().limit_name(),
            Some("depth")
        );
        builder.add_file(path("b/c"), false, 3, ()).unwrap();
        assert_eq!(builder.add_dir(path("e")).unwrap_err().limit_name(), Some("skill-entries"));
        let mut builder = ListingBuilder::new(&limits);
        builder.add_file(path("a"), false, 6, ()).unwrap();
        assert_eq!(
            builder.add_file(path("b"), false, 5, ()).unwrap_err().limit_name(),
            Some("skill-bytes")
        );
    }
}
