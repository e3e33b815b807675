//! Download counts: kept in memory and written in batches, so that no download waits for the
//! database.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sp_formats::registry::RegistryPackageName;

use crate::registry::metadata::MetadataStore;

/// Time between writes, and so the most that a crash loses.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// Downloads that are not in the database yet.
#[derive(Default)]
pub(crate) struct DownloadCounts(Mutex<BTreeMap<RegistryPackageName, u64>>);

impl DownloadCounts {
    pub(crate) fn add(&self, package: RegistryPackageName, downloads: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(package).or_default() +=
            downloads;
    }

    fn take(&self) -> BTreeMap<RegistryPackageName, u64> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes all counts to the database. Counts that cannot be written are kept for the next
    /// flush.
    pub(crate) async fn flush(&self, metadata: &MetadataStore) {
        let counts = self.take();
        if counts.is_empty() {
            return;
        }
        let unwritten = counts.clone();
        if metadata.with(move |database| database.add_downloads(&counts)).await.is_err() {
            unwritten.into_iter().for_each(|(package, downloads)| self.add(package, downloads));
        }
    }
}

/// Flushes the counts until the task is aborted.
pub(crate) async fn flush_periodically(counts: Arc<DownloadCounts>, metadata: MetadataStore) {
    loop {
        tokio::time::sleep(FLUSH_INTERVAL).await;
        counts.flush(&metadata).await;
        let uses = metadata.token_uses.take();
        if !uses.is_empty() {
            // A use that cannot be written is recorded with the next one.
            let _ = metadata.with(move |database| database.record_token_uses(&uses)).await;
        }
    }
}
