//! The files of a pack before they are read.

use std::collections::BTreeMap;

/// An entry of a pack's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextPackEntry {
    File(Vec<u8>),
    /// A symbolic link or another special file.
    NotAFile,
}

/// The entries of a pack's directory by path.
pub type ContextPackEntries = BTreeMap<String, ContextPackEntry>;

/// Whether anything is below `path`.
pub(super) fn is_folder(entries: &ContextPackEntries, path: &str) -> bool {
    let inside = format!("{path}/");
    entries.range(inside.clone()..).next().is_some_and(|(next, _)| next.starts_with(&inside))
}
