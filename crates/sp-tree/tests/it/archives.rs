//! Untrusted zip archives: valid ones, and every kind of malformed header.

use std::path::Path;

use flate2::{Compress, Compression, FlushCompress};
use sp_tree::{ArchiveError, Limits, ListingError, PathError, ZipMemberError};
use tempfile::TempDir;

use crate::zips::*;

#[track_caller]
fn exceeded_limit(bytes: &[u8], limits: &Limits) -> &'static str {
    unpack_with(bytes, limits).unwrap_err().limit_name().unwrap()
}

#[test]
fn sb_12_valid_archives_unpack_to_their_original_content() {
    let text = b"Removes dead code. Removes dead code. Removes dead code.".as_slice();
    let with_descriptor = |member: Member| Member { flags: DESCRIPTOR, ..member };
    let with_zip64 = |member: Member| Member { zip64: true, ..member };
    let expected = tree([("a", None), ("a/SKILL.md", file(false, text))]);
    for (case, members) in [
        ("stored", vec![stored("a/SKILL.md", text)]),
        ("deflated", vec![deflated("a/SKILL.md", text)]),
        ("with a directory", vec![folder("a/"), deflated("a/SKILL.md", text)]),
        ("a directory after its file", vec![stored("a/SKILL.md", text), folder("a/")]),
        ("stored, with a descriptor", vec![with_descriptor(stored("a/SKILL.md", text))]),
        ("deflated, with a descriptor", vec![with_descriptor(deflated("a/SKILL.md", text))]),
        ("zip64 sizes", vec![with_zip64(deflated("a/SKILL.md", text))]),
        ("created on DOS", vec![Member { creator: DOS, mode: 0, ..stored("a/SKILL.md", text) }]),
        ("without a mode", vec![Member { mode: 0, ..stored("a/SKILL.md", text) }]),
        ("a mode without a file type", vec![Member { mode: 0o644, ..stored("a/SKILL.md", text) }]),
    ] {
        for zip64 in [false, true] {
            let bytes = zip_with(&members, &EndRecord { zip64, ..EndRecord::default() });
            assert_eq!(unpack(&bytes).unwrap(), expected, "{case}, zip64: {zip64}");
        }
    }
}

#[test]
fn sb_12_empty_members_and_unicode_names_are_accepted() {
    assert_eq!(unpack(&zip(&[])).unwrap(), tree([]));
    let members = [
        folder("empty/"),
        stored("none", b""),
        deflated("nothing", b""),
        Member { flags: UTF_8, ..stored("日本/é 🚀.md", b"x") },
    ];
    let expected = tree([
        ("empty", None),
        ("none", file(false, b"")),
        ("nothing", file(false, b"")),
        ("日本", None),
        ("日本/é 🚀.md", file(false, b"x")),
    ]);
    assert_eq!(unpack(&zip(&members)).unwrap(), expected);
    let commented = zip_with(
        &members,
        &EndRecord { comment: b"Made by hand.".to_vec(), ..EndRecord::default() },
    );
    assert_eq!(unpack(&commented).unwrap(), expected, "with a comment");
}

#[test]
fn se_06_only_the_executable_bit_of_a_mode_is_kept() {
    for (mode, executable) in [
        (0o100_644, false),
        (0o100_755, true),
        (0o106_755, true),
        (0o101_777, true),
        (0o104_644, false),
        (0, false),
    ] {
        let bytes = zip(&[Member { mode, ..stored("run.sh", b"true") }]);
        assert_eq!(
            unpack(&bytes).unwrap(),
            tree([("run.sh", file(executable, b"true"))]),
            "{mode:o}"
        );
    }
}

#[test]
fn se_03_unsafe_member_names_are_rejected() {
    for (name, error) in [
        (b"../x".as_slice(), PathError::DotSegment("..")),
        (b"..", PathError::DotSegment("..")),
        (b"../", PathError::DotSegment("..")),
        (b"/x", PathError::Absolute),
        (b"//x", PathError::Absolute),
        (b"a/../../x", PathError::DotSegment("..")),
        (b"a/..", PathError::DotSegment("..")),
        (b"a\\x", PathError::Separator('\\')),
        (b"..\\x", PathError::Separator('\\')),
        (b"C:x", PathError::Reserved(':')),
        (b"C:\\x", PathError::Reserved(':')),
        (b"a:stream", PathError::Reserved(':')),
        (b"a\0b", PathError::Control('\0')),
        (b"SKILL.md\0.txt", PathError::Control('\0')),
        (b"a\x1b[2J", PathError::Control('\x1b')),
        (b"\xff\xfe", PathError::NotUtf8),
        (b"caf\xe9", PathError::NotUtf8),
        (b"a\xc0\xaf..", PathError::NotUtf8),
        (b".", PathError::DotSegment(".")),
        (b"./x", PathError::DotSegment(".")),
        (b"", PathError::Empty),
        (b"/", PathError::Empty),
        (b"a//x", PathError::Empty),
        (b"a//", PathError::Empty),
        (b"a/nul.md", PathError::Device("nul.md".into())),
        (b"x ", PathError::TrailingDotOrSpace),
        (b"x./y", PathError::TrailingDotOrSpace),
    ] {
        let escaped = name.escape_ascii().to_string();
        for member in [stored(name, b"x"), Member { mode: 0, creator: DOS, ..stored(name, b"x") }] {
            assert_eq!(
                member_error(&zip(&[stored("good", b"x"), member])),
                ZipMemberError::Name(error.clone()),
                "{escaped}"
            );
        }
    }
    let long = "a".repeat(256);
    assert_eq!(
        member_error(&zip(&[stored(&long, b"")])),
        ZipMemberError::Name(PathError::TooLong(255))
    );
    let longer = format!("{}x", "a/".repeat(2048));
    assert_eq!(
        member_error(&zip(&[stored(&longer, b"")])),
        ZipMemberError::Name(PathError::TooLong(4096))
    );
    assert_eq!(
        member_error(&zip(&[stored("a".repeat(65_535), b"")])),
        ZipMemberError::Name(PathError::TooLong(4096))
    );
}

#[test]
fn se_03_non_utf8_names_are_escaped_in_errors() {
    let error = unpack(&zip(&[stored(b"../\xff", b"")])).unwrap_err();
    assert!(error.to_string().contains("`../\\xff`"), "{error}");
    let ArchiveError::Member { member, why } = error else { panic!("{error:?}") };
    assert_eq!((member.as_str(), why), ("../\\xff", ZipMemberError::Name(PathError::NotUtf8)));
}

#[test]
fn se_03_colliding_member_names_are_rejected() {
    for (case, first, second) in [
        ("duplicates", "a/x", "a/x"),
        ("case-insensitive duplicates", "a/README.md", "a/readme.md"),
        ("Unicode-equivalent names", "caf\u{e9}", "cafe\u{301}"),
        ("sharp s", "stra\u{df}e", "STRASSE"),
        ("case-insensitive directory names", "A/x", "a/y"),
        ("Unicode-equivalent directory names", "\u{e9}/x", "e\u{301}/y"),
        ("a file and an implicit directory", "a", "a/x"),
        ("an implicit directory and a file", "a/x", "a"),
        ("a file and an implicit directory that differs in case", "a", "A/x"),
    ] {
        let error = member_error(&zip(&[stored(first, b"1"), stored(second, b"2")]));
        assert!(
            matches!(error, ZipMemberError::Listing(ListingError::Collision(..))),
            "{case}: {error:?}"
        );
    }
    for members in [[stored("a", b"1"), folder("a/")], [folder("a/"), stored("a", b"1")]] {
        let error = member_error(&zip(&members));
        assert!(
            matches!(error, ZipMemberError::Listing(ListingError::Collision(..))),
            "a file and a directory: {error:?}"
        );
    }
}

#[test]
fn se_06_links_and_special_files_are_rejected() {
    for (mode, name, expected) in [
        (0o120_777, "a", ZipMemberError::Link),
        (0o120_777, "a/", ZipMemberError::Link),
        (0o010_644, "a", ZipMemberError::Special),
        (0o020_644, "a", ZipMemberError::Special),
        (0o060_644, "a", ZipMemberError::Special),
        (0o140_644, "a", ZipMemberError::Special),
        (0o040_755, "a", ZipMemberError::Special),
    ] {
        let bytes = zip(&[Member { mode, ..stored(name, b"/etc/passwd") }]);
        assert_eq!(member_error(&bytes), expected, "{mode:o} {name}");
        // An archive that claims to be from DOS has no Unix modes, so there is no link.
        let from_dos =
            unpack(&zip(&[Member { mode, creator: DOS, ..stored("a", b"/etc/passwd") }]));
        let is_file = from_dos.as_ref().is_ok_and(|tree| tree["a"] == file(false, b"/etc/passwd"));
        assert!(is_file || from_dos.is_err(), "{mode:o} {name} from DOS");
    }
}

#[test]
fn se_06_encrypted_members_and_unknown_methods_are_rejected() {
    for flags in [ENCRYPTED, ENCRYPTED | 1 << 6, 1 << 6, 1 << 13] {
        assert_eq!(
            member_error(&zip(&[Member { flags, ..stored("a", b"x") }])),
            ZipMemberError::Encrypted,
            "{flags:b}"
        );
    }
    for method in [1, 6, 9, 12, 14, 93, 95, 98, 99, u16::MAX] {
        assert_eq!(
            member_error(&zip(&[Member { method, ..stored("a", b"x") }])),
            ZipMemberError::UnsupportedMethod,
            "{method}"
        );
    }
}

#[test]
fn se_06_contradictory_headers_are_rejected() {
    let good = stored("a", b"x");
    for (case, member) in [
        ("another name", Member { local_name: Some("b".into()), ..good.clone() }),
        ("a longer name", Member { local_name: Some("ab".into()), ..good.clone() }),
        ("no name", Member { local_name: Some(Vec::new()), ..good.clone() }),
        ("a name that escapes", Member { local_name: Some("../a".into()), ..good.clone() }),
        ("another method", Member { local_method: Some(DEFLATED), ..good.clone() }),
        ("no local header there", Member { offset: Some(1), ..good.clone() }),
        ("an offset beyond the end", Member { offset: Some(1_000_000), ..good.clone() }),
        ("the largest offset", Member { offset: Some(u32::MAX - 1), ..good }),
    ] {
        let result = unpack(&zip(&[member]));
        let is_mismatch = matches!(
            &result,
            Err(ArchiveError::Member { why: ZipMemberError::HeaderMismatch { .. }, .. })
        );
        assert!(
            is_mismatch || matches!(&result, Err(ArchiveError::Broken { .. })),
            "{case}: {result:?}"
        );
    }
}

#[test]
fn se_04_overlapping_members_are_rejected() {
    let content = vec![b'x'; 1000];
    let inner = stored("inner", &content);
    // The content of the outer member is the inner one with its header.
    let outer = stored("outer", &inner.local());
    let start = outer.local().len() - outer.packed.len();
    let quoted = {
        let mut bytes = outer.local();
        let central = [outer.central(0), inner.central(start)].concat();
        let directory_start = bytes.len();
        bytes.extend(&central);
        bytes.extend(end_records(directory_start, central.len(), 2, &EndRecord::default()));
        bytes
    };
    assert_eq!(member_error(&quoted), ZipMemberError::Overlap);
    let same = [stored("a", b"x"), Member { offset: Some(0), ..stored("a", b"x") }];
    assert_eq!(
        member_error(&zip(&same)),
        ZipMemberError::Overlap,
        "two members with one local header"
    );
}

#[test]
fn se_06_wrong_sizes_and_checksums_are_rejected() {
    let text = b"twelve bytes".as_slice();
    for build in [stored, deflated] {
        let good = build("a".as_ref() as &[u8], text);
        for (case, member) in [
            ("smaller", Member { size: 11, ..good.clone() }),
            ("empty", Member { size: 0, ..good.clone() }),
            ("larger", Member { size: 13, ..good.clone() }),
            ("much larger", Member { size: 1_000_000, ..good.clone() }),
            ("another checksum", Member { crc: good.crc ^ 1, ..good.clone() }),
            ("no checksum", Member { crc: 0, ..good.clone() }),
            (
                "a wrong size with a descriptor",
                Member { size: 11, flags: DESCRIPTOR, ..good.clone() },
            ),
        ] {
            assert_eq!(
                member_error(&zip(&[member])),
                ZipMemberError::ContentMismatch,
                "{case}, method {}",
                good.method
            );
        }
    }
    let garbage = Member { packed: vec![0xff; 12], ..deflated("a", text) };
    assert_eq!(
        member_error(&zip(&[garbage])),
        ZipMemberError::ContentMismatch,
        "not a deflate stream"
    );
    let mut truncated = deflated("a", text);
    truncated.packed.truncate(5);
    assert_eq!(
        member_error(&zip(&[truncated])),
        ZipMemberError::ContentMismatch,
        "a truncated deflate stream"
    );
}

#[test]
fn se_14_truncated_archives_are_rejected() {
    let archive = zip(&[folder("a/"), stored("a/x", b"one"), deflated("a/y", &[b'y'; 100])]);
    assert_eq!(unpack(&archive).unwrap().len(), 3);
    for length in 0..archive.len() {
        assert!(
            unpack(&archive[..length]).is_err(),
            "truncated to {length} of {} bytes",
            archive.len()
        );
    }
}

#[test]
fn se_14_flipping_one_byte_never_changes_file_content() {
    let with_descriptor = Member { flags: DESCRIPTOR, ..deflated("a/y", &[b'y'; 100]) };
    let archive = zip_with(
        &[stored("a/x", b"one"), with_descriptor],
        &EndRecord { zip64: true, ..EndRecord::default() },
    );
    let expected = unpack(&archive).unwrap();
    for index in 0..archive.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = archive.clone();
            bytes[index] ^= flip;
            // Names and modes may change, but not the content.
            for (path, content) in unpack(&bytes).unwrap_or_default() {
                let is_original = expected
                    .values()
                    .flatten()
                    .any(|(_, bytes)| Some(bytes) == content.as_ref().map(|c| &c.1));
                assert!(content.is_none() || is_original, "byte {index} ^ {flip:#x}: {path}");
            }
        }
    }
}

/// Returns a deflate stream of this many mebibytes of zeros.
fn stream_of_zeros(mebibytes: usize) -> Vec<u8> {
    let mut compress = Compress::new(Compression::best(), false);
    let mut block = Vec::with_capacity(1 << 16);
    compress.compress_vec(&vec![0; 1 << 20], &mut block, FlushCompress::Full).unwrap();
    let mut stream = block.repeat(mebibytes);
    // An empty final block.
    stream.extend([0x03, 0x00]);
    stream
}

#[test]
fn se_04_bomb_with_declared_size_is_rejected_before_unpacking() {
    let packed = stream_of_zeros(10 * 1024);
    assert!(packed.len() < 12 << 20, "{}", packed.len());
    let bomb = Member { packed, size: 10 * GIB, zip64: true, ..deflated("bomb", b"") };
    assert_eq!(exceeded_limit(&zip(std::slice::from_ref(&bomb)), &Limits::default()), "zip-bytes");
    let small = Member { size: 15 << 20, packed: stream_of_zeros(15), ..bomb.clone() };
    assert_eq!(exceeded_limit(&zip(&[small]), &Limits::default()), "zip-ratio");
    let largest = Member { size: u64::MAX, ..bomb };
    let both = [largest.clone(), Member { name: "b".into(), ..largest }];
    assert_eq!(
        exceeded_limit(&zip(&both), &Limits::default()),
        "zip-bytes",
        "sizes whose sum overflows"
    );
}

#[test]
fn se_04_bomb_is_not_unpacked_beyond_its_declared_size() {
    let packed = stream_of_zeros(10 * 1024);
    for size in [0, 100, 1_000_000, 16 << 20] {
        let bomb = Member { packed: packed.clone(), size, ..deflated("bomb", b"") };
        assert_eq!(member_error(&zip(&[bomb])), ZipMemberError::ContentMismatch, "{size}");
    }
}

#[test]
fn se_04_archives_with_a_million_members_are_rejected() {
    let limits = Limits::default();
    for (claimed, zip64) in [(65_535, false), (1_000_000, true), (u64::MAX, true)] {
        let bytes = zip_with(
            &[stored("a", b"x")],
            &EndRecord { claimed: Some(claimed), zip64, ..EndRecord::default() },
        );
        assert_eq!(exceeded_limit(&bytes, &limits), "zip-entries", "{claimed} claimed");
    }
    let member = stored("a", b"x");
    let mut bytes = member.local();
    let directory_start = bytes.len();
    let central = member.central(0).repeat(1_000_000);
    bytes.extend(&central);
    for (case, end_record) in [
        ("wrong count", EndRecord { claimed: Some(1), ..EndRecord::default() }),
        ("zip64", EndRecord { zip64: true, ..EndRecord::default() }),
        ("wrong count, zip64", EndRecord { zip64: true, claimed: Some(1), ..EndRecord::default() }),
    ] {
        let archive = [
            bytes.as_slice(),
            &end_records(directory_start, central.len(), 1_000_000, &end_record),
        ]
        .concat();
        assert_eq!(exceeded_limit(&archive, &limits), "zip-entries", "{case}");
    }
}

/// Returns members in deeply nested directories that have no entries of their own.
fn deep_members(count: usize) -> Vec<Member> {
    (0..count)
        .map(|number| stored(format!("{number:05}/{}x", "abcdefgh/".repeat(62)), b""))
        .collect()
}

#[test]
fn se_04_implicit_directories_count_as_members() {
    assert_eq!(exceeded_limit(&zip(&deep_members(10_000)), &Limits::default()), "zip-entries");
}

#[test]
fn se_14_member_limit_is_inclusive() {
    let limits = Limits { zip_entries: 3, ..Limits::default() };
    let members: Vec<Member> = ["a", "b", "c", "d"].map(|name| stored(name, b"")).into();
    assert_eq!(unpack_with(&zip(&members[..3]), &limits).unwrap().len(), 3);
    assert_eq!(exceeded_limit(&zip(&members), &limits), "zip-entries");
    let understated = zip_with(&members, &EndRecord { claimed: Some(3), ..EndRecord::default() });
    assert_eq!(exceeded_limit(&understated, &limits), "zip-entries", "one more than claimed");
}

#[test]
fn se_14_byte_limits_are_inclusive() {
    let bytes = zip(&[deflated("a", &[0; 6000]), deflated("b", &[0; 4000])]);
    let limits = |zip_bytes| Limits { zip_bytes, ..Limits::default() };
    assert_eq!(unpack_with(&bytes, &limits(10_000)).unwrap().len(), 2);
    assert_eq!(exceeded_limit(&bytes, &limits(9_999)), "zip-bytes", "unpacked");
    let bytes = zip(&[stored("a", b"x")]);
    let size = bytes.len() as u64;
    assert_eq!(unpack_with(&bytes, &limits(size)).unwrap().len(), 1);
    assert_eq!(exceeded_limit(&bytes, &limits(size - 1)), "zip-bytes", "packed");
}

#[test]
fn se_14_file_size_and_depth_limits_are_inclusive() {
    let limits = Limits { file_bytes: 5, depth: 3, ..Limits::default() };
    assert!(unpack_with(&zip(&[stored("a", b"five!")]), &limits).is_ok());
    assert_eq!(exceeded_limit(&zip(&[stored("a", b"sixsix")]), &limits), "file-bytes");
    assert!(unpack_with(&zip(&[stored("a/b/c", b"")]), &limits).is_ok());
    assert_eq!(exceeded_limit(&zip(&[stored("a/b/c/d", b"")]), &limits), "depth");
}

/// Returns an archive of exactly `packed` bytes that unpacks to exactly `unpacked` bytes.
fn archive_with_ratio(packed: usize, unpacked: usize) -> Vec<u8> {
    let members = [deflated("a", &vec![0; unpacked])];
    let minimum = zip(&members).len();
    let bytes = zip_with(
        &members,
        &EndRecord { comment: vec![b' '; packed - minimum], ..EndRecord::default() },
    );
    assert_eq!(bytes.len(), packed);
    bytes
}

#[test]
fn se_14_archives_above_the_ratio_limit_are_rejected() {
    let limits = Limits::default();
    assert_eq!(unpack_with(&archive_with_ratio(20_001, 2_000_000), &limits).unwrap().len(), 1);
    assert_eq!(exceeded_limit(&archive_with_ratio(20_000, 2_000_001), &limits), "zip-ratio");
    let raised = Limits { zip_ratio: 200, ..Limits::default() };
    assert_eq!(unpack_with(&archive_with_ratio(20_000, 2_000_001), &raised).unwrap().len(), 1);
    // The ratio does not apply up to 1 MiB.
    assert_eq!(unpack_with(&zip(&[deflated("a", &vec![0; 1 << 20])]), &limits).unwrap().len(), 1);
    assert_eq!(
        exceeded_limit(&zip(&[deflated("a", &vec![0; (1 << 20) + 1])]), &limits),
        "zip-ratio"
    );
}

#[test]
fn se_14_ratio_limit_is_inclusive() {
    assert_eq!(unpack(&archive_with_ratio(20_000, 2_000_000)).unwrap().len(), 1);
}

#[test]
fn se_06_non_zip_files_are_rejected() {
    for (case, bytes) in [
        ("empty", Vec::new()),
        ("text", b"SKILL.md".to_vec()),
        ("zeros", vec![0; 100_000]),
        ("a gzip", vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0]),
        ("only a local header", stored("a", b"x").local()),
        ("only the signature of an end record", b"PK\x05\x06".to_vec()),
        (
            "an end record whose directory is elsewhere",
            end_records(1_000_000, 46, 1, &EndRecord::default()),
        ),
        (
            "a zip64 locator without a zip64 end record",
            end_records(0, 0, 1, &EndRecord { zip64: true, ..EndRecord::default() })[56..].to_vec(),
        ),
        (
            "only signatures of end records",
            end_records(0, 0, 0, &EndRecord::default())[..4].repeat(20_000),
        ),
    ] {
        let result = unpack(&bytes);
        assert!(matches!(result, Err(ArchiveError::Broken { .. })), "{case}: {result:?}");
    }
}

#[test]
fn se_06_wrong_member_counts_are_rejected() {
    let members = [stored("a", b"x"), stored("b", b"y")];
    for claimed in [0, 1, 3] {
        let result = unpack(&zip_with(
            &members,
            &EndRecord { claimed: Some(claimed), ..EndRecord::default() },
        ));
        assert!(
            matches!(result, Err(ArchiveError::Broken { .. })),
            "{claimed} claimed: {result:?}"
        );
    }
    let result = unpack(&end_records(0, 0xffff_fff0, 1, &EndRecord::default()));
    assert!(
        matches!(result, Err(ArchiveError::Broken { .. })),
        "a directory larger than the file: {result:?}"
    );
}

#[test]
fn se_06_end_records_in_comments_are_rejected() {
    let members = [stored("a", b"x")];
    for comment in [
        b"PK\x05\x06 is no end here".to_vec(),
        end_records(0, 0, 0, &EndRecord::default()),
        zip(&[stored("b", b"y")]),
    ] {
        let result = unpack(&zip_with(
            &members,
            &EndRecord { comment: comment.clone(), ..EndRecord::default() },
        ));
        // Programs differ in which of the two end records they use.
        assert!(matches!(result, Err(ArchiveError::Broken { .. })), "{result:?}");
    }
}

#[test]
fn se_06_archives_with_leading_bytes_are_rejected() {
    let members = [stored("a", b"x"), deflated("b", b"yyyyyyyyyy")];
    let other = zip(&[stored("evil", b"evil")]);
    for prefix in [b"#!/bin/sh\nexit\n".as_slice(), b"PK\x03\x04", &other] {
        let result = unpack(&[prefix, &zip(&members)].concat());
        assert!(matches!(result, Err(ArchiveError::Broken { .. })), "{result:?}");
    }
}

#[test]
fn se_06_directories_fifos_and_devices_are_rejected_immediately() {
    let dir = TempDir::new().unwrap();
    let fifo = dir.path().join("fifo.zip");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
        .unwrap();
    let link = dir.path().join("link.zip");
    std::os::unix::fs::symlink(&fifo, &link).unwrap();
    for path in [
        dir.path(),
        &fifo,
        &link,
        Path::new("/dev/zero"),
        Path::new("/"),
        &dir.path().join("none.zip"),
    ] {
        let result = unpack_file(path, &Limits::default());
        assert!(matches!(result, Err(ArchiveError::File(_))), "{}: {result:?}", path.display());
    }
}

#[test]
fn se_04_archives_over_the_size_limit_are_not_read() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("sparse.zip");
    std::fs::File::create(&path).unwrap().set_len(100 * GIB).unwrap();
    let error = unpack_file(&path, &Limits::default()).unwrap_err();
    assert_eq!(error.limit_name(), Some("zip-bytes"), "{error}");
}
