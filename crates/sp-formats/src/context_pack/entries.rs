//! The files of a pack before they are read.

use std::collections::BTreeMap;

use sp_tree::Digest;

use super::MANIFEST_FILE;

/// An entry of a pack's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextPackEntry {
    File(Vec<u8>),
    /// A symbolic link or another special file.
    NotAFile,
}

/// The entries of a pack's directory by path.
pub type ContextPackEntries = BTreeMap<String, ContextPackEntry>;

/// Returns the digest of the manifest, which has the digests of all other files. Without a
/// manifest, it is that of an empty file.
pub fn manifest_digest(entries: &ContextPackEntries) -> Digest {
    match entries.get(MANIFEST_FILE) {
        Some(ContextPackEntry::File(bytes)) => Digest::of(bytes),
        _ => Digest::of(b""),
    }
}

/// Whether anything is below `path`.
pub(super) fn is_folder(entries: &ContextPackEntries, path: &str) -> bool {
    let inside = format!("{path}/");
    entries.range(inside.clone()..).next().is_some_and(|(next, _)| next.starts_with(&inside))
}
