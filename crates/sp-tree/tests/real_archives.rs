//! Archives that common programs made, as they are. `real_zips/README.md` tells how.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test reads its own files")]

mod zips;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sp_tree::Limits;
use zips::{Unpacked, unpack_file};

const SCRIPT: &[u8] = b"#!/bin/sh\necho hello\n";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real_zips")
}

fn names() -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".zip")).collect()
}

fn unpacked(name: &str) -> Unpacked {
    unpack_file(&folder().join(name), &Limits::default())
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn sb_12_archives_of_common_programs_unpack_to_what_was_packed() {
    let skill = unpacked("info-zip.zip")["skill/SKILL.md"].clone();
    assert!(skill.as_ref().unwrap().1.starts_with(b"---\nname: skill\n"));
    for name in names() {
        let tree = unpacked(&name);
        let at = if tree.contains_key("p") { "p/skill" } else { "skill" };
        assert_eq!(tree.get(&format!("{at}/SKILL.md")), Some(&skill), "{name}");
        for (path, content) in [
            ("nothing.txt", &b""[..]),
            ("café.md", "café\n".as_bytes()),
            ("scripts/run.sh", SCRIPT),
        ] {
            if let Some(found) = tree.get(&format!("{at}/{path}")) {
                assert_eq!(
                    found.as_ref().map(|(_, bytes)| bytes.as_slice()),
                    Some(content),
                    "{name}: {path}"
                );
            }
        }
        if let Some(empty) = tree.get(&format!("{at}/empty")) {
            assert_eq!(*empty, None, "{name}");
        }
    }
}

#[test]
fn every_archive_here_is_explained_and_every_explained_one_is_here() {
    let text = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let told = cells
        .flat_map(|cell| cell.split('`'))
        .filter(|word| word.ends_with(".zip"))
        .map(str::to_owned)
        .collect();
    assert_eq!(names(), told);
}
