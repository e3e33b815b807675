//! How often packages were downloaded, counted here and written together: a download waits for no disk.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sp_formats::registry::Place;

use crate::registry::state::State;

/// How often counts are written. So much of them a power cut takes.
const PAUSE: Duration = Duration::from_secs(1);

/// What was counted and not written yet.
#[derive(Default)]
pub(crate) struct Counts(Mutex<BTreeMap<Place, u64>>);

impl Counts {
    pub(crate) fn add(&self, place: Place, downloads: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(place).or_default() += downloads;
    }

    fn take(&self) -> BTreeMap<Place, u64> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Writes counts as long as the registry runs.
pub(crate) async fn write_regularly(state: State) {
    loop {
        tokio::time::sleep(PAUSE).await;
        write(&state).await;
    }
}

/// Writes what was counted. What cannot be written now is written later.
pub(crate) async fn write(state: &State) {
    let counted = state.counts.take();
    if counted.is_empty() {
        return;
    }
    let kept = counted.clone();
    if state.metadata.with(move |database| database.count_downloads(&counted)).await.is_err() {
        kept.into_iter().for_each(|(place, downloads)| state.counts.add(place, downloads));
    }
}
