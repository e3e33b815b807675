//! Reading a file into memory, never more of it than a limit allows.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

pub use crate::dir::FileError;
use crate::dir::{Dir, DirEntry, EntryKind, Follow, stamp_of};

/// Reads a regular file that a user or a package gave, `limit` bytes at the most.
pub fn read_limited(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entry = DirEntry::of(path).ok_or_else(|| FileError::new("read", path, io::ErrorKind::IsADirectory))?;
    let file = Dir::open(parent)?.open_file(&entry, Follow::Links)?;
    let mut bytes = Vec::new();
    read_open(&file, limit, &mut bytes).map_err(|e| FileError::new("read", path, e))?;
    Ok(bytes)
}

/// Reads an open file into `buffer`, which is emptied first. A special file is refused unread.
pub(crate) fn read_open(mut file: &File, limit: u64, buffer: &mut Vec<u8>) -> io::Result<crate::Stamp> {
    let stamp = stamp_of(file)?;
    match stamp.kind() {
        EntryKind::File => {}
        EntryKind::Dir => return Err(io::ErrorKind::IsADirectory.into()),
        _ => return Err(io::Error::other("it is not a regular file")),
    }
    if stamp.size > limit {
        return Err(too_large(stamp.size, limit));
    }
    buffer.clear();
    // One byte more than expected, so that a file that did not grow is read in one call.
    buffer.resize(usize::try_from(stamp.size).unwrap_or(usize::MAX).saturating_add(1), 0);
    let mut filled = 0;
    loop {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => {
                filled += n;
                if filled as u64 > limit {
                    return Err(too_large(filled as u64, limit));
                }
                if filled < buffer.len() && filled as u64 == stamp.size {
                    break;
                }
                if filled == buffer.len() {
                    buffer.resize(filled * 2, 0);
                }
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    buffer.truncate(filled);
    Ok(stamp)
}

fn too_large(size: u64, limit: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it has {size} bytes, more than the limit of {limit}"))
}
