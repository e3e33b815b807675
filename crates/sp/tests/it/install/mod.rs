//! What `sp install` copies, replaces, keeps and refuses.

mod copy;
mod ownership;
mod reinstall;
mod requests;
mod skill_warnings;

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use sp_testkit::{CliError, Run, World, world};

const SINK: &str = "home/.claude/skills";
const INSTALL: &[&str] = &["install", "team", "--agent", "claude"];

/// A world whose pack `team` selects all of these skills.
fn team(ids: &[&str]) -> World {
    let world = world!();
    ids.iter().for_each(|id| world.skill(id));
    world.pack("team", "name: team\ninclude: ['**']\n");
    world
}

fn install(world: &World) -> Run {
    world.sp(INSTALL)
}

/// Installs the pack `team`, and returns the error that it must end with.
#[track_caller]
fn install_error(world: &World) -> CliError {
    world.sp_error(INSTALL)
}

/// Runs a command that must succeed, and returns what it did with each skill: `add team__a`.
#[track_caller]
fn changes(world: &World, args: &[&str]) -> Vec<String> {
    let run = world.sp(&[args, &["--format", "plain"]].concat()).ok();
    let change = |line: &str| {
        let (action, path) = (line.split('\t').next(), line.rsplit('/').next());
        format!("{} {}", action.unwrap_or_default(), path.unwrap_or_default())
    };
    run.stdout.lines().map(change).collect()
}

fn folders(world: &World) -> Vec<String> {
    world.files(SINK).into_keys().filter(|name| !name.contains('/')).collect()
}

fn json(run: &Run) -> serde_json::Value {
    serde_json::from_str(&run.stdout).expect("JSON on stdout")
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn append(path: &Path, text: &str) {
    let old = std::fs::read_to_string(path).unwrap();
    std::fs::write(path, old + text).unwrap();
}

/// Returns the inode, modification time and change time of a path and everything below it.
fn timestamps(path: &Path) -> BTreeMap<PathBuf, (u64, i64, i64, i64, i64)> {
    let metadata = path.symlink_metadata().unwrap();
    let stamp = (
        metadata.ino(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    );
    let mut stamps = BTreeMap::from([(path.to_path_buf(), stamp)]);
    if metadata.is_dir() {
        std::fs::read_dir(path)
            .unwrap()
            .for_each(|entry| stamps.extend(timestamps(&entry.unwrap().path())));
    }
    stamps
}

/// Changes something in a directory.
type Edit = fn(&Path);
