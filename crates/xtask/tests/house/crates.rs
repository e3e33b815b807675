//! Which crate may depend on which, what each must not do, and that every dependency has a reason.
//! Add a new crate or dependency to a table below and to the page that explains it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::source::rust_files;

/// The crates of the workspace, each with the workspace crates it depends on.
const CRATES: &[(&str, &[&str])] = &[
    ("sp-tree", &[]),
    ("sp-formats", &["sp-tree"]),
    ("sp-analyze", &["sp-formats", "sp-tree"]),
    ("sp-engine", &["sp-analyze", "sp-formats", "sp-tree"]),
    ("sp-serve", &["sp-engine", "sp-formats", "sp-tree"]),
    ("sp", &["sp-engine", "sp-formats", "sp-serve"]),
    ("sp-testkit", &[]),
    ("xtask", &["sp-analyze", "sp-formats"]),
];

/// Maximum number of edges between crates that ship.
const MAX_EDGES: usize = 12;
/// Maximum number of edges on a path from one crate to another.
const MAX_CHAIN: usize = 5;

/// Crates that do not ship.
const DEV_ONLY: &[&str] = &["sp-testkit", "xtask"];

/// Which crates may use a dependency in tests, in addition to those that ship it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InTests {
    Nobody,
    Anybody,
}
use InTests::{Anybody, Nobody};

/// The dependencies, each with the crates that may use it and those that may use it in tests.
const DEPENDENCIES: &[(&str, &[&str], InTests)] = &[
    // Terminal output and arguments: only the binary.
    ("annotate-snippets", &["sp"], Nobody),
    ("anstream", &["sp"], Nobody),
    ("anstyle", &["sp"], Nobody),
    ("clap", &["sp"], Nobody),
    ("clap_complete", &["sp"], Nobody),
    ("clap_mangen", &["sp"], Nobody),
    ("comfy-table", &["sp"], Nobody),
    ("indicatif", &["sp"], Nobody),
    ("similar", &["sp"], Nobody),
    ("terminal_size", &["sp"], Nobody),
    // Byte layouts.
    ("base64", &["sp-formats", "sp-analyze", "sp-serve"], Nobody),
    ("foldhash", &["sp-formats", "sp-analyze"], Nobody),
    ("granit-parser", &["sp-formats"], Nobody),
    ("pulldown-cmark", &["sp-formats", "sp-analyze", "sp-serve"], Nobody),
    ("toml_edit", &["sp-formats"], Nobody),
    // Extraction from projects.
    ("roxmltree", &["sp-analyze"], Nobody),
    ("toml", &["sp-analyze"], Nobody),
    ("tree-sitter", &["sp-analyze"], Nobody),
    ("tree-sitter-go", &["sp-analyze"], Nobody),
    ("tree-sitter-java", &["sp-analyze"], Nobody),
    ("tree-sitter-javascript", &["sp-analyze"], Nobody),
    ("tree-sitter-python", &["sp-analyze"], Nobody),
    ("tree-sitter-rust", &["sp-analyze"], Nobody),
    ("tree-sitter-typescript", &["sp-analyze"], Nobody),
    // Knowledge bases.
    ("dom_smoothie", &["sp-analyze"], Nobody),
    ("rusqlite", &["sp-engine", "sp-serve"], Nobody),
    // MCP and the registry: the only async code.
    ("rmcp", &["sp-serve"], Nobody),
    ("askama", &["sp-serve"], Nobody),
    ("axum", &["sp-serve"], Nobody),
    ("hyper", &["sp-serve"], Nobody),
    ("hyper-util", &["sp-serve"], Nobody),
    ("postgres", &["sp-serve"], Nobody),
    ("prometheus-client", &["sp-serve"], Nobody),
    ("rustls-platform-verifier", &["sp-serve"], Nobody),
    ("tokio", &["sp-serve"], Nobody),
    ("tokio-postgres-rustls", &["sp-serve"], Nobody),
    ("tower", &["sp-serve"], Nobody),
    ("schemars", &["sp-formats", "sp-serve"], Nobody),
    ("strsim", &["sp-formats"], Nobody),
    ("tiktoken-rs", &["sp-analyze"], Nobody),
    ("serde", &["sp-tree", "sp-formats", "sp-analyze", "sp-engine", "sp-serve", "sp"], Nobody),
    (
        "serde_json",
        &[
            "sp-tree",
            "sp-formats",
            "sp-analyze",
            "sp-engine",
            "sp-serve",
            "sp",
            "sp-testkit",
            "xtask",
        ],
        Anybody,
    ),
    // Files and processes.
    ("ureq", &["sp-engine"], Nobody),
    ("rustix", &["sp-tree", "sp-engine", "sp-testkit"], Anybody),
    ("flate2", &["sp-tree", "sp-serve"], Nobody),
    ("ignore", &["sp-engine"], Nobody),
    ("notify", &["sp-engine"], Nobody),
    ("pubgrub", &["sp-engine"], Nobody),
    ("rawzip", &["sp-tree"], Anybody),
    ("ruzstd", &["sp-tree"], Nobody),
    ("semver", &["sp-formats", "sp-engine"], Nobody),
    ("httparse", &["sp-serve"], Nobody),
    // Keys.
    ("ed25519-dalek", &["sp-tree"], Nobody),
    ("getrandom", &["sp"], Nobody),
    ("hmac", &["sp-tree"], Nobody),
    ("zeroize", &["sp-tree"], Nobody),
    ("rayon", &["sp-tree", "sp-engine"], Nobody),
    ("sha2", &["sp-tree", "sp-testkit"], Nobody),
    ("unicode-normalization", &["sp-tree"], Nobody),
    // Time and errors.
    ("jiff", &["sp-formats", "sp-analyze", "sp-engine", "sp-serve", "sp"], Nobody),
    ("thiserror", &["sp-tree", "sp-formats", "sp-engine", "sp-serve"], Nobody),
    // Tests.
    ("globset", &[], Anybody),
    ("insta", &[], Anybody),
    ("jsonschema", &[], Anybody),
    ("proptest", &["sp-testkit"], Anybody),
    ("rcgen", &["sp-testkit"], Nobody),
    ("regex-lite", &["sp-testkit"], Nobody),
    ("rustls", &["sp-serve", "sp-testkit"], Nobody),
    ("tempfile", &["sp-testkit"], Anybody),
    // The checks in this directory.
    ("proc-macro2", &[], Anybody),
    ("syn", &[], Anybody),
];

/// Words that must not occur in a crate's code, except in tests.
const NEVER: &[(&str, &[&str])] = &[
    (
        "sp-tree",
        &[
            "std::env",
            "SystemTime::now",
            "Instant::now",
            "TcpStream",
            "Command::new",
            "println!",
            "async fn",
        ],
    ),
    (
        "sp-formats",
        &[
            "std::fs",
            "std::env",
            "std::process",
            "SystemTime",
            "Instant::now",
            "TcpStream",
            "println!",
            "async fn",
        ],
    ),
    (
        "sp-analyze",
        &[
            "std::fs",
            "std::env",
            "std::process",
            "SystemTime",
            "Instant::now",
            "TcpStream",
            "println!",
            "async fn",
        ],
    ),
    ("sp-engine", &["std::env", "SystemTime::now", "process::exit", "println!", "async fn"]),
    ("sp-serve", &["std::env", "SystemTime::now", "process::exit", "println!"]),
];

/// A workspace crate, as `cargo metadata` describes it.
struct Package {
    name: String,
    manifest: PathBuf,
    ships: BTreeSet<String>,
    tests: BTreeSet<String>,
}

pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().into()
}

fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version", "1", "--no-deps"])
        .current_dir(workspace())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    metadata["packages"].as_array().expect("a list of packages").iter().map(package).collect()
}

fn package(value: &Value) -> Package {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let dependencies = value["dependencies"].as_array().expect("a list of dependencies");
    let (tests, ships): (Vec<&Value>, Vec<&Value>) =
        dependencies.iter().partition(|one| one["kind"] == "dev");
    let names = |list: Vec<&Value>| list.into_iter().map(|one| text(&one["name"])).collect();
    Package {
        name: text(&value["name"]),
        manifest: text(&value["manifest_path"]).into(),
        ships: names(ships),
        tests: names(tests),
    }
}

fn is_ours(name: &str) -> bool {
    CRATES.iter().any(|(known, _)| *known == name)
}

#[test]
fn crates_are_built_on_one_another_only_as_drawn() {
    for package in packages() {
        let drawn = CRATES.iter().find(|(name, _)| *name == package.name);
        let (_, allowed) = drawn.unwrap_or_else(|| {
            panic!("`{}` is new: add it to `CRATES` here and to ARCHITECTURE.md", package.name);
        });
        for used in package.ships.iter().filter(|name| is_ours(name)) {
            assert!(
                allowed.contains(&used.as_str()),
                "`{}` must not be built on `{used}`",
                package.name
            );
            assert!(
                !DEV_ONLY.contains(&used.as_str()),
                "`{used}` must not ship, and `{}` is built on it",
                package.name
            );
        }
        for used in package.tests.iter().filter(|name| is_ours(name)) {
            let is_below = |name: &str| CRATES.iter().position(|(known, _)| *known == name);
            let fits = is_below(used) < is_below(&package.name) || used == "sp-testkit";
            assert!(fits, "the tests of `{}` must not use `{used}`", package.name);
        }
    }
}

/// Returns the length of the longest path from a crate.
fn chain(name: &str) -> usize {
    let below = CRATES.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, below)| below);
    below.iter().map(|name| chain(name) + 1).max().unwrap_or(0)
}

#[test]
fn there_are_few_edges_and_short_chains() {
    let shipped = || CRATES.iter().filter(|(name, _)| !DEV_ONLY.contains(name));
    let edges: usize = shipped().map(|(_, below)| below.len()).sum();
    assert!(edges <= MAX_EDGES, "{edges} edges between crates");
    for (name, _) in shipped() {
        assert!(
            chain(name) <= MAX_CHAIN,
            "the longest chain below `{name}` has {} edges",
            chain(name)
        );
    }
}

#[test]
fn each_dependency_is_used_only_where_it_may_be() {
    for package in packages() {
        let everything = package
            .ships
            .iter()
            .map(|name| (name, true))
            .chain(package.tests.iter().map(|name| (name, false)));
        for (name, ships) in everything.filter(|(name, _)| !is_ours(name)) {
            let known = DEPENDENCIES.iter().find(|(dependency, ..)| dependency == name);
            let (_, crates, in_tests) = known.unwrap_or_else(|| {
                panic!(
                    "`{name}` is new: add it to `DEPENDENCIES` here and to docs/dependencies.md"
                );
            });
            let fits = crates.contains(&package.name.as_str()) || !ships && *in_tests == Anybody;
            assert!(fits, "`{}` must not use `{name}`", package.name);
        }
    }
}

#[test]
fn every_dependency_has_a_line_in_the_page_and_every_line_a_dependency() {
    let page = std::fs::read_to_string(workspace().join("docs/dependencies.md"))
        .expect("docs/dependencies.md");
    let explained: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let packages = packages();
    let used: BTreeSet<&str> = packages
        .iter()
        .flat_map(|package| package.ships.union(&package.tests))
        .map(String::as_str)
        .filter(|name| !is_ours(name))
        .collect();
    let silent: Vec<_> = used.difference(&explained).collect();
    assert!(silent.is_empty(), "docs/dependencies.md says nothing of {silent:?}");
    let gone: Vec<_> = explained.difference(&used).collect();
    assert!(gone.is_empty(), "docs/dependencies.md has lines for {gone:?}, which nothing uses");
    let listed: BTreeSet<&str> = DEPENDENCIES.iter().map(|(name, ..)| *name).collect();
    let idle: Vec<_> = listed.difference(&used).collect();
    assert!(idle.is_empty(), "`DEPENDENCIES` has rows for {idle:?}, which nothing uses");
}

/// Returns the sections of a manifest, each with its lines. Supports only the TOML that we use.
fn sections(manifest: &Path) -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(manifest).expect("a manifest");
    let mut sections: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines().map(str::trim) {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => current = name.into(),
            None => sections.entry(current.clone()).or_default().push(line.into()),
        }
    }
    sections
}

#[test]
fn se_14_unsafe_code_is_forbidden_in_every_crate() {
    const FORBIDDEN: &str = "unsafe_code = \"forbid\"";
    let has = |manifest: &Path, section: &str, line: &str| {
        sections(manifest).get(section).is_some_and(|lines| lines.iter().any(|known| known == line))
    };
    let everywhere = has(&workspace().join("Cargo.toml"), "workspace.lints.rust", FORBIDDEN);
    for package in packages() {
        let inherits = has(&package.manifest, "lints", "workspace = true");
        let itself = has(&package.manifest, "lints.rust", FORBIDDEN);
        assert!(itself || inherits && everywhere, "`{}` does not forbid unsafe code", package.name);
    }
}

#[test]
fn no_crate_does_what_it_may_never_do() {
    for (name, words) in NEVER {
        let mut files = Vec::new();
        rust_files(&workspace().join("crates").join(name).join("src"), &mut files);
        for file in files {
            let source = std::fs::read_to_string(&file).expect("a source file");
            let code = source.lines().take_while(|line| *line != "#[cfg(test)]");
            for (number, line) in
                code.enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
            {
                let found = words.iter().find(|word| line.contains(**word));
                assert!(
                    found.is_none(),
                    "{}:{}: `{name}` may never use `{}`",
                    file.display(),
                    number + 1,
                    found.unwrap()
                );
            }
        }
    }
}
