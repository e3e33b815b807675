//! What is added to a file with other content.

use super::*;

#[test]
fn mc_08_everything_else_in_the_file_stays_and_uninstall_gives_it_back() {
    for (agent, file, before, after) in MERGED {
        let world = world_with_sp();
        put(&world, file, before);
        install(&world, &["--agent", agent, "--scope", "project"]).ok();
        assert_eq!(text(&world, file), after, "{agent}");
        uninstall(&world, &["--agent", agent, "--scope", "project"]).ok();
        assert_eq!(text(&world, file), before, "{agent}");
    }
}

#[test]
fn mc_08_a_table_that_is_missing_comes_and_stays() {
    let world = world_with_sp();
    put(&world, ".claude.json", "{\n  \"numStartups\": 7,\n  \"projects\": {}\n}");
    install(&world, &["--agent", "claude"]).ok();
    uninstall(&world, &["--agent", "claude"]).ok();
    assert_eq!(
        text(&world, ".claude.json"),
        "{\n  \"numStartups\": 7,\n  \"projects\": {},\n  \"mcpServers\": {}\n}"
    );
}

#[test]
fn mc_08_the_same_again_changes_nothing_and_says_so() {
    let world = world_with_sp();
    install(&world, &["--agent", "cursor"]).ok();
    let before = at(&world, ".cursor/mcp.json").metadata().unwrap();
    insta::assert_snapshot!(install(&world, &["--agent", "cursor"]), @r"
    exit: 0
    --- stdout
    unchanged: skillpack is there already · Cursor · ~/.cursor/mcp.json
    ");
    let after = at(&world, ".cursor/mcp.json").metadata().unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
    // What a user added to the entry is the user's.
    let added =
        text(&world, ".cursor/mcp.json").replace("[\"mcp\"]", "[\"mcp\"], \"env\": {\"A\": \"1\"}");
    put(&world, ".cursor/mcp.json", &added);
    install(&world, &["--agent", "cursor", "--replace"]).ok();
    assert_eq!(text(&world, ".cursor/mcp.json"), added);
}

#[test]
fn mc_08_another_server_of_the_name_is_refused_unless_it_may_be_replaced() {
    let world = world_with_sp();
    let before = "{\"mcpServers\": {\"skillpack\": {\"command\": \"npx\", \"args\": [\"--token=hush\"]}, \"b\": {}}}";
    put(&world, ".cursor/mcp.json", before);
    insta::assert_snapshot!(install(&world, &["--agent", "windsurf", "--agent", "cursor"]), @r"
    exit: 1
    --- stderr
    error: `~/.cursor/mcp.json` has another server called `skillpack`
      because: it starts `npx`, perhaps with other arguments

    hint: nothing was changed: add `--replace` to put this one in its place, or give this one another `--name`
    ");
    assert_eq!(text(&world, ".cursor/mcp.json"), before);
    assert!(!at(&world, ".codeium").exists(), "nothing is begun that cannot be ended");
    install(&world, &["--agent", "cursor", "--name", "sp_2"]).ok();
    uninstall(&world, &["--agent", "cursor", "--name", "sp_2"]).ok();
    assert_eq!(text(&world, ".cursor/mcp.json"), before);
    install(&world, &["--agent", "cursor", "--replace"]).ok();
    assert_eq!(
        text(&world, ".cursor/mcp.json"),
        "{\"mcpServers\": {\"skillpack\": {\"command\": \"sp\", \"args\": [\"mcp\"]}, \"b\": {}}}"
    );
}
