//! Dry runs, output and invalid arguments.

use super::*;

#[test]
fn mc_08_dry_run_prints_the_changes_and_writes_nothing() {
    let world = world_with_sp();
    write(&world, ".codex/config.toml", "model = 'x'\n");
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

    to apply this plan: sp mcp install --agent vscode --agent codex --scope project --plan [PLAN]
    "#);
    install(&world, &["--agent", "codex", "--dry-run"]).ok();
    assert_eq!(world.files("home"), before);
}

#[test]
fn mc_08_output_shows_the_file_the_entry_and_the_next_step() {
    let world = world_with_sp();
    write(&world, ".codex/config.toml", "model = 'x'\n");
    insta::assert_snapshot!(install(&world, &["--agent", "codex"]), @r#"
    exit: 0
    --- stdout
    added skillpack · Codex · ~/.codex/config.toml

    [mcp_servers.skillpack]
    command = "sp"
    args = ["mcp"]

    the rest of the file is unchanged
    next: restart Codex, then run `/mcp` or `codex mcp list` to see the server
    "#);
    insta::assert_snapshot!(uninstall(&world, &["--agent", "codex"]), @r"
    exit: 0
    --- stdout
    removed skillpack · Codex · ~/.codex/config.toml
    next: restart Codex if it is running
    ");
    insta::assert_snapshot!(uninstall(&world, &["--agent", "codex"]), @r"
    exit: 0
    --- stdout
    unchanged: skillpack is not configured · Codex · ~/.codex/config.toml
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
fn mc_08_unknown_agent_is_a_usage_error_with_a_suggestion() {
    let error = install_error(&world_with_sp(), &["--agent", "windsrf"]);
    assert_eq!(error.code, "E-unknown-agent");
    assert!(error.message.contains("`windsrf`"), "{error:?}");
    assert!(error.hints_at("`windsurf`"), "{error:?}");
    let error = install_error(&world_with_sp(), &["--agent", "zzzzz"]);
    assert!(error.hints_at("claude-code"), "{error:?}");
}

#[test]
fn mc_08_invalid_names_and_urls_are_refused() {
    let world = world_with_sp();
    for name in ["", "a b", "a.b", "é", "\"", &"x".repeat(65)] {
        let error = install_error(&world, &["--agent", "cursor", "--name", name]);
        assert_eq!(error.code, "E-invalid-name", "{name}");
    }
    for url in [
        "",
        "localhost:1/mcp",
        "ftp://a/mcp",
        "http://",
        "http://me:hush@127.0.0.1/mcp",
        "http://a b/",
    ] {
        let error = install_error(&world, &["--agent", "cursor", "--url", url]);
        assert_eq!(error.code, "E-invalid-url", "{url}");
        assert!(!format!("{error:?}").contains("hush"), "{error:?}");
    }
    let both = ["--format", "json", "--agent", "cursor", "--url", URL, "--", "--x"];
    assert_eq!(install(&world, &both).error().code, "E-invalid-arguments");
    assert_eq!(install_error(&world, &[]).code, "E-invalid-arguments");
    assert!(!home_path(&world, ".cursor").exists());
    let remote = install(&world, &["--agent", "cursor", "--url", "http://example.com/mcp"]).ok();
    assert!(remote.stderr.starts_with("warning: "), "{remote}");
}

#[test]
fn mc_08_uninstall_refuses_to_remove_a_foreign_server() {
    let world = world_with_sp();
    let before = "{\"mcpServers\": {\"github\": {\"command\": \"docker\", \"args\": [\"mcp\"]}}}";
    write(&world, ".cursor/mcp.json", before);
    let error = uninstall_error(&world, &["--agent", "cursor", "--name", "github"]);
    assert_eq!(error.code, "E-foreign-server");
    assert_eq!(read(&world, ".cursor/mcp.json"), before);
    uninstall(&world, &["--agent", "windsurf"]).ok();
    assert!(!home_path(&world, ".codeium").exists(), "uninstall creates no file");
}

#[test]
fn mc_08_arguments_after_two_dashes_are_passed_to_the_server() {
    let world = world_with_sp();
    install(&world, &["--agent", "cursor", "--", "--root", "/work/a \"b\""]).ok();
    let settings: Value = serde_json::from_str(&read(&world, ".cursor/mcp.json")).unwrap();
    let args = &settings["mcpServers"]["skillpack"]["args"];
    assert_eq!(*args, serde_json::json!(["mcp", "--root", "/work/a \"b\""]));
}

#[test]
fn mc_08_command_is_sp_only_if_the_path_finds_this_program() {
    let command = |world: &World| {
        let settings: Value = serde_json::from_str(&read(world, ".cursor/mcp.json")).unwrap();
        settings["mcpServers"]["skillpack"]["command"].as_str().unwrap().to_owned()
    };
    let program = PathBuf::from(env!("CARGO_BIN_EXE_sp")).canonicalize().unwrap();
    let mut world = world_with_sp();
    std::fs::create_dir(world.path("other")).unwrap();
    std::fs::write(world.path("other/sp"), "#!/bin/sh\n").unwrap();
    let path = format!("{}:{}", world.path("other").display(), world.path("bin").display());
    world.set_env("PATH", &path);
    install(&world, &["--agent", "cursor"]).ok();
    assert_eq!(command(&world), "sp", "files that are not executable are skipped");
    std::fs::set_permissions(world.path("other/sp"), PermissionsExt::from_mode(0o755)).unwrap();
    install(&world, &["--agent", "cursor", "--force"]).ok();
    assert_eq!(command(&world), program.display().to_string(), "another `sp` comes first");
    world.set_env("PATH", "bin");
    let run = install(&world, &["--agent", "cursor", "--scope", "project"]).ok();
    assert!(run.stderr.starts_with("hint: ") && run.stderr.contains("PATH"), "{run}");
}
