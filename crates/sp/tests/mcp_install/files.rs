//! Files that cannot be read or written, links and permissions.

use super::*;

#[test]
fn mc_08_what_cannot_be_read_is_an_error_with_its_place() {
    let world = world_with_sp();
    put(
        &world,
        ".cursor/mcp.json",
        "{\n  \"mcpServers\": {\n    \"a\": {}\n    \"b\": {}\n  }\n}\n",
    );
    insta::assert_snapshot!(install(&world, &["--agent", "cursor"]), @r#"
    exit: 3
    --- stderr
    error: `~/.cursor/mcp.json:4:5` cannot be understood
      because: expected `,` or `}`, found `"`

    hint: nothing was changed: mend the JSON here
    "#);
    put(&world, ".codex/config.toml", "model = 'x'\n[mcp_servers\n");
    let run = install(&world, &["--agent", "codex"]).fails(3);
    assert!(run.stderr.contains("`~/.codex/config.toml:2:13` cannot be understood"), "{run}");
    for (wrong, place) in
        [("[]", "1:1"), ("{\"mcpServers\": []}", "1:16"), ("{\"a\": 1, \"a\": 2}", "1:10")]
    {
        put(&world, ".cursor/mcp.json", wrong);
        for run in
            [install(&world, &["--agent", "cursor"]), uninstall(&world, &["--agent", "cursor"])]
        {
            assert!(run.clone().fails(3).stderr.contains(&format!("mcp.json:{place}`")), "{run}");
        }
        assert_eq!(text(&world, ".cursor/mcp.json"), wrong);
    }
    std::fs::write(at(&world, ".cursor/mcp.json"), b"{\"\xff\": 1}").unwrap();
    install(&world, &["--agent", "cursor"]).fails(3);
}

#[test]
fn mc_08_a_link_is_followed_and_stays_and_so_do_the_permissions() {
    let world = world_with_sp();
    put(&world, "dotfiles/cursor.json", "{}\n");
    std::fs::set_permissions(at(&world, "dotfiles/cursor.json"), PermissionsExt::from_mode(0o640))
        .unwrap();
    std::fs::create_dir(at(&world, ".cursor")).unwrap();
    symlink("../dotfiles/cursor.json", at(&world, ".cursor/mcp.json")).unwrap();
    let run = install(&world, &["--agent", "cursor"]).ok();
    assert!(run.stdout.contains("~/.cursor/mcp.json → ~/dotfiles/cursor.json\n"), "{run}");
    assert_eq!(text(&world, "dotfiles/cursor.json"), alone("mcpServers", &STARTED));
    assert!(at(&world, ".cursor/mcp.json").symlink_metadata().unwrap().is_symlink());
    assert_eq!(
        at(&world, "dotfiles/cursor.json").metadata().unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert_eq!(world.files("home/dotfiles").len(), 1, "nothing is left beside it");
}

#[test]
fn mc_08_what_is_no_file_or_not_to_be_written_is_left_alone() {
    let world = world_with_sp();
    std::fs::create_dir(at(&world, ".cursor")).unwrap();
    symlink("nowhere.json", at(&world, ".cursor/mcp.json")).unwrap();
    let run = install(&world, &["--agent", "cursor"]).fails(1);
    assert!(run.stderr.contains("is a link to a file that is not there"), "{run}");
    std::fs::create_dir_all(at(&world, ".codeium/windsurf/mcp_config.json")).unwrap();
    let run = install(&world, &["--agent", "windsurf"]).fails(1);
    assert!(run.stderr.contains("is not a file"), "{run}");
    put(&world, ".codex/config.toml", "model = 'x'\n");
    std::fs::set_permissions(at(&world, ".codex/config.toml"), PermissionsExt::from_mode(0o444))
        .unwrap();
    insta::assert_snapshot!(install(&world, &["--agent", "codex"]), @r"
    exit: 1
    --- stderr
    error: `~/.codex/config.toml` is read-only

    hint: nothing was changed: `chmod u+w ~/.codex/config.toml`, or change it where it is made
    ");
    assert_eq!(text(&world, ".codex/config.toml"), "model = 'x'\n");
}
