//! Attacks: each is refused with its error code, and nothing is written, neither to the sink nor
//! anywhere else.

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
use std::time::Duration;

use sp_testkit::{
    CliError, FileEntry, FileMap, GitRepository, HttpServer, MeasuredRun, Run, World, random_bytes,
    world,
};

const MIB: u64 = 1024 * 1024;

/// The most memory that a refusal may use, in addition to that of a command without input. The
/// latter is mostly pages of the program, which is large in a debug build.
const MAX_MEMORY: u64 = 56 * MIB;

/// A `SKILL.md` without problems.
const SKILL: &[u8] = b"---\nname: x\ndescription: Does x.\n---\n";

/// The mode, object ID and name of an entry in a git tree.
type TreeEntry<'a> = (&'a str, &'a str, &'a [u8]);

/// A world with an installed pack, and with files on all sides that must not change.
fn guarded() -> World {
    let world = world!();
    world.skill("good");
    world.pack("good", "name: good\ninclude: [good]\n");
    for dir in ["canary", "home/canary", "home/repo/canary", "sink/canary", "sink/not-ours"] {
        std::fs::create_dir_all(world.path(dir)).unwrap();
        std::fs::write(world.path(dir).join("SKILL.md"), "do not touch").unwrap();
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
    install_into(world, &sink(world), pack, extra)
}

fn install_into(world: &World, sink: &str, pack: &str, extra: &[&str]) -> Run {
    world.sp(&[&["install", pack, "--agent", "custom", "--path", sink], extra].concat())
}

fn uninstall(world: &World, pack: &str) -> Run {
    world.sp(&["uninstall", pack, "--agent", "custom", "--path", &sink(world)])
}

/// All files of the world, without those of `~/.skillpack` other than the state.
fn files_except_home(world: &World) -> FileMap {
    let mut files = world.files("");
    files.retain(|path, _| {
        !path.starts_with("home/.skillpack") || path == "home/.skillpack/state.json"
    });
    files
}

/// Calls a function that must not change any file.
#[track_caller]
fn unchanged_by<T>(world: &World, context: &str, function: impl FnOnce() -> T) -> T {
    let before = files_except_home(world);
    let result = function();
    let after = files_except_home(world);
    let differences = |a: &FileMap, b: &FileMap| {
        a.iter()
            .filter(|(path, entry)| b.get(*path) != Some(entry))
            .map(|(path, _)| path.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (differences(&before, &after), differences(&after, &before)),
        (vec![], vec![]),
        "{context}"
    );
    result
}

/// Installs the pack `bad`, which must fail with this code and change nothing.
#[track_caller]
fn refused(world: &World, code: &str) -> CliError {
    refused_with(world, &[], code)
}

#[track_caller]
fn refused_with(world: &World, extra: &[&str], code: &str) -> CliError {
    let args = [extra, &["--format", "json"]].concat();
    let error = unchanged_by(world, code, || install_with(world, "bad", &args).error());
    assert_eq!(error.code, code, "{error:?}");
    error
}

/// The whole text of an error, for checks of the data that it quotes.
fn text_of(error: &CliError) -> String {
    let findings = error.findings.iter().flat_map(|finding| [&finding.file, &finding.message]);
    let lines = [&error.message].into_iter().chain(&error.because).chain(&error.hints);
    lines.chain(findings).map(String::as_str).collect::<Vec<_>>().join("\n")
}

/// Returns the text as a double-quoted YAML scalar.
fn quoted(text: &str) -> String {
    let escape =
        |c: char| if c.is_control() { format!("\\x{:02x}", u32::from(c)) } else { c.to_string() };
    format!(
        "\"{}\"",
        text.replace('\\', "\\\\").replace('"', "\\\"").chars().map(escape).collect::<String>()
    )
}

/// Writes the pack `bad`, which imports from this URL.
fn import(world: &World, url: &str, include: &str) {
    let url = quoted(url);
    world.pack(
        "bad",
        &format!("name: bad\nimports:\n  - repo: {url}\n    include: ['{include}']\n"),
    );
}

/// Creates a repository with the skill `tools/x`, which the pack `bad` imports.
fn remote(world: &World) -> GitRepository {
    let repo = world.git("remote");
    repo.skill("tools/x");
    import(world, &repo.url(), "tools/**");
    repo
}

/// Commits a skill `tools/x` that has these entries besides its `SKILL.md`.
fn commit_skill(repo: &GitRepository, entries: &[TreeEntry<'_>]) {
    let skill = repo.blob(SKILL);
    let mut lines: Vec<TreeEntry<'_>> = vec![("100644 blob", &skill, b"SKILL.md")];
    lines.extend(entries);
    commit_tools(repo, &[("040000 tree", &tree(repo, &lines), b"x")]);
}

/// Commits a directory `tools` with these entries.
fn commit_tools(repo: &GitRepository, entries: &[TreeEntry<'_>]) {
    commit_root(repo, &tree(repo, &[("040000 tree", &tree(repo, entries), b"tools")]));
}

/// Creates a tree with entries that a working tree may not be able to contain.
fn tree(repo: &GitRepository, entries: &[TreeEntry<'_>]) -> String {
    let lines: Vec<u8> = entries
        .iter()
        .flat_map(|(mode, id, name)| [format!("{mode} {id}\t").as_bytes(), name, b"\0"].concat())
        .collect();
    repo.git_with_input(&["mktree", "-z", "--missing"], &lines).trim().into()
}

fn commit_root(repo: &GitRepository, tree: &str) {
    let commit = repo.git(&["commit-tree", "-m", "made by hand", tree]);
    repo.git(&["update-ref", "refs/heads/main", commit.trim()]);
}

/// Creates a tree with names or an order that `git mktree` refuses.
fn raw_tree(repo: &GitRepository, entries: &[TreeEntry<'_>]) -> String {
    let mut bytes = Vec::new();
    for (mode, id, name) in entries {
        let id: Vec<u8> = (0..id.len())
            .step_by(2)
            .map(|offset| u8::from_str_radix(&id[offset..offset + 2], 16).unwrap())
            .collect();
        bytes.extend([mode.as_bytes(), b" ", name, b"\0", &id].concat());
    }
    repo.git_with_input(&["hash-object", "-t", "tree", "-w", "--stdin", "--literally"], &bytes)
        .trim()
        .into()
}

/// Commits a directory `tools` with these raw entries.
fn commit_raw_tools(repo: &GitRepository, entries: &[TreeEntry<'_>]) {
    commit_root(repo, &raw_tree(repo, &[("40000", &raw_tree(repo, entries), b"tools")]));
}

/// Installs the pack `bad`, which must be refused with this code and little memory.
#[track_caller]
fn refused_cheaply(world: &World, code: &str) -> CliError {
    let sink = sink(world);
    let args = ["install", "bad", "--agent", "custom", "--path", &sink, "--format", "json"];
    let MeasuredRun { run, peak_bytes } =
        unchanged_by(world, code, || world.measure_alone(world.command(&args)));
    let error = run.error();
    assert_eq!(error.code, code, "{error:?}");
    let base_bytes = world.measure_alone(world.command(&["config"])).peak_bytes;
    let used = peak_bytes.saturating_sub(base_bytes);
    assert!(used < MAX_MEMORY, "{code}: {} MiB", used / MIB);
    error
}
