//! Archives that two programs could read differently: each is refused, and the reason is named.
#![expect(clippy::panic, reason = "a test stops where it does not hold")]

mod zips;

use sp_tree::{ArchiveError, ZipMemberError};

use zips::*;

/// Refuses the archive as a whole, for a reason with these words.
#[track_caller]
fn broken(bytes: &[u8], words: &str) {
    match unpack(bytes) {
        Err(ArchiveError::Broken { why, .. }) => {
            assert!(why.contains(words), "`{words}` is not in `{why}`");
        }
        other => panic!("not refused for `{words}`: {other:?}"),
    }
}

fn good() -> Member {
    deflated("a", b"aaaaaaaaaaaaaaaaaaaa")
}

fn late() -> Member {
    Member { flags: DESCRIPTOR, ..good() }
}

/// An extra field.
fn extra(id: u16, data: &[u8]) -> Vec<u8> {
    let mut out = Out(Vec::new());
    out.two(&[id, data.len() as u16]).bytes(data);
    out.0
}

fn zip64_extra(values: &[u64]) -> Vec<u8> {
    let mut out = Out(Vec::new());
    out.eight(values);
    extra(1, &out.0)
}

fn unicode_path(of: &str, name: &str) -> Vec<u8> {
    extra(0x7075, &[&[1], &crc(of.as_bytes()).to_le_bytes()[..], name.as_bytes()].concat())
}

/// A zip with `hidden` put at a place among its bytes, and all offsets right.
fn with_bytes_after(members: &[Member], place: usize, hidden: &[u8]) -> Vec<u8> {
    let (mut zip, mut central) = (Vec::new(), Vec::new());
    for (number, member) in members.iter().enumerate() {
        if number == place {
            zip.extend(hidden);
        }
        central.extend(member.central(zip.len()));
        zip.extend(member.local());
    }
    if place == members.len() {
        zip.extend(hidden);
    }
    let start = zip.len();
    zip.extend(&central);
    zip.extend(end(start, central.len(), members.len(), &End::default()));
    zip
}

/// The archive with the two bytes at a place of its end record replaced.
fn with_end_field(place: usize, value: u16) -> Vec<u8> {
    let mut bytes = zip(&[good()]);
    let at = bytes.len() - 22 + place;
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
    bytes
}

#[test]
fn se_06_each_field_in_which_the_two_headers_differ_is_named() {
    let (member, sums) = (good(), |sums| Some(sums));
    let packed = member.packed.len() as u32;
    for (field, changed) in [
        ("name", Member { local_name: Some("b".into()), ..good() }),
        ("compression method", Member { local_method: Some(STORED), ..good() }),
        ("flags", Member { local_flags: Some(UTF_8), ..good() }),
        ("flags", Member { local_flags: Some(DESCRIPTOR), ..good() }),
        ("flags", Member { local_flags: Some(ENCRYPTED), ..good() }),
        ("flags", Member { local_flags: Some(0), ..late() }),
        ("checksum", Member { local_sums: sums([1, packed, 20]), ..good() }),
        ("checksum", Member { local_sums: sums([0, packed, 20]), ..good() }),
        ("compressed size", Member { local_sums: sums([member.crc, packed + 1, 20]), ..good() }),
        ("compressed size", Member { local_sums: sums([member.crc, 0, 20]), ..good() }),
        ("size", Member { local_sums: sums([member.crc, packed, 21]), ..good() }),
        ("checksum", Member { local_sums: sums([1, 0, 0]), ..late() }),
        ("compressed size", Member { local_sums: sums([0, 1, 0]), ..late() }),
        ("size", Member { local_sums: sums([0, 0, 1]), ..late() }),
        (
            "size",
            Member {
                local_sums: sums([member.crc, packed, u32::MAX]),
                local_extra: zip64_extra(&[21, packed.into()]),
                ..good()
            },
        ),
        ("size", Member { local_sums: sums([member.crc, packed, u32::MAX]), ..good() }),
        (
            "zip64 extra fields",
            Member { extra: zip64_extra(&[20, packed.into()]).repeat(2), ..good() },
        ),
        ("position", Member { offset: Some(1), ..good() }),
    ] {
        assert_eq!(refused(&zip(&[changed])), ZipMemberError::HeaderMismatch { field }, "{field}");
    }
}

#[test]
fn sb_12_headers_that_differ_as_common_programs_let_them_are_taken() {
    let (right, member) = (unpack(&zip(&[good()])).unwrap(), good());
    let (packed, size) = (member.packed.len() as u32, member.size as u32);
    let sums = Some([member.crc, packed, size]);
    let wide = Some([member.crc, u32::MAX, u32::MAX]);
    let both = zip64_extra(&[size.into(), packed.into()]);
    for (case, changed) in [
        (
            "other extra fields",
            Member { local_extra: extra(0x5455, b"\x03"), extra: extra(0x5455, b""), ..good() },
        ),
        (
            "padding in extra fields",
            Member { local_extra: vec![0; 3], extra: vec![0; 3], ..good() },
        ),
        ("levels of compression", Member { local_flags: Some(1 << 1), flags: 1 << 2, ..good() }),
        ("a descriptor, and the sums before it", Member { local_sums: sums, ..late() }),
        (
            "zip64 only in the local header",
            Member { local_sums: wide, local_extra: both.clone(), ..good() },
        ),
        (
            "zip64 only in the local header, filled in late",
            Member {
                local_sums: Some([0, u32::MAX, u32::MAX]),
                local_extra: zip64_extra(&[0, 0]),
                ..late()
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
        ("zip64 in both", Member { zip64: true, ..good() }),
        ("the same name as Unicode", Member { extra: unicode_path("a", "a"), ..good() }),
    ] {
        assert_eq!(
            unpack(&zip(&[changed])).unwrap_or_else(|e| panic!("{case}: {e}")),
            right,
            "{case}"
        );
    }
    assert_eq!(
        unpack(&zip_with(&[good()], &End { zip64: true, ..End::default() })).unwrap(),
        right
    );
}

#[test]
fn sb_12_every_form_of_a_data_descriptor_is_taken_and_a_wrong_one_is_refused() {
    let right = unpack(&zip(&[good()])).unwrap();
    let member = late();
    let (packed, size) = (member.packed.len() as u64, member.size);
    let write = |signed: bool, wide: bool, crc: u32, packed: u64, size: u64| {
        let mut out = Out(Vec::new());
        if signed {
            out.four(&[0x0807_4b50]);
        }
        out.four(&[crc]);
        match wide {
            true => out.eight(&[packed, size]),
            false => out.four(&[packed as u32, size as u32]),
        };
        zip(&[Member { descriptor: Some(out.0), ..late() }])
    };
    for (signed, wide) in [(false, false), (false, true), (true, false), (true, true)] {
        let case = format!("signed: {signed}, wide: {wide}");
        assert_eq!(
            unpack(&write(signed, wide, member.crc, packed, size)).unwrap(),
            right,
            "{case}"
        );
        broken(&write(signed, wide, member.crc ^ 1, packed, size), "no right data descriptor");
        broken(&write(signed, wide, member.crc, packed + 1, size), "no right data descriptor");
        broken(&write(signed, wide, member.crc, packed, size - 1), "no right data descriptor");
    }
    for bytes in [&b""[..], b"PK\x07\x08", b"sixteen bytes of", &[0; 12]] {
        broken(
            &zip(&[Member { descriptor: Some(bytes.into()), ..late() }]),
            "no right data descriptor",
        );
    }
}

#[test]
fn se_06_an_extra_field_with_another_name_is_refused_in_either_header() {
    for name in ["../a", "b", "", "A", ".git/config"] {
        for of in ["a", name] {
            let field = unicode_path(of, name);
            assert_eq!(
                refused(&zip(&[Member { extra: field.clone(), ..good() }])),
                ZipMemberError::ConflictingName,
                "{name}"
            );
            assert_eq!(
                refused(&zip(&[Member { local_extra: field, ..good() }])),
                ZipMemberError::ConflictingName,
                "{name}"
            );
        }
    }
    assert_eq!(
        refused(&zip(&[Member { extra: extra(0x7075, b"\x01"), ..good() }])),
        ZipMemberError::ConflictingName
    );
}

#[test]
fn se_06_bytes_that_belong_to_no_member_are_refused_wherever_they_are() {
    let members = [good(), stored("b", b"b")];
    let hidden = stored("hidden", b"hidden").local();
    for bytes in [&hidden[..], b"x", b"PK\x03\x04"] {
        broken(
            &with_bytes_after(&members, 0, bytes),
            &format!("its first {} bytes belong to no member", bytes.len()),
        );
        broken(&with_bytes_after(&members, 1, bytes), "belong to no member");
        broken(&with_bytes_after(&members, 2, bytes), "belong to no member");
        broken(&with_bytes_after(&[], 0, bytes), "belong to no member");
        broken(&[&zip(&members), bytes].concat(), "bytes after its end record");
    }
    assert_eq!(unpack(&with_bytes_after(&members, 0, b"")).unwrap().len(), 2);
}

#[test]
fn se_06_two_archives_joined_are_refused() {
    let (one, other) = (zip(&[good()]), zip(&[stored("b", b"b")]));
    broken(
        &[one.clone(), other.clone()].concat(),
        "its directory is not where its end record says",
    );
    broken(&zip_with(&[good()], &End { comment: other, ..End::default() }), "end record");
    // One whose comment is the other, and whose offsets are right: the last end record still counts
    // for some programs.
    let comment = end(0, 0, 0, &End::default());
    broken(&zip_with(&[good()], &End { comment, ..End::default() }), "two end records");
}

#[test]
fn se_06_a_member_that_holds_an_archive_is_taken_unless_its_end_could_be_that_of_the_whole() {
    let inner = zip(&[stored("b", b"b")]);
    let outer = unpack(&zip(&[stored("inner.zip", &inner)])).unwrap();
    assert_eq!(outer["inner.zip"], file(false, &inner));
    // The comment of the inner archive reaches to the end of the outer one.
    let rest = zip(&[stored("inner.zip", b"")]).len() - 30 - "inner.zip".len();
    let mut crafted = inner;
    let at = crafted.len() - 2;
    crafted[at..].copy_from_slice(&(rest as u16).to_le_bytes());
    broken(&zip(&[stored("inner.zip", &crafted)]), "two end records");
}

#[test]
fn se_06_disk_numbers_other_than_0_are_refused() {
    broken(&with_end_field(4, 1), "it is one part of several");
    broken(&with_end_field(6, 1), "it is one part of several");
    broken(&with_end_field(8, 0), "it is one part of several");
    assert_eq!(refused(&zip(&[Member { disk: 1, ..good() }])), ZipMemberError::NonzeroDisk);
    assert_eq!(refused(&zip(&[Member { disk: u16::MAX, ..good() }])), ZipMemberError::NonzeroDisk);
    // The disks of the zip64 locator, and of the zip64 end record.
    let whole = zip_with(&[good()], &End { zip64: true, ..End::default() });
    let (locator, record) = (whole.len() - 22 - 20, whole.len() - 22 - 20 - 56);
    for at in [locator + 4, record + 16, record + 20] {
        let mut bytes = whole.clone();
        bytes[at] = 1;
        broken(&bytes, "it is one part of several");
    }
    let mut bytes = whole;
    bytes[locator + 16] = 2;
    broken(&bytes, "it is one part of several");
}

#[test]
fn se_06_end_records_that_disagree_are_refused() {
    let whole = zip_with(&[good()], &End { zip64: true, ..End::default() });
    let end = whole.len() - 22;
    for at in [8, 12, 16] {
        let mut bytes = whole.clone();
        bytes[end + at..end + at + 2].copy_from_slice(&[9, 0]);
        if at == 8 {
            bytes[end + 10..end + 12].copy_from_slice(&[9, 0]);
        } else {
            bytes[end + at + 2..end + at + 4].copy_from_slice(&[0, 0]);
        }
        broken(&bytes, "its two end records disagree");
    }
    // Bytes between the zip64 end record and its locator, or after the records of the directory.
    let (record, rest) = whole.split_at(end - 20);
    broken(&[record, b"x", rest].concat(), "zip64 end record is not where its locator says");
    let plain = zip(&[good()]);
    let (directory, last) = plain.split_at(plain.len() - 22);
    broken(&[directory, b"x", last].concat(), "its directory is not where its end record says");
    let length = u32::from_le_bytes(last[12..16].try_into().unwrap()) + 1;
    let mut last = last.to_vec();
    last[12..16].copy_from_slice(&length.to_le_bytes());
    let result = unpack(&[directory, b"x", &last].concat());
    assert!(matches!(result, Err(ArchiveError::Broken { .. })), "{result:?}");
}

#[test]
fn se_06_a_compressed_stream_that_ends_before_its_bytes_do_is_refused() {
    let packed = [good().packed, b"hidden".to_vec()].concat();
    assert_eq!(refused(&zip(&[Member { packed, ..good() }])), ZipMemberError::ContentMismatch);
}

#[test]
fn se_06_a_folder_with_content_is_refused() {
    let full = Member { mode: 0o040_755, ..stored("f/", b"hidden") };
    assert_eq!(refused(&zip(&[full])), ZipMemberError::DirWithContent);
    let crammed =
        Member { size: 0, crc: 0, ..deflated("f/", b"a long text that is hidden in a folder") };
    assert_eq!(
        refused(&zip(&[Member { mode: 0o040_755, ..crammed }])),
        ZipMemberError::DirWithContent
    );
    // Some programs compress the nothing that a folder holds.
    assert_eq!(
        unpack(&zip(&[Member { mode: 0o040_755, ..deflated("f/", b"") }])).unwrap(),
        tree([("f", None)])
    );
}

#[test]
fn se_03_names_that_git_reads_as_its_own_directory_are_refused() {
    for name in [".git/config", "s/.GIT/config", "s/git~1/config", "s/.g\u{200c}it/config", ".git"]
    {
        let why = refused(&zip(&[
            stored("SKILL.md", b"x"),
            Member { flags: UTF_8, ..stored(name, b"[core]") },
        ]));
        assert!(
            matches!(why, ZipMemberError::Name(sp_tree::PathError::GitDir(_))),
            "{name:?}: {why:?}"
        );
    }
}
