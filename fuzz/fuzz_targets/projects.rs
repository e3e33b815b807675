//! Any bytes as files of a project, under names of every kind of file that is read.
//!
//! `cargo +nightly fuzz run projects fuzz/corpus/projects fuzz/seeds/projects`
#![no_main]

use std::collections::{BTreeMap, HashSet};

use libfuzzer_sys::fuzz_target;
use sp_analyze::extract::{File, Found, History, Options, assemble, read};

/// The first byte of a file says which of these it is.
const NAMES: &[&str] = &[
    "src/lib.rs", "src/a.rs", "tests/a.rs", "pkg/__init__.py", "pkg/a.py", "tests/test_a.py", "src/a.ts", "src/index.tsx",
    "src/a.test.ts", "lib/a.js", "a/a.go", "a/a_test.go", "src/main/java/a/A.java", "run.sh", "a.c", "a.sql", "README.md",
    "AGENTS.md", "docs/a.rst", "docs/adr/0001-a.md", "docs/adr/0002-b.md", "CHANGELOG.md", "Cargo.toml", "package.json",
    "tsconfig.json", "pyproject.toml", "requirements.txt", "go.mod", "pom.xml", "build.gradle", "Dockerfile", "compose.yaml",
    "Makefile", "justfile", ".github/workflows/ci.yml", "CODEOWNERS", "clippy.toml", ".editorconfig", ".pre-commit-config.yaml",
    "LICENSE", "bin/run",
];
const OPTIONS: Options = Options { level: 3, most_bytes: 1024 * 1024 };

/// What the files say; each ends with a byte that no text has.
fn files(bytes: &[u8]) -> BTreeMap<&'static str, &[u8]> {
    let parts = bytes.split(|byte| *byte == 0xfe).filter_map(<[u8]>::split_first);
    parts.map(|(name, text)| (NAMES[usize::from(*name) % NAMES.len()], text)).collect()
}

fuzz_target!(|bytes: &[u8]| {
    let files = files(bytes);
    let found: Vec<Found> = files.iter().map(|(path, bytes)| read(File { path, bytes })).collect();
    for (file, bytes) in found.iter().zip(files.values()) {
        let text = String::from_utf8_lossy(bytes);
        let lines = text.strip_prefix('\u{feff}').unwrap_or(&text).lines().count().max(1);
        for note in &file.notes {
            assert!(1 <= note.lines.first && note.lines.first <= note.lines.last && note.lines.last <= lines, "{note:?}");
            assert!(!note.content.trim().is_empty());
        }
    }
    let backwards = found.iter().rev().cloned().collect();
    let extracted = assemble(found, &History::default(), OPTIONS);
    assert_eq!(assemble(backwards, &History::default(), OPTIONS).graph.to_content(), extracted.graph.to_content());
    let ids: HashSet<String> = extracted.graph.nodes.iter().map(|node| node.id()).collect();
    assert_eq!(ids.len(), extracted.graph.nodes.len());
    assert!(extracted.graph.edges.iter().all(|edge| ids.contains(&edge.from) && ids.contains(&edge.to)));
});
