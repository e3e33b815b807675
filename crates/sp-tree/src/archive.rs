//! Zip archives from strangers: listed and judged before a byte of them is unpacked.
//!
//! Names are judged as they are written, never mended. What escapes, links, collides, is
//! encrypted, lies about its size or unpacks to more than it should is refused.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use flate2::read::DeflateDecoder;
use rawzip::{
    CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, ReaderAt, ZipArchive, ZipArchiveEntryWayfinder,
    ZipFileHeaderRecord, ZipLocator,
};
use thiserror::Error;

use crate::dir::{Dir, DirEntry, EntryKind, FileError, Follow, escape_bytes, stamp_of};
use crate::limits::Limits;
use crate::listing::{Listing, ListingBuilder, ListingError};
use crate::path::{PathError, RelPath};

/// An archive that unpacks to less than this may be packed as tightly as it likes.
const HARMLESS_BYTES: u64 = 1024 * 1024;
/// Names and extra fields of a local header: two lengths of 16 bits.
const HEADER_BYTES: usize = 2 * 65_536;

/// What a Unix mode says of the kind of a file.
const S_IFMT: u32 = 0o170_000;
const S_IFLNK: u32 = 0o120_000;
const S_IFREG: u32 = 0o100_000;
const S_IFDIR: u32 = 0o040_000;

/// Why an archive cannot be used.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is not a zip archive, or a damaged one.
    #[error("`{}` is not a zip archive that can be read: {why}", path.display())]
    Broken {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A member that cannot be taken.
    #[error("the member `{member}` cannot be taken: {why}")]
    Member {
        /// Its name, what is not UTF-8 escaped.
        member: String,
        /// Why.
        why: Refusal,
    },
    /// More than a ceiling allows.
    #[error("{what}, more than the limit of {limit}")]
    TooMuch {
        /// What there is too much of.
        what: String,
        /// The limit that was passed.
        limit: u64,
        /// Its name.
        name: &'static str,
    },
}

/// Why a member cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// A name that no tree can hold.
    #[error(transparent)]
    Name(#[from] PathError),
    /// Too deep, too large, or a name that collides with another.
    #[error(transparent)]
    Listing(#[from] ListingError),
    /// A link.
    #[error("it is a link")]
    Link,
    /// A device, pipe or socket.
    #[error("it is neither a file nor a folder")]
    Special,
    /// Encrypted.
    #[error("it is encrypted")]
    Encrypted,
    /// A method that nobody uses for text.
    #[error("it is compressed by a method that is not supported")]
    Method,
    /// Its two headers say different things.
    #[error("its two headers contradict each other")]
    Headers,
    /// Its bytes are those of another member too.
    #[error("it shares its bytes with another member")]
    Overlap,
    /// Its bytes are not what was announced.
    #[error("its bytes are not what its header says")]
    Lies,
}

impl ArchiveError {
    /// The name of the limit that would have to be raised, if it was a limit.
    pub fn limit_name(&self) -> Option<&'static str> {
        match self {
            Self::TooMuch { name, .. } => Some(name),
            Self::Member { why: Refusal::Listing(why), .. } => why.limit_name(),
            _ => None,
        }
    }
}

/// How a member is found again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packed {
    place: ZipArchiveEntryWayfinder,
    deflated: bool,
}

/// Where the bytes of an archive are.
#[derive(Debug)]
enum Bytes {
    File(FileReader),
    Memory(Vec<u8>),
}

impl ReaderAt for Bytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read_at(buffer, offset),
            Self::Memory(bytes) => bytes.read_at(buffer, offset),
        }
    }
}

/// A zip archive that was looked through.
#[derive(Debug)]
pub struct Archive {
    zip: ZipArchive<Bytes>,
    /// What it holds.
    pub listing: Listing<Packed>,
}

impl Archive {
    /// Opens an archive and looks at every member.
    pub fn open(path: &Path, limits: &Limits) -> Result<Self, ArchiveError> {
        let (file, size) = open_file(path)?;
        Self::judge(path, (Bytes::File(FileReader::from(file)), size), limits)
    }

    /// An archive that is in memory; messages call it by this name.
    pub fn of_bytes(name: &str, bytes: Vec<u8>, limits: &Limits) -> Result<Self, ArchiveError> {
        let size = bytes.len() as u64;
        Self::judge(Path::new(name), (Bytes::Memory(bytes), size), limits)
    }

    fn judge(path: &Path, (bytes, size): (Bytes, u64), limits: &Limits) -> Result<Self, ArchiveError> {
        let broken = |why: rawzip::Error| ArchiveError::Broken { path: path.into(), why: why.to_string() };
        if size > limits.zip_bytes {
            let what = format!("the archive has {size} bytes");
            return Err(ArchiveError::TooMuch { what, limit: limits.zip_bytes, name: "zip-bytes" });
        }
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let zip = ZipLocator::new().locate_in_reader(bytes, &mut buffer, size).map_err(|(_, why)| broken(why))?;
        let claimed = zip.entries_hint();
        too_many(claimed, limits)?;
        let mut members = Vec::new();
        let mut header = vec![0; HEADER_BYTES];
        let mut entries = zip.entries(&mut buffer);
        while let Some(record) = entries.next_entry().map_err(broken)? {
            too_many(members.len() as u64 + 1, limits)?;
            members.push(
                Member::judge(&zip, &record, &mut header).map_err(|why| refused(record.file_path().as_bytes(), why))?,
            );
        }
        if members.len() as u64 != claimed {
            let why = format!("it claims {claimed} members, and has {}", members.len());
            return Err(ArchiveError::Broken { path: path.into(), why });
        }
        not_too_tight(&members, size, limits)?;
        no_overlap(&members)?;
        Ok(Self { listing: list(members, limits)?, zip })
    }

    /// The bytes of a member, checked against what its header says.
    pub fn read(&self, path: &RelPath, packed: &Packed) -> Result<Vec<u8>, ArchiveError> {
        let lies = || ArchiveError::Member { member: path.to_string(), why: Refusal::Lies };
        let entry = self.zip.get_entry(packed.place).map_err(|_| lies())?;
        let size = packed.place.uncompressed_size_hint();
        let raw = entry.reader();
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).min(RECOMMENDED_BUFFER_SIZE));
        let read = match packed.deflated {
            true => entry.verifying_reader(DeflateDecoder::new(raw)).take(size + 1).read_to_end(&mut bytes),
            false => entry.verifying_reader(raw).take(size + 1).read_to_end(&mut bytes),
        };
        match read {
            Ok(_) if bytes.len() as u64 == size => Ok(bytes),
            _ => Err(lies()),
        }
    }
}

fn open_file(path: &Path) -> Result<(File, u64), ArchiveError> {
    let failed = |e: io::Error| FileError::new("read", path, e);
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entry = DirEntry::of(path).ok_or_else(|| failed(io::ErrorKind::IsADirectory.into()))?;
    let file = Dir::open(parent)?.open_file(&entry, Follow::Links)?;
    let stamp = stamp_of(&file).map_err(failed)?;
    if stamp.kind() != EntryKind::File {
        return Err(failed(io::Error::other("it is not a regular file")).into());
    }
    Ok((file, stamp.size))
}

fn too_many(members: u64, limits: &Limits) -> Result<(), ArchiveError> {
    if members > limits.zip_entries {
        let what = format!("the archive has {members} members");
        return Err(ArchiveError::TooMuch { what, limit: limits.zip_entries, name: "zip-entries" });
    }
    Ok(())
}

fn refused(name: &[u8], why: Refusal) -> ArchiveError {
    ArchiveError::Member { member: escape_bytes(OsStr::from_bytes(name)), why }
}

/// A member whose headers were read.
struct Member {
    path: RelPath,
    is_dir: bool,
    executable: bool,
    packed: Packed,
    /// Which bytes of the archive are its own.
    range: (u64, u64),
}

impl Member {
    fn judge(zip: &ZipArchive<Bytes>, record: &ZipFileHeaderRecord<'_>, header: &mut [u8]) -> Result<Self, Refusal> {
        let raw = record.file_path();
        let is_dir = raw.as_bytes().ends_with(b"/");
        let path = RelPath::from_bytes(raw.as_bytes().strip_suffix(b"/").unwrap_or(raw.as_bytes()))?;
        match (record.mode().value() & S_IFMT, is_dir) {
            (S_IFLNK, _) => return Err(Refusal::Link),
            (0 | S_IFREG, false) | (0 | S_IFDIR, true) => {}
            _ => return Err(Refusal::Special),
        }
        let flags = record.flags();
        if flags.is_encrypted() || flags.has_strong_encryption() || flags.is_masked() {
            return Err(Refusal::Encrypted);
        }
        let method = record.compression_method();
        let deflated = method == CompressionMethod::DEFLATE;
        if !deflated && method != CompressionMethod::STORE {
            return Err(Refusal::Method);
        }
        let entry = zip.get_entry(record.wayfinder()).map_err(|_| Refusal::Headers)?;
        let local = entry.local_header(header).map_err(|_| Refusal::Headers)?;
        if local.file_path().as_bytes() != raw.as_bytes() || local.compression_method() != method {
            return Err(Refusal::Headers);
        }
        Ok(Self {
            path,
            is_dir,
            executable: record.mode().permissions() & 0o100 != 0,
            packed: Packed { place: record.wayfinder(), deflated },
            range: (record.local_header_offset(), entry.compressed_data_range().1),
        })
    }

    fn size(&self) -> u64 {
        self.packed.place.uncompressed_size_hint()
    }
}

/// Refuses what would unpack to far more than it is.
fn not_too_tight(members: &[Member], packed: u64, limits: &Limits) -> Result<(), ArchiveError> {
    let unpacked = members.iter().fold(0u64, |sum, member| sum.saturating_add(member.size()));
    if unpacked > limits.zip_bytes {
        let what = format!("the archive unpacks to {unpacked} bytes");
        return Err(ArchiveError::TooMuch { what, limit: limits.zip_bytes, name: "zip-bytes" });
    }
    if unpacked > HARMLESS_BYTES && unpacked > packed.saturating_mul(limits.zip_ratio) {
        let what = format!("the archive unpacks to {} times its size", unpacked / packed.max(1));
        return Err(ArchiveError::TooMuch { what, limit: limits.zip_ratio, name: "zip-ratio" });
    }
    Ok(())
}

/// Members that share bytes make a small archive large without end.
fn no_overlap(members: &[Member]) -> Result<(), ArchiveError> {
    let mut ordered: Vec<&Member> = members.iter().collect();
    ordered.sort_by_key(|member| member.range);
    match ordered.windows(2).find(|pair| pair[1].range.0 < pair[0].range.1) {
        Some(pair) => Err(refused(pair[1].path.as_str().as_bytes(), Refusal::Overlap)),
        None => Ok(()),
    }
}

/// The members with every folder that they lie in, whether it has a member of its own or not.
fn list(members: Vec<Member>, limits: &Limits) -> Result<Listing<Packed>, ArchiveError> {
    // The ceilings of a skill are those of a whole archive here.
    let limits = Limits { skill_entries: u64::MAX, skill_bytes: limits.zip_bytes, ..limits.clone() };
    let mut builder = ListingBuilder::new(&limits);
    let mut folders = 0;
    for member in members {
        let refuse = |why: ListingError| refused(member.path.as_str().as_bytes(), why.into());
        // A folder that no member is for counts too: deep names would make millions of them.
        folders += builder.folders_of(&member.path).map_err(refuse)?;
        too_many(folders, &limits)?;
        if !member.is_dir {
            let (executable, size) = (member.executable, member.size());
            builder.file(member.path.clone(), executable, size, member.packed).map_err(refuse)?;
        } else if !builder.has_folder(&member.path) {
            builder.dir(member.path.clone()).map_err(refuse)?;
            folders += 1;
        }
    }
    Ok(builder.finish())
}
