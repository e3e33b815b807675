//! Untrusted zip archives, which are listed and checked before anything is unpacked.
//!
//! Names are checked as written and never repaired. An entry that escapes, is a link, collides with
//! another, is encrypted, has a wrong size or unpacks to too much is rejected. So is every archive
//! that two programs could read differently: see [`crate::zip_layout`].

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use flate2::Crc;
use flate2::read::DeflateDecoder;
use rawzip::{
    CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, ReaderAt, ZipArchive,
    ZipArchiveEntryWayfinder, ZipFileHeaderRecord, ZipLocator,
};
use thiserror::Error;

use crate::byte_size::ByteSize;
use crate::dir::{Dir, Follow};
use crate::file_error::FileError;
use crate::file_stamp::{EntryKind, stamp_of};
use crate::limits::Limits;
use crate::listing::{Listing, ListingBuilder, ListingError};
use crate::path::RelPath;
use crate::segment::{DirEntry, escape_non_utf8};
use crate::zip_error::ZipMemberError;
use crate::zip_layout::{ZipEndRecord, ZipMemberExtent, check_record_disk, record_len};

/// The compression ratio of an archive that unpacks to less than this is not checked.
const RATIO_CHECK_MIN_BYTES: u64 = 1024 * 1024;
/// An empty directory may be compressed like an empty file: to two bytes, or to five by some
/// programs.
const MAX_EMPTY_STREAM_LEN: u64 = 5;

/// The file type bits of a Unix mode.
const S_IFMT: u32 = 0o170_000;
const S_IFLNK: u32 = 0o120_000;
const S_IFREG: u32 = 0o100_000;
const S_IFDIR: u32 = 0o040_000;
/// The directory attribute of MS-DOS.
const DOS_DIRECTORY: u32 = 0x10;

/// Why an archive cannot be used.
#[derive(Debug, Error)]
pub enum ArchiveError {
    #[error(transparent)]
    File(#[from] FileError),
    /// Not a zip archive, or a damaged one.
    #[error("invalid zip archive `{}`: {why}", path.display())]
    Broken { path: PathBuf, why: String },
    /// An entry that is rejected.
    #[error("invalid zip entry `{member}`: {why}")]
    Member {
        /// Its name, with bytes that are not UTF-8 escaped.
        member: String,
        why: ZipMemberError,
    },
    /// A limit is exceeded.
    #[error("{what}; the limit is {limit}")]
    LimitExceeded {
        /// What there is too much of.
        what: String,
        limit: String,
        /// The name of the limit.
        name: &'static str,
    },
}

impl ArchiveError {
    /// The name of the limit to raise, if the error is about a limit.
    pub fn limit_name(&self) -> Option<&'static str> {
        match self {
            Self::LimitExceeded { name, .. } => Some(name),
            Self::Member { why: ZipMemberError::Listing(why), .. } => why.limit_name(),
            _ => None,
        }
    }
}

/// How an entry is found again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZipMemberHandle {
    wayfinder: ZipArchiveEntryWayfinder,
    deflated: bool,
    crc: u32,
}

/// Where the bytes of an archive are.
#[derive(Debug)]
enum ArchiveBytes {
    File(FileReader),
    Memory(Vec<u8>),
}

/// An archive that has not been read.
struct ArchiveSource {
    bytes: ArchiveBytes,
    size: u64,
}

impl ArchiveSource {
    fn open(path: &Path) -> Result<Self, ArchiveError> {
        let failed = |e: io::Error| FileError::new("read", path, e);
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let entry =
            DirEntry::from_path(path).ok_or_else(|| failed(io::ErrorKind::IsADirectory.into()))?;
        let file = Dir::open(parent)?.open_file(&entry, Follow::Links)?;
        let stamp = stamp_of(&file).map_err(failed)?;
        if stamp.kind() != EntryKind::File {
            return Err(failed(io::Error::other("it is not a regular file")).into());
        }
        Ok(Self { bytes: ArchiveBytes::File(FileReader::from(file)), size: stamp.size })
    }
}

impl ReaderAt for ArchiveBytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read_at(buffer, offset),
            Self::Memory(bytes) => bytes.read_at(buffer, offset),
        }
    }
}

/// A zip archive whose entries have been checked.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::collections::BTreeMap;
///
/// use sp_tree::{Archive, Limits, ListingKind, zip_files};
///
/// let zip = zip_files(&BTreeMap::from([("docs/a.md".to_owned(), b"hello".to_vec())]))?;
/// let archive = Archive::from_bytes("docs.zip", zip, &Limits::default())?;
/// // The directory has no entry of its own, but it is in the listing.
/// assert_eq!(archive.listing.entries.len(), 2);
/// for entry in &archive.listing.entries {
///     if let ListingKind::File { handle, .. } = &entry.kind {
///         assert_eq!(archive.read(&entry.path, handle)?, b"hello");
///     }
/// }
///
/// // Git would read this file as the configuration of a repository.
/// let zip = zip_files(&BTreeMap::from([(".git/config".to_owned(), Vec::new())]))?;
/// assert!(Archive::from_bytes("repo.zip", zip, &Limits::default()).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Archive {
    zip: ZipArchive<ArchiveBytes>,
    pub listing: Listing<ZipMemberHandle>,
}

impl Archive {
    /// Opens an archive and checks every entry.
    pub fn open(path: &Path, limits: &Limits) -> Result<Self, ArchiveError> {
        Self::parse(path, ArchiveSource::open(path)?, limits)
    }

    /// Opens an archive in memory. `name` is used in messages.
    pub fn from_bytes(name: &str, bytes: Vec<u8>, limits: &Limits) -> Result<Self, ArchiveError> {
        let size = bytes.len() as u64;
        let source = ArchiveSource { bytes: ArchiveBytes::Memory(bytes), size };
        Self::parse(Path::new(name), source, limits)
    }

    fn parse(path: &Path, source: ArchiveSource, limits: &Limits) -> Result<Self, ArchiveError> {
        let broken = |why: String| ArchiveError::Broken { path: path.into(), why };
        let size = source.size;
        check_archive_size(size, limits)?;
        let end = ZipEndRecord::find(&source.bytes, size).map_err(broken)?;
        check_member_count(end.entries, limits)?;
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let zip = ZipLocator::new()
            .locate_in_reader(source.bytes, &mut buffer, size)
            .map_err(|(_, why)| broken(why.to_string()))?;
        if (zip.eocd_offset(), zip.directory_offset()) != (end.offset, end.directory.start) {
            return Err(broken(
                "the central directory is not at the position given in the end record".into(),
            ));
        }
        let members = DirectoryReader { path, zip: &zip, end: &end, limits }.read(&mut buffer)?;
        check_unpacked_size(&members, size, limits)?;
        check_no_overlap(&members)?;
        check_no_hidden_bytes(zip.get_ref(), &members, end.directory.start).map_err(broken)?;
        Ok(Self { listing: build_listing(members, limits)?, zip })
    }

    /// Unpacks an entry and verifies size and checksum.
    pub fn read(&self, path: &RelPath, packed: &ZipMemberHandle) -> Result<Vec<u8>, ArchiveError> {
        let mismatch = || ArchiveError::Member {
            member: path.to_string(),
            why: ZipMemberError::ContentMismatch,
        };
        let entry = self.zip.get_entry(packed.wayfinder).map_err(|_| mismatch())?;
        let size = packed.wayfinder.uncompressed_size_hint();
        let mut raw = entry.reader();
        let mut bytes =
            Vec::with_capacity(usize::try_from(size).unwrap_or(0).min(RECOMMENDED_BUFFER_SIZE));
        let compressed = if packed.deflated {
            let mut decoder = DeflateDecoder::new(raw);
            let read = (&mut decoder).take(size + 1).read_to_end(&mut bytes);
            read.map(|_| decoder.total_in())
        } else {
            (&mut raw).take(size + 1).read_to_end(&mut bytes).map(|read| read as u64)
        };
        // A compressed stream that ends early would hide the bytes after it.
        let is_whole = compressed
            .is_ok_and(|compressed| compressed == packed.wayfinder.compressed_size_hint());
        if is_whole && bytes.len() as u64 == size && checksum(&bytes) == packed.crc {
            Ok(bytes)
        } else {
            Err(mismatch())
        }
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Reads the central directory.
struct DirectoryReader<'a> {
    path: &'a Path,
    zip: &'a ZipArchive<ArchiveBytes>,
    end: &'a ZipEndRecord,
    limits: &'a Limits,
}

impl DirectoryReader<'_> {
    /// Reads every record, which together must fill the directory.
    fn read(&self, buffer: &mut [u8]) -> Result<Vec<ZipMember>, ArchiveError> {
        let mut members = Vec::new();
        let mut next_record = self.end.directory.start;
        let mut entries = self.zip.entries(buffer);
        while let Some(record) = entries.next_entry().map_err(|why| self.broken(why.to_string()))? {
            check_member_count(members.len() as u64 + 1, self.limits)?;
            let member = ZipMember::parse(self.zip, &record)
                .map_err(|why| member_error(record.file_path().as_bytes(), why))?;
            members.push(member);
            next_record += record_len(&record);
        }
        let (claimed, count) = (self.end.entries, members.len());
        if count as u64 != claimed {
            return Err(self.broken(format!(
                "the end record lists {claimed} entries, but the archive has {count}"
            )));
        }
        if next_record != self.end.directory.end {
            return Err(self.broken("the central directory contains extra bytes".into()));
        }
        Ok(members)
    }

    fn broken(&self, why: String) -> ArchiveError {
        ArchiveError::Broken { path: self.path.into(), why }
    }
}

fn check_archive_size(size: u64, limits: &Limits) -> Result<(), ArchiveError> {
    if size > limits.zip_bytes {
        return Err(ArchiveError::LimitExceeded {
            what: format!("the archive is {}", ByteSize(size)),
            limit: ByteSize(limits.zip_bytes).to_string(),
            name: "zip-bytes",
        });
    }
    Ok(())
}

fn check_member_count(members: u64, limits: &Limits) -> Result<(), ArchiveError> {
    if members > limits.zip_entries {
        return Err(ArchiveError::LimitExceeded {
            what: format!("the archive has {members} entries"),
            limit: limits.zip_entries.to_string(),
            name: "zip-entries",
        });
    }
    Ok(())
}

fn member_error(name: &[u8], why: ZipMemberError) -> ArchiveError {
    ArchiveError::Member { member: escape_non_utf8(OsStr::from_bytes(name)), why }
}

/// An entry whose headers were read.
struct ZipMember {
    path: RelPath,
    is_dir: bool,
    executable: bool,
    packed: ZipMemberHandle,
    /// The bytes of the archive that belong to it.
    extent: ZipMemberExtent,
}

impl ZipMember {
    fn parse(
        zip: &ZipArchive<ArchiveBytes>,
        record: &ZipFileHeaderRecord<'_>,
    ) -> Result<Self, ZipMemberError> {
        let raw_path = record.file_path();
        let is_dir = raw_path.as_bytes().ends_with(b"/");
        let path = RelPath::from_bytes(
            raw_path.as_bytes().strip_suffix(b"/").unwrap_or(raw_path.as_bytes()),
        )?;
        match (unix_file_type(record), is_dir) {
            (S_IFLNK, _) => return Err(ZipMemberError::Link),
            (0 | S_IFREG, false) | (0 | S_IFDIR, true) => {}
            _ => return Err(ZipMemberError::Special),
        }
        let deflated = is_deflated(record)?;
        check_record_disk(zip.get_ref(), record)?;
        let extent = ZipMemberExtent::read(zip.get_ref(), record)?;
        if is_dir && (extent.size > 0 || extent.compressed > MAX_EMPTY_STREAM_LEN) {
            return Err(ZipMemberError::DirWithContent);
        }
        Ok(Self {
            path,
            is_dir,
            executable: record.mode().permissions() & 0o100 != 0,
            packed: ZipMemberHandle { wayfinder: record.wayfinder(), deflated, crc: extent.crc },
            extent,
        })
    }

    fn size(&self) -> u64 {
        self.packed.wayfinder.uncompressed_size_hint()
    }
}

/// Whether an entry is compressed. Rejects encryption and other methods than DEFLATE.
fn is_deflated(record: &ZipFileHeaderRecord<'_>) -> Result<bool, ZipMemberError> {
    let flags = record.flags();
    if flags.is_encrypted() || flags.has_strong_encryption() || flags.is_masked() {
        return Err(ZipMemberError::Encrypted);
    }
    match record.compression_method() {
        CompressionMethod::DEFLATE => Ok(true),
        CompressionMethod::STORE => Ok(false),
        _ => Err(ZipMemberError::UnsupportedMethod),
    }
}

/// The file type bits in the attributes of an entry; 0 if there are none.
///
/// The originating system is ignored, because some programs honor a Unix mode from any system.
fn unix_file_type(record: &ZipFileHeaderRecord<'_>) -> u32 {
    let attributes = record.external_attributes();
    match (attributes >> 16) & S_IFMT {
        0 if attributes & DOS_DIRECTORY != 0 => S_IFDIR,
        kind => kind,
    }
}

/// Rejects archives that unpack to far more than their size.
fn check_unpacked_size(
    members: &[ZipMember],
    packed: u64,
    limits: &Limits,
) -> Result<(), ArchiveError> {
    let unpacked = members.iter().fold(0u64, |sum, member| sum.saturating_add(member.size()));
    if unpacked > limits.zip_bytes {
        return Err(ArchiveError::LimitExceeded {
            what: format!("the archive is {} when decompressed", ByteSize(unpacked)),
            limit: ByteSize(limits.zip_bytes).to_string(),
            name: "zip-bytes",
        });
    }
    if unpacked > RATIO_CHECK_MIN_BYTES && unpacked > packed.saturating_mul(limits.zip_ratio) {
        return Err(ArchiveError::LimitExceeded {
            what: format!("the archive expands to {} times its size", unpacked / packed.max(1)),
            limit: limits.zip_ratio.to_string(),
            name: "zip-ratio",
        });
    }
    Ok(())
}

/// Rejects overlapping entries, which would make a small archive arbitrarily large.
fn check_no_overlap(members: &[ZipMember]) -> Result<(), ArchiveError> {
    let mut ordered: Vec<&ZipMember> = members.iter().collect();
    ordered.sort_by_key(|member| (member.extent.start, member.extent.end));
    match ordered.windows(2).find(|pair| pair[1].extent.start < pair[0].extent.end) {
        Some(pair) => Err(member_error(pair[1].path.as_str().as_bytes(), ZipMemberError::Overlap)),
        None => Ok(()),
    }
}

/// Rejects bytes that belong to no entry: a program that reads from the front would find entries in
/// them.
fn check_no_hidden_bytes(
    bytes: &ArchiveBytes,
    members: &[ZipMember],
    directory: u64,
) -> Result<(), String> {
    let mut extents: Vec<&ZipMemberExtent> = members.iter().map(|member| &member.extent).collect();
    extents.sort_by_key(|extent| extent.start);
    let first = extents.first().map_or(directory, |extent| extent.start);
    if first != 0 {
        return Err(format!("the first {first} bytes do not belong to any entry"));
    }
    let nexts = extents.iter().skip(1).map(|extent| extent.start).chain([directory]);
    match extents.iter().zip(nexts).find(|(extent, next)| !extent.is_adjacent_to(bytes, *next)) {
        Some((extent, next)) if next < extent.end => {
            Err("an entry overlaps the central directory".into())
        }
        Some((extent, next)) => Err(format!(
            "bytes {} to {next} do not belong to any entry and are not a valid data descriptor",
            extent.end
        )),
        None => Ok(()),
    }
}

/// Builds the listing, including directories that have no entry of their own.
fn build_listing(
    members: Vec<ZipMember>,
    limits: &Limits,
) -> Result<Listing<ZipMemberHandle>, ArchiveError> {
    // The limits for a skill are replaced by those for an archive.
    let limits =
        Limits { skill_entries: u64::MAX, skill_bytes: limits.zip_bytes, ..limits.clone() };
    let mut builder = ListingBuilder::new(&limits);
    let mut folders = 0;
    for member in members {
        let refuse = |why: ListingError| member_error(member.path.as_str().as_bytes(), why.into());
        // Implicit directories count too: deep names would create millions of them.
        folders += builder.add_parents(&member.path).map_err(refuse)?;
        check_member_count(folders, &limits)?;
        if !member.is_dir {
            let (executable, size) = (member.executable, member.size());
            builder
                .add_file(member.path.clone(), executable, size, member.packed)
                .map_err(refuse)?;
        } else if !builder.has_dir(&member.path) {
            builder.add_dir(member.path.clone()).map_err(refuse)?;
            folders += 1;
        }
    }
    Ok(builder.finish())
}
