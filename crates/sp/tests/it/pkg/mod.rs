//! `sp pkg` and `sp key`: the life cycle of packages, trust, and interrupted commands.

mod context;
mod create;
mod extract;
mod git_dir;
mod graph;
mod hostile;
mod install;
mod interruptions;
mod lifecycle;
pub(crate) mod package;
mod page;
mod reads;
mod registry;
mod schema;
mod stale;
mod transport;
mod trust;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Map, Value, json};
use sp_testkit::{CliError, FileEntry, FileMap, Run, World, eventually, world};
use sp_tree::Digest;

use package::{SignatureScope, TestPackage, compact, public_key};
use schema::assert_matches_schema;

/// A graph with one node, as input for `sp pkg create`.
const SMALL_GRAPH: &str =
    r#"{"name": "a", "nodes": [{"id": "x", "type": "fact", "content": "y"}]}"#;

/// The package `notes`, whose content depends on the version.
fn notes(version: &str) -> TestPackage {
    TestPackage::new("notes", version).with_text(version)
}

/// A world with an empty project in `project`.
fn project() -> World {
    let world = world!();
    std::fs::create_dir(world.path("project")).unwrap();
    world
}

/// A world with an empty project, and these packages in the store.
fn project_with(packages: &[TestPackage]) -> World {
    let world = project();
    import(&world, packages);
    world
}

/// Runs `sp pkg` in the project.
fn pkg(world: &World, args: &[&str]) -> Run {
    world.sp_in("project", &[&["pkg"], args].concat())
}

/// Runs `sp key` in the project.
fn key(world: &World, args: &[&str]) -> Run {
    world.sp_in("project", &[&["key"], args].concat())
}

/// Runs `sp pkg` in the project, and returns the error that it must fail with.
#[track_caller]
fn pkg_error(world: &World, args: &[&str]) -> CliError {
    let mut run = pkg(world, &[args, &["--format", "json"]].concat());
    // `sp pkg verify` prints its report even if it fails.
    if args[0] == "verify" && !run.stdout.is_empty() {
        assert_matches_schema("pkg verify", &run.stdout);
        run.stdout.clear();
    }
    run.error()
}

/// Runs `sp key` in the project, which must fail with this error code.
#[track_caller]
fn key_fails(world: &World, args: &[&str], code: &str) -> CliError {
    let error = world.sp_error_in("project", &[&["key"], args].concat());
    assert_eq!(error.code, code, "{args:?}: {error:?}");
    error
}

/// Returns the JSON that `sp pkg` prints.
#[track_caller]
fn pkg_json(world: &World, args: &[&str]) -> Value {
    let run = pkg(world, &[args, &["--format", "json"]].concat()).ok();
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run}"))
}

/// Imports packages into the store.
#[track_caller]
fn import(world: &World, packages: &[TestPackage]) {
    for (index, package) in packages.iter().enumerate() {
        let file = package.write_to(world, &format!("in/{index}.ctxpkg"));
        pkg(world, &["import", &file]).ok();
    }
    let _ = std::fs::remove_dir_all(world.path("in"));
}

/// Writes a file of a world, and returns its path.
fn write(world: &World, path: &str, text: impl AsRef<[u8]>) -> String {
    let path = world.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[track_caller]
fn read(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.path(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn exists(world: &World, path: &str) -> bool {
    world.path(path).symlink_metadata().is_ok()
}

/// A `SKILL.md`.
fn skill(name: &str, more: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\n\nDo {name}.\n{more}")
}

fn lock(world: &World) -> Value {
    serde_json::from_str(&read(world, "project/ctxpkg.lock")).unwrap()
}

/// The path of a file of the project or of the home directory that has exactly this text.
fn file_with_text(world: &World, text: &str) -> Option<String> {
    let mut files = [world.files("project"), world.files("home")].into_iter().flatten();
    // Long files are compared by their hash.
    let hash = Digest::of(text.as_bytes()).to_string();
    let has_text = |entry: &FileEntry| match entry {
        FileEntry::File(content, _) => *content == text || *content == hash,
        _ => false,
    };
    files.find(|(_, entry)| has_text(entry)).map(|(path, _)| path)
}

/// The packages in the lockfile of the project, with their versions.
fn locked(world: &World) -> Vec<String> {
    let lock = lock(world);
    let packages = lock["packages"].as_object().unwrap();
    packages
        .iter()
        .map(|(name, package)| format!("{name} {}", package["version"].as_str().unwrap()))
        .collect()
}

/// The packages of the store, with their versions.
fn stored(world: &World) -> Vec<String> {
    let run = pkg(world, &["list", "--format", "plain"]).ok();
    let line = |line: &str| line.split('\t').take(2).collect::<Vec<_>>().join(" ");
    run.stdout.lines().map(line).collect()
}

/// The text of a package of the store.
fn exported(world: &World, package: &str) -> String {
    let file = world.path("out.ctxpkg");
    pkg(world, &["export", package, "--output", &file.display().to_string(), "--force"]).ok();
    std::fs::read_to_string(file).unwrap()
}

/// The strings of a JSON array.
fn strings(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The files with the store, the trusted keys, the private keys and the received envelopes.
fn records(world: &World) -> FileMap {
    let mut files = world.files("home/.skillpack");
    files.retain(|path, entry| {
        let part = path.split('/').next().unwrap_or_default();
        matches!(part, "store" | "trust.json" | "received.json" | "keys")
            && *entry != FileEntry::Dir
    });
    files
}

/// Runs `sp pkg`, which must fail with this error code and change neither home nor project.
#[track_caller]
fn refused(world: &World, args: &[&str], code: &str) -> CliError {
    let before = (records(world), world.files("project"));
    let error = pkg_error(world, args);
    assert_eq!(error.code, code, "{args:?}: {error:?}");
    assert_eq!(
        (records(world), world.files("project")),
        before,
        "{args:?} changed something: {error:?}"
    );
    assert_no_leftovers(world, &format!("{args:?}"));
    error
}

/// Whether the message, the causes or the hints of an error contain this data.
fn mentions(error: &CliError, data: &str) -> bool {
    error.message.contains(data)
        || error.because.iter().any(|cause| cause.contains(data))
        || error.hints_at(data)
        || error.findings.iter().any(|finding| finding.message.contains(data))
}

#[track_caller]
fn assert_mentions(error: &CliError, data: &str) {
    assert!(mentions(error, data), "`{data}` is not in {error:?}");
}

/// The lines of the output with characters that a terminal would interpret or not show.
fn unescaped_lines(output: &str) -> Vec<&str> {
    let is_unsafe =
        |c: char| c.is_control() && c != '\n' && c != '\t' || "\u{202e}\u{9b}\u{200b}".contains(c);
    output.lines().filter(|line| line.contains(is_unsafe)).collect()
}

/// Panics if there is a temporary file or directory of `sp`.
#[track_caller]
fn assert_no_leftovers(world: &World, context: &str) {
    let is_temporary = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.ends_with(".tmp")
            || name.ends_with(".sp-new")
            || name.contains(".skillpack-")
            || name == "incoming"
            || name.contains("journal")
    };
    let mut files = world.files("");
    // A running registry may have temporary files.
    files.retain(|path, _| !path.starts_with("before/") && !path.starts_with("registry/"));
    let leftovers: Vec<String> = files.into_keys().filter(is_temporary).collect();
    assert_eq!(leftovers, [""; 0], "{context}: leftovers");
}

/// Panics unless the store has exactly the files that its index names.
#[track_caller]
fn assert_store_is_consistent(world: &World, context: &str) {
    let index: Value = match std::fs::read(world.path("home/.skillpack/store/packages.json")) {
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap(),
        Err(_) => json!({"packages": [], "waiting": []}),
    };
    let entries = |list: &str| index[list].as_array().unwrap().clone();
    let hash =
        |entry: &Value| entry["digest"].as_str().unwrap().trim_start_matches("sha256:").to_owned();
    let mut indexed: Vec<String> =
        entries("packages").iter().chain(&entries("waiting")).map(hash).collect();
    indexed.sort();
    indexed.dedup();
    let files = world.files("home/.skillpack/store").into_iter();
    let blobs = files.filter(|(path, entry)| path.contains('/') && *entry != FileEntry::Dir);
    let blobs: Vec<String> = blobs.map(|(path, _)| path.replace('/', "")).collect();
    assert_eq!(blobs, indexed, "{context}: the store and its index differ");
}
