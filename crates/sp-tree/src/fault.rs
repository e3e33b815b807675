//! Fault injection for every mutating file system call.
//!
//! A test arms a [`FaultPlan`] in a debug build of `sp`; the selected call then fails with an error
//! number or kills the process before it is made. In release builds the functions are empty.

use std::io;

/// The kinds of mutating calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOp {
    CreateDir,
    CreateFile,
    Write,
    /// Renaming or exchanging.
    Rename,
    /// Removing a file, link or empty directory.
    Remove,
    /// Changing permissions.
    Mode,
    /// Syncing to disk.
    Sync,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Kills the process as `kill -9` does.
    Kill,
    /// Fails with this error number.
    Errno(i32),
}

/// Which calls fail, counted from 1 since the process started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultPlan {
    pub kind: FaultKind,
    pub first_call: u64,
    /// Whether every later call fails too.
    pub is_repeated: bool,
}

#[cfg(debug_assertions)]
mod armed {
    use super::{FaultKind, FaultPlan, FileOp};
    use std::io::{self, Write};
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Mutex, OnceLock, PoisonError};

    static PLAN: OnceLock<FaultPlan> = OnceLock::new();
    static TRACE: OnceLock<Mutex<std::fs::File>> = OnceLock::new();
    static CALLS: AtomicU64 = AtomicU64::new(0);

    /// Arms a plan. Only the first call has an effect.
    pub fn arm(plan: FaultPlan) {
        let _ = PLAN.set(plan);
    }

    /// Appends a line to `path` for each call, so that a test can count them.
    pub fn trace(path: &PathBuf) -> io::Result<()> {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        let _ = TRACE.set(Mutex::new(file));
        Ok(())
    }

    pub(crate) fn point(op: FileOp, what: &dyn Fn() -> String) -> io::Result<()> {
        let call = CALLS.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(trace) = TRACE.get() {
            let mut file = trace.lock().unwrap_or_else(PoisonError::into_inner);
            writeln!(file, "{call} {op:?} {}", what())?;
        }
        match PLAN.get() {
            Some(plan) if call == plan.first_call || plan.is_repeated && call > plan.first_call => {
                strike(plan.kind)
            }
            _ => Ok(()),
        }
    }

    /// Whether the next call kills the process, so that a write can be made incomplete first.
    pub(crate) fn kills_next() -> bool {
        PLAN.get().is_some_and(|plan| {
            plan.kind == FaultKind::Kill && CALLS.load(Ordering::SeqCst) + 1 == plan.first_call
        })
    }

    fn strike(strike: FaultKind) -> io::Result<()> {
        match strike {
            FaultKind::Errno(number) => Err(io::Error::from_raw_os_error(number)),
            FaultKind::Kill => {
                let _ = rustix::process::kill_process(
                    rustix::process::getpid(),
                    rustix::process::Signal::KILL,
                );
                std::thread::park();
                Ok(())
            }
        }
    }
}

#[cfg(debug_assertions)]
pub use armed::{arm, trace};

/// Called before each mutating call.
#[cfg(debug_assertions)]
pub(crate) fn point(op: FileOp, what: impl Fn() -> String) -> io::Result<()> {
    armed::point(op, &what)
}

/// Called before each mutating call.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(crate) fn point(_: FileOp, _: impl Fn() -> String) -> io::Result<()> {
    Ok(())
}

/// Whether the next call kills the process.
#[cfg(debug_assertions)]
pub(crate) fn kills_next() -> bool {
    armed::kills_next()
}

/// Whether the next call kills the process.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(crate) fn kills_next() -> bool {
    false
}
