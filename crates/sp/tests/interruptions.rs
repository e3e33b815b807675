//! Commands that change several files of the user's, killed and refused at every mutating call:
//! either all of the files are changed or none is, nothing is left over, and the message fits what
//! is on disk.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges its world with the plain calls"
)]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use sp_testkit::{Entry, FaultScenario, World, world};

fn put(world: &World, path: &str, text: &str, mode: u32) {
    let path = world.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
}

/// A repository with a file of its owner's, one that is empty, and a context pack beside it.
fn with_context_pack() -> World {
    let world = world!(in memory);
    put(&world, "work/repo/AGENTS.md", "Mine.\n", 0o600);
    put(&world, "work/repo/CLAUDE.md", "", 0o640);
    world
        .sp_in(
            "work",
            &["context", "new", "shop", "--name", "Shop", "--description", "It sells things."],
        )
        .ok();
    world
}

const CONTEXT_INSTALL: &[&str] =
    &["context", "--root", "repo", "install", "shop", "--agent", "cursor", "--agent", "claude"];
const CONTEXT_UNINSTALL: &[&str] = &["context", "--root", "repo", "uninstall"];

#[test]
fn se_01_context_install_struck_at_every_call_is_all_or_nothing() {
    FaultScenario::new(with_context_pack(), "work", CONTEXT_INSTALL, &["installed"])
        .sweep()
        .strike_everywhere();
}

#[test]
fn se_01_context_install_into_an_empty_repository_struck_at_every_call_is_all_or_nothing() {
    let world = with_context_pack();
    for file in ["AGENTS.md", "CLAUDE.md"] {
        std::fs::remove_file(world.path("work/repo").join(file)).unwrap();
    }
    FaultScenario::new(world, "work", CONTEXT_INSTALL, &["installed"]).sweep().strike_everywhere();
}

#[test]
fn se_01_context_uninstall_struck_at_every_call_is_all_or_nothing() {
    let world = with_context_pack();
    world.sp_in("work", CONTEXT_INSTALL).ok();
    FaultScenario::new(world, "work", CONTEXT_UNINSTALL, &["installed"])
        .sweep()
        .strike_everywhere();
}

/// Settings of one agent that exist, of one that are a link into a directory of dotfiles, and of
/// others that have none.
fn with_agents() -> World {
    let mut world = world!(in memory);
    std::fs::create_dir(world.path("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_sp"), world.path("bin/sp")).unwrap();
    world.set_env("PATH", &format!("{}:/usr/bin:/bin", world.path("bin").display()));
    put(&world, "home/.claude.json", "{\"theme\": \"dark\"}\n", 0o600);
    put(&world, "home/dotfiles/codex.toml", "model = 'x'\n", 0o640);
    std::fs::create_dir(world.path("home/.codex")).unwrap();
    symlink("../dotfiles/codex.toml", world.path("home/.codex/config.toml")).unwrap();
    world
}

fn mcp(verb: &'static str) -> Vec<&'static str> {
    let agents = ["claude-code", "codex", "cursor", "vscode"]
        .into_iter()
        .flat_map(|agent| ["--agent", agent]);
    ["mcp", verb].into_iter().chain(agents).collect()
}

#[test]
fn se_01_mcp_install_struck_at_every_call_is_all_or_nothing() {
    FaultScenario::new(with_agents(), "home", &mcp("install"), &["installed"])
        .sweep()
        .strike_everywhere();
}

#[test]
fn se_01_mcp_uninstall_struck_at_every_call_is_all_or_nothing() {
    let world = with_agents();
    world.sp(&mcp("install")).ok();
    FaultScenario::new(world, "home", &mcp("uninstall"), &["installed"])
        .sweep()
        .strike_everywhere();
}

/// A world with a key that signed a package, and is therefore trusted.
fn with_key() -> World {
    let world = world!(in memory);
    let graph = r#"{"name": "a", "nodes": [{"id": "x", "type": "fact", "content": "y"}]}"#;
    put(&world, "project/a.json", graph, 0o644);
    world.sp_in("project", &["pkg", "create", "--input", "a.json", "--sign"]).ok();
    world
}

/// A rotation generates another key each time: which of two keys it is counts, and not what is in
/// it.
fn rotation(world: World, args: &[&str]) -> FaultScenario {
    let old = std::fs::read_to_string(world.path("home/.skillpack/keys/default.pem")).unwrap();
    let mut scenario = FaultScenario::new(world, "project", args, &["key", "list"]);
    scenario.normalize = Box::new(move |world, state| {
        for (path, (_, entry)) in state.iter_mut() {
            let text = || std::fs::read_to_string(world.path(path)).unwrap();
            let normal = match Path::new(path).file_name().unwrap().to_str().unwrap() {
                name if name.ends_with(".pem") && text() == old => "the old key",
                name if name.ends_with(".pem") && text().contains("PRIVATE KEY") => "a new key",
                "trust.json" if text().contains("\"rotation\"") => "the new key is trusted",
                "statement.json" if text().contains("by_new") => "a statement",
                _ => continue,
            };
            *entry = Entry::File(normal.into(), false);
        }
    });
    scenario
}

#[test]
fn se_01_key_rotate_struck_at_every_call_is_all_or_nothing() {
    rotation(with_key(), &["key", "rotate"]).sweep().strike_everywhere();
}

#[test]
fn se_01_key_rotate_with_a_statement_struck_at_every_call_is_all_or_nothing() {
    rotation(with_key(), &["key", "rotate", "--statement", "statement.json"])
        .sweep()
        .strike_everywhere();
}

#[test]
fn se_01_key_new_struck_at_every_call_is_all_or_nothing() {
    rotation(with_key(), &["key", "new", "other"]).sweep().strike_everywhere();
}

#[test]
fn se_01_key_export_struck_at_every_call_leaves_no_private_key_behind() {
    rotation(with_key(), &["key", "export", "--private", "copy.pem"]).sweep().strike_everywhere();
}
