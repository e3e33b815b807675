//! Archives created by common programs; see `real_zips/README.md`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::zips::{Unpacked, unpack_file};
use sp_tree::Limits;

const SCRIPT: &[u8] = b"#!/bin/sh\necho hello\n";

fn archive_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real_zips")
}

fn archive_names() -> BTreeSet<String> {
    let entries = std::fs::read_dir(archive_dir()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".zip")).collect()
}

fn unpacked(name: &str) -> Unpacked {
    unpack_file(&archive_dir().join(name), &Limits::default())
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn sb_12_archives_of_common_programs_are_unpacked() {
    let skill = unpacked("info-zip.zip")["skill/SKILL.md"].clone();
    assert!(skill.as_ref().unwrap().1.starts_with(b"---\nname: skill\n"));
    for name in archive_names() {
        let tree = unpacked(&name);
        let root = if tree.contains_key("p") { "p/skill" } else { "skill" };
        assert_eq!(tree.get(&format!("{root}/SKILL.md")), Some(&skill), "{name}");
        for (path, content) in [
            ("nothing.txt", &b""[..]),
            ("café.md", "café\n".as_bytes()),
            ("scripts/run.sh", SCRIPT),
        ] {
            if let Some(entry) = tree.get(&format!("{root}/{path}")) {
                assert_eq!(
                    entry.as_ref().map(|(_, bytes)| bytes.as_slice()),
                    Some(content),
                    "{name}: {path}"
                );
            }
        }
        if let Some(empty) = tree.get(&format!("{root}/empty")) {
            assert_eq!(*empty, None, "{name}");
        }
    }
}

#[test]
fn readme_lists_exactly_the_archives_in_the_directory() {
    let text = std::fs::read_to_string(archive_dir().join("README.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let listed = cells
        .flat_map(|cell| cell.split('`'))
        .filter(|word| word.ends_with(".zip"))
        .map(str::to_owned)
        .collect();
    assert_eq!(archive_names(), listed);
}
