//! Imports from git repositories over all transports.

mod failures;
mod fetching;
mod refs;
mod relay;
mod transports;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use sp_testkit::{
    CliError, Daemon, FileEntry, GitRepository, HttpServer, Run, World, eventually, random_bytes,
    world,
};

use relay::{Relay, RelayMode, relay_connection};

/// The PATH of the system's `git`, which can be older than the first one on the PATH.
const SYSTEM_GIT_PATH: &str = "/usr/bin:/bin";

/// Creates the repository `shared` with three skills, without a commit.
fn shared_repo(world: &World) -> GitRepository {
    let repo = world.git("shared");
    repo.skill("tools/review").skill("tools/deploy").skill("other/big");
    repo.write("tools/review/scripts/run.sh", "echo hi\n");
    repo
}

/// Returns a pack that imports `tools/*` from this URL.
fn pack(url: &str, rest: &str) -> String {
    format!("name: team\nimports:\n  - repo: {url}\n    include: ['tools/*']\n{rest}")
}

fn pack_at(url: &str, git_ref: &str) -> String {
    pack(url, &format!("    ref: '{git_ref}'\n"))
}

fn install_into(world: &World, sink: &str, extra: &[&str]) -> Run {
    let path = world.path(sink).display().to_string();
    world.sp(&[&["install", "team", "--agent", "custom", "--path", &path], extra].concat())
}

fn install(world: &World) -> Run {
    install_into(world, "sink", &[])
}

/// Installs the pack, which must fail and leave the sink `sink` unchanged.
#[track_caller]
fn install_error(world: &World, extra: &[&str]) -> CliError {
    let before = world.files("sink");
    let error = install_into(world, "sink", &[extra, &["--format", "json"]].concat()).error();
    assert_eq!(world.files("sink"), before, "{error:#?}");
    error
}

/// Returns a port of this machine that no server listens on.
fn unused_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn folders(world: &World, sink: &str) -> Vec<String> {
    world.files(sink).into_keys().filter(|name| !name.contains('/')).collect()
}

/// Reads a file of the sink.
fn read(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.path("sink").join(path)).unwrap()
}

/// Returns the commits in the state file.
fn commits(world: &World) -> Vec<String> {
    let state = std::fs::read_to_string(world.path("home/.skillpack/state.json")).unwrap();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    let installs = state["installs"].as_array().unwrap().iter();
    let imports = installs.flat_map(|install| install["imports"].as_array().unwrap());
    imports.map(|import| import["commit"].as_str().unwrap().to_owned()).collect()
}

/// Returns the bare repositories of the cache.
fn caches(world: &World) -> Vec<PathBuf> {
    let dirs = std::fs::read_dir(world.path("home/.skillpack/cache/git")).unwrap();
    dirs.map(|dir| dir.unwrap().path()).collect()
}

/// Returns the blobs in the cache, which must have one repository.
fn cached_blobs(world: &World, repo: &GitRepository) -> BTreeSet<String> {
    let dirs = caches(world);
    assert_eq!(dirs.len(), 1, "{dirs:?}");
    let list = repo.git(&[
        "--git-dir",
        &dirs[0].display().to_string(),
        "cat-file",
        "--batch-all-objects",
        "--batch-check",
    ]);
    list.lines()
        .filter(|line| line.contains(" blob "))
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect()
}

fn blob_ids(repo: &GitRepository, paths: &[&str]) -> BTreeSet<String> {
    paths
        .iter()
        .map(|path| repo.git(&["rev-parse", &format!("HEAD:{path}")]).trim().to_owned())
        .collect()
}

/// Imports tags, branches and commits over all transports, and offline.
fn import_everything(world: &World) {
    let repo = shared_repo(world);
    let first = repo.commit("one");
    repo.git(&["tag", "-a", "v1", "-m", "the first"]);
    repo.write("tools/review/SKILL.md", "---\nname: review\ndescription: New.\n---\n");
    let second = repo.commit("two");
    let daemon = Daemon::start(&world.path("git"));
    let http = HttpServer::start(&world.path("git"));
    for (number, url) in
        [repo.url(), repo.path().display().to_string(), daemon.url("shared"), http.url("shared")]
            .iter()
            .enumerate()
    {
        for (git_ref, commit) in
            [("v1", &first), ("main", &second), (&first[..9], &first), (&second, &second)]
        {
            world.pack("team", &pack_at(url, git_ref));
            install_into(world, &format!("sink{number}"), &[]).ok();
            assert_eq!(commits(world).last(), Some(commit), "{url} {git_ref}");
        }
        assert_eq!(
            folders(world, &format!("sink{number}")),
            ["team__tools__deploy", "team__tools__review"],
            "{url}"
        );
    }
    world.pack("team", &pack_at(&daemon.url("shared"), "main"));
    drop(daemon);
    install_into(world, "sink-offline", &["--offline"]).ok();
    assert_eq!(folders(world, "sink-offline"), ["team__tools__deploy", "team__tools__review"]);
}
