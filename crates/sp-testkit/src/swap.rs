//! An attacker that repeatedly exchanges two directory entries.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rustix::fs::{CWD, RenameFlags, renameat_with};

/// Exchanges two paths atomically until it is stopped.
pub struct SwapLoop {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
    paths: (PathBuf, PathBuf),
}

impl SwapLoop {
    /// Starts exchanging `a` and `b`, and returns after the first exchange.
    pub fn start(a: &Path, b: &Path) -> Self {
        let paths = (a.to_path_buf(), b.to_path_buf());
        let stop = Arc::new(AtomicBool::new(false));
        exchange(&paths);
        let thread = std::thread::spawn({
            let (stop, paths) = (Arc::clone(&stop), paths.clone());
            move || {
                let mut exchanges = 1;
                while !stop.load(Ordering::Relaxed) {
                    exchange(&paths);
                    exchanges += 1;
                    std::thread::yield_now();
                }
                exchanges
            }
        });
        Self { stop, thread, paths }
    }

    /// Stops, restores both entries, and returns the number of exchanges.
    pub fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        let exchanges = self.thread.join().expect("the loop does not panic");
        if exchanges % 2 == 1 {
            exchange(&self.paths);
        }
        exchanges
    }
}

fn exchange((a, b): &(PathBuf, PathBuf)) {
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).expect("two entries of one file system");
}
