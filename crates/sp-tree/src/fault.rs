//! The one seam at which every mutating file-system call of `sp` can be made to fail.
//!
//! A test arms a [`Plan`] in a debug build of `sp`; the call that it names is then refused
//! with an error number, or kills the process before it is made. Release builds have only the
//! empty function that the compiler removes.

use std::io;

/// The kinds of mutating call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOp {
    /// Making a directory.
    CreateDir,
    /// Creating a file.
    CreateFile,
    /// Writing a file's bytes.
    Write,
    /// Renaming or exchanging.
    Rename,
    /// Removing a file, link or empty directory.
    Remove,
    /// Changing what may be done with a file or directory.
    Mode,
    /// Making something durable.
    Sync,
}

/// What an armed seam does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Kill the process as if by `kill -9`.
    Kill,
    /// Refuse the call with this error number.
    Errno(i32),
}

/// Which calls are struck, counted from 1 over the life of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultPlan {
    /// What happens.
    pub kind: FaultKind,
    /// The first call that is struck.
    pub first_call: u64,
    /// Whether every later call is struck too.
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

    /// Arms the seam, once in the life of the process.
    pub fn arm(plan: FaultPlan) {
        let _ = PLAN.set(plan);
    }

    /// Writes a line to `path` for each call, so that a test can count and order them.
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

    /// Whether the next call is the one that kills, so that a write can be torn first.
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

/// Whether the next call is the one that kills the process.
#[cfg(debug_assertions)]
pub(crate) fn kills_next() -> bool {
    armed::kills_next()
}

/// Whether the next call is the one that kills the process.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(crate) fn kills_next() -> bool {
    false
}
