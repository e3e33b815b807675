//! Kills at every file-system call, and concurrent runs.

use std::process::Stdio;

use super::*;

/// Kills `sp` at each of its calls in turn. `before` is the text of the file, if it exists.
fn kill_at_every_call(before: Option<&str>, after: &str) {
    const FILE: &str = "repo/.vscode/mcp.json";
    for call in 1.. {
        let world = world_with_sp();
        if let Some(text) = before {
            write(&world, FILE, text);
        }
        let mut command =
            world.command(&["mcp", "install", "--agent", "vscode", "--scope", "project"]);
        command.env("SP_FAULT", format!("kill@{call}"));
        let run = world.run(command);
        let left = std::fs::read_to_string(home_path(&world, FILE)).ok();
        assert!(left.as_deref() == before || left.as_deref() == Some(after), "{call}: {left:?}");
        install(&world, &["--agent", "vscode", "--scope", "project"]).ok();
        assert_eq!(read(&world, FILE), after);
        if run.code == Some(0) {
            assert!(call > 3, "too few calls were killed");
            return;
        }
        // The next run that writes the file removes the temporary files of the killed one.
        uninstall(&world, &["--agent", "vscode", "--scope", "project"]).ok();
        assert_eq!(world.files("home/repo/.vscode").len(), 1, "{call}");
    }
}

#[test]
fn mc_08_kill_at_any_call_leaves_the_old_or_the_new_file() {
    let MergeCase { before, after, .. } = MERGE_CASES[0];
    kill_at_every_call(Some(before), after);
    let [command, args] = STDIO_MEMBERS;
    kill_at_every_call(None, &only_server("servers", &["\"type\": \"stdio\"", command, args]));
}

#[test]
fn mc_08_concurrent_installs_are_all_kept() {
    let world = world_with_sp();
    write(&world, ".cursor/mcp.json", "{}");
    let names = ["a", "b", "c", "d", "e", "f"];
    let start = |name: &&str| {
        let mut command = world.command(&["mcp", "install", "--agent", "cursor", "--name", name]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let runs: Vec<_> = names.iter().map(start).collect();
    assert!(runs.into_iter().all(|mut run| run.wait().unwrap().success()));
    let settings: Value = serde_json::from_str(&read(&world, ".cursor/mcp.json")).unwrap();
    assert_eq!(settings["mcpServers"].as_object().unwrap().len(), names.len());
}
