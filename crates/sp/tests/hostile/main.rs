//! Attacks: each is refused with its exit code, a sink keeps what it had, and nothing else is
//! written.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests make hostile files and processes by hand"
)]

mod bombs;
mod git_dir;
mod links;
mod local;
mod markdown;
mod names;
mod own_dirs;
mod programs;
mod secrets;
mod swaps;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sp_testkit::{Entry, Files, HANG_TIMEOUT, HttpServer, Repo, Run, World, noise, world};

/// 64 MiB, and what the pages of a program that was built for tests take besides: 14 MiB at its
/// start.
const MEMORY: u64 = (64 + 14) * 1024;

/// A world with a canary tree on all sides and a sink in which a good pack stands.
fn guarded() -> World {
    let world = world!();
    world.skill("good");
    world.pack("good", "name: good\ninclude: [good]\n");
    for place in ["canary", "home/canary", "home/repo/canary", "sink/canary", "sink/not-ours"] {
        std::fs::create_dir_all(world.path(place)).unwrap();
        std::fs::write(world.path(place).join("SKILL.md"), "do not touch").unwrap();
    }
    install(&world, "good").ok();
    world
}

fn sink(world: &World) -> String {
    world.path("sink").display().to_string()
}

fn install(world: &World, pack: &str) -> Run {
    install_with(world, pack, &[])
}

fn install_with(world: &World, pack: &str, extra: &[&str]) -> Run {
    world.sp(&[&["install", pack, "--agent", "custom", "--path", &sink(world)], extra].concat())
}

/// Everything but our own home, of which only the state counts.
fn everything(world: &World) -> Files {
    let mut files = world.files("");
    files.retain(|path, _| {
        !path.starts_with("home/.skillpack") || path == "home/.skillpack/state.json"
    });
    files
}

#[track_caller]
fn unchanged(before: &Files, world: &World, what: &str) {
    let after = everything(world);
    let differs = |a: &Files, b: &Files| {
        a.iter()
            .filter(|(path, entry)| b.get(*path) != Some(entry))
            .map(|(path, _)| path.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!((differs(before, &after), differs(&after, before)), (vec![], vec![]), "{what}");
}

/// Installs the pack `bad`, which must be refused without a trace.
#[track_caller]
fn refused_with(world: &World, extra: &[&str], code: i32, words: &str) -> Run {
    let before = everything(world);
    let run = install_with(world, "bad", extra).fails(code);
    assert!(run.stderr.contains(words), "`{words}` is not in {run}");
    assert!(run.stdout.is_empty(), "{run}");
    unchanged(&before, world, words);
    run
}

#[track_caller]
fn refused(world: &World, code: i32, words: &str) -> Run {
    refused_with(world, &[], code, words)
}

/// The text as a double-quoted scalar, control characters escaped as YAML wants it.
fn quoted(text: &str) -> String {
    let plain =
        |c: char| if c.is_control() { format!("\\x{:02x}", u32::from(c)) } else { c.to_string() };
    format!(
        "\"{}\"",
        text.replace('\\', "\\\\").replace('"', "\\\"").chars().map(plain).collect::<String>()
    )
}

fn import(world: &World, url: &str, include: &str) {
    let url = quoted(url);
    world.pack(
        "bad",
        &format!("name: bad\nimports:\n  - repo: {url}\n    include: ['{include}']\n"),
    );
}

/// A repository with the good skill `tools/x`, imported whole by the pack `bad`.
fn remote(world: &World) -> Repo {
    let repo = world.git("remote");
    repo.skill("tools/x");
    import(world, &repo.url(), "tools/**");
    repo
}

/// Commits a skill `tools/x` whose folder has these entries for `git mktree -z`, besides its
/// `SKILL.md`.
fn commit_skill(repo: &Repo, entries: &[(&str, &str, &[u8])]) {
    let skill = repo.blob(b"---\nname: x\ndescription: Does x.\n---\n");
    let mut lines: Vec<(&str, &str, &[u8])> = vec![("100644 blob", &skill, b"SKILL.md")];
    lines.extend(entries);
    let tools = tree(repo, &[("040000 tree", &tree(repo, &lines), b"x")]);
    commit_root(repo, &tree(repo, &[("040000 tree", &tools, b"tools")]));
}

/// Makes a tree of what no working tree need be able to hold.
fn tree(repo: &Repo, entries: &[(&str, &str, &[u8])]) -> String {
    let lines: Vec<u8> = entries
        .iter()
        .flat_map(|(mode, id, name)| [format!("{mode} {id}\t").as_bytes(), name, b"\0"].concat())
        .collect();
    repo.feed(&["mktree", "-z", "--missing"], &lines).trim().into()
}

fn commit_root(repo: &Repo, tree: &str) {
    let commit = repo.git(&["commit-tree", "-m", "made by hand", tree]);
    repo.git(&["update-ref", "refs/heads/main", commit.trim()]);
}

/// A tree object with names that `git mktree` refuses.
fn raw_tree(repo: &Repo, entries: &[(&str, &str, &[u8])]) -> String {
    let mut bytes = Vec::new();
    for (mode, id, name) in entries {
        let id: Vec<u8> = (0..id.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap())
            .collect();
        bytes.extend([mode.as_bytes(), b" ", name, b"\0", &id].concat());
    }
    repo.feed(&["hash-object", "-t", "tree", "-w", "--stdin", "--literally"], &bytes).trim().into()
}

/// How a run that is meant to be cheap went: its end, and the most memory that `sp` itself had, in
/// KiB.
struct Cost {
    code: Option<i32>,
    stderr: String,
    memory: u64,
}

fn cost(world: &World, args: &[&str]) -> Cost {
    let start = Instant::now();
    let mut command = world.command(args);
    let log = world.path("stderr.log");
    let mut child =
        command.stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut memory = 0;
    let end = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = text
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        memory = memory.max(peak.unwrap_or(0));
        if let Some(end) = child.try_wait().unwrap() {
            break end;
        }
        if start.elapsed() > HANG_TIMEOUT {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let stderr = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(log).unwrap();
    Cost { code: end.code(), stderr, memory }
}

/// Installs the pack `bad`, which must be refused with little memory.
#[track_caller]
fn refused_cheaply(world: &World, words: &str) {
    let before = everything(world);
    let cost = cost(world, &["install", "bad", "--agent", "custom", "--path", &sink(world)]);
    assert_eq!(cost.code, Some(3), "with {} KiB: {}", cost.memory, cost.stderr);
    assert!(cost.stderr.contains(words), "{}", cost.stderr);
    assert!(cost.memory < MEMORY, "it took {} KiB", cost.memory);
    unchanged(&before, world, words);
}

// Names that lead out of the sink.
