//! `sp mcp install` and `sp mcp uninstall` on real files: what an agent's settings are before and after, by the byte.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges its world with the plain calls"
)]

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;
use sp_testkit::{Run, World, world};

/// A world in which the shell finds this `sp`.
fn world_with_sp() -> World {
    let mut world = world!();
    std::fs::create_dir(world.path("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_sp"), world.path("bin/sp")).unwrap();
    world.set_env("PATH", &format!("{}:/usr/bin:/bin", world.path("bin").display()));
    world
}

fn at(world: &World, path: &str) -> PathBuf {
    world.home().join(path)
}

fn put(world: &World, path: &str, text: &str) {
    std::fs::create_dir_all(at(world, path).parent().unwrap()).unwrap();
    std::fs::write(at(world, path), text).unwrap();
}

fn text(world: &World, path: &str) -> String {
    std::fs::read_to_string(at(world, path)).unwrap()
}

fn install(world: &World, args: &[&str]) -> Run {
    world.sp(&[&["mcp", "install"], args].concat())
}

fn uninstall(world: &World, args: &[&str]) -> Run {
    world.sp(&[&["mcp", "uninstall"], args].concat())
}

/// What a file is that has one server and nothing else.
fn alone(table: &str, members: &[&str]) -> String {
    let members = members.join(",\n      ");
    format!("{{\n  \"{table}\": {{\n    \"skillpack\": {{\n      {members}\n    }}\n  }}\n}}\n")
}

const STARTED: [&str; 2] = ["\"command\": \"sp\"", "\"args\": [\"mcp\"]"];
const URL: &str = "http://127.0.0.1:8080/mcp";

/// Agent, its file for the user, its file in a project, the table, and what a server says that is started or reached.
type Row =
    (&'static str, &'static str, &'static str, &'static str, Vec<&'static str>, Vec<&'static str>);

fn rows() -> Vec<Row> {
    const STDIO: &str = "\"type\": \"stdio\"";
    const HTTP: &str = "\"type\": \"http\"";
    const AT_URL: &str = "\"url\": \"http://127.0.0.1:8080/mcp\"";
    const AT_HTTP_URL: &str = "\"httpUrl\": \"http://127.0.0.1:8080/mcp\"";
    const TOOLS: &str = "\"tools\": [\"*\"]";
    let [command, args] = STARTED;
    let plain = || vec![command, args];
    let typed = || vec![STDIO, command, args];
    let (code, desktop) = match cfg!(target_os = "macos") {
        true => (
            "Library/Application Support/Code/User/mcp.json",
            "Library/Application Support/Claude/claude_desktop_config.json",
        ),
        false => (".config/Code/User/mcp.json", ".config/Claude/claude_desktop_config.json"),
    };
    vec![
        ("claude", ".claude.json", ".mcp.json", "mcpServers", typed(), vec![HTTP, AT_URL]),
        ("claude-code", ".claude.json", ".mcp.json", "mcpServers", typed(), vec![HTTP, AT_URL]),
        ("claude-desktop", desktop, "", "mcpServers", plain(), vec![]),
        ("cursor", ".cursor/mcp.json", ".cursor/mcp.json", "mcpServers", plain(), vec![AT_URL]),
        ("vscode", code, ".vscode/mcp.json", "servers", typed(), vec![HTTP, AT_URL]),
        (
            "windsurf",
            ".codeium/windsurf/mcp_config.json",
            "",
            "mcpServers",
            plain(),
            vec!["\"serverUrl\": \"http://127.0.0.1:8080/mcp\""],
        ),
        (
            "gemini-cli",
            ".gemini/settings.json",
            ".gemini/settings.json",
            "mcpServers",
            plain(),
            vec![AT_HTTP_URL],
        ),
        (
            "qwen-code",
            ".qwen/settings.json",
            ".qwen/settings.json",
            "mcpServers",
            plain(),
            vec![AT_HTTP_URL],
        ),
        (
            "copilot",
            ".copilot/mcp-config.json",
            ".github/mcp.json",
            "mcpServers",
            vec!["\"type\": \"local\"", command, args, TOOLS],
            vec![HTTP, AT_URL, TOOLS],
        ),
        (
            "zed",
            ".config/zed/settings.json",
            ".zed/settings.json",
            "context_servers",
            plain(),
            vec![AT_URL],
        ),
        (
            "kiro",
            ".kiro/settings/mcp.json",
            ".kiro/settings/mcp.json",
            "mcpServers",
            plain(),
            vec![AT_URL],
        ),
        (
            "amp",
            ".config/amp/settings.json",
            ".amp/settings.json",
            "amp.mcpServers",
            plain(),
            vec![AT_URL],
        ),
        (
            "roo",
            "",
            ".roo/mcp.json",
            "mcpServers",
            plain(),
            vec!["\"type\": \"streamable-http\"", AT_URL],
        ),
    ]
}

#[test]
fn mc_08_each_agent_gets_its_file_from_nothing() {
    for (agent, user, _, table, started, reached) in rows() {
        let world = world_with_sp();
        if user.is_empty() {
            install(&world, &["--agent", agent]).fails(1);
            continue;
        }
        install(&world, &["--agent", agent, "--scope", "user"]).ok();
        assert_eq!(text(&world, user), alone(table, &started), "{agent}");
        let mode = at(&world, user).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "agents keep tokens there: {agent}");
        let http = ["--agent", agent, "--http", URL, "--replace"];
        match reached.is_empty() {
            true => assert!(
                install(&world, &http).fails(1).stderr.contains("leave out `--http`"),
                "{agent}"
            ),
            false => {
                install(&world, &http).ok();
                assert_eq!(text(&world, user), alone(table, &reached), "{agent}");
            }
        }
    }
}

#[test]
fn mc_08_codex_gets_a_table_of_toml() {
    let world = world_with_sp();
    install(&world, &["--agent", "codex"]).ok();
    let started = "[mcp_servers.skillpack]\ncommand = \"sp\"\nargs = [\"mcp\"]\n";
    assert_eq!(text(&world, ".codex/config.toml"), started);
    install(&world, &["--agent", "codex", "--http", URL, "--replace"]).ok();
    assert_eq!(
        text(&world, ".codex/config.toml"),
        format!("[mcp_servers.skillpack]\nurl = \"{URL}\"\n")
    );
    install(&world, &["--agent", "codex", "--scope", "project"]).ok();
    assert_eq!(text(&world, "repo/.codex/config.toml"), started);
}

#[test]
fn mc_08_a_project_has_its_file_at_its_root_wherever_one_stands() {
    for (agent, _, project, table, started, _) in rows() {
        let world = world_with_sp();
        std::fs::create_dir_all(world.repo().join(".git")).unwrap();
        let args = ["mcp", "install", "--agent", agent, "--scope", "project"];
        let run = world.sp_in("home/repo/skills", &args);
        if project.is_empty() {
            assert!(run.fails(1).stderr.contains("leave out `--scope project`"), "{agent}");
            continue;
        }
        run.ok();
        assert_eq!(text(&world, &format!("repo/{project}")), alone(table, &started), "{agent}");
        let mode = at(&world, &format!("repo/{project}")).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o444, 0o444, "others of the project read it: {agent}");
    }
}

#[test]
fn mc_08_variables_that_move_an_agent_are_minded() {
    let mut world = world_with_sp();
    for (name, dir) in [("CLAUDE_CONFIG_DIR", "c"), ("CODEX_HOME", "x"), ("COPILOT_HOME", "p")] {
        world.set_env(name, &at(&world, dir).display().to_string());
    }
    install(&world, &["--agent", "claude", "--agent", "codex", "--agent", "copilot"]).ok();
    for file in ["c/.claude.json", "x/config.toml", "p/mcp-config.json"] {
        assert!(text(&world, file).contains("skillpack"), "{file}");
    }
}

/// Agent, file, what is in it, and what is in it afterwards.
const MERGED: [(&str, &str, &str, &str); 5] = [
    (
        "vscode",
        "repo/.vscode/mcp.json",
        "// Servers of the team\n{\n\t\"inputs\": [], // none yet\n\t\"servers\": {\n\t\t/* the first */\n\t\t\"db\": \
         { \"type\": \"stdio\", \"command\": \"db\" }, // keep\n\t},\n}\n",
        "// Servers of the team\n{\n\t\"inputs\": [], // none yet\n\t\"servers\": {\n\t\t/* the first */\n\t\t\"db\": \
         { \"type\": \"stdio\", \"command\": \"db\" }, // keep\n\t\t\"skillpack\": {\n\t\t\t\"type\": \
         \"stdio\",\n\t\t\t\"command\": \"sp\",\n\t\t\t\"args\": [\"mcp\"]\n\t\t},\n\t},\n}\n",
    ),
    (
        "zed",
        "repo/.zed/settings.json",
        "{\r\n    \"theme\": \"One\",\r\n    \"context_servers\": {\r\n        \"a\": {} // last\r\n    },\r\n    \
         \"x\": 1.50\r\n}",
        "{\r\n    \"theme\": \"One\",\r\n    \"context_servers\": {\r\n        \"a\": {}, // last\r\n        \
         \"skillpack\": {\r\n            \"command\": \"sp\",\r\n            \"args\": [\"mcp\"]\r\n        }\r\n    \
         },\r\n    \"x\": 1.50\r\n}",
    ),
    (
        "claude",
        "repo/.mcp.json",
        "{\"b\":1,\"mcpServers\":{\"x\":{\"command\":\"y\"}},\"a\":[1,2]}",
        "{\"b\":1,\"mcpServers\":{\"x\":{\"command\":\"y\"}, \"skillpack\": {\"type\": \"stdio\", \"command\": \
         \"sp\", \"args\": [\"mcp\"]}},\"a\":[1,2]}",
    ),
    (
        "cursor",
        "repo/.cursor/mcp.json",
        "{\n    \"mcpServers\": {}\n}\n",
        "{\n    \"mcpServers\": {\n        \"skillpack\": {\n            \"command\": \"sp\",\n            \"args\": \
         [\"mcp\"]\n        }\n    }\n}\n",
    ),
    (
        "codex",
        "repo/.codex/config.toml",
        "model   = 'o9' # mine\n\n[mcp_servers.docs] # first\ncommand = \"docs\"\nenv = { A = '1' }\n\n# the end\n",
        "model   = 'o9' # mine\n\n[mcp_servers.docs] # first\ncommand = \"docs\"\nenv = { A = '1' }\n\n# the \
         end\n\n[mcp_servers.skillpack]\ncommand = \"sp\"\nargs = [\"mcp\"]\n",
    ),
];

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

#[test]
fn mc_08_the_page_of_agents_lists_each_with_its_files() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/agents/README.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (agent, user, project, ..) in rows() {
        let line = page
            .lines()
            .find(|line| line.contains(&format!("`{agent}`")) && line.starts_with("| "));
        let line = line.unwrap_or_else(|| unreachable!("{agent} has no line"));
        let in_project =
            if project.is_empty() { "| none |".into() } else { format!("| `{project}` |") };
        assert!(line.contains(&in_project), "{line}");
        let elsewhere = ["vscode", "claude-desktop"].contains(&agent);
        let for_user = if user.is_empty() { "| none |".into() } else { format!("| `~/{user}` |") };
        assert!(elsewhere || line.contains(&for_user), "{line}");
    }
}
