//! Commands that change several files of the user, killed or failed at every mutating call: all of
//! the files are changed or none, nothing is left over, and the message matches what is on disk.

use std::path::Path;

use sp_testkit::FaultScenario;

use super::*;

/// A repository with a file of the user, an empty one, and a context pack next to it.
fn world_with_context_pack() -> World {
    let world = world!(in memory);
    create_context_pack(&world);
    write(&world, "work/repo/AGENTS.md", "Mine.\n", 0o600);
    write(&world, "work/repo/CLAUDE.md", "", 0o640);
    world
}

#[test]
fn se_01_context_install_interrupted_at_every_call_is_all_or_nothing() {
    FaultScenario::new(world_with_context_pack(), "work", CONTEXT_INSTALL, &["installed"])
        .sweep()
        .inject_everywhere();
}

#[test]
fn se_01_first_context_install_interrupted_at_every_call_is_all_or_nothing() {
    let world = world_with_context_pack();
    for file in ["AGENTS.md", "CLAUDE.md"] {
        std::fs::remove_file(world.path("work/repo").join(file)).unwrap();
    }
    FaultScenario::new(world, "work", CONTEXT_INSTALL, &["installed"]).sweep().inject_everywhere();
}

#[test]
fn se_01_context_uninstall_interrupted_at_every_call_is_all_or_nothing() {
    let world = world_with_context_pack();
    world.sp_in("work", CONTEXT_INSTALL).ok();
    FaultScenario::new(world, "work", CONTEXT_UNINSTALL, &["installed"])
        .sweep()
        .inject_everywhere();
}

/// Settings of agents: one file that exists, one link into a directory of dotfiles, and no others.
fn world_with_settings() -> World {
    let mut world = world!(in memory);
    std::fs::create_dir(world.path("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_sp"), world.path("bin/sp")).unwrap();
    world.set_env("PATH", &format!("{}:/usr/bin:/bin", world.path("bin").display()));
    write(&world, "home/.claude.json", "{\"theme\": \"dark\"}\n", 0o600);
    write(&world, "home/dotfiles/codex.toml", "model = 'x'\n", 0o640);
    std::fs::create_dir(world.path("home/.codex")).unwrap();
    symlink("../dotfiles/codex.toml", world.path("home/.codex/config.toml")).unwrap();
    world
}

fn mcp_args(verb: &'static str) -> Vec<&'static str> {
    let agents = ["claude-code", "codex", "cursor", "vscode"]
        .into_iter()
        .flat_map(|agent| ["--agent", agent]);
    ["mcp", verb].into_iter().chain(agents).collect()
}

#[test]
fn se_01_mcp_install_interrupted_at_every_call_is_all_or_nothing() {
    FaultScenario::new(world_with_settings(), "home", &mcp_args("install"), &["installed"])
        .sweep()
        .inject_everywhere();
}

#[test]
fn se_01_mcp_uninstall_interrupted_at_every_call_is_all_or_nothing() {
    let world = world_with_settings();
    world.sp(&mcp_args("install")).ok();
    FaultScenario::new(world, "home", &mcp_args("uninstall"), &["installed"])
        .sweep()
        .inject_everywhere();
}

/// A world with a key that is trusted because it signed a package.
fn world_with_key() -> World {
    let world = world!(in memory);
    let graph = r#"{"name": "a", "nodes": [{"id": "x", "type": "fact", "content": "y"}]}"#;
    write(&world, "project/a.json", graph, 0o644);
    world.sp_in("project", &["pkg", "create", "--input", "a.json", "--sign"]).ok();
    world
}

/// A command that generates keys. Keys differ from run to run, so they are compared by their role.
fn key_scenario(world: World, args: &[&str]) -> FaultScenario {
    let old = std::fs::read_to_string(world.path("home/.skillpack/keys/default.pem")).unwrap();
    let mut scenario = FaultScenario::new(world, "project", args, &["key", "list"]);
    scenario.normalize = Box::new(move |world, state| {
        for (path, (_, entry)) in state.iter_mut() {
            let text = || std::fs::read_to_string(world.path(path)).unwrap();
            let role = match Path::new(path).file_name().unwrap().to_str().unwrap() {
                name if name.ends_with(".pem") && text() == old => "the old key",
                name if name.ends_with(".pem") && text().contains("PRIVATE KEY") => "a new key",
                "trust.json" if text().contains("\"rotation\"") => "the new key is trusted",
                "statement.json" if text().contains("by_new") => "a statement",
                _ => continue,
            };
            *entry = FileEntry::File(role.into(), false);
        }
    });
    scenario
}

#[test]
fn se_01_key_rotate_interrupted_at_every_call_is_all_or_nothing() {
    key_scenario(world_with_key(), &["key", "rotate"]).sweep().inject_everywhere();
}

#[test]
fn se_01_key_rotate_with_statement_interrupted_is_all_or_nothing() {
    key_scenario(world_with_key(), &["key", "rotate", "--statement", "statement.json"])
        .sweep()
        .inject_everywhere();
}

#[test]
fn se_01_key_new_interrupted_at_every_call_is_all_or_nothing() {
    key_scenario(world_with_key(), &["key", "new", "other"]).sweep().inject_everywhere();
}

#[test]
fn se_01_key_export_interrupted_at_every_call_leaves_no_private_key_behind() {
    key_scenario(world_with_key(), &["key", "export", "--private", "copy.pem"])
        .sweep()
        .inject_everywhere();
}
