//! A trace of what is read and hashed, for tests.
//!
//! In a debug build of `sp`, a test calls [`start`]. From then on, every file that is read into
//! memory adds a line `read <path>`, and every SHA-256 that is computed a line `hash <digest>`. So
//! a test can show that a command reads and hashes a file only once. In release builds the
//! functions are empty.

#[cfg(debug_assertions)]
mod traced {
    use std::fs::File;
    use std::io::{self, Write};
    use std::os::fd::AsRawFd;
    use std::path::Path;
    use std::sync::{Mutex, OnceLock, PoisonError};

    static TRACE: OnceLock<Mutex<File>> = OnceLock::new();

    /// Appends a line to `path` for each file that is read and each digest that is computed.
    pub fn start(path: &Path) -> io::Result<()> {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        let _ = TRACE.set(Mutex::new(file));
        Ok(())
    }

    pub(crate) fn line(what: &str, value: impl FnOnce() -> String) {
        if let Some(trace) = TRACE.get() {
            let mut file = trace.lock().unwrap_or_else(PoisonError::into_inner);
            // A test that finds a line missing fails.
            let _ = writeln!(file, "{what} {}", value());
        }
    }

    pub(crate) fn path_of(file: &File) -> String {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
        link.map(|path| path.display().to_string()).unwrap_or_default()
    }
}

#[cfg(debug_assertions)]
pub use traced::start;

/// Called when a file is read into memory.
#[cfg(debug_assertions)]
pub(crate) fn read(file: &std::fs::File) {
    traced::line("read", || traced::path_of(file));
}

/// Called when a file is read into memory.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(crate) fn read(_: &std::fs::File) {}

/// Called when a digest was computed.
#[cfg(debug_assertions)]
pub(crate) fn hash(digest: impl FnOnce() -> String) {
    traced::line("hash", digest);
}

/// Called when a digest was computed.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(crate) fn hash(_: impl FnOnce() -> String) {}
