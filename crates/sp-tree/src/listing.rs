//! Listings: the content of a source before its bytes are read.
//!
//! Every source uses [`ListingBuilder`], so limits and name collisions are checked in one place.

use std::collections::HashMap;

use thiserror::Error;

use crate::byte_size::ByteSize;
use crate::fold::fold_name;
use crate::limits::Limits;
use crate::path::RelPath;

/// Why files cannot become a listing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ListingError {
    #[error("it contains more than {limit} files and directories")]
    TooManyEntries { limit: u64 },
    #[error("`{path}` is nested more than {limit} directories deep")]
    TooDeep { path: RelPath, limit: u64 },
    #[error("the total size of its files is more than {}", ByteSize(*limit))]
    TooLarge { limit: u64 },
    #[error("`{path}` is {}; the limit is {}", ByteSize(*size), ByteSize(*limit))]
    FileTooLarge { path: RelPath, size: u64, limit: u64 },
    /// Two names that are equal on some file systems.
    #[error("`{0}` and `{1}` differ only in case or Unicode normalization")]
    Collision(RelPath, RelPath),
}

impl ListingError {
    /// The name of the limit to raise, if the error is about a limit.
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

/// A directory or a file, with what its source needs to read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListingKind<H> {
    Dir,
    File {
        executable: bool,
        /// In bytes, as far as the source knows before reading.
        size: u64,
        /// How the source finds the file again.
        handle: H,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListingEntry<H> {
    /// Relative to the root of the listing.
    pub path: RelPath,
    pub kind: ListingKind<H>,
}

/// The content of a source, sorted by path. A directory comes before its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing<H> {
    pub entries: Vec<ListingEntry<H>>,
    /// The total size of all files.
    pub bytes: u64,
}

/// Builds a listing and enforces limits and unique names.
///
/// ```
/// use sp_tree::{Limits, ListingBuilder, ListingError, RelPath};
///
/// let limits = Limits::default();
/// let mut builder = ListingBuilder::new(&limits);
/// let path = RelPath::new("docs/Guide.md")?;
/// builder.add_parents(&path)?;
/// builder.add_file(path, false, 120, ())?;
///
/// // On macOS and Windows this would be the same file.
/// let twin = builder.add_file(RelPath::new("docs/guide.md")?, false, 80, ());
/// assert!(matches!(twin, Err(ListingError::Collision(..))));
///
/// let listing = builder.finish();
/// let paths: Vec<&str> = listing.entries.iter().map(|entry| entry.path.as_str()).collect();
/// assert_eq!(paths, ["docs", "docs/Guide.md"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ListingBuilder<'a, H> {
    limits: &'a Limits,
    entries: Vec<ListingEntry<H>>,
    bytes: u64,
    folded: HashMap<String, usize>,
}

impl<'a, H> ListingBuilder<'a, H> {
    pub fn new(limits: &'a Limits) -> Self {
        Self { limits, entries: Vec::new(), bytes: 0, folded: HashMap::new() }
    }

    pub fn add_dir(&mut self, path: RelPath) -> Result<(), ListingError> {
        self.push(path, ListingKind::Dir)
    }

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

    /// Adds the missing parent directories of a path, outermost first, and returns how many.
    pub fn add_parents(&mut self, path: &RelPath) -> Result<u64, ListingError> {
        let mut added = 0;
        for (separator, _) in path.as_str().match_indices('/') {
            // A prefix of a safe path that ends at a separator is a safe path.
            let Ok(folder) = RelPath::new(&path.as_str()[..separator]) else { continue };
            if !self.has_dir(&folder) {
                self.add_dir(folder)?;
                added += 1;
            }
        }
        Ok(added)
    }

    pub(crate) fn has_dir(&self, path: &RelPath) -> bool {
        let index = self.folded.get(&fold_name(path.as_str()));
        index
            .map(|&index| &self.entries[index])
            .is_some_and(|entry| entry.path == *path && matches!(entry.kind, ListingKind::Dir))
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

    /// Returns the sorted listing.
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
    fn se_03_names_that_differ_in_case_or_normalization_collide() {
        let limits = Limits::default();
        for (a, b) in [("README.md", "readme.md"), ("caf\u{e9}", "cafe\u{301}")] {
            let mut builder = ListingBuilder::new(&limits);
            builder.add_file(path(a), false, 1, ()).unwrap();
            let error = builder.add_file(path(b), false, 1, ()).unwrap_err();
            assert_eq!(error, ListingError::Collision(path(a), path(b)));
        }
    }

    #[test]
    fn se_14_limits_accept_the_maximum_and_reject_one_more() {
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
