//! The table of agents that read MCP servers from a settings file: its path and its format.
//!
//! Only documented paths and formats are listed. An agent that is also in `agents.tsv` has the same
//! ID in both tables.

use serde_json::{Map, Value, json};
use sp_formats::settings::SettingsFormat;

use super::McpServerEntry;
use crate::error::{Error, ErrorCode, Result};

/// An agent that reads MCP servers from a settings file.
#[derive(Debug)]
pub struct McpAgent {
    /// The ID for `--agent`.
    pub id: &'static str,
    /// The display name.
    pub name: &'static str,
    /// Other IDs that `--agent` accepts.
    pub aliases: &'static [&'static str],
    /// The settings files of the user. The first that exists is used, or else the first. A path may
    /// start with an environment variable.
    pub user_paths: &'static [&'static str],
    /// The paths on macOS, if they differ.
    pub user_paths_macos: &'static [&'static str],
    /// The settings files of a project.
    pub project_paths: &'static [&'static str],
    pub format: SettingsFormat,
    /// The key of the table of servers.
    pub table: &'static str,
    /// Extra members of a server that the agent starts.
    pub stdio_fields: &'static [(&'static str, &'static str)],
    /// Extra members of a server that the agent reaches over HTTP.
    pub http_fields: &'static [(&'static str, &'static str)],
    /// The member with the URL of an HTTP server; empty if the agent does not support these.
    pub url_key: &'static str,
    /// Whether an entry must list the tools that may be used.
    pub lists_tools: bool,
    /// What the user has to do after the file has changed.
    pub next_step: &'static str,
}

/// The values that most agents share.
const DEFAULT_AGENT: McpAgent = McpAgent {
    id: "",
    name: "",
    aliases: &[],
    user_paths: &[],
    user_paths_macos: &[],
    project_paths: &[],
    format: SettingsFormat::Json,
    table: "mcpServers",
    stdio_fields: &[],
    http_fields: &[],
    url_key: "url",
    lists_tools: false,
    next_step: "",
};

/// The agents that `sp mcp install` supports.
pub const MCP_AGENTS: &[McpAgent] = &[
    McpAgent {
        id: "claude-code",
        name: "Claude Code",
        aliases: &["claude"],
        user_paths: &["${CLAUDE_CONFIG_DIR:-~}/.claude.json"],
        project_paths: &[".mcp.json"],
        stdio_fields: &[("type", "stdio")],
        http_fields: &[("type", "http")],
        next_step: "restart Claude Code, then run `/mcp` to see the server",
        ..DEFAULT_AGENT
    },
    McpAgent {
        id: "claude-desktop",
        name: "Claude Desktop",
        user_paths: &["${XDG_CONFIG_HOME:-~/.config}/Claude/claude_desktop_config.json"],
        user_paths_macos: &["~/Library/Application Support/Claude/claude_desktop_config.json"],
        // HTTP servers are added in the UI of the app, not in this file.
        url_key: "",
        next_step: "restart Claude Desktop; the server is listed under Settings > Developer",
        ..DEFAULT_AGENT
    },
    McpAgent {
        id: "cursor",
        name: "Cursor",
        user_paths: &["~/.cursor/mcp.json"],
        project_paths: &[".cursor/mcp.json"],
        next_step: "restart Cursor, then enable the server in its settings under MCP",
        ..DEFAULT_AGENT
    },
    McpAgent {
        id: "codex",
        name: "Codex",
        user_paths: &["${CODEX_HOME:-~/.codex}/config.toml"],
        project_paths: &[".codex/config.toml"],
        format: SettingsFormat::Toml,
        table: "mcp_servers",
        next_step: "restart Codex, then run `/mcp` or `codex mcp list` to see the server",
        ..DEFAULT_AGENT
    },
    McpAgent {
        id: "vscode",
        name: "VS Code",
        aliases: &["vs-code", "code"],
        user_paths: &["${XDG_CONFIG_HOME:-~/.config}/Code/User/mcp.json"],
        user_paths_macos: &["~/Library/Application Support/Code/User/mcp.json"],
        project_paths: &[".vscode/mcp.json"],
        table: "servers",
        stdio_fields: &[("type", "stdio")],
        http_fields: &[("type", "http")],
        next_step: "run `MCP: List Servers` in VS Code and start the server there",
        ..DEFAULT_AGENT
    },
    McpAgent {
        id: "windsurf",
        name: "Windsurf",
        user_paths: &["~/.codeium/windsurf/mcp_config.json"],
        url_key: "serverUrl",
        next_step: "refresh the MCP servers in Cascade, or restart Windsurf",
        ..DEFAULT_AGENT
    },
    McpAgent {
        id: "gemini-cli",
        name: "Gemini CLI",
        aliases: &["gemini"],
        user_paths: &["~/.gemini/settings.json"],
        project_paths: &[".gemini/settings.json"],
        url_key: "httpUrl",
        next_step: "restart Gemini CLI, then run `/mcp` to see the server",
        ..DEFAULT_AGENT
    },
    McpAgent {
        id: "qwen-code",
        name: "Qwen Code",
        aliases: &["qwen"],
        user_paths: &["~/.qwen/settings.json"],
        project_paths: &[".qwen/settings.json"],
        url_key: "httpUrl",
        next_step: "restart Qwen Code, then run `/mcp` to see the server",
        ..DEFAULT_AGENT
    },
    McpAgent {
        id: "github-copilot",
        name: "GitHub Copilot CLI",
        aliases: &["copilot"],
        user_paths: &["${COPILOT_HOME:-~/.copilot}/mcp-config.json"],
        project_paths: &[".github/mcp.json"],
        stdio_fields: &[("type", "local")],
        http_fields: &[("type", "http")],
        lists_tools: true,
        next_step: "restart Copilot, then run `/mcp show` to see the server",
        ..DEFAULT_AGENT
    },
    McpAgent {
        id: "zed",
        name: "Zed",
        user_paths: &["${XDG_CONFIG_HOME:-~/.config}/zed/settings.json"],
        user_paths_macos: &["~/.config/zed/settings.json"],
        project_paths: &[".zed/settings.json"],
        table: "context_servers",
        next_step: "open the agent settings in Zed; a green dot means that the server is running",
        ..DEFAULT_AGENT
    },
    McpAgent {
        id: "kiro-cli",
        name: "Kiro",
        aliases: &["kiro"],
        user_paths: &["~/.kiro/settings/mcp.json"],
        project_paths: &[".kiro/settings/mcp.json"],
        next_step: "restart Kiro, then run `/mcp` to see the server",
        ..DEFAULT_AGENT
    },
    McpAgent {
        id: "amp",
        name: "Amp",
        user_paths: &["~/.config/amp/settings.json", "~/.config/amp/settings.jsonc"],
        project_paths: &[".amp/settings.json", ".amp/settings.jsonc"],
        table: "amp.mcpServers",
        next_step: "restart Amp; approve the server there if it is a project server",
        ..DEFAULT_AGENT
    },
    McpAgent {
        id: "roo",
        name: "Roo Code",
        project_paths: &[".roo/mcp.json"],
        http_fields: &[("type", "streamable-http")],
        next_step: "open the list of MCP servers in Roo Code to see the server",
        ..DEFAULT_AGENT
    },
];

/// Finds an agent by its ID or an alias.
pub(super) fn find_agent(name: &str) -> Result<&'static McpAgent> {
    let is = |agent: &&McpAgent| agent.id == name || agent.aliases.contains(&name);
    MCP_AGENTS.iter().find(is).ok_or_else(|| unknown_agent_error(name))
}

fn unknown_agent_error(name: &str) -> Error {
    let error = Error::new(
        ErrorCode::UnknownAgent,
        format!("unknown agent `{name}` for MCP configuration"),
    );
    let known = MCP_AGENTS.iter().flat_map(|agent| agent.aliases.iter().copied().chain([agent.id]));
    let known: Vec<&str> = known.collect();
    error.suggest(name, &known, "supported agents")
}

impl McpAgent {
    /// Returns the entry of a server in the format of this agent.
    pub(super) fn entry(&self, server: &McpServerEntry<'_>) -> Result<Value> {
        let (kind, members) = match server {
            McpServerEntry::Stdio { command, args } => {
                (self.stdio_fields, vec![("command", json!(command)), ("args", json!(args))])
            }
            McpServerEntry::Http { .. } if self.url_key.is_empty() => {
                return Err(Error::new(
                    ErrorCode::Unsupported,
                    format!("{} does not support HTTP servers in its settings file", self.name),
                )
                .hint("omit `--url`, or add the URL in the agent's own settings"));
            }
            McpServerEntry::Http { url } => (self.http_fields, vec![(self.url_key, json!(url))]),
        };
        let kind = kind.iter().map(|(key, value)| (*key, json!(value)));
        let tools = self.lists_tools.then(|| ("tools", json!(["*"])));
        let members = kind.chain(members).chain(tools).map(|(key, value)| (key.to_owned(), value));
        Ok(Value::Object(members.collect::<Map<_, _>>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mc_08_table_is_complete_and_uses_the_ids_of_agents_tsv() {
        // These agents do not read skills.
        let without_skills = ["claude-desktop", "vscode"];
        let mut names = std::collections::HashSet::new();
        for agent in MCP_AGENTS {
            let skill_agent = crate::agents::find_agent(agent.id);
            assert_eq!(skill_agent.is_none(), without_skills.contains(&agent.id), "{}", agent.id);
            assert!(!agent.next_step.is_empty() && !agent.table.is_empty(), "{}", agent.id);
            assert!(
                !agent.user_paths.is_empty() || !agent.project_paths.is_empty(),
                "{}",
                agent.id
            );
            assert!(
                [agent.id].iter().chain(agent.aliases).all(|name| names.insert(*name)),
                "{}",
                agent.id
            );
            assert!(
                agent.project_paths.iter().all(|path| !path.starts_with(['/', '~', '$'])),
                "{}",
                agent.id
            );
        }
    }

    #[test]
    fn mc_08_agent_names_of_sp_install_are_accepted() {
        for (name, id) in
            [("claude", "claude-code"), ("copilot", "github-copilot"), ("codex", "codex")]
        {
            assert_eq!(find_agent(name).unwrap().id, id);
            assert_eq!(crate::built_in_sinks::agent_for_sink(name).unwrap().id, id);
        }
        assert_eq!(unknown_agent_error("cursr").hints[0], "did you mean `cursor`?");
    }
}
