//! Extracts any bytes as the files of a project, under names of every kind of file.
//!
//! `cargo +nightly fuzz run projects fuzz/corpus/projects fuzz/seeds/projects`
#![no_main]

use std::collections::{BTreeMap, HashSet};

use libfuzzer_sys::fuzz_target;
use sp_analyze::extract::{
    AssembleOptions, CommitHistory, ExtractInput, FileExtract, assemble, extract_file,
};

/// The first byte of a file selects its name.
const NAMES: &[&str] = &[
    "src/lib.rs",
    "src/a.rs",
    "tests/a.rs",
    "pkg/__init__.py",
    "pkg/a.py",
    "tests/test_a.py",
    "src/a.ts",
    "src/index.tsx",
    "src/a.test.ts",
    "lib/a.js",
    "a/a.go",
    "a/a_test.go",
    "src/main/java/a/A.java",
    "run.sh",
    "a.c",
    "a.sql",
    "README.md",
    "AGENTS.md",
    "docs/a.rst",
    "docs/adr/0001-a.md",
    "docs/adr/0002-b.md",
    "CHANGELOG.md",
    "Cargo.toml",
    "package.json",
    "tsconfig.json",
    "pyproject.toml",
    "requirements.txt",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "Dockerfile",
    "compose.yaml",
    "Makefile",
    "justfile",
    ".github/workflows/ci.yml",
    "CODEOWNERS",
    "clippy.toml",
    ".editorconfig",
    ".pre-commit-config.yaml",
    "LICENSE",
    "bin/run",
];
const OPTIONS: AssembleOptions = AssembleOptions { level: 3, max_bytes: 1024 * 1024 };

/// Splits the input into files at a byte that is invalid in UTF-8.
fn files(bytes: &[u8]) -> BTreeMap<&'static str, &[u8]> {
    let parts = bytes.split(|byte| *byte == 0xfe).filter_map(<[u8]>::split_first);
    parts.map(|(name, text)| (NAMES[usize::from(*name) % NAMES.len()], text)).collect()
}

fuzz_target!(|bytes: &[u8]| {
    let files = files(bytes);
    let found: Vec<FileExtract> =
        files.iter().map(|(path, bytes)| extract_file(ExtractInput { path, bytes })).collect();
    for (file, bytes) in found.iter().zip(files.values()) {
        let text = String::from_utf8_lossy(bytes);
        let lines = text.strip_prefix('\u{feff}').unwrap_or(&text).lines().count().max(1);
        for note in &file.notes {
            assert!(
                1 <= note.lines.first
                    && note.lines.first <= note.lines.last
                    && note.lines.last <= lines,
                "{note:?}"
            );
            assert!(!note.content.trim().is_empty());
        }
    }
    let backwards = found.iter().rev().cloned().collect();
    let extracted = assemble(found, &CommitHistory::default(), OPTIONS);
    assert_eq!(
        assemble(backwards, &CommitHistory::default(), OPTIONS).graph.to_content_json(),
        extracted.graph.to_content_json()
    );
    let ids: HashSet<String> = extracted.graph.nodes.iter().map(|node| node.id()).collect();
    assert_eq!(ids.len(), extracted.graph.nodes.len());
    assert!(
        extracted.graph.edges.iter().all(|edge| ids.contains(&edge.from) && ids.contains(&edge.to))
    );
});
