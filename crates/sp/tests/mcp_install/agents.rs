//! Every agent: its files, and what is written to a file that does not exist yet.

use super::*;

/// Agent, its file for the user, its file in a project, the table, and what a server says that is
/// started or reached.
type Row =
    (&'static str, &'static str, &'static str, &'static str, Vec<&'static str>, Vec<&'static str>);

const STDIO: &str = "\"type\": \"stdio\"";
const HTTP: &str = "\"type\": \"http\"";
const AT_URL: &str = "\"url\": \"http://127.0.0.1:8080/mcp\"";
const AT_HTTP_URL: &str = "\"httpUrl\": \"http://127.0.0.1:8080/mcp\"";
const TOOLS: &str = "\"tools\": [\"*\"]";

/// A file of a desktop application, below the home.
fn user_file(path: &'static str) -> &'static str {
    let folder = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
    format!("{folder}/{path}").leak()
}

fn rows() -> Vec<Row> {
    let [command, args] = STARTED;
    let plain = || vec![command, args];
    let typed = || vec![STDIO, command, args];
    let (code, desktop) =
        (user_file("Code/User/mcp.json"), user_file("Claude/claude_desktop_config.json"));
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
