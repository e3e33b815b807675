//! Properties of extraction for arbitrary files.

use std::collections::{BTreeMap, HashSet};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use sp_analyze::extract::{FileHistory, RevertCommit, is_extractable};

use super::*;

/// Names of every supported kind of file, and of some others.
const NAMES: &[&str] = &[
    "src/lib.rs",
    "src/a.rs",
    "src/tests.rs",
    "tests/a.rs",
    "a/mod.rs",
    "pkg/__init__.py",
    "pkg/a.py",
    "tests/test_a.py",
    "a.pyi",
    "src/a.ts",
    "src/index.ts",
    "src/a.tsx",
    "src/a.test.ts",
    "src/a.js",
    "src/a.cjs",
    "src/a.mjs",
    "src/a.jsx",
    "src/a.d.ts",
    "main.go",
    "a/a.go",
    "a/a_test.go",
    "src/main/java/a/A.java",
    "src/test/java/a/ATest.java",
    "run.sh",
    "a.c",
    "a.sql",
    "a.ini",
    "bin/run",
    "README.md",
    "readme.rst",
    "AGENTS.md",
    "SECURITY.md",
    "TROUBLESHOOTING.md",
    "CONTRIBUTING.md",
    "docs/a.md",
    "docs/a.mdx",
    "docs/adr/0001-a.md",
    "docs/adr/0002-b.md",
    "docs/adr/adr-003.rst",
    "CHANGELOG.md",
    "HISTORY.rst",
    ".cursorrules",
    "Cargo.toml",
    "crates/a/Cargo.toml",
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
    ".gitlab-ci.yml",
    "rust-toolchain.toml",
    ".nvmrc",
    "CODEOWNERS",
    "clippy.toml",
    "rustfmt.toml",
    ".editorconfig",
    ".pre-commit-config.yaml",
    ".eslintrc.json",
    "LICENSE",
    "a.unknown",
    "",
    "/",
    "a/",
];

/// Parts of every supported language, so that combinations are meaningful.
const WORDS: &[&str] = &[
    "pub ",
    "fn ",
    "f",
    "g",
    "A",
    "B",
    "struct ",
    "enum ",
    "impl ",
    "trait ",
    "mod ",
    "use ",
    "crate::",
    "super::",
    "self",
    "#[test]\n",
    "#[cfg(test)]\n",
    "macro_rules! ",
    "def ",
    "class ",
    "import ",
    "from ",
    "return ",
    "test_a",
    "@a\n",
    "async ",
    "export ",
    "default ",
    "function ",
    "const ",
    "=> ",
    "interface ",
    "type ",
    "require('./a')",
    "module.exports = ",
    "it(\"a\", ",
    "package a\n",
    "func ",
    "(a *A) ",
    "public ",
    "static ",
    "void ",
    "@Test ",
    "@Override ",
    "new ",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ";",
    ":",
    ",",
    ".",
    "=",
    "\"",
    "'",
    "`",
    "\"\"\"",
    "/*",
    "*/",
    "//",
    "///",
    "/**",
    "# ",
    "## ",
    "### ",
    "---\n",
    "===\n",
    "```\n",
    "- ",
    "> [!WARNING]\n",
    "> ",
    ".. warning::\n",
    "FIXME: ",
    "SAFETY(a): ",
    "Status: accepted\n",
    "Date: 2024-05-06\n",
    "Superseded by [2](0002-b.md)\n",
    "Supersedes 1\n",
    "## 1.2.0 - 2024-05-06\n",
    "### Removed\n",
    "[package]\n",
    "name = \"a\"\n",
    "[dependencies]\n",
    "a = 1\n",
    "[lints.rust]\n",
    "{\"name\":\"a\"}",
    "\"scripts\":{\"a\":\"b\"}",
    "services:\n  a:\n    image: b\n",
    "jobs:\n  a:\n    steps:\n    - run: b\n",
    "<project><artifactId>a</artifactId></project>",
    "FROM a\n",
    "a:\n\tb\n",
    "* @a\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    "    ",
    " ",
    "\u{feff}",
    "\u{301}",
    "é",
    "漢字",
    "🦀",
    "\u{0}",
    "<!-- ",
    " -->",
    "|",
    "some words of it ",
];

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..400),
        ".{0,200}".prop_map(String::into_bytes),
        vec(select(WORDS), 0..120).prop_map(|words| words.concat().into_bytes()),
        (vec(select(WORDS), 0..60), vec(any::<u8>(), 0..20), vec(select(WORDS), 0..20))
            .prop_map(|(a, b, c)| [a.concat().into_bytes(), b, c.concat().into_bytes()].concat()),
    ]
}

/// Files with unique names.
fn project() -> impl Strategy<Value = Vec<(String, Vec<u8>)>> {
    vec((select(NAMES), bytes()), 0..14).prop_map(|files| {
        let unique: BTreeMap<&str, Vec<u8>> = files.into_iter().collect();
        unique.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect()
    })
}

fn history(files: &[(String, Vec<u8>)], seed: u32) -> CommitHistory {
    let timestamp = |day: usize| {
        let second = 1_700_000_000 + i64::try_from(day).unwrap() * 86_400;
        jiff::Timestamp::from_second(second).unwrap()
    };
    let tracked = files.iter().enumerate().filter(|(number, _)| number % 3 != 2);
    let tracked = tracked.map(|(number, (path, _))| {
        let commits = seed.wrapping_mul(u32::try_from(number).unwrap() + 7) % 50;
        (path.clone(), FileHistory { last_changed: timestamp(number), commits })
    });
    let files: Vec<String> = files.iter().map(|(path, _)| path.clone()).collect();
    let revert = RevertCommit {
        at: timestamp(3),
        subject: "Faster parsing".into(),
        body: "It lost data.".into(),
        files,
    };
    CommitHistory::new(tracked.collect(), vec![revert])
}

fn extract_files(files: &[(String, Vec<u8>)]) -> Vec<FileExtract> {
    files.iter().map(|(path, bytes)| extract_file(ExtractInput { path, bytes })).collect()
}

/// Counts lines like an editor.
fn count_lines(bytes: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(bytes);
    text.strip_prefix('\u{feff}').unwrap_or(&text).lines().count().max(1).try_into().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pk_21_extraction_is_deterministic_and_line_numbers_are_valid(name in select(NAMES), bytes in bytes()) {
        is_extractable(name);
        let first = extract_file(ExtractInput { path: name, bytes: &bytes });
        let second = extract_file(ExtractInput { path: name, bytes: &bytes });
        prop_assert_eq!(&first.notes, &second.notes);
        prop_assert_eq!(&first.secret_lines, &second.secret_lines);
        let line_count = count_lines(&bytes);
        for note in &first.notes {
            let (first_line, last_line) = (note.lines.first as u64, note.lines.last as u64);
            prop_assert!(1 <= first_line && first_line <= last_line && last_line <= line_count, "{} lines: {:?}", line_count, note);
            prop_assert!(!note.content.trim().is_empty(), "{:?}", note);
            prop_assert!((0.0..=1.0).contains(&note.confidence), "{:?}", note);
            prop_assert!(note.enclosing_symbol.is_none() || note.kind == "gotcha", "{:?}", note);
        }
        prop_assert!(first.skip_reason.is_none() || first.notes.is_empty());
    }

    #[test]
    fn pk_21_graphs_are_consistent_and_independent_of_file_order(files in project(), seed in any::<u32>(), level in 1_u64..=3) {
        let options = AssembleOptions { level, ..OPTIONS };
        let history = history(&files, seed);
        let extracted = assemble(extract_files(&files), &history, options);
        let mut reordered = files.clone();
        reordered.rotate_left(files.len() / 2);
        reordered.reverse();
        prop_assert_eq!(json(&assemble(extract_files(&reordered), &history, options)), json(&extracted));
        check_graph(&files, &extracted, level)?;
    }

    #[test]
    fn pk_21_graphs_respect_the_size_limit(files in project(), max_bytes in 0_usize..20_000) {
        let complete = assemble(extract_files(&files), &CommitHistory::default(), OPTIONS);
        let limited = assemble(extract_files(&files), &CommitHistory::default(), AssembleOptions { max_bytes, ..OPTIONS });
        let symbols = |extracted: &ExtractedGraph| extracted.graph.nodes.iter().filter(|node| node.kind.starts_with("code_")).count();
        prop_assert_eq!(symbols(&limited) + limited.omitted_symbols, symbols(&complete));
        // Only code is omitted; notes and edges are always included.
        let notes: usize = complete.graph.nodes.iter().filter(|node| !node.kind.starts_with("code_")).map(|node| node.to_json().len()).sum();
        let edges: usize = limited.graph.edges.iter().map(|edge| edge.to_json().len()).sum();
        prop_assert!(json(&limited).len() <= max_bytes + notes + edges + 200, "{} in {}", json(&limited).len(), max_bytes);
    }

    #[test]
    fn pk_21_vendored_files_and_samples_are_never_extracted(
        before in select(&["", "a/", "src/b/"][..]),
        folder in select(&["node_modules", "vendor", "target", ".git", "dist", "__pycache__", "venv", "testdata", "fixtures", "third_party"][..]),
        after in select(NAMES),
    ) {
        let path = format!("{before}{folder}/{after}");
        prop_assert!(!is_extractable(&path), "{}", path);
    }
}

fn check_graph(
    files: &[(String, Vec<u8>)],
    extracted: &ExtractedGraph,
    level: u64,
) -> Result<(), TestCaseError> {
    let nodes = nodes_as_json(extracted);
    let ids: HashSet<&str> = nodes.iter().map(|node| node["id"].as_str().unwrap()).collect();
    prop_assert_eq!(ids.len(), nodes.len(), "IDs are unique");
    let distinct: HashSet<String> =
        nodes.iter().map(|node| without(node, "id").to_string()).collect();
    prop_assert_eq!(distinct.len(), nodes.len(), "nodes are unique");
    let line_counts: BTreeMap<&str, u64> =
        files.iter().map(|(path, bytes)| (path.as_str(), count_lines(bytes))).collect();
    for node in &nodes {
        let path = node["file_path"].as_str().unwrap();
        prop_assert!(!node["content"].as_str().unwrap().trim().is_empty(), "{}", node);
        prop_assert!((0.0..=1.0).contains(&node["activation"].as_f64().unwrap()), "{}", node);
        prop_assert!(
            node["confidence"].as_f64().is_none_or(|confidence| (0.0..=1.0).contains(&confidence)),
            "{}",
            node
        );
        match (line_counts.get(path), node["line_start"].as_u64(), node["line_end"].as_u64()) {
            (Some(last), Some(first), Some(end)) => {
                prop_assert!(1 <= first && first <= end && end <= *last, "{}", node);
            }
            (None, None, None) => prop_assert_eq!(path, ".", "only the project has no file"),
            _ => prop_assert!(false, "{}", node),
        }
        prop_assert_eq!(
            node["decay_half_life_days"].is_number(),
            level == 3 && node["created_at"].is_string(),
            "{}",
            node
        );
        prop_assert!(level < 2 || node["created_at"].is_string(), "{}", node);
    }
    let edges = &extracted.graph.edges;
    prop_assert!(level > 1 || edges.is_empty(), "level 1 has no edges");
    let mut seen = HashSet::new();
    for edge in edges {
        prop_assert!(
            ids.contains(edge.from.as_str()) && ids.contains(edge.to.as_str()),
            "{:?}",
            edge
        );
        prop_assert!(edge.from != edge.to, "{:?}", edge);
        prop_assert!((0.0..=1.0).contains(&edge.weight), "{:?}", edge);
        prop_assert!(seen.insert((&edge.from, &edge.to, &edge.kind)), "duplicate: {:?}", edge);
    }
    Ok(())
}

fn without(node: &Value, key: &str) -> Value {
    let mut node = node.clone();
    node.as_object_mut().unwrap().remove(key);
    node
}
