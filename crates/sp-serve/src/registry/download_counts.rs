//! How often packages were downloaded, counted here and written together: a download waits for no disk.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sp_formats::registry::RegistryPackageName;

use crate::registry::state::AppState;

/// How often counts are written. So much of them a power cut takes.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// What was counted and not written yet.
#[derive(Default)]
pub(crate) struct DownloadCounts(Mutex<BTreeMap<RegistryPackageName, u64>>);

impl DownloadCounts {
    pub(crate) fn add(&self, place: RegistryPackageName, downloads: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(place).or_default() +=
            downloads;
    }

    fn take(&self) -> BTreeMap<RegistryPackageName, u64> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Writes counts as long as the registry runs.
pub(crate) async fn flush_periodically(state: AppState) {
    loop {
        tokio::time::sleep(FLUSH_INTERVAL).await;
        flush(&state).await;
    }
}

/// Writes what was counted. What cannot be written now is written later.
pub(crate) async fn flush(state: &AppState) {
    let counted = state.download_counts.take();
    if counted.is_empty() {
        return;
    }
    let kept = counted.clone();
    if state.metadata.with(move |database| database.add_downloads(&counted)).await.is_err() {
        kept.into_iter().for_each(|(place, downloads)| state.download_counts.add(place, downloads));
    }
}
