//! Zip archives from strangers, written byte by byte: the good ones, and every lie that one can
//! tell.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges its world with the plain calls"
)]

mod zips;

use std::path::Path;

use flate2::{Compress, Compression, FlushCompress};
use sp_tree::{ArchiveError, Limits, ListingError, PathError, ZipMemberError};
use tempfile::TempDir;

use zips::*;

#[track_caller]
fn limit_of(bytes: &[u8], limits: &Limits) -> &'static str {
    unpack_with(bytes, limits).unwrap_err().limit_name().unwrap()
}

#[test]
fn sb_12_good_archives_unpack_to_what_was_packed() {
    let text = b"Removes dead code. Removes dead code. Removes dead code.".as_slice();
    let late = |member: Member| Member { flags: DESCRIPTOR, ..member };
    let long = |member: Member| Member { zip64: true, ..member };
    let one = tree([("a", None), ("a/SKILL.md", file(false, text))]);
    for (case, members) in [
        ("stored", vec![stored("a/SKILL.md", text)]),
        ("deflated", vec![deflated("a/SKILL.md", text)]),
        ("with a folder", vec![folder("a/"), deflated("a/SKILL.md", text)]),
        ("a folder after its file", vec![stored("a/SKILL.md", text), folder("a/")]),
        ("stored, with a descriptor", vec![late(stored("a/SKILL.md", text))]),
        ("deflated, with a descriptor", vec![late(deflated("a/SKILL.md", text))]),
        ("zip64 sizes", vec![long(deflated("a/SKILL.md", text))]),
        ("made on DOS", vec![Member { creator: DOS, mode: 0, ..stored("a/SKILL.md", text) }]),
        ("without a mode", vec![Member { mode: 0, ..stored("a/SKILL.md", text) }]),
        ("a mode without a kind", vec![Member { mode: 0o644, ..stored("a/SKILL.md", text) }]),
    ] {
        for zip64 in [false, true] {
            let bytes = zip_with(&members, &End { zip64, ..End::default() });
            assert_eq!(unpack(&bytes).unwrap(), one, "{case}, zip64: {zip64}");
        }
    }
}

#[test]
fn sb_12_empty_archives_files_and_folders_and_names_in_any_script_are_taken() {
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
    let commented =
        zip_with(&members, &End { comment: b"Made by hand.".to_vec(), ..End::default() });
    assert_eq!(unpack(&commented).unwrap(), expected, "with a comment");
}

#[test]
fn se_06_of_the_mode_only_the_executable_bit_is_kept() {
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
fn se_03_names_that_escape_or_that_no_tree_can_hold_are_refused() {
    for (name, why) in [
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
        let shown = name.escape_ascii().to_string();
        for member in [stored(name, b"x"), Member { mode: 0, creator: DOS, ..stored(name, b"x") }] {
            assert_eq!(
                refused(&zip(&[stored("good", b"x"), member])),
                ZipMemberError::Name(why.clone()),
                "{shown}"
            );
        }
    }
    let long = "a".repeat(256);
    assert_eq!(refused(&zip(&[stored(&long, b"")])), ZipMemberError::Name(PathError::TooLong(255)));
    let longer = format!("{}x", "a/".repeat(2048));
    assert_eq!(
        refused(&zip(&[stored(&longer, b"")])),
        ZipMemberError::Name(PathError::TooLong(4096))
    );
    assert_eq!(
        refused(&zip(&[stored("a".repeat(65_535), b"")])),
        ZipMemberError::Name(PathError::TooLong(4096))
    );
}

#[test]
fn se_03_a_refused_name_that_is_not_utf_8_is_named_with_escapes() {
    let error = unpack(&zip(&[stored(b"../\xff", b"")])).unwrap_err().to_string();
    assert_eq!(error, "the member `../\\xff` cannot be taken: it is not UTF-8");
}

#[test]
fn se_03_two_members_of_one_name_are_refused() {
    for (case, one, other) in [
        ("duplicates", "a/x", "a/x"),
        ("case twins", "a/README.md", "a/readme.md"),
        ("Unicode twins", "caf\u{e9}", "cafe\u{301}"),
        ("sharp s", "stra\u{df}e", "STRASSE"),
        ("twins of folders", "A/x", "a/y"),
        ("Unicode twins of folders", "\u{e9}/x", "e\u{301}/y"),
        ("a file and a folder that is only implied", "a", "a/x"),
        ("a folder that is only implied and a file", "a/x", "a"),
        ("a file and the implied folder of its case twin", "a", "A/x"),
    ] {
        let why = refused(&zip(&[stored(one, b"1"), stored(other, b"2")]));
        assert!(
            matches!(why, ZipMemberError::Listing(ListingError::Collision(..))),
            "{case}: {why:?}"
        );
    }
    for members in [[stored("a", b"1"), folder("a/")], [folder("a/"), stored("a", b"1")]] {
        let why = refused(&zip(&members));
        assert!(
            matches!(why, ZipMemberError::Listing(ListingError::Collision(..))),
            "a file and a folder: {why:?}"
        );
    }
}

#[test]
fn se_06_links_and_what_is_neither_file_nor_folder_are_refused() {
    for (mode, name, why) in [
        (0o120_777, "a", ZipMemberError::Link),
        (0o120_777, "a/", ZipMemberError::Link),
        (0o010_644, "a", ZipMemberError::Special),
        (0o020_644, "a", ZipMemberError::Special),
        (0o060_644, "a", ZipMemberError::Special),
        (0o140_644, "a", ZipMemberError::Special),
        (0o040_755, "a", ZipMemberError::Special),
    ] {
        let bytes = zip(&[Member { mode, ..stored(name, b"/etc/passwd") }]);
        assert_eq!(refused(&bytes), why, "{mode:o} {name}");
        // Another system made it, or says so; then no link is made of it, whatever its mode says.
        let elsewhere =
            unpack(&zip(&[Member { mode, creator: DOS, ..stored("a", b"/etc/passwd") }]));
        let is_file = elsewhere.as_ref().is_ok_and(|tree| tree["a"] == file(false, b"/etc/passwd"));
        assert!(is_file || elsewhere.is_err(), "{mode:o} {name} of DOS");
    }
}

#[test]
fn se_06_encrypted_members_and_unknown_methods_are_refused() {
    for flags in [ENCRYPTED, ENCRYPTED | 1 << 6, 1 << 6, 1 << 13] {
        assert_eq!(
            refused(&zip(&[Member { flags, ..stored("a", b"x") }])),
            ZipMemberError::Encrypted,
            "{flags:b}"
        );
    }
    for method in [1, 6, 9, 12, 14, 93, 95, 98, 99, u16::MAX] {
        assert_eq!(
            refused(&zip(&[Member { method, ..stored("a", b"x") }])),
            ZipMemberError::UnsupportedMethod,
            "{method}"
        );
    }
}

#[test]
fn se_06_headers_that_contradict_each_other_are_refused() {
    let good = stored("a", b"x");
    for (case, member) in [
        ("another name", Member { local_name: Some("b".into()), ..good.clone() }),
        ("a longer name", Member { local_name: Some("ab".into()), ..good.clone() }),
        ("no name", Member { local_name: Some(Vec::new()), ..good.clone() }),
        ("a name that escapes", Member { local_name: Some("../a".into()), ..good.clone() }),
        ("another method", Member { local_method: Some(DEFLATED), ..good.clone() }),
        ("no local header there", Member { offset: Some(1), ..good.clone() }),
        ("an offset beyond the end", Member { offset: Some(1_000_000), ..good.clone() }),
        ("the last offset", Member { offset: Some(u32::MAX - 1), ..good }),
    ] {
        let result = unpack(&zip(&[member]));
        let is_headers = matches!(
            &result,
            Err(ArchiveError::Member { why: ZipMemberError::HeaderMismatch { .. }, .. })
        );
        assert!(
            is_headers || matches!(&result, Err(ArchiveError::Broken { .. })),
            "{case}: {result:?}"
        );
    }
}

#[test]
fn se_04_members_that_share_bytes_are_refused() {
    let kernel = vec![b'x'; 1000];
    let inner = stored("inner", &kernel);
    // The outer member quotes the inner one, header and all.
    let outer = stored("outer", &inner.local());
    let start = outer.local().len() - outer.packed.len();
    let quoted = {
        let mut bytes = outer.local();
        let central = [outer.central(0), inner.central(start)].concat();
        let at = bytes.len();
        bytes.extend(&central);
        bytes.extend(end(at, central.len(), 2, &End::default()));
        bytes
    };
    assert_eq!(refused(&quoted), ZipMemberError::Overlap);
    let same = [stored("a", b"x"), Member { offset: Some(0), ..stored("a", b"x") }];
    assert_eq!(refused(&zip(&same)), ZipMemberError::Overlap, "one local header for two");
}

#[test]
fn se_06_sizes_and_sums_that_lie_are_found_out() {
    let text = b"twelve bytes".as_slice();
    for make in [stored, deflated] {
        let good = make("a".as_ref() as &[u8], text);
        for (case, member) in [
            ("smaller", Member { size: 11, ..good.clone() }),
            ("nothing", Member { size: 0, ..good.clone() }),
            ("larger", Member { size: 13, ..good.clone() }),
            ("much larger", Member { size: 1_000_000, ..good.clone() }),
            ("another sum", Member { crc: good.crc ^ 1, ..good.clone() }),
            ("no sum", Member { crc: 0, ..good.clone() }),
            ("a late size that lies", Member { size: 11, flags: DESCRIPTOR, ..good.clone() }),
        ] {
            assert_eq!(
                refused(&zip(&[member])),
                ZipMemberError::ContentMismatch,
                "{case}, method {}",
                good.method
            );
        }
    }
    let garbage = Member { packed: vec![0xff; 12], ..deflated("a", text) };
    assert_eq!(refused(&zip(&[garbage])), ZipMemberError::ContentMismatch, "no deflate stream");
    let mut cut = deflated("a", text);
    cut.packed.truncate(5);
    assert_eq!(
        refused(&zip(&[cut])),
        ZipMemberError::ContentMismatch,
        "a deflate stream that ends early"
    );
}

#[test]
fn se_14_an_archive_cut_anywhere_is_refused() {
    let whole = zip(&[folder("a/"), stored("a/x", b"one"), deflated("a/y", &[b'y'; 100])]);
    assert_eq!(unpack(&whole).unwrap().len(), 3);
    for length in 0..whole.len() {
        assert!(unpack(&whole[..length]).is_err(), "cut to {length} of {} bytes", whole.len());
    }
}

#[test]
fn se_14_no_single_wrong_byte_changes_what_a_file_holds() {
    let late = Member { flags: DESCRIPTOR, ..deflated("a/y", &[b'y'; 100]) };
    let whole = zip_with(&[stored("a/x", b"one"), late], &End { zip64: true, ..End::default() });
    let right = unpack(&whole).unwrap();
    for at in 0..whole.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            // Names and modes may have become others; bytes may not.
            for (path, content) in unpack(&bytes).unwrap_or_default() {
                let known = right
                    .values()
                    .flatten()
                    .any(|(_, bytes)| Some(bytes) == content.as_ref().map(|c| &c.1));
                assert!(content.is_none() || known, "byte {at} ^ {flip:#x}: {path}");
            }
        }
    }
}

/// A deflate stream of that many mebibytes of nothing.
fn stream_of_zeros(mebibytes: usize) -> Vec<u8> {
    let mut compress = Compress::new(Compression::best(), false);
    let mut block = Vec::with_capacity(1 << 16);
    compress.compress_vec(&vec![0; 1 << 20], &mut block, FlushCompress::Full).unwrap();
    let mut stream = block.repeat(mebibytes);
    // An empty last block.
    stream.extend([0x03, 0x00]);
    stream
}

#[test]
fn se_04_a_bomb_that_tells_its_size_is_refused_unread() {
    let packed = stream_of_zeros(10 * 1024);
    assert!(packed.len() < 12 << 20, "{}", packed.len());
    let bomb = Member { packed, size: 10 * GIB, zip64: true, ..deflated("bomb", b"") };
    assert_eq!(limit_of(&zip(std::slice::from_ref(&bomb)), &Limits::default()), "zip-bytes");
    let modest = Member { size: 15 << 20, packed: stream_of_zeros(15), ..bomb.clone() };
    assert_eq!(limit_of(&zip(&[modest]), &Limits::default()), "zip-ratio");
    let most = Member { size: u64::MAX, ..bomb };
    let two = [most.clone(), Member { name: "b".into(), ..most }];
    assert_eq!(
        limit_of(&zip(&two), &Limits::default()),
        "zip-bytes",
        "sizes that overflow together"
    );
}

#[test]
fn se_04_a_bomb_that_tells_a_small_size_is_not_read_past_it() {
    let packed = stream_of_zeros(10 * 1024);
    for size in [0, 100, 1_000_000, 16 << 20] {
        let bomb = Member { packed: packed.clone(), size, ..deflated("bomb", b"") };
        assert_eq!(refused(&zip(&[bomb])), ZipMemberError::ContentMismatch, "{size}");
    }
}

#[test]
fn se_04_a_million_members_are_refused_whether_claimed_or_real() {
    let limits = Limits::default();
    for (claimed, zip64) in [(65_535, false), (1_000_000, true), (u64::MAX, true)] {
        let bytes = zip_with(
            &[stored("a", b"x")],
            &End { claimed: Some(claimed), zip64, ..End::default() },
        );
        assert_eq!(limit_of(&bytes, &limits), "zip-entries", "{claimed} claimed");
    }
    let member = stored("a", b"x");
    let mut bytes = member.local();
    let at = bytes.len();
    let central = member.central(0).repeat(1_000_000);
    bytes.extend(&central);
    for (case, told) in [
        ("not told", End { claimed: Some(1), ..End::default() }),
        ("told", End { zip64: true, ..End::default() }),
        ("not told, zip64", End { zip64: true, claimed: Some(1), ..End::default() }),
    ] {
        let whole = [bytes.as_slice(), &end(at, central.len(), 1_000_000, &told)].concat();
        assert_eq!(limit_of(&whole, &limits), "zip-entries", "real, {case}");
    }
}

/// Few members that imply very many folders.
fn deep_members(count: usize) -> Vec<Member> {
    (0..count).map(|at| stored(format!("{at:05}/{}x", "abcdefgh/".repeat(62)), b"")).collect()
}

#[test]
fn se_04_folders_that_are_only_implied_count_as_members_too() {
    assert_eq!(limit_of(&zip(&deep_members(10_000)), &Limits::default()), "zip-entries");
}

#[test]
fn se_14_members_at_the_limit_pass_and_one_past_it_do_not() {
    let limits = Limits { zip_entries: 3, ..Limits::default() };
    let members: Vec<Member> = ["a", "b", "c", "d"].map(|name| stored(name, b"")).into();
    assert_eq!(unpack_with(&zip(&members[..3]), &limits).unwrap().len(), 3);
    assert_eq!(limit_of(&zip(&members), &limits), "zip-entries");
    let silent = zip_with(&members, &End { claimed: Some(3), ..End::default() });
    assert_eq!(limit_of(&silent, &limits), "zip-entries", "one more than is claimed");
}

#[test]
fn se_14_bytes_at_the_limit_pass_and_one_past_it_do_not() {
    let bytes = zip(&[deflated("a", &[0; 6000]), deflated("b", &[0; 4000])]);
    let with = |zip_bytes| Limits { zip_bytes, ..Limits::default() };
    assert_eq!(unpack_with(&bytes, &with(10_000)).unwrap().len(), 2);
    assert_eq!(limit_of(&bytes, &with(9_999)), "zip-bytes", "unpacked");
    let bytes = zip(&[stored("a", b"x")]);
    let size = bytes.len() as u64;
    assert_eq!(unpack_with(&bytes, &with(size)).unwrap().len(), 1);
    assert_eq!(limit_of(&bytes, &with(size - 1)), "zip-bytes", "packed");
}

#[test]
fn se_14_a_file_and_a_depth_at_the_limit_pass_and_one_past_it_do_not() {
    let limits = Limits { file_bytes: 5, depth: 3, ..Limits::default() };
    assert!(unpack_with(&zip(&[stored("a", b"five!")]), &limits).is_ok());
    assert_eq!(limit_of(&zip(&[stored("a", b"sixsix")]), &limits), "file-bytes");
    assert!(unpack_with(&zip(&[stored("a/b/c", b"")]), &limits).is_ok());
    assert_eq!(limit_of(&zip(&[stored("a/b/c/d", b"")]), &limits), "depth");
}

/// An archive of exactly `packed` bytes that unpacks to exactly `unpacked`.
fn of_ratio(packed: usize, unpacked: usize) -> Vec<u8> {
    let members = [deflated("a", &vec![0; unpacked])];
    let bare = zip(&members).len();
    let bytes = zip_with(&members, &End { comment: vec![b' '; packed - bare], ..End::default() });
    assert_eq!(bytes.len(), packed);
    bytes
}

#[test]
fn se_14_past_the_ratio_is_refused() {
    let limits = Limits::default();
    assert_eq!(unpack_with(&of_ratio(20_001, 2_000_000), &limits).unwrap().len(), 1);
    assert_eq!(limit_of(&of_ratio(20_000, 2_000_001), &limits), "zip-ratio");
    let raised = Limits { zip_ratio: 200, ..Limits::default() };
    assert_eq!(unpack_with(&of_ratio(20_000, 2_000_001), &raised).unwrap().len(), 1);
    // What is small may be packed as tightly as it likes.
    assert_eq!(unpack_with(&zip(&[deflated("a", &vec![0; 1 << 20])]), &limits).unwrap().len(), 1);
    assert_eq!(limit_of(&zip(&[deflated("a", &vec![0; (1 << 20) + 1])]), &limits), "zip-ratio");
}

#[test]
fn se_14_a_ratio_at_the_limit_passes() {
    assert_eq!(unpack(&of_ratio(20_000, 2_000_000)).unwrap().len(), 1);
}

#[test]
fn se_06_what_is_no_zip_is_refused() {
    for (case, bytes) in [
        ("nothing", Vec::new()),
        ("text", b"SKILL.md".to_vec()),
        ("zeros", vec![0; 100_000]),
        ("a gzip", vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0]),
        ("only a local header", stored("a", b"x").local()),
        ("only the end's first bytes", b"PK\x05\x06".to_vec()),
        ("an end whose directory is elsewhere", end(1_000_000, 46, 1, &End::default())),
        (
            "a zip64 end that is nowhere",
            end(0, 0, 1, &End { zip64: true, ..End::default() })[56..].to_vec(),
        ),
        ("ends and nothing else", end(0, 0, 0, &End::default())[..4].repeat(20_000)),
    ] {
        let result = unpack(&bytes);
        assert!(matches!(result, Err(ArchiveError::Broken { .. })), "{case}: {result:?}");
    }
}

#[test]
fn se_06_an_end_that_miscounts_the_members_is_refused() {
    let members = [stored("a", b"x"), stored("b", b"y")];
    for claimed in [0, 1, 3] {
        let result = unpack(&zip_with(&members, &End { claimed: Some(claimed), ..End::default() }));
        assert!(
            matches!(result, Err(ArchiveError::Broken { .. })),
            "{claimed} claimed: {result:?}"
        );
    }
    let result = unpack(&end(0, 0xffff_fff0, 1, &End::default()));
    assert!(
        matches!(result, Err(ArchiveError::Broken { .. })),
        "a directory larger than the file: {result:?}"
    );
}

#[test]
fn se_06_an_end_in_the_comment_does_not_show_another_archive() {
    let members = [stored("a", b"x")];
    for comment in [
        b"PK\x05\x06 is no end here".to_vec(),
        end(0, 0, 0, &End::default()),
        zip(&[stored("b", b"y")]),
    ] {
        let result =
            unpack(&zip_with(&members, &End { comment: comment.clone(), ..End::default() }));
        // Programs disagree about which of the two ends counts.
        assert!(matches!(result, Err(ArchiveError::Broken { .. })), "{result:?}");
    }
}

#[test]
fn se_06_an_archive_with_bytes_before_it_is_refused() {
    let members = [stored("a", b"x"), deflated("b", b"yyyyyyyyyy")];
    let other = zip(&[stored("evil", b"evil")]);
    for junk in [b"#!/bin/sh\nexit\n".as_slice(), b"PK\x03\x04", &other] {
        let result = unpack(&[junk, &zip(&members)].concat());
        assert!(matches!(result, Err(ArchiveError::Broken { .. })), "{result:?}");
    }
}

#[test]
fn se_06_a_directory_fifo_or_device_in_the_place_of_an_archive_is_refused_at_once() {
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
fn se_04_an_archive_larger_than_the_limit_is_not_read() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("sparse.zip");
    std::fs::File::create(&path).unwrap().set_len(100 * GIB).unwrap();
    let error = unpack_file(&path, &Limits::default()).unwrap_err();
    assert_eq!(error.limit_name(), Some("zip-bytes"), "{error}");
}
