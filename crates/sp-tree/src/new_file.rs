//! A file that is being written.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use rustix::fs::Mode;

use crate::fault::{self, FileOp};
use crate::file_error::FileError;
use crate::file_stamp::{FileStamp, stamp_of};

/// Who can read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// As the user's umask allows.
    Ordinary,
    /// As the user's umask allows; the file can be executed.
    Executable,
    /// Only the owner.
    Private,
}

/// A newly created file.
#[derive(Debug)]
pub struct NewFile {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
}

impl NewFile {
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        if fault::kills_next() {
            // Simulates a crash in the middle of a write.
            let _ = self.file.write_all(&bytes[..bytes.len() / 2]);
        }
        fault::point(FileOp::Write, || self.path.display().to_string())
            .and_then(|()| self.file.write_all(bytes))
            .map_err(|e| FileError::new("write", &self.path, e))
    }

    /// Appends the rest of `file`.
    pub fn write_from(&mut self, file: &mut File) -> Result<(), FileError> {
        fault::point(FileOp::Write, || self.path.display().to_string())
            .and_then(|()| io::copy(file, &mut self.file))
            .map(drop)
            .map_err(|e| FileError::new("write", &self.path, e))
    }

    pub fn sync(&self) -> Result<(), FileError> {
        fault::point(FileOp::Sync, || self.path.display().to_string())
            .and_then(|()| self.file.sync_all())
            .map_err(|e| FileError::new("sync", &self.path, e))
    }

    pub(crate) fn copy_permissions(&self, like: &FileStamp) -> Result<(), FileError> {
        if self.stamp()?.mode & 0o777 == like.mode & 0o777 {
            return Ok(());
        }
        fault::point(FileOp::Mode, || self.path.display().to_string())
            .and_then(|()| {
                Ok(rustix::fs::fchmod(
                    &self.file,
                    Mode::from_raw_mode(like.mode as _) & Mode::from_raw_mode(0o777),
                )?)
            })
            .map_err(|e| FileError::new("set the permissions of", &self.path, e))
    }

    /// Returns another handle of the file. A lock lasts until both are dropped.
    pub fn try_clone_handle(&self) -> Result<File, FileError> {
        self.file.try_clone().map_err(|e| FileError::new("read the metadata of", &self.path, e))
    }

    /// Whether the file still has a name.
    pub(crate) fn has_name(&self) -> Result<bool, FileError> {
        let stat = rustix::fs::fstat(&self.file)
            .map_err(|e| FileError::new("read the metadata of", &self.path, io::Error::from(e)))?;
        Ok(stat.st_nlink > 0)
    }

    pub fn stamp(&self) -> Result<FileStamp, FileError> {
        stamp_of(&self.file).map_err(|e| FileError::new("read the metadata of", &self.path, e))
    }
}
