//! Kills at every file-system call, and concurrent runs.

use sp_testkit::{FaultScenario, Faults, sweep};

use super::*;
use crate::support::engine::recover;

/// Returns a scenario that installs the server for VS Code. `before` is the text of its file, if it
/// exists.
fn install_scenario(before: Option<&str>, after: &str) -> FaultScenario {
    const FILE: &str = "repo/.vscode/mcp.json";
    let world = world_with_sp();
    if let Some(text) = before {
        write(&world, FILE, text);
    }
    let args = ["mcp", "install", "--agent", "vscode", "--scope", "project"];
    let mut scenario = FaultScenario::new(world, "home/repo", &args, recover());
    let after = after.to_owned();
    scenario.done = Box::new(move |world, what| {
        assert_eq!(read(world, FILE), after, "{what}");
        assert_eq!(world.files("home/repo/.vscode").len(), 1, "{what}");
    });
    scenario
}

#[test]
fn mc_08_kill_at_any_call_leaves_the_old_or_the_new_file() {
    let MergeCase { before, after, .. } = MERGE_CASES[0];
    sweep(|| install_scenario(Some(before), after), Faults::Kills);
    let [command, args] = STDIO_MEMBERS;
    let only = only_server("servers", &["\"type\": \"stdio\"", command, args]);
    sweep(|| install_scenario(None, &only), Faults::Kills);
}

#[test]
fn mc_08_concurrent_installs_are_all_kept() {
    let world = world_with_sp();
    write(&world, ".cursor/mcp.json", "{}");
    let names = ["a", "b", "c", "d", "e", "f"];
    let commands = names.map(|name| vec!["mcp", "install", "--agent", "cursor", "--name", name]);
    for run in world.sp_concurrently("home/repo", &commands) {
        run.ok();
    }
    let settings: Value = serde_json::from_str(&read(&world, ".cursor/mcp.json")).unwrap();
    assert_eq!(settings["mcpServers"].as_object().unwrap().len(), names.len());
}
