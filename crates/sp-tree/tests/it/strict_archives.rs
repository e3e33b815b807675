//! Archives that two programs could read differently are rejected, each for its own reason.

use std::collections::BTreeSet;

use sp_tree::{ArchiveError, ZipMemberError};

use crate::zips::*;

/// A reason to reject an archive as a whole.
#[derive(Debug, Clone, Copy)]
enum Defect {
    LeadingBytes,
    /// Bytes after a member that are neither a member nor its data descriptor.
    UnownedBytes,
    TrailingBytes,
    MisplacedDirectory,
    MisplacedZip64End,
    TwoEndRecords,
    ConflictingEndRecords,
    /// The numbers of members on this disk and on all disks differ.
    SplitArchive,
    NonzeroDisk,
}

const DEFECTS: [Defect; 9] = [
    Defect::LeadingBytes,
    Defect::UnownedBytes,
    Defect::TrailingBytes,
    Defect::MisplacedDirectory,
    Defect::MisplacedZip64End,
    Defect::TwoEndRecords,
    Defect::ConflictingEndRecords,
    Defect::SplitArchive,
    Defect::NonzeroDisk,
];

impl Defect {
    /// Returns an archive that has this defect and no other.
    fn sample(self) -> Vec<u8> {
        match self {
            Self::LeadingBytes => with_bytes_before(&[good()], 0, b"x"),
            Self::UnownedBytes => with_bytes_before(&[good()], 1, b"x"),
            Self::TrailingBytes => [zip(&[good()]).as_slice(), b"x"].concat(),
            Self::MisplacedDirectory => with_bytes_before_end(&zip(&[good()]), END_LEN),
            Self::MisplacedZip64End => with_bytes_before_end(&zip64(), END_LEN + LOCATOR_LEN),
            Self::TwoEndRecords => {
                let comment = end_records(0, 0, 0, &EndRecord::default());
                zip_with(&[good()], &EndRecord { comment, ..EndRecord::default() })
            }
            Self::ConflictingEndRecords => {
                let mut bytes = zip64();
                let directory_size = bytes.len() - END_LEN + 12;
                bytes[directory_size..directory_size + 4].copy_from_slice(&[9, 0, 0, 0]);
                bytes
            }
            Self::SplitArchive => with_end_field(8, 0),
            Self::NonzeroDisk => with_end_field(4, 1),
        }
    }
}

/// Returns why an archive is rejected as a whole.
#[track_caller]
fn reason(bytes: &[u8]) -> String {
    match unpack(bytes) {
        Err(ArchiveError::Broken { why, .. }) => why,
        other => panic!("not rejected as a whole: {other:?}"),
    }
}

fn without_numbers(text: &str) -> String {
    text.replace(|c: char| c.is_ascii_digit(), "")
}

/// Asserts that the reason is that of the defect, apart from numbers.
#[track_caller]
fn assert_defect(bytes: &[u8], defect: Defect) {
    let expected = without_numbers(&reason(&defect.sample()));
    assert_eq!(without_numbers(&reason(bytes)), expected, "{defect:?}");
}

#[test]
fn se_06_each_archive_defect_has_its_own_reason() {
    let reasons: BTreeSet<String> =
        DEFECTS.map(|defect| without_numbers(&reason(&defect.sample()))).into();
    assert_eq!(reasons.len(), DEFECTS.len(), "{reasons:#?}");
}

const END_LEN: usize = 22;
const LOCATOR_LEN: usize = 20;
const ZIP64_END_LEN: usize = 56;

fn good() -> Member {
    deflated("a", b"aaaaaaaaaaaaaaaaaaaa")
}

fn zip64() -> Vec<u8> {
    zip_with(&[good()], &EndRecord { zip64: true, ..EndRecord::default() })
}

fn with_descriptor() -> Member {
    Member { flags: DESCRIPTOR, ..good() }
}

fn extra(id: u16, data: &[u8]) -> Vec<u8> {
    let mut out = ByteWriter(Vec::new());
    out.u16s(&[id, data.len() as u16]).bytes(data);
    out.0
}

fn zip64_extra(values: &[u64]) -> Vec<u8> {
    let mut out = ByteWriter(Vec::new());
    out.u64s(values);
    extra(1, &out.0)
}

fn unicode_path(checksummed_name: &str, name: &str) -> Vec<u8> {
    extra(
        0x7075,
        &[&[1], &crc(checksummed_name.as_bytes()).to_le_bytes()[..], name.as_bytes()].concat(),
    )
}

/// Returns an archive with `hidden` before a member or before the directory, and correct offsets.
fn with_bytes_before(members: &[Member], index: usize, hidden: &[u8]) -> Vec<u8> {
    let (mut zip, mut central) = (Vec::new(), Vec::new());
    for (number, member) in members.iter().enumerate() {
        if number == index {
            zip.extend(hidden);
        }
        central.extend(member.central(zip.len()));
        zip.extend(member.local());
    }
    if index == members.len() {
        zip.extend(hidden);
    }
    let start = zip.len();
    zip.extend(&central);
    zip.extend(end_records(start, central.len(), members.len(), &EndRecord::default()));
    zip
}

/// Inserts a byte this far before the end of an archive.
fn with_bytes_before_end(archive: &[u8], distance: usize) -> Vec<u8> {
    let (start, rest) = archive.split_at(archive.len() - distance);
    [start, b"x", rest].concat()
}

/// Returns an archive with another number at an offset of its end record.
fn with_end_field(field: usize, value: u16) -> Vec<u8> {
    let mut bytes = zip(&[good()]);
    let offset = bytes.len() - END_LEN + field;
    bytes[offset..offset + 2].copy_from_slice(&value.to_le_bytes());
    bytes
}

#[test]
fn se_06_mismatched_header_fields_are_reported() {
    let member = good();
    let packed = member.packed.len() as u32;
    for (field, changed) in [
        ("name", Member { local_name: Some("b".into()), ..good() }),
        ("compression method", Member { local_method: Some(STORED), ..good() }),
        ("flags", Member { local_flags: Some(UTF_8), ..good() }),
        ("flags", Member { local_flags: Some(DESCRIPTOR), ..good() }),
        ("flags", Member { local_flags: Some(ENCRYPTED), ..good() }),
        ("flags", Member { local_flags: Some(0), ..with_descriptor() }),
        ("checksum", Member { local_sums: Some([1, packed, 20]), ..good() }),
        ("checksum", Member { local_sums: Some([0, packed, 20]), ..good() }),
        ("compressed size", Member { local_sums: Some([member.crc, packed + 1, 20]), ..good() }),
        ("compressed size", Member { local_sums: Some([member.crc, 0, 20]), ..good() }),
        ("size", Member { local_sums: Some([member.crc, packed, 21]), ..good() }),
        ("checksum", Member { local_sums: Some([1, 0, 0]), ..with_descriptor() }),
        ("compressed size", Member { local_sums: Some([0, 1, 0]), ..with_descriptor() }),
        ("size", Member { local_sums: Some([0, 0, 1]), ..with_descriptor() }),
        (
            "size",
            Member {
                local_sums: Some([member.crc, packed, u32::MAX]),
                local_extra: zip64_extra(&[21, packed.into()]),
                ..good()
            },
        ),
        ("size", Member { local_sums: Some([member.crc, packed, u32::MAX]), ..good() }),
        (
            "zip64 extra fields",
            Member { extra: zip64_extra(&[20, packed.into()]).repeat(2), ..good() },
        ),
        ("position", Member { offset: Some(1), ..good() }),
    ] {
        assert_eq!(
            member_error(&zip(&[changed])),
            ZipMemberError::HeaderMismatch { field },
            "{field}"
        );
    }
}

#[test]
fn sb_12_header_differences_of_common_programs_are_accepted() {
    let (expected, member) = (unpack(&zip(&[good()])).unwrap(), good());
    let (packed, size) = (member.packed.len() as u32, member.size as u32);
    let sums = Some([member.crc, packed, size]);
    let zip64_sums = Some([member.crc, u32::MAX, u32::MAX]);
    let zip64_sizes = zip64_extra(&[size.into(), packed.into()]);
    for (case, changed) in [
        (
            "other extra fields",
            Member { local_extra: extra(0x5455, b"\x03"), extra: extra(0x5455, b""), ..good() },
        ),
        (
            "padding in extra fields",
            Member { local_extra: vec![0; 3], extra: vec![0; 3], ..good() },
        ),
        ("compression levels", Member { local_flags: Some(1 << 1), flags: 1 << 2, ..good() }),
        (
            "a descriptor in addition to sizes and checksum",
            Member { local_sums: sums, ..with_descriptor() },
        ),
        (
            "zip64 only in the local header",
            Member { local_sums: zip64_sums, local_extra: zip64_sizes.clone(), ..good() },
        ),
        (
            "zip64 only in the local header, with a descriptor",
            Member {
                local_sums: Some([0, u32::MAX, u32::MAX]),
                local_extra: zip64_extra(&[0, 0]),
                ..with_descriptor()
            },
        ),
        (
            "zip64 for the packed size alone",
            Member {
                local_sums: Some([member.crc, u32::MAX, size]),
                local_extra: zip64_extra(&[packed.into()]),
                ..good()
            },
        ),
        ("zip64 in both headers", Member { zip64: true, ..good() }),
        ("the same name as Unicode", Member { extra: unicode_path("a", "a"), ..good() }),
    ] {
        assert_eq!(
            unpack(&zip(&[changed])).unwrap_or_else(|e| panic!("{case}: {e}")),
            expected,
            "{case}"
        );
    }
    assert_eq!(
        unpack(&zip_with(&[good()], &EndRecord { zip64: true, ..EndRecord::default() })).unwrap(),
        expected
    );
}

#[test]
fn sb_12_all_data_descriptor_forms_are_read_and_verified() {
    let expected = unpack(&zip(&[good()])).unwrap();
    let member = with_descriptor();
    let (packed, size) = (member.packed.len() as u64, member.size);
    let archive = |signed: bool, zip64: bool, crc: u32, packed: u64, size: u64| {
        let mut out = ByteWriter(Vec::new());
        if signed {
            out.u32s(&[0x0807_4b50]);
        }
        out.u32s(&[crc]);
        if zip64 {
            out.u64s(&[packed, size]);
        } else {
            out.u32s(&[packed as u32, size as u32]);
        }
        zip(&[Member { descriptor: Some(out.0), ..with_descriptor() }])
    };
    for (signed, zip64) in [(false, false), (false, true), (true, false), (true, true)] {
        let case = format!("signed: {signed}, zip64: {zip64}");
        assert_eq!(
            unpack(&archive(signed, zip64, member.crc, packed, size)).unwrap(),
            expected,
            "{case}"
        );
        assert_defect(&archive(signed, zip64, member.crc ^ 1, packed, size), Defect::UnownedBytes);
        assert_defect(&archive(signed, zip64, member.crc, packed + 1, size), Defect::UnownedBytes);
        assert_defect(&archive(signed, zip64, member.crc, packed, size - 1), Defect::UnownedBytes);
    }
    for bytes in [&b""[..], b"PK\x07\x08", b"sixteen bytes of", &[0; 12]] {
        let member = Member { descriptor: Some(bytes.into()), ..with_descriptor() };
        assert_defect(&zip(&[member]), Defect::UnownedBytes);
    }
}

#[test]
fn se_06_conflicting_unicode_names_are_rejected() {
    for name in ["../a", "b", "", "A", ".git/config"] {
        for checksummed_name in ["a", name] {
            let field = unicode_path(checksummed_name, name);
            assert_eq!(
                member_error(&zip(&[Member { extra: field.clone(), ..good() }])),
                ZipMemberError::ConflictingName,
                "{name}"
            );
            assert_eq!(
                member_error(&zip(&[Member { local_extra: field, ..good() }])),
                ZipMemberError::ConflictingName,
                "{name}"
            );
        }
    }
    assert_eq!(
        member_error(&zip(&[Member { extra: extra(0x7075, b"\x01"), ..good() }])),
        ZipMemberError::ConflictingName
    );
}

#[test]
fn se_06_bytes_outside_of_members_are_rejected() {
    let members = [good(), stored("b", b"b")];
    let hidden = stored("hidden", b"hidden").local();
    for bytes in [&hidden[..], b"x", b"PK\x03\x04"] {
        let leading = with_bytes_before(&members, 0, bytes);
        assert_defect(&leading, Defect::LeadingBytes);
        assert!(reason(&leading).contains(&format!(" {} ", bytes.len())));
        for index in [1, 2] {
            let inside = with_bytes_before(&members, index, bytes);
            assert_defect(&inside, Defect::UnownedBytes);
            let start: usize = members[..index].iter().map(|member| member.local().len()).sum();
            for offset in [start, start + bytes.len()] {
                assert!(reason(&inside).contains(&format!(" {offset} ")), "{}", reason(&inside));
            }
        }
        assert_defect(&with_bytes_before(&[], 0, bytes), Defect::LeadingBytes);
        assert_defect(&[&zip(&members), bytes].concat(), Defect::TrailingBytes);
    }
    assert_eq!(unpack(&with_bytes_before(&members, 0, b"")).unwrap().len(), 2);
}

#[test]
fn se_06_concatenated_archives_are_rejected() {
    let (first, second) = (zip(&[good()]), zip(&[stored("b", b"b")]));
    assert_defect(&[first, second.clone()].concat(), Defect::MisplacedDirectory);
    // Some programs use the last end record, even if it is in a comment.
    for comment in [second, end_records(0, 0, 0, &EndRecord::default())] {
        let archive = zip_with(&[good()], &EndRecord { comment, ..EndRecord::default() });
        assert_defect(&archive, Defect::TwoEndRecords);
    }
}

#[test]
fn se_06_nested_archives_are_accepted_unless_the_end_is_ambiguous() {
    let inner = zip(&[stored("b", b"b")]);
    let outer = unpack(&zip(&[stored("inner.zip", &inner)])).unwrap();
    assert_eq!(outer["inner.zip"], file(false, &inner));
    // The comment of the inner archive extends to the end of the outer one.
    let rest = zip(&[stored("inner.zip", b"")]).len() - 30 - "inner.zip".len();
    let mut crafted = inner;
    let comment_len = crafted.len() - 2;
    crafted[comment_len..].copy_from_slice(&(rest as u16).to_le_bytes());
    assert_defect(&zip(&[stored("inner.zip", &crafted)]), Defect::TwoEndRecords);
}

#[test]
fn se_06_nonzero_disk_numbers_are_rejected() {
    assert_defect(&with_end_field(4, 1), Defect::NonzeroDisk);
    assert_defect(&with_end_field(6, 1), Defect::NonzeroDisk);
    assert_defect(&with_end_field(8, 0), Defect::SplitArchive);
    assert_eq!(member_error(&zip(&[Member { disk: 1, ..good() }])), ZipMemberError::NonzeroDisk);
    assert_eq!(
        member_error(&zip(&[Member { disk: u16::MAX, ..good() }])),
        ZipMemberError::NonzeroDisk
    );
    // The disks of the zip64 locator, and of the zip64 end record.
    let locator = zip64().len() - END_LEN - LOCATOR_LEN;
    let record = locator - ZIP64_END_LEN;
    for (offset, value) in [(locator + 4, 1), (record + 16, 1), (record + 20, 1), (locator + 16, 2)]
    {
        let mut bytes = zip64();
        bytes[offset] = value;
        assert_defect(&bytes, Defect::NonzeroDisk);
    }
}

#[test]
fn se_06_conflicting_end_records_are_rejected() {
    let end = zip64().len() - END_LEN;
    // Both member counts, the size of the directory, and its offset.
    for (field, value) in [(8, [9, 0, 9, 0]), (12, [9, 0, 0, 0]), (16, [9, 0, 0, 0])] {
        let mut bytes = zip64();
        bytes[end + field..end + field + 4].copy_from_slice(&value);
        assert_defect(&bytes, Defect::ConflictingEndRecords);
    }
    // A byte between the zip64 end record and its locator, or after the directory.
    let plain = zip(&[good()]);
    assert_defect(
        &with_bytes_before_end(&zip64(), END_LEN + LOCATOR_LEN),
        Defect::MisplacedZip64End,
    );
    assert_defect(&with_bytes_before_end(&plain, END_LEN), Defect::MisplacedDirectory);
    let (directory, last) = plain.split_at(plain.len() - END_LEN);
    let length = u32::from_le_bytes(last[12..16].try_into().unwrap()) + 1;
    let mut last = last.to_vec();
    last[12..16].copy_from_slice(&length.to_le_bytes());
    let result = unpack(&[directory, b"x", &last].concat());
    assert!(matches!(result, Err(ArchiveError::Broken { .. })), "{result:?}");
}

#[test]
fn se_06_bytes_after_a_compressed_stream_are_rejected() {
    let packed = [good().packed, b"hidden".to_vec()].concat();
    assert_eq!(member_error(&zip(&[Member { packed, ..good() }])), ZipMemberError::ContentMismatch);
}

#[test]
fn se_06_directories_with_content_are_rejected() {
    let full = Member { mode: 0o040_755, ..stored("f/", b"hidden") };
    assert_eq!(member_error(&zip(&[full])), ZipMemberError::DirWithContent);
    let compressed =
        Member { size: 0, crc: 0, ..deflated("f/", b"a long text that is hidden in a directory") };
    assert_eq!(
        member_error(&zip(&[Member { mode: 0o040_755, ..compressed }])),
        ZipMemberError::DirWithContent
    );
    // Some programs compress the empty content of a directory.
    assert_eq!(
        unpack(&zip(&[Member { mode: 0o040_755, ..deflated("f/", b"") }])).unwrap(),
        tree([("f", None)])
    );
}

#[test]
fn se_03_names_equivalent_to_dot_git_are_rejected() {
    for name in [".git/config", "s/.GIT/config", "s/git~1/config", "s/.g\u{200c}it/config", ".git"]
    {
        let error = member_error(&zip(&[
            stored("SKILL.md", b"x"),
            Member { flags: UTF_8, ..stored(name, b"[core]") },
        ]));
        assert!(
            matches!(error, ZipMemberError::Name(sp_tree::PathError::GitDir(_))),
            "{name:?}: {error:?}"
        );
    }
}
