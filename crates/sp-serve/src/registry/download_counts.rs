//! Download counts: kept in memory and written in batches, so that no download waits for the
//! database.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sp_formats::registry::RegistryPackageName;

use crate::registry::metadata::{MetadataError, MetadataStore};
use crate::registry::server_log::{ServerEventKind, ServerLog};

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
    pub(crate) async fn flush(&self, metadata: &MetadataStore) -> Result<(), MetadataError> {
        let counts = self.take();
        if counts.is_empty() {
            return Ok(());
        }
        let unwritten = counts.clone();
        let written = metadata.with(move |database| database.add_downloads(&counts)).await;
        if written.is_err() {
            unwritten.into_iter().for_each(|(package, downloads)| self.add(package, downloads));
        }
        written
    }
}

/// Flushes the counts until the task is aborted. Logs the first failure, and the end of failures.
pub(crate) async fn flush_periodically(
    counts: Arc<DownloadCounts>,
    metadata: MetadataStore,
    log: ServerLog,
) {
    let mut is_delayed = false;
    loop {
        tokio::time::sleep(FLUSH_INTERVAL).await;
        let flushed = counts.flush(&metadata).await;
        match &flushed {
            Ok(()) if is_delayed => log.event(ServerEventKind::CountsWritten, None),
            Err(error) if !is_delayed => {
                log.event(ServerEventKind::CountsDelayed, Some(error.to_string()));
            }
            _ => {}
        }
        is_delayed = flushed.is_err();
        let uses = metadata.token_uses.take();
        if !uses.is_empty() {
            // A use that cannot be written is recorded with the next one.
            let _ = metadata.with(move |database| database.record_token_uses(&uses)).await;
        }
    }
}
