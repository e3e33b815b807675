//! Whether the package store is intact, for `sp doctor`. Changes nothing.

use std::path::PathBuf;

use sp_formats::package::RecordedSource;
use sp_formats::package::store::{
    PackageStoreIndex, ReceivedEnvelopes, SeenRegistryVersions, TrustStore,
};
use sp_tree::{BlobStore, Name};

use super::package_store::{
    RECEIVED_FILE, SEEN_VERSIONS_FILE, STORE_INDEX_FILE, TRUST_FILE, read_store_index,
};
use super::store_record::RecordFile;
use crate::context::Context;
use crate::error::{Error, Result};

/// A package of the store whose bytes cannot be used.
pub(crate) struct StoredBlobProblem {
    /// `@acme/notes@1.0.0`.
    pub spec: String,
    pub from: RecordedSource,
    pub dir: PathBuf,
    pub name: Name,
    /// Whether there are bytes, but not the right ones.
    pub has_wrong_bytes: bool,
}

/// Returns the packages of the store whose bytes are missing or wrong, with the number of packages.
pub(crate) fn stored_blob_problems(
    context: &Context<'_>,
) -> Result<(Vec<StoredBlobProblem>, usize)> {
    let index = read_store_index(context)?;
    let store = BlobStore::of(&context.home);
    let mut problems = Vec::new();
    for stored in &index.packages {
        context.check_cancelled()?;
        let (dir, name) = store.location(&stored.digest)?;
        let read = store.get(&stored.digest, u64::MAX);
        if matches!(read, Ok(Some(_))) {
            continue;
        }
        problems.push(StoredBlobProblem {
            spec: format!("{}@{}", stored.name, stored.version),
            from: stored.from.clone(),
            dir,
            name,
            has_wrong_bytes: read.is_err(),
        });
    }
    Ok((problems, index.packages.len()))
}

/// Returns the records of packages that cannot be read, with their paths.
pub(crate) fn invalid_records(context: &Context<'_>) -> Vec<(PathBuf, Error)> {
    let read = [
        (STORE_INDEX_FILE, RecordFile::<PackageStoreIndex>::read(context, STORE_INDEX_FILE).err()),
        (TRUST_FILE, RecordFile::<TrustStore>::read(context, TRUST_FILE).err()),
        (RECEIVED_FILE, RecordFile::<ReceivedEnvelopes>::read(context, RECEIVED_FILE).err()),
        (
            SEEN_VERSIONS_FILE,
            RecordFile::<SeenRegistryVersions>::read(context, SEEN_VERSIONS_FILE).err(),
        ),
    ];
    let with_path = |(file, error): (&str, Option<Error>)| Some((context.home.join(file), error?));
    read.into_iter().filter_map(with_path).collect()
}
