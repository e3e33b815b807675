//! What one look at a file or directory tells.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::FileType;

/// What an entry of a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A directory.
    Dir,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device.
    Special,
}

/// What one look at a file or directory tells: if the next look tells the same, nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// The inode number.
    pub inode: u64,
    /// The size in bytes.
    pub size: u64,
    /// When the content last changed, in nanoseconds.
    pub modified: i64,
    /// When anything last changed, in nanoseconds.
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

    /// What kind of entry it is.
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

/// Looks at an open file.
pub(crate) fn stamp_of(file: impl AsFd) -> io::Result<FileStamp> {
    Ok(FileStamp::from_stat(&rustix::fs::fstat(file)?))
}

/// What a symbolic link looks like; `None` where there is none at this path.
pub(crate) fn stamp_link(path: &Path) -> Option<FileStamp> {
    let stat = rustix::fs::lstat(path).ok()?;
    Some(FileStamp::from_stat(&stat)).filter(|stamp| stamp.kind() == EntryKind::Link)
}

/// What each file and folder looked like, by path; the top has the path "".
pub type PathStamps = Vec<(Box<str>, FileStamp)>;
