//! What an install copies, replaces, keeps and refuses.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test arranges its world with the plain calls"
)]

mod copying;
mod leniency;
mod ownership;
mod reinstall;
mod requests;

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use sp_testkit::{Run, World, world};

const SINK: &str = "home/.claude/skills";

/// A world whose pack `team` selects all of these skills.
fn team(ids: &[&str]) -> World {
    let world = world!();
    ids.iter().for_each(|id| world.skill(id));
    world.pack("team", "name: team\ninclude: ['**']\n");
    world
}

fn install(world: &World) -> Run {
    world.sp(&["install", "team", "--agent", "claude"])
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

/// Inode, modification and change time of everything below a directory, and of itself.
fn stamps(path: &Path) -> BTreeMap<PathBuf, (u64, i64, i64, i64, i64)> {
    let metadata = path.symlink_metadata().unwrap();
    let stamp = (
        metadata.ino(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    );
    let mut all = BTreeMap::from([(path.to_path_buf(), stamp)]);
    if metadata.is_dir() {
        std::fs::read_dir(path)
            .unwrap()
            .for_each(|entry| all.extend(stamps(&entry.unwrap().path())));
    }
    all
}

/// Puts something into the skill `a` that cannot be installed.
type Attack = fn(&Path);
