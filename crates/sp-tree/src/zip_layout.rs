//! The layout of a zip archive, byte by byte.
//!
//! A zip states most things twice: in a local header before the bytes of each entry, and in a
//! central directory at the end. Programs differ in which of the two they trust, and most skip
//! bytes that neither mentions, so one archive can contain different files for different programs.
//! This module accepts only archives that can be read in one way:
//!
//! ```text
//! entry… directory [zip64 end] end
//! entry: local header, compressed bytes, [data descriptor]
//! ```
//!
//! Every byte belongs to exactly one of these parts, and everything that is stated twice agrees.
//! Extra fields, times and versions may differ between the two headers: common programs write them
//! differently, and they do not affect the content.

use std::ops::Range;

use rawzip::extra_fields::{ExtraFieldId, ExtraFields};
use rawzip::{ReaderAt, ZipFileHeaderRecord};

use crate::zip_error::ZipMemberError;

const LOCAL_SIGNATURE: [u8; 4] = *b"PK\x03\x04";
const DESCRIPTOR_SIGNATURE: [u8; 4] = *b"PK\x07\x08";
const END_SIGNATURE: [u8; 4] = *b"PK\x05\x06";
const ZIP64_END_SIGNATURE: [u8; 4] = *b"PK\x06\x06";
const ZIP64_LOCATOR_SIGNATURE: [u8; 4] = *b"PK\x06\x07";

const LOCAL_HEADER_LEN: usize = 30;
const CENTRAL_HEADER_LEN: u64 = 46;
const END_LEN: usize = 22;
const ZIP64_LOCATOR_LEN: usize = 20;
const ZIP64_END_LEN: usize = 56;
const MAX_COMMENT_LEN: usize = 65_535;

/// The value of a 32-bit field whose actual value is in the zip64 extra field.
const ZIP64_MARKER_U32: u64 = 0xffff_ffff;
/// The same for a 16-bit field.
const ZIP64_MARKER_U16: u64 = 0xffff;
/// The flags that affect reading: encryption, descriptor, patch, strong encryption, UTF-8, masked
/// header.
const RELEVANT_FLAGS: u16 = 1 | DESCRIPTOR_FLAG | 1 << 5 | 1 << 6 | 1 << 11 | 1 << 13;
const DESCRIPTOR_FLAG: u16 = 1 << 3;
/// An extra field with an alternative name.
const UNICODE_PATH_FIELD_ID: u16 = 0x7075;
/// The version and checksum before the name in it.
const UNICODE_PATH_HEADER_LEN: usize = 5;

fn le_uint<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    let mut value = [0; 8];
    if let Some(field) = bytes.get(at..at + N) {
        value[..N].copy_from_slice(field);
    }
    u64::from_le_bytes(value)
}

/// The content of the records at the end of an archive.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ZipEndRecord {
    /// The position of the end record itself.
    pub offset: u64,
    /// The number of entries.
    pub entries: u64,
    /// The span of the central directory.
    pub directory: Range<u64>,
}

impl ZipEndRecord {
    /// Finds the end of an archive of `size` bytes. Fails if there is none, if there are two, or if
    /// it does not match the archive.
    pub(crate) fn find(bytes: &impl ReaderAt, size: u64) -> Result<Self, String> {
        let tail_len = size.min((END_LEN + MAX_COMMENT_LEN + ZIP64_LOCATOR_LEN) as u64);
        let tail =
            read_range(bytes, size - tail_len, usize::try_from(tail_len).unwrap_or(usize::MAX))?;
        let at = find_end_record(&tail)?;
        let (before, record) = tail.split_at(at);
        let offset = size - tail_len + at as u64;
        let [disk, directory_disk, here, entries] =
            [4, 6, 8, 10].map(|field| le_uint::<2>(record, field));
        let (length, start) = (le_uint::<4>(record, 12), le_uint::<4>(record, 16));
        if here != entries {
            return Err(SPLIT_ARCHIVE.into());
        }
        let locator = before.len().checked_sub(ZIP64_LOCATOR_LEN).map(|at| &before[at..]);
        let Some(locator) = locator.filter(|locator| locator.starts_with(&ZIP64_LOCATOR_SIGNATURE))
        else {
            check_disks(&[disk, directory_disk])?;
            let directory = start..start + length;
            return Self { offset, entries, directory }.ensure_followed_by(offset);
        };
        let agrees = |short: u64, marker: u64, long: u64| short == marker || short == long;
        let end = Self::read_zip64(bytes, locator, offset)?;
        let agree = agrees(disk, ZIP64_MARKER_U16, 0)
            && agrees(directory_disk, ZIP64_MARKER_U16, 0)
            && agrees(entries, ZIP64_MARKER_U16, end.entries)
            && agrees(length, ZIP64_MARKER_U32, end.directory.end - end.directory.start)
            && agrees(start, ZIP64_MARKER_U32, end.directory.start);
        if !agree {
            return Err("its two end records disagree".into());
        }
        Ok(end)
    }

    /// Reads the zip64 end record of an archive whose end record is at `offset`.
    fn read_zip64(bytes: &impl ReaderAt, locator: &[u8], offset: u64) -> Result<Self, String> {
        // Some programs write 0 for the number of disks, others 1.
        check_disks(&[le_uint::<4>(locator, 4), le_uint::<4>(locator, 16).saturating_sub(1)])?;
        let at = le_uint::<8>(locator, 8);
        let record = read_range(bytes, at, ZIP64_END_LEN)?;
        let record_end =
            at.checked_add(12).and_then(|start| start.checked_add(le_uint::<8>(&record, 4)));
        if !record.starts_with(&ZIP64_END_SIGNATURE)
            || record_end != offset.checked_sub(ZIP64_LOCATOR_LEN as u64)
        {
            return Err("its zip64 end record is not where its locator says".into());
        }
        check_disks(&[le_uint::<4>(&record, 16), le_uint::<4>(&record, 20)])?;
        let [here, entries, length, start] =
            [24, 32, 40, 48].map(|field| le_uint::<8>(&record, field));
        if here != entries {
            return Err(SPLIT_ARCHIVE.into());
        }
        let end = start.checked_add(length).ok_or(MISPLACED_DIRECTORY)?;
        Self { offset, entries, directory: start..end }.ensure_followed_by(at)
    }

    /// Checks that the central directory ends where the next record starts.
    fn ensure_followed_by(self, next: u64) -> Result<Self, String> {
        if self.directory.end == next { Ok(self) } else { Err(MISPLACED_DIRECTORY.into()) }
    }
}

const MISPLACED_DIRECTORY: &str = "its directory is not where its end record says";
const SPLIT_ARCHIVE: &str = "it is one part of several";

fn check_disks(numbers: &[u64]) -> Result<(), String> {
    if numbers.iter().all(|number| *number == 0) {
        Ok(())
    } else {
        Err(format!("{SPLIT_ARCHIVE}: a disk number is not 0"))
    }
}

fn read_range(bytes: &impl ReaderAt, offset: u64, length: usize) -> Result<Vec<u8>, String> {
    let mut read = vec![0; length];
    bytes.read_exact_at(&mut read, offset).map_err(|_| "it is cut off".to_owned())?;
    Ok(read)
}

/// Finds the end record in the last bytes of an archive.
///
/// Programs search backward. Some use the first signature they find, others the first whose comment
/// extends exactly to the end of the file: both must find the same record.
fn find_end_record(tail: &[u8]) -> Result<usize, String> {
    let is_end = |at: &usize| tail[*at..].starts_with(&END_SIGNATURE);
    let Some(last) = (0..(tail.len() + 1).saturating_sub(END_LEN)).rev().find(is_end) else {
        return Err("it has no end record".into());
    };
    let reaches_end = |at: usize| at + END_LEN + le_uint::<2>(tail, at + 20) as usize == tail.len();
    if !reaches_end(last) {
        return Err("it has bytes after its end record, or an end record in its comment".into());
    }
    let mut others = (0..last).filter(is_end);
    if others.any(reaches_end) { Err("it has two end records".into()) } else { Ok(last) }
}

/// The span of an entry's bytes, and whether a descriptor follows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ZipMemberExtent {
    /// Where the local header starts.
    pub start: u64,
    /// Where the compressed bytes end.
    pub end: u64,
    has_descriptor: bool,
    pub crc: u32,
    pub compressed: u64,
    pub size: u64,
}

impl ZipMemberExtent {
    /// Reads the local header of an entry and compares it with the record in the central directory.
    pub(crate) fn read(
        bytes: &impl ReaderAt,
        record: &ZipFileHeaderRecord<'_>,
    ) -> Result<Self, ZipMemberError> {
        let start = record.local_header_offset();
        let header = read_local_part(bytes, start, LOCAL_HEADER_LEN)?;
        if !header.starts_with(&LOCAL_SIGNATURE) {
            return Err(ZipMemberError::HeaderMismatch { field: "position" });
        }
        let (name_len, extra_len) =
            (le_uint::<2>(&header, 26) as usize, le_uint::<2>(&header, 28) as usize);
        let names = start.saturating_add(LOCAL_HEADER_LEN as u64);
        let variable = read_local_part(bytes, names, name_len + extra_len)?;
        let (name, extra) = variable.split_at(name_len);
        let flags = record.flags().bits();
        let extent = Self {
            start,
            end: names
                .saturating_add(variable.len() as u64)
                .saturating_add(record.compressed_size_hint()),
            has_descriptor: flags & DESCRIPTOR_FLAG != 0,
            crc: record.crc32(),
            compressed: record.compressed_size_hint(),
            size: record.uncompressed_size_hint(),
        };
        let agree = |field: &'static str, same: bool| {
            if same { Ok(()) } else { Err(ZipMemberError::HeaderMismatch { field }) }
        };
        agree("name", name == record.file_path().as_bytes())?;
        agree(
            "flags",
            (le_uint::<2>(&header, 6) ^ u64::from(flags)) & u64::from(RELEVANT_FLAGS) == 0,
        )?;
        agree(
            "compression method",
            le_uint::<2>(&header, 8) == u64::from(record.compression_method().as_u16()),
        )?;
        let (size, compressed) = local_sizes(&header, extra);
        agree("checksum", extent.matches_local(le_uint::<4>(&header, 14), u64::from(extent.crc)))?;
        agree("compressed size", extent.matches_local(compressed, extent.compressed))?;
        agree("size", extent.matches_local(size, extent.size))?;
        check_extra_fields(record.extra_fields(), name)?;
        check_extra_fields(ExtraFields::new(extra), name)?;
        Ok(extent)
    }

    /// Whether a local field has the right value. An entry with a descriptor may leave it empty.
    fn matches_local(&self, local: u64, central: u64) -> bool {
        local == central || (self.has_descriptor && local == 0)
    }

    /// Whether exactly the entry's data descriptor, if it has one, is between its end and `next`.
    pub(crate) fn is_adjacent_to(&self, bytes: &impl ReaderAt, next: u64) -> bool {
        let Some(gap) = next.checked_sub(self.end) else { return false };
        if !self.has_descriptor {
            return gap == 0;
        }
        // With or without a signature, with sizes of 32 or 64 bits.
        let (signed, wide) = match gap {
            12 => (false, false),
            16 => (true, false),
            20 => (false, true),
            24 => (true, true),
            _ => return false,
        };
        let Ok(descriptor) = read_range(bytes, self.end, usize::try_from(gap).unwrap_or_default())
        else {
            return false;
        };
        let fields = if signed { &descriptor[DESCRIPTOR_SIGNATURE.len()..] } else { &descriptor };
        let sizes = if wide {
            (le_uint::<8>(fields, 4), le_uint::<8>(fields, 12))
        } else {
            (le_uint::<4>(fields, 4), le_uint::<4>(fields, 8))
        };
        (!signed || descriptor.starts_with(&DESCRIPTOR_SIGNATURE))
            && le_uint::<4>(fields, 0) == u64::from(self.crc)
            && sizes == (self.compressed, self.size)
    }
}

fn read_local_part(
    bytes: &impl ReaderAt,
    offset: u64,
    length: usize,
) -> Result<Vec<u8>, ZipMemberError> {
    read_range(bytes, offset, length)
        .map_err(|_| ZipMemberError::HeaderMismatch { field: "position" })
}

/// The uncompressed and compressed size in a local header.
fn local_sizes(header: &[u8], extra: &[u8]) -> (u64, u64) {
    let (compressed, size) = (le_uint::<4>(header, 18), le_uint::<4>(header, 22));
    let zip64 =
        ExtraFields::new(extra).find(|(id, _)| *id == ExtraFieldId::ZIP64).map(|(_, data)| data);
    let Some(zip64) = zip64 else { return (size, compressed) };
    // Normally both are present; if only one is, it is the one whose own field has the marker.
    let compressed_at = if zip64.len() >= 16 || size == ZIP64_MARKER_U32 { 8 } else { 0 };
    let wide = |short: u64, at: usize| {
        if short == ZIP64_MARKER_U32 { le_uint::<8>(zip64, at) } else { short }
    };
    (wide(size, 0), wide(compressed, compressed_at))
}

/// Rejects extra fields that would give the entry another name or other sizes in another program.
fn check_extra_fields(fields: ExtraFields<'_>, name: &[u8]) -> Result<(), ZipMemberError> {
    let mut has_zip64 = false;
    for (id, data) in fields {
        if id.as_u16() == UNICODE_PATH_FIELD_ID && data.get(UNICODE_PATH_HEADER_LEN..) != Some(name)
        {
            return Err(ZipMemberError::ConflictingName);
        }
        if id == ExtraFieldId::ZIP64 && std::mem::replace(&mut has_zip64, true) {
            return Err(ZipMemberError::HeaderMismatch { field: "zip64 extra fields" });
        }
    }
    Ok(())
}

/// The length of a record in the central directory.
pub(crate) fn record_len(record: &ZipFileHeaderRecord<'_>) -> u64 {
    let variable = record.file_path().as_bytes().len()
        + record.extra_fields().remaining_bytes().len()
        + record.comment().as_bytes().len();
    CENTRAL_HEADER_LEN + variable as u64
}

/// Rejects a record that refers to another disk.
pub(crate) fn check_record_disk(
    bytes: &impl ReaderAt,
    record: &ZipFileHeaderRecord<'_>,
) -> Result<(), ZipMemberError> {
    let field = read_local_part(bytes, record.central_directory_offset().saturating_add(34), 2)?;
    match le_uint::<2>(&field, 0) {
        0 => Ok(()),
        _ => Err(ZipMemberError::NonzeroDisk),
    }
}
