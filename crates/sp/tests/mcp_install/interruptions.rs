//! Kills at every call, and concurrent runs.

use std::process::Stdio;

use super::*;

/// Kills `sp` at each of its calls in turn; `before` is the file, if there is one.
fn killed_everywhere(before: Option<&str>, after: &str) {
    const FILE: &str = "repo/.vscode/mcp.json";
    for call in 1.. {
        let world = world_with_sp();
        before.into_iter().for_each(|before| put(&world, FILE, before));
        let mut command =
            world.command(&["mcp", "install", "--agent", "vscode", "--scope", "project"]);
        command.env("SP_FAULT", format!("kill@{call}"));
        let run = world.run(command);
        let left = std::fs::read_to_string(at(&world, FILE)).ok();
        assert!(left.as_deref() == before || left.as_deref() == Some(after), "{call}: {left:?}");
        install(&world, &["--agent", "vscode", "--scope", "project"]).ok();
        assert_eq!(text(&world, FILE), after);
        if run.code == Some(0) {
            assert!(call > 3, "some calls were struck");
            return;
        }
        // What the dead run left beside the file goes with the next that writes it.
        uninstall(&world, &["--agent", "vscode", "--scope", "project"]).ok();
        assert_eq!(world.files("home/repo/.vscode").len(), 1, "{call}");
    }
}

#[test]
fn mc_08_a_death_anywhere_leaves_the_old_file_or_the_new_one() {
    let (_, _, before, after) = MERGED[0];
    killed_everywhere(Some(before), after);
    killed_everywhere(None, &alone("servers", &["\"type\": \"stdio\"", STARTED[0], STARTED[1]]));
}

#[test]
fn mc_08_runs_at_the_same_time_lose_nothing_of_one_another() {
    let world = world_with_sp();
    put(&world, ".cursor/mcp.json", "{}");
    let names = ["a", "b", "c", "d", "e", "f"];
    let start = |name: &&str| {
        let mut command = world.command(&["mcp", "install", "--agent", "cursor", "--name", name]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let runs: Vec<_> = names.iter().map(start).collect();
    assert!(runs.into_iter().all(|mut run| run.wait().unwrap().success()));
    let settings: Value = serde_json::from_str(&text(&world, ".cursor/mcp.json")).unwrap();
    assert_eq!(settings["mcpServers"].as_object().unwrap().len(), names.len());
}
