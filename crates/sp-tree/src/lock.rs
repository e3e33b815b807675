//! One writer at a time: an advisory lock on a file, which dies with its holder.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;

use crate::dir::{Dir, Fixed, Follow};
use crate::file_error::FileError;

const LOCK: Fixed = Fixed("lock");

/// The lock on a directory, held until dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of `dir` if nobody has it.
    pub fn try_take(dir: &Dir) -> Result<Option<Self>, FileError> {
        let file = lock_file(dir)?;
        Ok(try_lock(dir, &file)?.then_some(Self { _file: file }))
    }
}

fn lock_file(dir: &Dir) -> Result<File, FileError> {
    match dir.open_file(&LOCK, Follow::Never) {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            match dir.create_file(&LOCK, false) {
                // Another process may have made it since we looked.
                Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(e),
                _ => dir.open_file(&LOCK, Follow::Never),
            }
        }
        opened => opened,
    }
}

fn try_lock(dir: &Dir, file: &File) -> Result<bool, FileError> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) => Err(FileError::new("lock", dir.path_of(&LOCK), e)),
    }
}
