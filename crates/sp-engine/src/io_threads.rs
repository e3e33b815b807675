//! Tasks that wait for servers, several at the same time.
//!
//! The threads of rayon are for computing: there are as many as cores, and a task that waits for a
//! server would block one of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, ErrorCode, Result};

/// The maximum number of servers that are asked small questions at the same time.
pub(crate) const MAX_CONCURRENT_QUERIES: usize = 32;
/// The maximum number of files that are downloaded at the same time.
pub(crate) const MAX_CONCURRENT_DOWNLOADS: usize = 8;

/// Calls `run` for each item, in up to `max_threads` threads. The results are in the order of the
/// items.
pub(crate) fn run_in_threads<T: Sync, R: Send>(
    items: &[T],
    max_threads: usize,
    run: impl Fn(&T) -> Result<R> + Sync,
) -> Vec<Result<R>> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<R>>>> = Mutex::new(items.iter().map(|_| None).collect());
    let work = || {
        while let Some((index, item)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            items.get(index).map(|item| (index, item))
        } {
            let result = run(item);
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results[index] = Some(result);
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..max_threads.min(items.len())).map(|_| scope.spawn(work)).collect();
        // The result of a task that panicked is missing.
        threads.into_iter().for_each(|thread| drop(thread.join()));
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    let failed = || Err(Error::new(ErrorCode::TaskFailed, "a task failed unexpectedly"));
    results.into_iter().map(|result| result.unwrap_or_else(failed)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn tasks_run_at_the_same_time_and_keep_their_order() {
        let barrier = Barrier::new(20);
        let items: Vec<usize> = (0..20).collect();
        let results = run_in_threads(&items, 20, |item| {
            barrier.wait();
            Ok(*item)
        });
        assert_eq!(results.into_iter().map(Result::unwrap).collect::<Vec<_>>(), items);
    }

    #[test]
    fn panic_is_an_error_of_its_task_alone() {
        let results = run_in_threads(&[1, 2, 3], 3, |item| {
            assert_ne!(*item, 2, "expected");
            Ok(*item)
        });
        let ok: Vec<bool> = results.iter().map(Result::is_ok).collect();
        assert_eq!(ok, [true, false, true]);
    }
}
