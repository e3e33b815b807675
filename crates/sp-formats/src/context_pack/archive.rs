//! The zip of a context pack: one top-level folder with the files that the manifest lists.

use std::collections::{BTreeMap, BTreeSet};

use sp_tree::{Archive, ArchiveError, ListingKind, RelPath, zip_files as write_zip};
use thiserror::Error;

use super::{ContextPack, ContextPackEntries, ContextPackEntry, MANIFEST_FILE};

/// The top-level folder of every zip that is written.
const ZIP_FOLDER: &str = "context-pack";

/// Why a zip does not contain a context pack.
#[derive(Debug, Error)]
pub enum ContextPackZipError {
    /// An entry cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// There is no single top-level folder.
    #[error("the zip must contain a single top-level directory with all files")]
    NoFolder,
}

/// Returns the entries of the zip's single top-level folder.
pub fn unzip_entries(archive: &Archive) -> Result<ContextPackEntries, ContextPackZipError> {
    let mut entries = ContextPackEntries::new();
    for entry in &archive.listing.entries {
        match &entry.kind {
            ListingKind::Dir => {}
            ListingKind::File { handle, .. } => {
                let bytes = archive.read(&entry.path, handle)?;
                entries.insert(entry.path.to_string(), ContextPackEntry::File(bytes));
            }
        }
    }
    let top = |path: &RelPath| path.segments().next().unwrap_or_default().to_owned();
    let tops: BTreeSet<String> =
        archive.listing.entries.iter().map(|entry| top(&entry.path)).collect();
    match tops.first() {
        Some(top) if tops.len() == 1 && !entries.contains_key(top) => {
            let inside = format!("{top}/");
            let below = |(path, entry): (String, ContextPackEntry)| {
                Some((path.strip_prefix(&inside)?.to_owned(), entry))
            };
            Ok(entries.into_iter().filter_map(below).collect())
        }
        _ => Err(ContextPackZipError::NoFolder),
    }
}

/// Returns the files that the manifest lists, with their bytes.
pub fn listed_files(pack: &ContextPack, entries: &ContextPackEntries) -> BTreeMap<String, Vec<u8>> {
    let names = pack.manifest.files.iter().map(|entry| entry.path.as_str()).chain([MANIFEST_FILE]);
    let bytes = |name: &str| match entries.get(name) {
        Some(ContextPackEntry::File(bytes)) => Some((name.to_owned(), bytes.clone())),
        _ => None,
    };
    names.filter_map(bytes).collect()
}

/// Zips the files. The same files give the same bytes.
pub fn zip_files(
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
    let inside =
        files.iter().map(|(path, bytes)| (format!("{ZIP_FOLDER}/{path}"), bytes.clone())).collect();
    Ok(write_zip(&inside)?)
}
