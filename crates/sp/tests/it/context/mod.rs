//! `sp context` on context packs that exist: checking, authoring, comparing, installing, and
//! downloading them. `context_build` tests how they are generated; [`model`] tests the part of it
//! that uses a model.

mod author;
mod check;
mod diff;
mod install;
mod model;
mod web;

use std::path::Path;

use serde_json::Value;
use sp_testkit::{CliError, Run, World, world, zip};

/// The files of a context pack, by path.
type PackFiles = Vec<(String, Vec<u8>)>;

/// Reads a context pack of the corpus.
fn corpus_pack(case: &str) -> PackFiles {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(case).join("tree");
    let mut files: PackFiles = std::fs::read_dir(tree)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// A context pack without any finding.
fn valid_pack() -> PackFiles {
    corpus_pack("valid/context-packs/golden")
}

/// Zips files below a directory, or at the top level if `dir` is empty.
fn zip_pack(files: &[(String, Vec<u8>)], dir: &str) -> Vec<u8> {
    let paths: Vec<String> = files.iter().map(|(path, _)| format!("{dir}{path}")).collect();
    let members = paths.iter().zip(files).map(|(path, (_, bytes))| (&**path, &**bytes));
    zip(&members.collect::<Vec<_>>())
}

/// A world with an empty directory `work`.
fn empty_world() -> World {
    let world = world!();
    std::fs::create_dir_all(world.path("work")).unwrap();
    world
}

/// A world with the valid context pack `work/shop`, whose only rule cites its only source.
fn world_with_pack() -> World {
    let world = empty_world();
    sp(
        &world,
        &["new", "shop", "--name", "Shop", "--description", "It sells things.", "--stack", "rust"],
    )
    .ok();
    let section = "\n## [^src_a]\n\n- Title: A\n- URL: https://example.com/a\n- Kind: docs\n\
                   - Captured: 2026-02-01\n- Summary: It says so. It is right.\n\
                   - Key claims:\n  - So it is.\n";
    append(&world, "work/shop/sources.md", section);
    let rules = text(&world, "work/shop/AGENTS.md");
    let conventions = rules.split_once("## Conventions\n\n").unwrap().1;
    let placeholder = conventions.lines().next().unwrap();
    let rules = rules.replace(placeholder, "- Keep it short. [^src_a]");
    std::fs::write(world.path("work/shop/AGENTS.md"), &rules).unwrap();
    std::fs::write(world.path("work/shop/cursor.md"), rules).unwrap();
    let sources = r#""sources": [{"id": "src_a", "url": "https://example.com/a", "title": "A",
        "kind": "docs", "captured_at": "2026-02-01"}]"#;
    let manifest = text(&world, "work/shop/pack.json").replace("\"sources\": []", sources);
    std::fs::write(world.path("work/shop/pack.json"), manifest).unwrap();
    sp(&world, &["seal", "shop"]).ok();
    world
}

/// Runs `sp context` in `work`.
fn sp(world: &World, args: &[&str]) -> Run {
    world.sp_in("work", &[&["context"], args].concat())
}

#[track_caller]
fn sp_error(world: &World, args: &[&str]) -> CliError {
    world.sp_error_in("work", &[&["context"], args].concat())
}

/// Runs `sp context` in `work`, and returns the JSON that it prints.
#[track_caller]
fn sp_json(world: &World, args: &[&str]) -> Value {
    json(&sp(world, &[args, &["--format", "json"]].concat()).ok())
}

/// A pack that `sp check` could not read.
struct UnreadablePack {
    code: String,
    exit_code: i32,
    /// The message and its causes.
    message: String,
    /// The report for people, which also has the hints.
    report: String,
}

impl UnreadablePack {
    fn hints_at(&self, flag: &str) -> bool {
        self.report.lines().any(|line| line.starts_with("hint:") && line.contains(flag))
    }
}

/// Runs a check in the home directory that must fail because the only pack is unreadable.
#[track_caller]
fn check_unreadable(world: &World, args: &[&str]) -> UnreadablePack {
    let human = world.sp_in("home", args);
    let run = world.sp_in("home", &[args, &["--format", "json"]].concat());
    assert_eq!(human.code, run.code, "{human} {run}");
    let report = json(&run);
    let [error] = report["unreadable"].as_array().unwrap().as_slice() else { panic!("{run}") };
    UnreadablePack {
        code: error["code"].as_str().unwrap().into(),
        exit_code: run.code.unwrap(),
        message: format!("{} {}", error["message"], error["because"]),
        report: human.stderr,
    }
}

#[track_caller]
fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run}"))
}

fn text(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.path(path)).unwrap()
}

fn append(world: &World, path: &str, suffix: &str) {
    std::fs::write(world.path(path), text(world, path) + suffix).unwrap();
}

/// Replaces text in a file that must contain it.
#[track_caller]
fn replace(world: &World, path: &str, old: &str, new: &str) {
    let before = text(world, path);
    assert!(before.contains(old), "{old}: {before}");
    std::fs::write(world.path(path), before.replace(old, new)).unwrap();
}
