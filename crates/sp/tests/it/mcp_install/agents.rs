//! The settings files of every agent, and their content if they did not exist before.

use super::*;

/// An agent, its settings files and the entries that `sp` writes.
struct AgentCase {
    agent: &'static str,
    /// Relative to the home directory; empty if there is none.
    user_file: &'static str,
    /// Relative to the project; empty if there is none.
    project_file: &'static str,
    /// The key of the table of servers.
    table: &'static str,
    /// The members of an entry that starts a server.
    stdio: &'static [&'static str],
    /// The members of an entry with a URL; empty if the agent does not support that.
    http: &'static [&'static str],
}

const STDIO: &str = "\"type\": \"stdio\"";
const HTTP: &str = "\"type\": \"http\"";
const URL_MEMBER: &str = "\"url\": \"http://127.0.0.1:8080/mcp\"";
const HTTP_URL_MEMBER: &str = "\"httpUrl\": \"http://127.0.0.1:8080/mcp\"";
const TOOLS: &str = "\"tools\": [\"*\"]";

const VSCODE_FILE: &str = if cfg!(target_os = "macos") {
    "Library/Application Support/Code/User/mcp.json"
} else {
    ".config/Code/User/mcp.json"
};
const CLAUDE_DESKTOP_FILE: &str = if cfg!(target_os = "macos") {
    "Library/Application Support/Claude/claude_desktop_config.json"
} else {
    ".config/Claude/claude_desktop_config.json"
};

const COMMAND: &str = STDIO_MEMBERS[0];
const ARGS: &str = STDIO_MEMBERS[1];
const UNTYPED: &[&str] = &[COMMAND, ARGS];
const TYPED: &[&str] = &[STDIO, COMMAND, ARGS];

const AGENT_CASES: &[AgentCase] = &[
    AgentCase {
        agent: "claude",
        user_file: ".claude.json",
        project_file: ".mcp.json",
        table: "mcpServers",
        stdio: TYPED,
        http: &[HTTP, URL_MEMBER],
    },
    AgentCase {
        agent: "claude-code",
        user_file: ".claude.json",
        project_file: ".mcp.json",
        table: "mcpServers",
        stdio: TYPED,
        http: &[HTTP, URL_MEMBER],
    },
    AgentCase {
        agent: "claude-desktop",
        user_file: CLAUDE_DESKTOP_FILE,
        project_file: "",
        table: "mcpServers",
        stdio: UNTYPED,
        http: &[],
    },
    AgentCase {
        agent: "cursor",
        user_file: ".cursor/mcp.json",
        project_file: ".cursor/mcp.json",
        table: "mcpServers",
        stdio: UNTYPED,
        http: &[URL_MEMBER],
    },
    AgentCase {
        agent: "vscode",
        user_file: VSCODE_FILE,
        project_file: ".vscode/mcp.json",
        table: "servers",
        stdio: TYPED,
        http: &[HTTP, URL_MEMBER],
    },
    AgentCase {
        agent: "windsurf",
        user_file: ".codeium/windsurf/mcp_config.json",
        project_file: "",
        table: "mcpServers",
        stdio: UNTYPED,
        http: &["\"serverUrl\": \"http://127.0.0.1:8080/mcp\""],
    },
    AgentCase {
        agent: "gemini-cli",
        user_file: ".gemini/settings.json",
        project_file: ".gemini/settings.json",
        table: "mcpServers",
        stdio: UNTYPED,
        http: &[HTTP_URL_MEMBER],
    },
    AgentCase {
        agent: "qwen-code",
        user_file: ".qwen/settings.json",
        project_file: ".qwen/settings.json",
        table: "mcpServers",
        stdio: UNTYPED,
        http: &[HTTP_URL_MEMBER],
    },
    AgentCase {
        agent: "copilot",
        user_file: ".copilot/mcp-config.json",
        project_file: ".github/mcp.json",
        table: "mcpServers",
        stdio: &["\"type\": \"local\"", COMMAND, ARGS, TOOLS],
        http: &[HTTP, URL_MEMBER, TOOLS],
    },
    AgentCase {
        agent: "zed",
        user_file: ".config/zed/settings.json",
        project_file: ".zed/settings.json",
        table: "context_servers",
        stdio: UNTYPED,
        http: &[URL_MEMBER],
    },
    AgentCase {
        agent: "kiro",
        user_file: ".kiro/settings/mcp.json",
        project_file: ".kiro/settings/mcp.json",
        table: "mcpServers",
        stdio: UNTYPED,
        http: &[URL_MEMBER],
    },
    AgentCase {
        agent: "amp",
        user_file: ".config/amp/settings.json",
        project_file: ".amp/settings.json",
        table: "amp.mcpServers",
        stdio: UNTYPED,
        http: &[URL_MEMBER],
    },
    AgentCase {
        agent: "roo",
        user_file: "",
        project_file: ".roo/mcp.json",
        table: "mcpServers",
        stdio: UNTYPED,
        http: &["\"type\": \"streamable-http\"", URL_MEMBER],
    },
];

#[test]
fn mc_08_install_creates_the_file_of_each_agent() {
    for AgentCase { agent, user_file, table, stdio, http, .. } in AGENT_CASES {
        let world = world_with_sp();
        if user_file.is_empty() {
            assert_eq!(install_error(&world, &["--agent", agent]).code, "E-agent-has-no-settings");
            continue;
        }
        install(&world, &["--agent", agent, "--scope", "user"]).ok();
        assert_eq!(read(&world, user_file), only_server(table, stdio), "{agent}");
        let mode = home_path(&world, user_file).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "settings of a user can contain tokens: {agent}");
        let args = ["--agent", agent, "--url", URL, "--force"];
        if http.is_empty() {
            let error = install_error(&world, &args);
            assert_eq!(error.code, "E-unsupported", "{agent}");
            assert!(error.hints_at("--url"), "{error:?}");
        } else {
            install(&world, &args).ok();
            assert_eq!(read(&world, user_file), only_server(table, http), "{agent}");
        }
    }
}

#[test]
fn mc_08_codex_gets_a_toml_table() {
    let world = world_with_sp();
    install(&world, &["--agent", "codex"]).ok();
    let stdio = "[mcp_servers.skillpack]\ncommand = \"sp\"\nargs = [\"mcp\"]\n";
    assert_eq!(read(&world, ".codex/config.toml"), stdio);
    install(&world, &["--agent", "codex", "--url", URL, "--force"]).ok();
    assert_eq!(
        read(&world, ".codex/config.toml"),
        format!("[mcp_servers.skillpack]\nurl = \"{URL}\"\n")
    );
    install(&world, &["--agent", "codex", "--scope", "project"]).ok();
    assert_eq!(read(&world, "repo/.codex/config.toml"), stdio);
}

#[test]
fn mc_08_project_file_is_at_the_project_root_from_any_directory() {
    const DIR: &str = "home/repo/skills";
    for AgentCase { agent, project_file, table, stdio, .. } in AGENT_CASES {
        let world = world_with_sp();
        std::fs::create_dir_all(world.repo().join(".git")).unwrap();
        let args = ["mcp", "install", "--agent", agent, "--scope", "project"];
        if project_file.is_empty() {
            let error = world.sp_error_in(DIR, &args);
            assert_eq!(error.code, "E-agent-has-no-settings", "{agent}");
            assert!(error.hints_at("--scope project"), "{error:?}");
            continue;
        }
        world.sp_in(DIR, &args).ok();
        let file = format!("repo/{project_file}");
        assert_eq!(read(&world, &file), only_server(table, stdio), "{agent}");
        let mode = home_path(&world, &file).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o444, 0o444, "project settings are shared: {agent}");
    }
}

#[test]
fn mc_08_agent_directory_variables_are_honored() {
    let mut world = world_with_sp();
    for (name, dir) in [("CLAUDE_CONFIG_DIR", "c"), ("CODEX_HOME", "x"), ("COPILOT_HOME", "p")] {
        world.set_env(name, &home_path(&world, dir).display().to_string());
    }
    install(&world, &["--agent", "claude", "--agent", "codex", "--agent", "copilot"]).ok();
    for file in ["c/.claude.json", "x/config.toml", "p/mcp-config.json"] {
        assert!(read(&world, file).contains("skillpack"), "{file}");
    }
}

#[test]
fn mc_08_docs_list_the_files_of_each_agent() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/agents/README.md");
    let page = std::fs::read_to_string(page).unwrap();
    for AgentCase { agent, user_file, project_file, .. } in AGENT_CASES {
        let row = page
            .lines()
            .find(|line| line.contains(&format!("`{agent}`")) && line.starts_with("| "));
        let row = row.unwrap_or_else(|| unreachable!("{agent} has no row"));
        let project_cell = if project_file.is_empty() {
            "| none |".into()
        } else {
            format!("| `{project_file}` |")
        };
        assert!(row.contains(&project_cell), "{row}");
        // The user files of these two differ between systems.
        if !["vscode", "claude-desktop"].contains(agent) {
            let user_cell = if user_file.is_empty() {
                "| none |".into()
            } else {
                format!("| `~/{user_file}` |")
            };
            assert!(row.contains(&user_cell), "{row}");
        }
    }
}
