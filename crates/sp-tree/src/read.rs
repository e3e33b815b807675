//! Reading files into memory, up to a limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::byte_size::ByteSize;
use crate::digest::{Digest, Hasher};
use crate::dir::{Dir, Follow};
use crate::file_error::FileError;
use crate::file_stamp::{EntryKind, stamp_of};
use crate::path::RelPath;
use crate::read_trace;
use crate::segment::DirEntry;

/// Reads a regular file of at most `limit` bytes.
pub fn read_limited(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entry = DirEntry::from_path(path)
        .ok_or_else(|| FileError::new("read", path, io::ErrorKind::IsADirectory))?;
    let file = Dir::open(parent)?.open_file(&entry, Follow::Links)?;
    let mut bytes = Vec::new();
    read_open(&file, limit, &mut bytes).map_err(|e| FileError::new("read", path, e))?;
    Ok(bytes)
}

/// Like [`read_limited`], but returns `None` if the file does not exist.
pub fn read_optional(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
    match read_limited(path, limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

/// Reads a file in an untrusted directory without following links. Returns `None` if it does not
/// exist or is not a file.
pub fn read_beneath(dir: &Dir, path: &RelPath, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
    let mut bytes = Vec::new();
    let read = dir.open_beneath(path, Follow::Never).and_then(|file| {
        read_open(&file, limit, &mut bytes)
            .map_err(|e| FileError::new("read", dir.path().join(path.as_str()), e))
    });
    match read {
        Ok(_) => Ok(Some(bytes)),
        Err(e) if is_not_a_file(e.kind()) => Ok(None),
        Err(e) => Err(e),
    }
}

fn is_not_a_file(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory
    )
}

/// Reads a file as text. Returns `None` if it is binary: if it contains a NUL or is not UTF-8.
///
/// Only the first block of a binary file is read.
pub fn read_text(dir: &Dir, path: &RelPath, limit: u64) -> Result<Option<String>, FileError> {
    const FIRST_BLOCK_LEN: usize = 8192;
    let failed = |e: io::Error| FileError::new("read", dir.path().join(path.as_str()), e);
    let file = dir.open_beneath(path, Follow::Links)?;
    let size = check_regular_file(&file, limit).map_err(failed)?.size;
    let mut bytes =
        Vec::with_capacity(usize::try_from(size).unwrap_or(FIRST_BLOCK_LEN).min(FIRST_BLOCK_LEN));
    (&file).take(FIRST_BLOCK_LEN as u64).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.contains(&0) {
        return Ok(None);
    }
    (&file)
        .take(limit.saturating_sub(bytes.len() as u64))
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    let is_text = !bytes.contains(&0);
    Ok(String::from_utf8(bytes).ok().filter(|_| is_text))
}

/// Returns the stamp of an open file, or fails if it is not a regular file or too large.
fn check_regular_file(file: &File, limit: u64) -> io::Result<crate::FileStamp> {
    let stamp = stamp_of(file)?;
    match stamp.kind() {
        EntryKind::File if stamp.size > limit => Err(too_large(stamp.size, limit)),
        EntryKind::File => Ok(stamp),
        EntryKind::Dir => Err(io::ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::other("it is not a regular file")),
    }
}

/// The digest of an open file of any size. Fails if it is not a regular file.
pub(crate) fn digest_open(mut file: &File) -> io::Result<Digest> {
    check_regular_file(file, u64::MAX)?;
    read_trace::read(file);
    let (mut hasher, mut buffer) = (Hasher::default(), vec![0; 256 * 1024]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finish()),
            Ok(read) => hasher.update(&buffer[..read]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// Reads an open file into `buffer`, which is cleared first. Fails if it is not a regular file.
pub(crate) fn read_open(
    file: &File,
    limit: u64,
    buffer: &mut Vec<u8>,
) -> io::Result<crate::FileStamp> {
    let stamp = check_regular_file(file, limit)?;
    read_trace::read(file);
    buffer.clear();
    // One byte more than expected, so that a file that did not grow is read with one call.
    buffer.resize(usize::try_from(stamp.size).unwrap_or(usize::MAX).saturating_add(1), 0);
    let filled = fill(file, stamp.size, limit, buffer)?;
    buffer.truncate(filled);
    Ok(stamp)
}

/// Reads a file of about `size` bytes into `buffer`, which grows if necessary. Returns how many
/// bytes were read.
fn fill(mut file: &File, size: u64, limit: u64, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let mut filled = 0;
    loop {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => return Ok(filled),
            Ok(n) => {
                filled += n;
                if filled as u64 > limit {
                    return Err(too_large(filled as u64, limit));
                }
                if filled < buffer.len() && filled as u64 == size {
                    return Ok(filled);
                }
                if filled == buffer.len() {
                    buffer.resize(filled * 2, 0);
                }
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

fn too_large(size: u64, limit: u64) -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("it is {}; the limit is {}", ByteSize(size), ByteSize(limit)),
    )
}
