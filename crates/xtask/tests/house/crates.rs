//! Dependencies between crates, external dependencies, and forbidden words in the code of a crate.
//! Add a new crate or dependency to a table below and to the page that explains it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::source::rust_files;

/// The crates of the workspace, lowest first, each with the workspace crates it may depend on.
const CRATES: &[(&str, &[&str])] = &[
    ("sp-tree", &[]),
    ("sp-formats", &["sp-tree"]),
    ("sp-analyze", &["sp-formats", "sp-tree"]),
    ("sp-engine", &["sp-analyze", "sp-formats", "sp-tree"]),
    ("sp-serve", &["sp-engine", "sp-formats", "sp-tree"]),
    ("sp", &["sp-engine", "sp-formats", "sp-serve"]),
    ("sp-testkit", &[]),
    ("xtask", &["sp-analyze", "sp-engine", "sp-formats"]),
    ("sp-fuzz", &["sp-analyze", "sp-formats", "sp-tree"]),
];

/// Maximum number of edges between crates that ship.
const MAX_EDGES: usize = 12;
/// Maximum number of edges on a path from one crate to another.
const MAX_PATH_LEN: usize = 5;

/// Crates that do not ship.
const DEV_ONLY: &[&str] = &["sp-testkit", "sp-fuzz", "xtask"];

/// Returns the crates that ship, lowest first, with the workspace crates they may depend on.
pub fn shipped_crates() -> impl Iterator<Item = &'static (&'static str, &'static [&'static str])> {
    CRATES.iter().filter(|(name, _)| !DEV_ONLY.contains(name))
}

/// Whether all crates may use a dependency in tests, or only those that ship it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InTests {
    OnlyShipping,
    AllCrates,
}
use InTests::{AllCrates, OnlyShipping};

/// The dependencies, each with the crates that may use it.
const DEPENDENCIES: &[(&str, &[&str], InTests)] = &[
    // Terminal output and arguments: only the binary.
    ("annotate-snippets", &["sp"], OnlyShipping),
    ("anstream", &["sp"], OnlyShipping),
    ("anstyle", &["sp"], OnlyShipping),
    ("clap", &["sp"], OnlyShipping),
    ("clap_complete", &["sp"], OnlyShipping),
    ("clap_mangen", &["sp"], OnlyShipping),
    ("indicatif", &["sp"], OnlyShipping),
    ("similar", &["sp"], OnlyShipping),
    ("terminal_size", &["sp"], OnlyShipping),
    ("unicode-width", &["sp"], OnlyShipping),
    // Byte layouts.
    ("base64", &["sp-formats", "sp-analyze", "sp-serve", "sp-testkit"], OnlyShipping),
    ("foldhash", &["sp-formats", "sp-analyze"], OnlyShipping),
    ("granit-parser", &["sp-formats"], OnlyShipping),
    ("hashbrown", &["sp-analyze"], OnlyShipping),
    ("idna_adapter", &["sp-formats"], OnlyShipping),
    ("percent-encoding", &["sp-formats"], OnlyShipping),
    ("pulldown-cmark", &["sp-formats", "sp-analyze", "sp-serve"], OnlyShipping),
    ("toml_edit", &["sp-formats"], OnlyShipping),
    ("url", &["sp-formats"], OnlyShipping),
    // Extraction from projects.
    ("roxmltree", &["sp-analyze"], OnlyShipping),
    ("toml", &["sp-analyze"], OnlyShipping),
    ("tree-sitter", &["sp-analyze"], OnlyShipping),
    ("tree-sitter-bash", &["sp-analyze"], OnlyShipping),
    ("tree-sitter-go", &["sp-analyze"], OnlyShipping),
    ("tree-sitter-java", &["sp-analyze"], OnlyShipping),
    ("tree-sitter-javascript", &["sp-analyze"], OnlyShipping),
    ("tree-sitter-python", &["sp-analyze"], OnlyShipping),
    ("tree-sitter-rust", &["sp-analyze"], OnlyShipping),
    ("tree-sitter-typescript", &["sp-analyze"], OnlyShipping),
    // Knowledge bases.
    ("dom_smoothie", &["sp-analyze"], OnlyShipping),
    ("rusqlite", &["sp-engine", "sp-serve"], OnlyShipping),
    // MCP and the registry: the only async code.
    ("async-trait", &["sp-serve"], OnlyShipping),
    ("rmcp", &["sp-serve"], OnlyShipping),
    ("askama", &["sp-serve"], OnlyShipping),
    ("axum", &["sp-serve"], OnlyShipping),
    ("futures-util", &["sp-serve"], OnlyShipping),
    ("hyper", &["sp-serve", "sp-testkit"], OnlyShipping),
    ("hyper-rustls", &["sp-serve"], OnlyShipping),
    ("hyper-util", &["sp-serve", "sp-testkit"], OnlyShipping),
    ("object_store", &["sp-serve"], OnlyShipping),
    ("postgres", &["sp-serve"], OnlyShipping),
    ("prometheus-client", &["sp-serve"], OnlyShipping),
    ("rustls-platform-verifier", &["sp-serve"], OnlyShipping),
    ("tokio", &["sp-serve", "sp-testkit"], OnlyShipping),
    ("tokio-rustls", &["sp-serve"], OnlyShipping),
    ("tokio-postgres-rustls", &["sp-serve"], OnlyShipping),
    ("tower", &["sp-serve"], OnlyShipping),
    ("schemars", &["sp-formats", "sp-serve"], OnlyShipping),
    ("diffy", &["sp-analyze"], OnlyShipping),
    ("strsim", &["sp-formats"], OnlyShipping),
    ("regex", &["sp-analyze"], OnlyShipping),
    ("tiktoken-rs", &["sp-analyze"], OnlyShipping),
    (
        "serde",
        &["sp-tree", "sp-formats", "sp-analyze", "sp-engine", "sp-serve", "sp", "sp-testkit"],
        OnlyShipping,
    ),
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
            "sp-fuzz",
            "xtask",
        ],
        AllCrates,
    ),
    // Files and processes.
    ("ureq", &["sp-engine"], OnlyShipping),
    ("rustix", &["sp-tree", "sp-engine", "sp-testkit"], AllCrates),
    ("flate2", &["sp-tree", "sp-analyze", "sp-serve"], OnlyShipping),
    ("ignore", &["sp-engine"], OnlyShipping),
    ("notify", &["sp-engine"], OnlyShipping),
    ("pubgrub", &["sp-engine"], OnlyShipping),
    ("quick_cache", &["sp-engine"], OnlyShipping),
    ("rawzip", &["sp-tree"], AllCrates),
    ("ruzstd", &["sp-tree"], OnlyShipping),
    ("semver", &["sp-formats", "sp-engine"], OnlyShipping),
    // Keys.
    ("ed25519-dalek", &["sp-tree"], OnlyShipping),
    ("getrandom", &["sp"], OnlyShipping),
    ("hmac", &["sp-tree"], OnlyShipping),
    ("ring", &["sp-serve", "sp-testkit"], OnlyShipping),
    ("zeroize", &["sp-tree"], OnlyShipping),
    ("rayon", &["sp-tree", "sp-engine"], OnlyShipping),
    ("sha2", &["sp-tree", "sp-testkit"], OnlyShipping),
    ("unicode-normalization", &["sp-tree"], OnlyShipping),
    // Logs.
    ("tracing", &["sp-tree", "sp-engine", "sp-serve", "sp"], OnlyShipping),
    ("tracing-subscriber", &["sp"], OnlyShipping),
    // Time and errors.
    ("jiff", &["sp-formats", "sp-analyze", "sp-engine", "sp-serve", "sp"], OnlyShipping),
    ("thiserror", &["sp-tree", "sp-formats", "sp-engine", "sp-serve"], OnlyShipping),
    // Tests.
    ("globset", &[], AllCrates),
    ("insta", &[], AllCrates),
    ("libfuzzer-sys", &["sp-fuzz"], OnlyShipping),
    ("jsonschema", &[], AllCrates),
    ("proptest", &["sp-testkit"], AllCrates),
    ("rcgen", &["sp-testkit"], OnlyShipping),
    ("s3s", &["sp-testkit"], OnlyShipping),
    ("s3s-fs", &["sp-testkit"], OnlyShipping),
    ("regex-lite", &["sp-testkit"], OnlyShipping),
    ("rustls", &["sp-serve", "sp-testkit"], OnlyShipping),
    ("tempfile", &["sp-testkit"], AllCrates),
    // The checks in this directory.
    ("proc-macro2", &[], AllCrates),
    ("syn", &[], AllCrates),
];

/// Words that must not occur in a library without side effects.
const SIDE_EFFECTS: &[&str] = &[
    "std::fs",
    "std::env",
    "std::process",
    "SystemTime",
    "Instant::now",
    "TcpStream",
    "println!",
    "async fn",
];

/// Words that must not occur in a crate's code, except in tests.
const FORBIDDEN_WORDS: &[(&str, &[&str])] = &[
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
    ("sp-formats", SIDE_EFFECTS),
    ("sp-analyze", SIDE_EFFECTS),
    ("sp-engine", &["std::env", "SystemTime::now", "process::exit", "println!", "async fn"]),
    ("sp-serve", &["std::env", "SystemTime::now", "process::exit", "println!"]),
];

/// A workspace crate, as `cargo metadata` describes it.
struct Package {
    name: String,
    manifest: PathBuf,
    dependencies: BTreeSet<String>,
    dev_dependencies: BTreeSet<String>,
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
    let (dev_dependencies, dependencies): (Vec<&Value>, Vec<&Value>) =
        dependencies.iter().partition(|dependency| dependency["kind"] == "dev");
    let names = |dependencies: Vec<&Value>| {
        dependencies.into_iter().map(|dependency| text(&dependency["name"])).collect()
    };
    Package {
        name: text(&value["name"]),
        manifest: text(&value["manifest_path"]).into(),
        dependencies: names(dependencies),
        dev_dependencies: names(dev_dependencies),
    }
}

fn is_workspace_crate(name: &str) -> bool {
    CRATES.iter().any(|(workspace_crate, _)| *workspace_crate == name)
}

#[test]
fn crates_depend_only_on_allowed_crates() {
    for package in packages() {
        let entry = CRATES.iter().find(|(name, _)| *name == package.name);
        let (_, allowed) = entry.unwrap_or_else(|| {
            panic!("`{}` is new: add it to `CRATES` here and to ARCHITECTURE.md", package.name);
        });
        for dependency in package.dependencies.iter().filter(|name| is_workspace_crate(name)) {
            assert!(
                allowed.contains(&dependency.as_str()),
                "`{}` must not depend on `{dependency}`",
                package.name
            );
            assert!(
                !DEV_ONLY.contains(&dependency.as_str()),
                "`{dependency}` must not ship, but `{}` depends on it",
                package.name
            );
        }
        for dependency in package.dev_dependencies.iter().filter(|name| is_workspace_crate(name)) {
            let position = |name: &str| CRATES.iter().position(|(known, _)| *known == name);
            let is_allowed =
                position(dependency) < position(&package.name) || dependency == "sp-testkit";
            assert!(is_allowed, "the tests of `{}` must not use `{dependency}`", package.name);
        }
    }
}

/// Returns the number of edges on the longest path from a crate.
fn longest_path(name: &str) -> usize {
    let dependencies = CRATES
        .iter()
        .find(|(workspace_crate, _)| *workspace_crate == name)
        .map_or(&[][..], |(_, dependencies)| dependencies);
    dependencies.iter().map(|name| longest_path(name) + 1).max().unwrap_or(0)
}

#[test]
fn number_of_edges_and_path_length_are_limited() {
    let edges: usize = shipped_crates().map(|(_, dependencies)| dependencies.len()).sum();
    assert!(edges <= MAX_EDGES, "{edges} edges between crates");
    for (name, _) in shipped_crates() {
        assert!(
            longest_path(name) <= MAX_PATH_LEN,
            "the longest path from `{name}` has {} edges",
            longest_path(name)
        );
    }
}

#[test]
fn dependencies_are_used_only_by_allowed_crates() {
    for package in packages() {
        let used = package
            .dependencies
            .iter()
            .map(|name| (name, true))
            .chain(package.dev_dependencies.iter().map(|name| (name, false)));
        for (name, ships) in used.filter(|(name, _)| !is_workspace_crate(name)) {
            let entry = DEPENDENCIES.iter().find(|(dependency, ..)| dependency == name);
            let (_, crates, in_tests) = entry.unwrap_or_else(|| {
                panic!(
                    "`{name}` is new: add it to `DEPENDENCIES` here and to docs/dependencies.md"
                );
            });
            let is_allowed =
                crates.contains(&package.name.as_str()) || !ships && *in_tests == AllCrates;
            assert!(is_allowed, "`{}` must not use `{name}`", package.name);
        }
    }
}

#[test]
fn dependency_page_lists_exactly_the_used_dependencies() {
    let page = std::fs::read_to_string(workspace().join("docs/dependencies.md"))
        .expect("docs/dependencies.md");
    let documented: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let packages = packages();
    let used: BTreeSet<&str> = packages
        .iter()
        .flat_map(|package| package.dependencies.union(&package.dev_dependencies))
        .map(String::as_str)
        .filter(|name| !is_workspace_crate(name))
        .collect();
    let undocumented: Vec<_> = used.difference(&documented).collect();
    assert!(undocumented.is_empty(), "add {undocumented:?} to docs/dependencies.md");
    let outdated: Vec<_> = documented.difference(&used).collect();
    assert!(
        outdated.is_empty(),
        "remove {outdated:?} from docs/dependencies.md: they are not used"
    );
    let listed: BTreeSet<&str> = DEPENDENCIES.iter().map(|(name, ..)| *name).collect();
    let unused: Vec<_> = listed.difference(&used).collect();
    assert!(unused.is_empty(), "remove {unused:?} from `DEPENDENCIES`: they are not used");
}

/// Returns the sections of a manifest with their lines. Supports only the TOML of this workspace.
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
    const LINE: &str = "unsafe_code = \"forbid\"";
    let has = |manifest: &Path, section: &str, line: &str| {
        sections(manifest).get(section).is_some_and(|lines| lines.iter().any(|other| other == line))
    };
    let in_workspace = has(&workspace().join("Cargo.toml"), "workspace.lints.rust", LINE);
    for package in packages() {
        let inherits = has(&package.manifest, "lints", "workspace = true");
        let in_crate = has(&package.manifest, "lints.rust", LINE);
        assert!(
            in_crate || inherits && in_workspace,
            "`{}` does not forbid unsafe code",
            package.name
        );
    }
}

#[test]
fn forbidden_words_do_not_occur() {
    for (name, words) in FORBIDDEN_WORDS {
        let mut files = Vec::new();
        rust_files(&workspace().join("crates").join(name).join("src"), &mut files);
        for file in files {
            let source = std::fs::read_to_string(&file).expect("a source file");
            let code = source.lines().take_while(|line| *line != "#[cfg(test)]");
            for (number, line) in
                code.enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
            {
                let forbidden = words.iter().find(|word| line.contains(**word));
                assert!(
                    forbidden.is_none(),
                    "{}:{}: `{name}` must not use `{}`",
                    file.display(),
                    number + 1,
                    forbidden.unwrap()
                );
            }
        }
    }
}
