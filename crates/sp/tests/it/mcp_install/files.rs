//! Invalid and unusable settings files, symlinks and permissions.

use super::*;

#[test]
fn mc_08_invalid_settings_are_reported_with_their_position() {
    let world = world_with_sp();
    for (agent, file, text, position) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "{\n  \"mcpServers\": {\n    \"a\": {}\n    \"b\": {}\n  }\n}\n",
            "4:5",
        ),
        ("cursor", ".cursor/mcp.json", "[]", "1:1"),
        ("cursor", ".cursor/mcp.json", "{\"mcpServers\": []}", "1:16"),
        ("cursor", ".cursor/mcp.json", "{\"a\": 1, \"a\": 2}", "1:10"),
        ("codex", ".codex/config.toml", "model = 'x'\n[mcp_servers\n", "2:13"),
    ] {
        write(&world, file, text);
        let args = ["--agent", agent];
        for error in [install_error(&world, &args), uninstall_error(&world, &args)] {
            assert_eq!(error.code, "E-invalid-settings", "{text}");
            assert!(error.message.contains(&format!("`~/{file}:{position}`")), "{error:?}");
        }
        assert_eq!(read(&world, file), text);
    }
    std::fs::write(home_path(&world, ".cursor/mcp.json"), b"{\"\xff\": 1}").unwrap();
    assert_eq!(install_error(&world, &["--agent", "cursor"]).code, "E-not-utf8");
}

#[test]
fn mc_08_symlink_and_permissions_are_preserved() {
    let world = world_with_sp();
    write(&world, "dotfiles/cursor.json", "{}\n");
    let target = home_path(&world, "dotfiles/cursor.json");
    std::fs::set_permissions(&target, PermissionsExt::from_mode(0o640)).unwrap();
    std::fs::create_dir(home_path(&world, ".cursor")).unwrap();
    symlink("../dotfiles/cursor.json", home_path(&world, ".cursor/mcp.json")).unwrap();
    let run = install(&world, &["--agent", "cursor"]).ok();
    assert!(run.stdout.contains("~/.cursor/mcp.json → ~/dotfiles/cursor.json\n"), "{run}");
    assert_eq!(read(&world, "dotfiles/cursor.json"), only_server("mcpServers", &STDIO_MEMBERS));
    assert!(home_path(&world, ".cursor/mcp.json").symlink_metadata().unwrap().is_symlink());
    assert_eq!(target.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(world.files("home/dotfiles").len(), 1, "no temporary files are left");
}

#[test]
fn mc_08_unusable_settings_files_are_left_alone() {
    let world = world_with_sp();
    std::fs::create_dir(home_path(&world, ".cursor")).unwrap();
    symlink("nowhere.json", home_path(&world, ".cursor/mcp.json")).unwrap();
    std::fs::create_dir_all(home_path(&world, ".codeium/windsurf/mcp_config.json")).unwrap();
    write(&world, ".codex/config.toml", "model = 'x'\n");
    let read_only = PermissionsExt::from_mode(0o444);
    std::fs::set_permissions(home_path(&world, ".codex/config.toml"), read_only).unwrap();
    let before = world.files("home");
    for (agent, file) in [
        ("cursor", "~/.cursor/mcp.json"),
        ("windsurf", "~/.codeium/windsurf/mcp_config.json"),
        ("codex", "~/.codex/config.toml"),
    ] {
        let error = install_error(&world, &["--agent", agent]);
        assert_eq!(error.code, "E-not-writable", "{agent}");
        assert!(error.message.contains(file), "{error:?}");
    }
    let error = install_error(&world, &["--agent", "codex"]);
    assert!(error.hints_at("chmod u+w ~/.codex/config.toml"), "{error:?}");
    assert_eq!(world.files("home"), before);
}
