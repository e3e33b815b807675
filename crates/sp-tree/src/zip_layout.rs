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

fn le_uint<const N: usize>(bytes: &[u8], offset: usize) -> u64 {
    let mut value = [0; 8];
    if let Some(field) = bytes.get(offset..offset + N) {
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
        let tail_start = size - tail_len;
        let tail = read_range(bytes, tail_start, usize::try_from(tail_len).unwrap_or(usize::MAX))?;
        let index = find_end_record(&tail)?;
        let (before, record) = tail.split_at(index);
        let offset = tail_start + index as u64;
        let short = ShortEndRecord::read(record)?;
        let locator = before.len().checked_sub(ZIP64_LOCATOR_LEN).map(|start| &before[start..]);
        let Some(locator) = locator.filter(|locator| locator.starts_with(&ZIP64_LOCATOR_SIGNATURE))
        else {
            check_disks(&[short.disk, short.directory_disk])?;
            let directory = short.directory_start..short.directory_start + short.directory_len;
            return Self { offset, entries: short.entries, directory }.ensure_followed_by(offset);
        };
        let end = Self::read_zip64(bytes, locator, offset)?;
        if !short.agrees_with(&end) {
            return Err("the two end records do not match".into());
        }
        Ok(end)
    }

    /// Reads the zip64 end record of an archive whose end record is at `offset`.
    fn read_zip64(bytes: &impl ReaderAt, locator: &[u8], offset: u64) -> Result<Self, String> {
        // Some programs write 0 for the number of disks, others 1.
        check_disks(&[le_uint::<4>(locator, 4), le_uint::<4>(locator, 16).saturating_sub(1)])?;
        let record_start = le_uint::<8>(locator, 8);
        let record = read_range(bytes, record_start, ZIP64_END_LEN)?;
        let record_end = record_start
            .checked_add(12)
            .and_then(|start| start.checked_add(le_uint::<8>(&record, 4)));
        if !record.starts_with(&ZIP64_END_SIGNATURE)
            || record_end != offset.checked_sub(ZIP64_LOCATOR_LEN as u64)
        {
            return Err("the zip64 end record is not at the position given in its locator".into());
        }
        check_disks(&[le_uint::<4>(&record, 16), le_uint::<4>(&record, 20)])?;
        let [entries_on_disk, entries, length, start] =
            [24, 32, 40, 48].map(|field| le_uint::<8>(&record, field));
        if entries_on_disk != entries {
            return Err(SPLIT_ARCHIVE.into());
        }
        let end = start.checked_add(length).ok_or(MISPLACED_DIRECTORY)?;
        Self { offset, entries, directory: start..end }.ensure_followed_by(record_start)
    }

    /// Checks that the central directory ends where the next record starts.
    fn ensure_followed_by(self, next: u64) -> Result<Self, String> {
        if self.directory.end == next { Ok(self) } else { Err(MISPLACED_DIRECTORY.into()) }
    }
}

const MISPLACED_DIRECTORY: &str =
    "the central directory is not at the position given in the end record";
const SPLIT_ARCHIVE: &str = "split archives are not supported";

/// The fields of the end record that every archive has. A field that is too small for its value
/// has a marker instead, and the value is in the zip64 end record.
struct ShortEndRecord {
    disk: u64,
    directory_disk: u64,
    entries: u64,
    directory_len: u64,
    directory_start: u64,
}

impl ShortEndRecord {
    fn read(record: &[u8]) -> Result<Self, String> {
        let [disk, directory_disk, entries_on_disk, entries] =
            [4, 6, 8, 10].map(|field| le_uint::<2>(record, field));
        if entries_on_disk != entries {
            return Err(SPLIT_ARCHIVE.into());
        }
        let (directory_len, directory_start) = (le_uint::<4>(record, 12), le_uint::<4>(record, 16));
        Ok(Self { disk, directory_disk, entries, directory_len, directory_start })
    }

    /// Whether every field has its marker or the value of the zip64 record.
    fn agrees_with(&self, long: &ZipEndRecord) -> bool {
        let agrees = |short: u64, marker: u64, long: u64| short == marker || short == long;
        let directory_len = long.directory.end - long.directory.start;
        agrees(self.disk, ZIP64_MARKER_U16, 0)
            && agrees(self.directory_disk, ZIP64_MARKER_U16, 0)
            && agrees(self.entries, ZIP64_MARKER_U16, long.entries)
            && agrees(self.directory_len, ZIP64_MARKER_U32, directory_len)
            && agrees(self.directory_start, ZIP64_MARKER_U32, long.directory.start)
    }
}

fn check_disks(numbers: &[u64]) -> Result<(), String> {
    if numbers.iter().all(|number| *number == 0) {
        Ok(())
    } else {
        Err(format!("{SPLIT_ARCHIVE}: a disk number is not 0"))
    }
}

fn read_range(bytes: &impl ReaderAt, offset: u64, length: usize) -> Result<Vec<u8>, String> {
    let mut read = vec![0; length];
    bytes.read_exact_at(&mut read, offset).map_err(|_| "the archive is truncated".to_owned())?;
    Ok(read)
}

/// Finds the end record in the last bytes of an archive.
///
/// Programs search backward. Some use the first signature they find, others the first whose comment
/// extends exactly to the end of the file: both must find the same record.
fn find_end_record(tail: &[u8]) -> Result<usize, String> {
    let is_end = |index: &usize| tail[*index..].starts_with(&END_SIGNATURE);
    let Some(last) = (0..(tail.len() + 1).saturating_sub(END_LEN)).rev().find(is_end) else {
        return Err("the end record is missing".into());
    };
    let reaches_end =
        |index: usize| index + END_LEN + le_uint::<2>(tail, index + 20) as usize == tail.len();
    if !reaches_end(last) {
        return Err("there is data after the end record, or an end record in the comment".into());
    }
    let mut others = (0..last).filter(is_end);
    if others.any(reaches_end) { Err("there are two end records".into()) } else { Ok(last) }
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
        let local = LocalHeader::read(bytes, record.local_header_offset())?;
        let extent = Self {
            start: record.local_header_offset(),
            end: local.end.saturating_add(record.compressed_size_hint()),
            has_descriptor: record.flags().bits() & DESCRIPTOR_FLAG != 0,
            crc: record.crc32(),
            compressed: record.compressed_size_hint(),
            size: record.uncompressed_size_hint(),
        };
        extent.check_agreement(&local, record)?;
        check_extra_fields(record.extra_fields(), local.name())?;
        check_extra_fields(ExtraFields::new(local.extra()), local.name())?;
        Ok(extent)
    }

    /// Rejects an entry whose two headers differ in a field that affects its content.
    fn check_agreement(
        &self,
        local: &LocalHeader,
        record: &ZipFileHeaderRecord<'_>,
    ) -> Result<(), ZipMemberError> {
        let agree = |field: &'static str, same: bool| {
            if same { Ok(()) } else { Err(ZipMemberError::HeaderMismatch { field }) }
        };
        let fixed = &local.fixed;
        let flags = le_uint::<2>(fixed, 6) ^ u64::from(record.flags().bits());
        let method = u64::from(record.compression_method().as_u16());
        let (size, compressed) = local_sizes(fixed, local.extra());
        agree("name", local.name() == record.file_path().as_bytes())?;
        agree("flags", flags & u64::from(RELEVANT_FLAGS) == 0)?;
        agree("compression method", le_uint::<2>(fixed, 8) == method)?;
        agree("checksum", self.matches_local(le_uint::<4>(fixed, 14), u64::from(self.crc)))?;
        agree("compressed size", self.matches_local(compressed, self.compressed))?;
        agree("size", self.matches_local(size, self.size))
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

/// The header before the bytes of an entry.
struct LocalHeader {
    /// The fields whose length is always the same.
    fixed: Vec<u8>,
    /// The name, then the extra fields.
    variable: Vec<u8>,
    name_len: usize,
    /// Where the entry's bytes start.
    end: u64,
}

impl LocalHeader {
    fn read(bytes: &impl ReaderAt, start: u64) -> Result<Self, ZipMemberError> {
        let fixed = read_local_part(bytes, start, LOCAL_HEADER_LEN)?;
        if !fixed.starts_with(&LOCAL_SIGNATURE) {
            return Err(ZipMemberError::HeaderMismatch { field: "position" });
        }
        let (name_len, extra_len) =
            (le_uint::<2>(&fixed, 26) as usize, le_uint::<2>(&fixed, 28) as usize);
        let variable_start = start.saturating_add(LOCAL_HEADER_LEN as u64);
        let variable = read_local_part(bytes, variable_start, name_len + extra_len)?;
        let end = variable_start.saturating_add(variable.len() as u64);
        Ok(Self { fixed, variable, name_len, end })
    }

    fn name(&self) -> &[u8] {
        &self.variable[..self.name_len]
    }

    fn extra(&self) -> &[u8] {
        &self.variable[self.name_len..]
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
    let compressed_offset = if zip64.len() >= 16 || size == ZIP64_MARKER_U32 { 8 } else { 0 };
    let wide = |short: u64, offset: usize| {
        if short == ZIP64_MARKER_U32 { le_uint::<8>(zip64, offset) } else { short }
    };
    (wide(size, 0), wide(compressed, compressed_offset))
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
