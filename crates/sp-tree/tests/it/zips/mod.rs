//! Builds zip archives byte by byte, with arbitrary header fields, and unpacks them.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use sp_tree::{Archive, ArchiveError, Limits, ListingKind, ZipMemberError};
use tempfile::TempDir;

pub(crate) const UNIX: u16 = 3 << 8;
pub(crate) const DOS: u16 = 0;
pub(crate) const STORED: u16 = 0;
pub(crate) const DEFLATED: u16 = 8;
pub(crate) const ENCRYPTED: u16 = 1;
pub(crate) const DESCRIPTOR: u16 = 1 << 3;
pub(crate) const UTF_8: u16 = 1 << 11;
pub(crate) const GIB: u64 = 1 << 30;

/// A member and the fields of its two headers.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) name: Vec<u8>,
    pub(crate) local_name: Option<Vec<u8>>,
    /// The bytes in the archive, compressed or not.
    pub(crate) packed: Vec<u8>,
    pub(crate) size: u64,
    pub(crate) crc: u32,
    pub(crate) method: u16,
    pub(crate) local_method: Option<u16>,
    pub(crate) flags: u16,
    pub(crate) creator: u16,
    pub(crate) mode: u32,
    /// Whether the sizes are in a zip64 extra field.
    pub(crate) zip64: bool,
    /// The offset of the local header in the central one, if it is not the real one.
    pub(crate) offset: Option<u32>,
    /// Extra fields of the local and the central header, each with its ID and length.
    pub(crate) local_extra: Vec<u8>,
    pub(crate) extra: Vec<u8>,
    /// Replacements for the flags, and for checksum, packed size and size, in the local header.
    pub(crate) local_flags: Option<u16>,
    pub(crate) local_sums: Option<[u32; 3]>,
    /// The bytes of the data descriptor; by default the correct ones.
    pub(crate) descriptor: Option<Vec<u8>>,
    pub(crate) disk: u16,
}

pub(crate) fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

pub(crate) fn stored(name: impl AsRef<[u8]>, bytes: &[u8]) -> Member {
    Member {
        name: name.as_ref().into(),
        local_name: None,
        packed: bytes.into(),
        size: bytes.len() as u64,
        crc: crc(bytes),
        method: STORED,
        local_method: None,
        flags: 0,
        creator: UNIX,
        mode: 0o100_644,
        zip64: false,
        offset: None,
        local_extra: Vec::new(),
        extra: Vec::new(),
        local_flags: None,
        local_sums: None,
        descriptor: None,
        disk: 0,
    }
}

pub(crate) fn deflated(name: impl AsRef<[u8]>, bytes: &[u8]) -> Member {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    Member { packed: encoder.finish().unwrap(), method: DEFLATED, ..stored(name, bytes) }
}

pub(crate) fn folder(name: &str) -> Member {
    Member { mode: 0o040_755, ..stored(name, b"") }
}

/// Fields of the end record.
#[derive(Default)]
pub(crate) struct EndRecord {
    /// The number of members, if it is not the real one.
    pub(crate) claimed: Option<u64>,
    pub(crate) zip64: bool,
    pub(crate) comment: Vec<u8>,
}

/// Writes little-endian numbers.
pub(crate) struct ByteWriter(pub(crate) Vec<u8>);

impl ByteWriter {
    pub(crate) fn u16s(&mut self, values: &[u16]) -> &mut Self {
        values.iter().for_each(|value| self.0.extend(value.to_le_bytes()));
        self
    }
    pub(crate) fn u32s(&mut self, values: &[u32]) -> &mut Self {
        values.iter().for_each(|value| self.0.extend(value.to_le_bytes()));
        self
    }
    pub(crate) fn u64s(&mut self, values: &[u64]) -> &mut Self {
        values.iter().for_each(|value| self.0.extend(value.to_le_bytes()));
        self
    }
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend(bytes);
        self
    }
}

impl Member {
    /// Returns the local header, the packed bytes and the data descriptor.
    pub(crate) fn local(&self) -> Vec<u8> {
        let name = self.local_name.as_ref().unwrap_or(&self.name);
        let mut out = ByteWriter(Vec::new());
        let has_descriptor = self.flags & DESCRIPTOR != 0;
        let mut extra = ByteWriter(self.local_extra.clone());
        let sums = if has_descriptor {
            [0; 3]
        } else if self.zip64 {
            extra.u16s(&[1, 16]).u64s(&[self.size, self.packed.len() as u64]);
            [self.crc, u32::MAX, u32::MAX]
        } else {
            [self.crc, self.packed_size(), self.size as u32]
        };
        let flags = self.local_flags.unwrap_or(self.flags);
        out.u32s(&[0x0403_4b50]).u16s(&[20, flags, self.local_method.unwrap_or(self.method), 0, 0]);
        out.u32s(&self.local_sums.unwrap_or(sums)).u16s(&[name.len() as u16, extra.0.len() as u16]);
        out.bytes(name).bytes(&extra.0).bytes(&self.packed);
        match &self.descriptor {
            Some(bytes) => out.bytes(bytes),
            None if has_descriptor => {
                out.u32s(&[0x0807_4b50, self.crc, self.packed_size(), self.size as u32])
            }
            None => &mut out,
        };
        out.0
    }

    pub(crate) fn packed_size(&self) -> u32 {
        self.packed.len() as u32
    }

    pub(crate) fn central(&self, offset: usize) -> Vec<u8> {
        let mut out = ByteWriter(Vec::new());
        let sizes = if self.zip64 { [u32::MAX; 2] } else { [self.packed_size(), self.size as u32] };
        let mut extra = ByteWriter(self.extra.clone());
        if self.zip64 {
            extra.u16s(&[1, 16]).u64s(&[self.size, self.packed.len() as u64]);
        }
        out.u32s(&[0x0201_4b50])
            .u16s(&[self.creator | 45, 45, self.flags, self.method, 0, 0])
            .u32s(&[self.crc]);
        out.u32s(&sizes).u16s(&[self.name.len() as u16, extra.0.len() as u16, 0, self.disk, 0]);
        out.u32s(&[self.mode << 16, self.offset.unwrap_or(offset as u32)])
            .bytes(&self.name)
            .bytes(&extra.0);
        out.0
    }
}

/// Returns the end records, which follow the central directory.
pub(crate) fn end_records(start: usize, size: usize, count: usize, end: &EndRecord) -> Vec<u8> {
    let mut out = ByteWriter(Vec::new());
    let claimed = end.claimed.unwrap_or(count as u64);
    if end.zip64 {
        out.u32s(&[0x0606_4b50]).u64s(&[44]).u16s(&[45, 45]).u32s(&[0, 0]);
        out.u64s(&[claimed, claimed, size as u64, start as u64]);
        out.u32s(&[0x0706_4b50, 0]).u64s(&[(start + size) as u64]).u32s(&[1]);
    }
    let count_field = if end.zip64 { u16::MAX } else { claimed as u16 };
    let directory_fields = if end.zip64 { [u32::MAX; 2] } else { [size as u32, start as u32] };
    out.u32s(&[0x0605_4b50]).u16s(&[0, 0, count_field, count_field]).u32s(&directory_fields);
    out.u16s(&[end.comment.len() as u16]).bytes(&end.comment);
    out.0
}

pub(crate) fn zip_with(members: &[Member], end: &EndRecord) -> Vec<u8> {
    let mut zip = Vec::new();
    let mut central = Vec::new();
    for member in members {
        central.extend(member.central(zip.len()));
        zip.extend(member.local());
    }
    let start = zip.len();
    zip.extend(&central);
    zip.extend(end_records(start, central.len(), members.len(), end));
    zip
}

pub(crate) fn zip(members: &[Member]) -> Vec<u8> {
    zip_with(members, &EndRecord::default())
}

/// The executable bit and the bytes of a file; `None` for a directory.
pub(crate) type EntryContent = Option<(bool, Vec<u8>)>;
/// Unpacked entries by path.
pub(crate) type Unpacked = BTreeMap<String, EntryContent>;

pub(crate) fn unpack_file(path: &Path, limits: &Limits) -> Result<Unpacked, ArchiveError> {
    let archive = Archive::open(path, limits)?;
    let mut unpacked = Unpacked::new();
    for entry in &archive.listing.entries {
        let content = match &entry.kind {
            ListingKind::Dir => None,
            ListingKind::File { executable, size, handle } => {
                let bytes = archive.read(&entry.path, handle)?;
                assert_eq!(bytes.len() as u64, *size, "{}", entry.path);
                Some((*executable, bytes))
            }
        };
        unpacked.insert(entry.path.to_string(), content);
    }
    Ok(unpacked)
}

pub(crate) fn unpack_with(bytes: &[u8], limits: &Limits) -> Result<Unpacked, ArchiveError> {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("skills.zip");
    std::fs::write(&path, bytes).unwrap();
    unpack_file(&path, limits)
}

pub(crate) fn unpack(bytes: &[u8]) -> Result<Unpacked, ArchiveError> {
    unpack_with(bytes, &Limits::default())
}

/// Returns why a member of the archive is rejected.
#[track_caller]
pub(crate) fn member_error(bytes: &[u8]) -> ZipMemberError {
    match unpack(bytes) {
        Err(ArchiveError::Member { why, .. }) => why,
        other => panic!("no member was rejected: {other:?}"),
    }
}

pub(crate) fn file(executable: bool, bytes: &[u8]) -> EntryContent {
    Some((executable, bytes.into()))
}

pub(crate) fn tree<const N: usize>(entries: [(&str, EntryContent); N]) -> Unpacked {
    entries.into_iter().map(|(path, content)| (path.into(), content)).collect()
}
