//! File stamps: metadata that changes whenever a file or directory changes.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::FileType;

/// The type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    Dir,
    File,
    Link,
    /// A FIFO, socket or device.
    Special,
}

/// The metadata of a file or directory. If it is unchanged, so is the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    pub inode: u64,
    pub size: u64,
    /// The modification time (`mtime`) in nanoseconds.
    pub modified: i64,
    /// The status change time (`ctime`) in nanoseconds.
    pub changed: i64,
    /// The type and permission bits.
    pub mode: u32,
}

impl FileStamp {
    #[allow(clippy::unnecessary_cast, reason = "the fields' types differ between platforms")]
    pub(crate) fn from_stat(stat: &rustix::fs::Stat) -> Self {
        Self {
            inode: stat.st_ino as u64,
            size: stat.st_size as u64,
            modified: stat.st_mtime as i64 * 1_000_000_000 + stat.st_mtime_nsec as i64,
            changed: stat.st_ctime as i64 * 1_000_000_000 + stat.st_ctime_nsec as i64,
            mode: stat.st_mode as u32,
        }
    }

    /// The stamp of an open file.
    pub fn of(file: &std::fs::File) -> io::Result<Self> {
        stamp_of(file)
    }

    pub fn kind(&self) -> EntryKind {
        entry_kind(FileType::from_raw_mode(self.mode as _))
    }

    /// Whether the owner may execute it.
    pub fn is_executable(&self) -> bool {
        self.mode & 0o100 != 0
    }
}

pub(crate) fn entry_kind(kind: FileType) -> EntryKind {
    match kind {
        FileType::Directory => EntryKind::Dir,
        FileType::RegularFile => EntryKind::File,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Special,
    }
}

pub(crate) fn stamp_of(file: impl AsFd) -> io::Result<FileStamp> {
    Ok(FileStamp::from_stat(&rustix::fs::fstat(file)?))
}

/// The stamp of a symbolic link, or `None` if there is none at this path.
pub(crate) fn stamp_link(path: &Path) -> Option<FileStamp> {
    let stat = rustix::fs::lstat(path).ok()?;
    Some(FileStamp::from_stat(&stat)).filter(|stamp| stamp.kind() == EntryKind::Link)
}

/// The stamps of files and directories by path; the root has the path "".
pub type PathStamps = Vec<(Box<str>, FileStamp)>;
