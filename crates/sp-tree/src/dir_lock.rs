//! An advisory lock on a directory, released when its process ends.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;

use crate::dir::{Dir, Follow};
use crate::file_error::FileError;
use crate::segment::StaticName;

const LOCK_FILE: StaticName = StaticName("lock");

/// The lock of a directory, held until dropped.
#[derive(Debug)]
pub struct DirLock {
    _file: File,
}

impl DirLock {
    /// Acquires the lock of `dir` if no other process holds it.
    pub fn try_acquire(dir: &Dir) -> Result<Option<Self>, FileError> {
        let file = open_lock_file(dir)?;
        Ok(try_lock(dir, &file)?.then_some(Self { _file: file }))
    }
}

fn open_lock_file(dir: &Dir) -> Result<File, FileError> {
    match dir.open_file(&LOCK_FILE, Follow::Never) {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            dir.ensure_file(&LOCK_FILE)?;
            dir.open_file(&LOCK_FILE, Follow::Never)
        }
        opened => opened,
    }
}

fn try_lock(dir: &Dir, file: &File) -> Result<bool, FileError> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) => Err(FileError::new("lock", dir.path_of(&LOCK_FILE), e)),
    }
}
