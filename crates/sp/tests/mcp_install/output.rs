//! Dry runs, what is printed, and wrong usage.

use super::*;

#[test]
fn mc_08_a_dry_run_shows_it_and_changes_nothing() {
    let world = world_with_sp();
    put(&world, ".codex/config.toml", "model = 'x'\n");
    let before = world.files("home");
    insta::assert_snapshot!(install(&world, &["--agent", "vscode", "--agent", "codex", "--scope", "project", "--dry-run"]), @r#"
    exit: 0
    --- stdout
    would add skillpack · VS Code · ~/repo/.vscode/mcp.json (new)

    {
      "servers": {
        "skillpack": {
          "type": "stdio",
          "command": "sp",
          "args": ["mcp"]
        }
      }
    }

    would add skillpack · Codex · ~/repo/.codex/config.toml (new)

    [mcp_servers.skillpack]
    command = "sp"
    args = ["mcp"]
    "#);
    install(&world, &["--agent", "codex", "--dry-run"]).ok();
    assert_eq!(world.files("home"), before);
}

#[test]
fn mc_08_people_see_the_file_what_was_added_and_what_is_next() {
    let world = world_with_sp();
    put(&world, ".codex/config.toml", "model = 'x'\n");
    insta::assert_snapshot!(install(&world, &["--agent", "codex"]), @r#"
    exit: 0
    --- stdout
    added skillpack · Codex · ~/.codex/config.toml

    [mcp_servers.skillpack]
    command = "sp"
    args = ["mcp"]

    all else in the file stays as it is
    next: start Codex anew; `/mcp` lists the server, and so does `codex mcp list`
    "#);
    insta::assert_snapshot!(uninstall(&world, &["--agent", "codex"]), @r"
    exit: 0
    --- stdout
    removed skillpack · Codex · ~/.codex/config.toml
    next: start Codex anew if it is running
    ");
    insta::assert_snapshot!(uninstall(&world, &["--agent", "codex"]), @r"
    exit: 0
    --- stdout
    unchanged: skillpack is not there · Codex · ~/.codex/config.toml
    ");
    let both = ["--agent", "codex", "--agent", "cursor", "--agent", "cursor", "--format", "plain"];
    insta::assert_snapshot!(install(&world, &both), @"
    exit: 0
    --- stdout
    add	codex	skillpack	[WORLD]/home/.codex/config.toml
    add	cursor	skillpack	[WORLD]/home/.cursor/mcp.json
    ");
}

#[test]
fn mc_08_an_agent_that_is_not_known_is_wrong_usage_with_the_nearest() {
    insta::assert_snapshot!(install(&world_with_sp(), &["--agent", "windsrf"]), @r"
    exit: 2
    --- stderr
    error: there is no agent called `windsrf` whose MCP servers `sp` can write

    hint: did you mean `windsurf`?
    hint: the agents are: claude-code, claude-desktop, cursor, codex, vscode, windsurf, gemini-cli, qwen-code, github-copilot, zed, kiro-cli, amp, roo
    ");
}

#[test]
fn mc_08_names_and_addresses_that_cannot_be_right_are_refused() {
    let world = world_with_sp();
    for name in ["", "a b", "a.b", "é", "\"", &"x".repeat(65)] {
        install(&world, &["--agent", "cursor", "--name", name]).fails(2);
    }
    for url in [
        "",
        "localhost:1/mcp",
        "ftp://a/mcp",
        "http://",
        "http://me:hush@127.0.0.1/mcp",
        "http://a b/",
    ] {
        let run = install(&world, &["--agent", "cursor", "--http", url]).fails(2);
        assert!(!run.stderr.contains("hush"), "{run}");
    }
    install(&world, &["--agent", "cursor", "--http", URL, "--", "--x"]).fails(2);
    install(&world, &[]).fails(2);
    assert!(!at(&world, ".cursor").exists());
    let far = install(&world, &["--agent", "cursor", "--http", "http://example.com/mcp"]).ok();
    assert!(far.stderr.contains("warning: what is said over http can be read"), "{far}");
}

#[test]
fn mc_08_uninstall_takes_no_server_that_somebody_else_put_there() {
    let world = world_with_sp();
    let before = "{\"mcpServers\": {\"github\": {\"command\": \"docker\", \"args\": [\"mcp\"]}}}";
    put(&world, ".cursor/mcp.json", before);
    let run = uninstall(&world, &["--agent", "cursor", "--name", "github"]).fails(1);
    assert!(run.stderr.contains("is not a server of Skillpack"), "{run}");
    assert_eq!(text(&world, ".cursor/mcp.json"), before);
    uninstall(&world, &["--agent", "windsurf"]).ok();
    assert!(
        !at(&world, ".codeium").exists(),
        "what is not there is not made in order to be emptied"
    );
}

#[test]
fn mc_08_what_follows_two_dashes_is_handed_to_the_server() {
    let world = world_with_sp();
    install(&world, &["--agent", "cursor", "--", "--root", "/work/a \"b\""]).ok();
    let settings: Value = serde_json::from_str(&text(&world, ".cursor/mcp.json")).unwrap();
    let args = &settings["mcpServers"]["skillpack"]["args"];
    assert_eq!(*args, serde_json::json!(["mcp", "--root", "/work/a \"b\""]));
}

#[test]
fn mc_08_the_command_is_sp_only_where_that_is_this_program() {
    let command = |world: &World| {
        let settings: Value = serde_json::from_str(&text(world, ".cursor/mcp.json")).unwrap();
        settings["mcpServers"]["skillpack"]["command"].as_str().unwrap().to_owned()
    };
    let here = PathBuf::from(env!("CARGO_BIN_EXE_sp")).canonicalize().unwrap();
    let mut world = world_with_sp();
    std::fs::create_dir(world.path("other")).unwrap();
    std::fs::write(world.path("other/sp"), "#!/bin/sh\n").unwrap();
    let path = format!("{}:{}", world.path("other").display(), world.path("bin").display());
    world.set_env("PATH", &path);
    install(&world, &["--agent", "cursor"]).ok();
    assert_eq!(command(&world), "sp", "what cannot be started is passed over");
    std::fs::set_permissions(world.path("other/sp"), PermissionsExt::from_mode(0o755)).unwrap();
    install(&world, &["--agent", "cursor", "--replace"]).ok();
    assert_eq!(command(&world), here.display().to_string(), "another `sp` comes first");
    world.set_env("PATH", "bin");
    let run = install(&world, &["--agent", "cursor", "--scope", "project"]).ok();
    assert!(run.stderr.contains("hint: `sp` is not on your PATH"), "{run}");
}
