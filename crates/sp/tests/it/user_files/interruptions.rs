//! Commands that change several files of the user, killed or failed at every mutating call: all of
//! the files are changed or none, nothing is left over, and the message matches what is on disk.

use std::path::Path;

use sp_testkit::{FaultScenario, Faults, Run, sweep, whole_world};

use super::*;
use crate::support::engine::recover;

/// A repository with a file of the user, an empty one, and a context pack next to it.
fn world_with_context_pack() -> World {
    let world = world!();
    create_context_pack(&world);
    write(&world, "work/repo/AGENTS.md", "Mine.\n", 0o600);
    write(&world, "work/repo/CLAUDE.md", "", 0o640);
    world
}

/// Returns a scenario of a context command, after `prepare`.
fn context_scenario(args: &[&str], prepare: fn(&World)) -> FaultScenario {
    let world = world_with_context_pack();
    prepare(&world);
    FaultScenario::new(world, "work", args, recover())
}

#[test]
fn se_01_context_install_interrupted_at_every_call_is_all_or_nothing() {
    sweep(|| context_scenario(CONTEXT_INSTALL, |_| {}), Faults::All);
}

#[test]
fn se_01_first_context_install_interrupted_at_every_call_is_all_or_nothing() {
    let remove_files = |world: &World| {
        for file in ["AGENTS.md", "CLAUDE.md"] {
            std::fs::remove_file(world.path("work/repo").join(file)).unwrap();
        }
    };
    sweep(|| context_scenario(CONTEXT_INSTALL, remove_files), Faults::All);
}

#[test]
fn se_01_context_uninstall_interrupted_at_every_call_is_all_or_nothing() {
    let install = |world: &World| {
        world.sp_in("work", CONTEXT_INSTALL).ok();
    };
    sweep(|| context_scenario(CONTEXT_UNINSTALL, install), Faults::All);
}

/// Settings of agents: one file that exists, one link into a directory of dotfiles, and no others.
fn world_with_settings() -> World {
    let mut world = world!();
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

fn mcp_scenario(world: World, verb: &'static str) -> FaultScenario {
    FaultScenario::new(world, "home", &mcp_args(verb), recover())
}

#[test]
fn se_01_mcp_install_interrupted_at_every_call_is_all_or_nothing() {
    sweep(|| mcp_scenario(world_with_settings(), "install"), Faults::All);
}

#[test]
fn se_01_mcp_uninstall_interrupted_at_every_call_is_all_or_nothing() {
    let build = || {
        let world = world_with_settings();
        world.sp(&mcp_args("install")).ok();
        mcp_scenario(world, "uninstall")
    };
    sweep(build, Faults::All);
}

/// A world with a key that is trusted because it signed a package.
fn world_with_key() -> World {
    let world = world!();
    let graph = r#"{"name": "a", "nodes": [{"id": "x", "type": "fact", "content": "y"}]}"#;
    write(&world, "project/a.json", graph, 0o644);
    world.sp_in("project", &["pkg", "create", "--input", "a.json", "--sign"]).ok();
    world
}

/// A command that generates keys. Keys differ from run to run, so they are compared by their role.
fn key_scenario(args: &[&str]) -> FaultScenario {
    let world = world_with_key();
    let old = std::fs::read_to_string(world.path("home/.skillpack/keys/default.pem")).unwrap();
    let mut scenario = FaultScenario::new(world, "project", args, recover());
    scenario.observe = Box::new(move |world| {
        let mut state = whole_world(world);
        for (path, (_, entry)) in &mut state {
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
        state
    });
    scenario
}

#[test]
fn se_01_key_rotate_interrupted_at_every_call_is_all_or_nothing() {
    sweep(|| key_scenario(&["key", "rotate"]), Faults::All);
}

#[test]
fn se_01_key_rotate_with_statement_interrupted_is_all_or_nothing() {
    sweep(|| key_scenario(&["key", "rotate", "--statement", "statement.json"]), Faults::All);
}

#[test]
fn se_01_key_new_interrupted_at_every_call_is_all_or_nothing() {
    sweep(|| key_scenario(&["key", "new", "other"]), Faults::All);
}

#[test]
fn se_01_key_export_interrupted_at_every_call_leaves_no_private_key_behind() {
    sweep(|| key_scenario(&["key", "export", "--private", "copy.pem"]), Faults::All);
}

/// Runs `sp` in the project with one variable more.
fn export_with(world: &World, args: &[&str], variable: &str, value: &str) -> Run {
    let mut command = world.command(args);
    command.current_dir(world.path("project")).env(variable, value);
    world.run(command)
}

/// Kills an export at every call. Each time the file is as one of `expected`, and `clean_up` is
/// called.
fn kill_export_at_every_call(
    world: &World,
    args: &[&str],
    expected: &[Option<&[u8]>],
    clean_up: impl Fn(&Path),
) {
    let (file, trace) = (world.path("project/a.ctxpkg"), world.path("trace"));
    export_with(world, args, "SP_FAULT_TRACE", &trace.to_string_lossy()).ok();
    let calls = std::fs::read_to_string(&trace).unwrap().lines().count();
    clean_up(&file);
    for call in 1..=calls {
        let run = export_with(world, args, "SP_FAULT", &format!("kill@{call}"));
        assert_eq!(run.code, None, "call {call} of {calls}: {run}");
        let now = std::fs::read(&file).ok();
        assert!(expected.contains(&now.as_deref()), "call {call} of {calls}: torn");
        clean_up(&file);
    }
}

#[test]
fn se_01_new_output_file_killed_at_every_call_is_complete_or_absent() {
    let world = world_with_key();
    world.sp_in("project", &["pkg", "export", "a", "--output", "whole"]).ok();
    let whole = std::fs::read(world.path("project/whole")).unwrap();
    let others = world.files("project");
    let args = ["pkg", "export", "a", "--output", "a.ctxpkg"];
    kill_export_at_every_call(&world, &args, &[None, Some(&whole)], |file| {
        let _ = std::fs::remove_file(file);
        assert_eq!(world.files("project"), others, "nothing else is left");
    });
}

#[test]
fn se_01_replaced_output_file_killed_at_every_call_is_old_or_new() {
    let world = world_with_key();
    let args = ["pkg", "export", "a", "--output", "a.ctxpkg", "--force"];
    world.sp_in("project", &args).ok();
    let (whole, files) =
        (std::fs::read(world.path("project/a.ctxpkg")).unwrap(), world.files("project"));
    kill_export_at_every_call(&world, &args, &[Some(b"old"), Some(&whole)], |file| {
        world.sp_in("project", &args).ok();
        assert_eq!(world.files("project"), files, "the next export removes what was left");
        std::fs::write(file, "old").unwrap();
    });
}
