//! Changes of files with other content.

use super::*;

#[test]
fn mc_08_other_content_is_kept_and_uninstall_restores_the_file() {
    for MergeCase { agent, file, before, after } in MERGE_CASES {
        let world = world_with_sp();
        write(&world, file, before);
        install(&world, &["--agent", agent, "--scope", "project"]).ok();
        assert_eq!(read(&world, file), after, "{agent}");
        uninstall(&world, &["--agent", agent, "--scope", "project"]).ok();
        assert_eq!(read(&world, file), before, "{agent}");
    }
}

#[test]
fn mc_08_missing_table_is_added_and_kept() {
    let world = world_with_sp();
    write(&world, ".claude.json", "{\n  \"numStartups\": 7,\n  \"projects\": {}\n}");
    install(&world, &["--agent", "claude"]).ok();
    uninstall(&world, &["--agent", "claude"]).ok();
    assert_eq!(
        read(&world, ".claude.json"),
        "{\n  \"numStartups\": 7,\n  \"projects\": {},\n  \"mcpServers\": {}\n}"
    );
}

#[test]
fn mc_08_second_install_changes_nothing() {
    let world = world_with_sp();
    install(&world, &["--agent", "cursor"]).ok();
    let before = home_path(&world, ".cursor/mcp.json").metadata().unwrap();
    let run = install(&world, &["--agent", "cursor", "--format", "json"]).ok();
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["agents"][0]["action"], "keep", "{report}");
    let after = home_path(&world, ".cursor/mcp.json").metadata().unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
    // Members that the user added to the entry stay.
    let edited =
        read(&world, ".cursor/mcp.json").replace("[\"mcp\"]", "[\"mcp\"], \"env\": {\"A\": \"1\"}");
    write(&world, ".cursor/mcp.json", &edited);
    install(&world, &["--agent", "cursor", "--force"]).ok();
    assert_eq!(read(&world, ".cursor/mcp.json"), edited);
}

#[test]
fn mc_08_other_server_with_the_name_is_kept_without_replace() {
    let world = world_with_sp();
    let before = "{\"mcpServers\": {\"skillpack\": {\"command\": \"npx\", \"args\": [\"--token=hush\"]}, \"b\": {}}}";
    write(&world, ".cursor/mcp.json", before);
    let error = install_error(&world, &["--agent", "windsurf", "--agent", "cursor"]);
    assert_eq!(error.code, "E-foreign-server");
    assert!(error.message.contains("`~/.cursor/mcp.json`"), "{error:?}");
    assert!(error.because[0].contains("`npx`"), "{error:?}");
    assert!(error.hints_at("--force") && error.hints_at("--name"), "{error:?}");
    assert!(!format!("{error:?}").contains("hush"), "arguments can contain secrets: {error:?}");
    assert_eq!(read(&world, ".cursor/mcp.json"), before);
    assert!(!home_path(&world, ".codeium").exists(), "the other agent is unchanged too");
    install(&world, &["--agent", "cursor", "--name", "sp_2"]).ok();
    uninstall(&world, &["--agent", "cursor", "--name", "sp_2"]).ok();
    assert_eq!(read(&world, ".cursor/mcp.json"), before);
    install(&world, &["--agent", "cursor", "--force"]).ok();
    assert_eq!(
        read(&world, ".cursor/mcp.json"),
        "{\"mcpServers\": {\"skillpack\": {\"command\": \"sp\", \"args\": [\"mcp\"]}, \"b\": {}}}"
    );
}
