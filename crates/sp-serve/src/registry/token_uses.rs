//! When tokens were last used: kept in memory and written in batches, so that no request waits for
//! it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Uses that are not in the database yet, by token ID.
#[derive(Default)]
pub(crate) struct TokenUses(Mutex<BTreeMap<i64, String>>);

impl TokenUses {
    pub(crate) fn record(&self, token: i64, at: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(token, at.to_owned());
    }

    pub(crate) fn take(&self) -> BTreeMap<i64, String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
