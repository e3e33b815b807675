//! A command reads each file once, and computes the digest of each package once.
//!
//! `SP_READ_TRACE` lists what a debug build of `sp` reads into memory and hashes. The transaction
//! is the exception: a file that it replaced is hashed again after it was moved away, because
//! someone may have edited it in the meantime.

use std::collections::{BTreeMap, BTreeSet};

use super::registry::Scene;
use super::*;

/// What one command read and hashed, with the number of times.
struct ReadTrace {
    reads: BTreeMap<String, usize>,
    hashes: BTreeMap<String, usize>,
}

impl ReadTrace {
    /// Runs `sp pkg` in the project. The command must succeed.
    #[track_caller]
    fn of(world: &World, args: &[&str]) -> Self {
        let trace = world.path("trace");
        let _ = std::fs::remove_file(&trace);
        let mut command = world.command(&[&["pkg"], args].concat());
        command.current_dir(world.path("project")).env("SP_READ_TRACE", &trace);
        world.run(command).ok();
        let (mut reads, mut hashes) = (BTreeMap::new(), BTreeMap::new());
        for line in std::fs::read_to_string(&trace).unwrap().lines() {
            let (what, value) = line.split_once(' ').unwrap();
            let counts = if what == "read" { &mut reads } else { &mut hashes };
            *counts.entry(value.to_owned()).or_default() += 1;
        }
        Self { reads, hashes }
    }

    /// How often the file at this path of the world was read.
    fn reads_of(&self, world: &World, path: &str) -> usize {
        let path = world.path(path).canonicalize().unwrap();
        self.reads.get(path.to_str().unwrap()).copied().unwrap_or_default()
    }
}

/// The digests of the package files of the project.
fn project_packages(world: &World) -> BTreeSet<String> {
    let Ok(entries) = std::fs::read_dir(world.path("project/.ctxpkg/packages")) else {
        return BTreeSet::new();
    };
    let digest = |path: &Path| Digest::of(&std::fs::read(path).unwrap()).to_string();
    entries.map(|entry| digest(&entry.unwrap().path())).collect()
}

/// The digests of the packages of the store.
fn stored_packages(world: &World) -> BTreeSet<String> {
    let blobs = world.files("home/.skillpack/store").into_keys();
    let blobs = blobs.filter(|path| path.contains('/') && !path.ends_with(".json"));
    blobs.map(|path| format!("sha256:{}", path.replace('/', ""))).collect()
}

/// Runs `sp pkg`, which must read every file of the home directory and of the project at most once,
/// and compute the digest of every package at most once.
#[track_caller]
fn assert_reads_once(world: &World, args: &[&str]) -> ReadTrace {
    let before = project_packages(world);
    let trace = ReadTrace::of(world, args);
    let after = project_packages(world);
    let again: Vec<_> = trace.reads.iter().filter(|(_, count)| **count > 1).collect();
    assert_eq!(again, [], "{args:?} read files more than once");
    let packages = after.iter().cloned().chain(stored_packages(world));
    let replaced: BTreeSet<String> = before.difference(&after).cloned().collect();
    for digest in packages.filter(|digest| !replaced.contains(digest)) {
        let count = trace.hashes.get(&digest).copied().unwrap_or_default();
        assert!(count <= 1, "{args:?} hashed {digest} {count} times");
    }
    trace
}

const STATE: &str = "home/.skillpack/state.json";

#[test]
fn each_file_is_read_once_by_every_change_of_a_project() {
    let world = project();
    let tidy = skill("tidy", "");
    let packages = [
        notes("1.0.0").with_dependencies(&[("base", "^1")]),
        notes("1.1.0").with_dependencies(&[("base", "^1")]),
        TestPackage::new("base", "1.0.0"),
        TestPackage::new("other", "1.0.0").with_text("other"),
        TestPackage::skills("tools", "1.0.0", &[("tidy/SKILL.md", &tidy)]),
    ];
    import(&world, &packages);
    assert_reads_once(&world, &["install", "notes@1.0.0"]);
    let file = TestPackage::new("late", "1.0.0").with_text("late").write_to(&world, "late.ctxpkg");
    let steps: [&[&str]; 10] = [
        &["install", "other", "tools", "--agent", "claude"],
        &["install", "notes@1.1.0", "--dry-run"],
        &["install", "notes@1.1.0"],
        &["install", &file],
        &["install"],
        &["uninstall", "tools", "--dry-run"],
        &["uninstall", "tools"],
        &["uninstall", "other"],
        &["rollback"],
        &["rollback", "notes"],
    ];
    for args in steps {
        let trace = assert_reads_once(&world, args);
        assert_eq!(trace.reads_of(&world, STATE), 1, "{args:?}");
        assert_eq!(trace.reads_of(&world, "home/.skillpack/store/packages.json"), 1, "{args:?}");
        let installed = world.files("project/.ctxpkg/packages").into_keys();
        for name in installed.filter(|name| name.starts_with("base")) {
            let path = format!("project/.ctxpkg/packages/{name}");
            assert_eq!(trace.reads_of(&world, &path), 1, "{args:?}");
        }
    }
}

#[test]
fn a_missing_package_file_is_restored_with_one_read_of_the_store() {
    let world = project_with(&[notes("1.0.0"), TestPackage::new("base", "1.0.0")]);
    pkg(&world, &["install", "notes", "base"]).ok();
    let file = std::fs::read_dir(world.path("project/.ctxpkg/packages")).unwrap().next();
    std::fs::remove_file(file.unwrap().unwrap().path()).unwrap();
    assert_reads_once(&world, &["install"]);
    assert_eq!(project_packages(&world).len(), 2);
}

#[test]
fn each_file_is_read_once_by_every_command_on_packages() {
    let world = project_with(&[notes("1.0.0"), notes("1.1.0"), TestPackage::new("base", "1.0.0")]);
    pkg(&world, &["install", "notes", "base"]).ok();
    let file = TestPackage::new("late", "1.0.0").with_text("late").write_to(&world, "late.ctxpkg");
    let steps: [&[&str]; 11] = [
        &["import", &file],
        &["list"],
        &["info", "notes"],
        &["log", "notes"],
        &["verify", "notes"],
        &["verify", &file],
        &["diff", "notes@1.0.0", "notes@1.1.0"],
        &["load", "--budget", "1000"],
        &["load", "notes", "base", "--budget", "1000"],
        &["export", "notes", "--output", "out.ctxpkg"],
        &["remove", "late"],
    ];
    for args in steps {
        let trace = assert_reads_once(&world, args);
        assert!(trace.reads_of(&world, STATE) <= 1, "{args:?}");
    }
}

#[test]
fn a_download_is_hashed_once() {
    let package = TestPackage::new("@acme/notes", "1.0.0");
    let scene = Scene::with(std::slice::from_ref(&package));
    let trace = assert_reads_once(&scene.world, &["install", "@acme/notes"]);
    assert_eq!(trace.hashes[&package.digest().to_string()], 1);
}
