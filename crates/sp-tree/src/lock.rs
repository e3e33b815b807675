//! One writer at a time: an advisory lock on a file, which dies with its holder.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;

use crate::dir::{Dir, FileError, Fixed, Follow};

const LOCK: Fixed = Fixed("lock");

/// The lock on a directory, held until dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of `dir`; calls `waiting` once if another process has it.
    pub fn take(dir: &Dir, waiting: impl FnOnce()) -> Result<Self, FileError> {
        let failed = |e| FileError::new("lock", dir.path_of(&LOCK), e);
        let file = match dir.open_file(&LOCK, Follow::Never) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                match dir.create_file(&LOCK, false) {
                    // Another process may have made it since we looked.
                    Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(e),
                    _ => dir.open_file(&LOCK, Follow::Never)?,
                }
            }
            opened => opened?,
        };
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => {
                waiting();
                file.lock().map_err(failed)?;
                Ok(Self { _file: file })
            }
            Err(TryLockError::Error(e)) => Err(failed(e)),
        }
    }
}
