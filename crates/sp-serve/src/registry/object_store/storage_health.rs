//! Whether an object storage responds.
//!
//! If a storage does not respond, every request to it would occupy a thread until its timeout, and
//! soon none would be left for the database. So the number of concurrent operations is limited, and
//! after several failures in a row, operations fail immediately, except for one per second.

use std::io::{Error, ErrorKind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sp_tree::FileError;

/// Maximum time for a response, without the transfer of its content.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How often an operation is tried while the storage does not respond.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Less than the threads of the runtime, so that some are left for the database.
const MAX_CONCURRENT_OPERATIONS: usize = 256;
const MAX_FAILURES_IN_A_ROW: usize = 3;

/// No local file has this kind of error, so it identifies an object storage that cannot be used.
const UNAVAILABLE: ErrorKind = ErrorKind::NetworkUnreachable;

/// Whether an error means that the object storage cannot be used at the moment.
pub(crate) fn is_unavailable(error: &FileError) -> bool {
    error.kind() == UNAVAILABLE
}

pub(super) fn unavailable_error(
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::new(UNAVAILABLE, source)
}

/// The number of operations, and of those that failed because the storage could not be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StorageCounts {
    pub operations: u64,
    pub failures: u64,
}

#[derive(Default)]
pub(super) struct StorageHealth {
    running: AtomicUsize,
    operations: AtomicU64,
    failures: AtomicU64,
    state: Mutex<FailureState>,
}

#[derive(Default)]
struct FailureState {
    in_a_row: usize,
    /// When an operation was last tried or failed.
    tried_at: Option<Instant>,
}

/// An operation in progress.
pub(super) struct StorageOperation<'a>(&'a StorageHealth);

impl StorageHealth {
    pub(super) fn counts(&self) -> StorageCounts {
        StorageCounts {
            operations: self.operations.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
        }
    }

    /// Starts an operation, unless the storage is known not to respond.
    pub(super) fn start(&self, now: Instant) -> Result<StorageOperation<'_>, Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = state.tried_at.is_some_and(|at| now < at + RETRY_INTERVAL);
        if state.in_a_row >= MAX_FAILURES_IN_A_ROW {
            if is_recent {
                return Err(unavailable_error("the last requests to the object storage failed"));
            }
            state.tried_at = Some(now);
        }
        drop(state);
        self.operations.fetch_add(1, Ordering::Relaxed);
        let operation = StorageOperation(self);
        if self.running.fetch_add(1, Ordering::Relaxed) >= MAX_CONCURRENT_OPERATIONS {
            return Err(unavailable_error("too many concurrent requests to the object storage"));
        }
        Ok(operation)
    }

    pub(super) fn succeeded(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).in_a_row = 0;
    }

    pub(super) fn failed(&self, now: Instant) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.in_a_row += 1;
        state.tried_at = Some(now);
    }
}

impl Drop for StorageOperation<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rg_83_failing_storage_is_tried_once_per_second() {
        let health = StorageHealth::default();
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        for _ in 0..MAX_FAILURES_IN_A_ROW {
            assert!(health.start(at(0)).is_ok());
            health.failed(at(0));
        }
        assert!(health.start(at(999)).is_err());
        // One operation finds out whether the storage responds again.
        assert!(health.start(at(1_000)).is_ok());
        assert!(health.start(at(1_001)).is_err());
        health.succeeded();
        assert!(health.start(at(1_002)).is_ok());
        assert_eq!(health.counts(), StorageCounts { operations: 5, failures: 3 });
    }

    #[test]
    fn rg_83_number_of_concurrent_operations_is_limited() {
        let health = StorageHealth::default();
        let now = Instant::now();
        let running: Vec<_> =
            (0..MAX_CONCURRENT_OPERATIONS).map(|_| health.start(now).unwrap()).collect();
        for _ in 0..3 {
            assert!(health.start(now).is_err());
        }
        drop(running);
        assert!(health.start(now).is_ok());
    }
}
