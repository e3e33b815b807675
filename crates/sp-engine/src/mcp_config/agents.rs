//! Where each agent keeps its MCP servers, and how it writes one, as rows of one table.
//!
//! Only what the makers of an agent document is here. The id is the one of `agents.tsv`, where it has one.

use serde_json::{Map, Value, json};
use sp_formats::settings::Form;
use sp_formats::suggest::nearest;

use super::Server;
use crate::error::{Error, Kind, Result};

/// An agent that takes MCP servers from a file.
#[derive(Debug)]
pub struct McpAgent {
    /// Its id, as `--agent` takes it.
    pub id: &'static str,
    /// Its own name.
    pub name: &'static str,
    /// Other ids that `--agent` takes.
    pub also: &'static [&'static str],
    /// Its file for the user: the first that is there, else the first; may start with a variable.
    pub user: &'static [&'static str],
    /// The same on macOS, where that is elsewhere.
    pub user_mac: &'static [&'static str],
    /// Its file in a project.
    pub project: &'static [&'static str],
    /// How the file is written.
    pub form: Form,
    /// The table that holds the servers.
    pub table: &'static str,
    /// What a server that is started says of its kind.
    pub stdio: &'static [(&'static str, &'static str)],
    /// What a server that is reached over HTTP says of its kind.
    pub http: &'static [(&'static str, &'static str)],
    /// The member that has the address of such a server.
    pub url: &'static str,
    /// Whether a server says which of its tools may be used.
    pub names_tools: bool,
    /// What is left to do when the file has changed.
    pub next: &'static str,
}

/// What most agents have in common.
const PLAIN: McpAgent = McpAgent {
    id: "",
    name: "",
    also: &[],
    user: &[],
    user_mac: &[],
    project: &[],
    form: Form::Json,
    table: "mcpServers",
    stdio: &[],
    http: &[],
    url: "url",
    names_tools: false,
    next: "",
};

/// All agents that `sp mcp install` knows.
pub const MCP_AGENTS: &[McpAgent] = &[
    McpAgent {
        id: "claude-code",
        name: "Claude Code",
        also: &["claude"],
        user: &["${CLAUDE_CONFIG_DIR:-~}/.claude.json"],
        project: &[".mcp.json"],
        stdio: &[("type", "stdio")],
        http: &[("type", "http")],
        next: "start Claude Code anew; `/mcp` lists the server",
        ..PLAIN
    },
    McpAgent {
        id: "claude-desktop",
        name: "Claude Desktop",
        user: &["${XDG_CONFIG_HOME:-~/.config}/Claude/claude_desktop_config.json"],
        user_mac: &["~/Library/Application Support/Claude/claude_desktop_config.json"],
        // It starts servers from this file, and takes those on the web in its own settings.
        url: "",
        next: "quit Claude Desktop and start it anew; Settings, Developer lists the server",
        ..PLAIN
    },
    McpAgent {
        id: "cursor",
        name: "Cursor",
        user: &["~/.cursor/mcp.json"],
        project: &[".cursor/mcp.json"],
        next: "start Cursor anew; its settings list the server under MCP, where it is switched on",
        ..PLAIN
    },
    McpAgent {
        id: "codex",
        name: "Codex",
        user: &["${CODEX_HOME:-~/.codex}/config.toml"],
        project: &[".codex/config.toml"],
        form: Form::Toml,
        table: "mcp_servers",
        next: "start Codex anew; `/mcp` lists the server, and so does `codex mcp list`",
        ..PLAIN
    },
    McpAgent {
        id: "vscode",
        name: "VS Code",
        also: &["vs-code", "code"],
        user: &["${XDG_CONFIG_HOME:-~/.config}/Code/User/mcp.json"],
        user_mac: &["~/Library/Application Support/Code/User/mcp.json"],
        project: &[".vscode/mcp.json"],
        table: "servers",
        stdio: &[("type", "stdio")],
        http: &[("type", "http")],
        next: "run `MCP: List Servers` in VS Code, and start the server there",
        ..PLAIN
    },
    McpAgent {
        id: "windsurf",
        name: "Windsurf",
        user: &["~/.codeium/windsurf/mcp_config.json"],
        url: "serverUrl",
        next: "refresh the MCP servers in Cascade, or start Windsurf anew",
        ..PLAIN
    },
    McpAgent {
        id: "gemini-cli",
        name: "Gemini CLI",
        also: &["gemini"],
        user: &["~/.gemini/settings.json"],
        project: &[".gemini/settings.json"],
        url: "httpUrl",
        next: "start Gemini CLI anew; `/mcp` lists the server",
        ..PLAIN
    },
    McpAgent {
        id: "qwen-code",
        name: "Qwen Code",
        also: &["qwen"],
        user: &["~/.qwen/settings.json"],
        project: &[".qwen/settings.json"],
        url: "httpUrl",
        next: "start Qwen Code anew; `/mcp` lists the server",
        ..PLAIN
    },
    McpAgent {
        id: "github-copilot",
        name: "GitHub Copilot CLI",
        also: &["copilot"],
        user: &["${COPILOT_HOME:-~/.copilot}/mcp-config.json"],
        project: &[".github/mcp.json"],
        stdio: &[("type", "local")],
        http: &[("type", "http")],
        names_tools: true,
        next: "start Copilot anew; `/mcp show` lists the server",
        ..PLAIN
    },
    McpAgent {
        id: "zed",
        name: "Zed",
        user: &["${XDG_CONFIG_HOME:-~/.config}/zed/settings.json"],
        user_mac: &["~/.config/zed/settings.json"],
        project: &[".zed/settings.json"],
        table: "context_servers",
        next: "look at the settings of Zed's agent, which list the server with a dot: green is running",
        ..PLAIN
    },
    McpAgent {
        id: "kiro-cli",
        name: "Kiro",
        also: &["kiro"],
        user: &["~/.kiro/settings/mcp.json"],
        project: &[".kiro/settings/mcp.json"],
        next: "start Kiro anew; `/mcp` lists the server",
        ..PLAIN
    },
    McpAgent {
        id: "amp",
        name: "Amp",
        user: &["~/.config/amp/settings.json", "~/.config/amp/settings.jsonc"],
        project: &[".amp/settings.json", ".amp/settings.jsonc"],
        table: "amp.mcpServers",
        next: "start Amp anew; a server of a project must be approved there",
        ..PLAIN
    },
    McpAgent {
        id: "roo",
        name: "Roo Code",
        project: &[".roo/mcp.json"],
        http: &[("type", "streamable-http")],
        next: "look at the MCP servers in Roo Code, which list the server",
        ..PLAIN
    },
];

/// The agent that a name means.
pub(super) fn agent(name: &str) -> Result<&'static McpAgent> {
    let is = |agent: &&McpAgent| agent.id == name || agent.also.contains(&name);
    MCP_AGENTS.iter().find(is).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Error {
    let error = Error::new(Kind::Usage, format!("there is no agent called `{name}` whose MCP servers `sp` can write"));
    let known = MCP_AGENTS.iter().flat_map(|agent| agent.also.iter().copied().chain([agent.id]));
    let error = match nearest(name, known) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    };
    let ids: Vec<&str> = MCP_AGENTS.iter().map(|agent| agent.id).collect();
    error.hint(format!("the agents are: {}", ids.join(", ")))
}

impl McpAgent {
    /// The entry of a server, as this agent writes it.
    pub(super) fn entry(&self, server: &Server<'_>) -> Result<Value> {
        let (kind, members) = match server {
            Server::Started { command, args } => (self.stdio, vec![("command", json!(command)), ("args", json!(args))]),
            Server::Reached { .. } if self.url.is_empty() => {
                return Err(Error::new(
                    Kind::Request,
                    format!("{} takes no address from its settings file", self.name),
                )
                .hint("leave out `--http`, or add the address in the settings of the agent itself"));
            }
            Server::Reached { url } => (self.http, vec![(self.url, json!(url))]),
        };
        let kind = kind.iter().map(|(key, value)| (*key, json!(value)));
        let tools = self.names_tools.then(|| ("tools", json!(["*"])));
        let members = kind.chain(members).chain(tools).map(|(key, value)| (key.to_owned(), value));
        Ok(Value::Object(members.collect::<Map<_, _>>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mc_08_the_table_is_whole_and_has_the_ids_of_the_other_table() {
        // These have no skills of their own.
        let alone = ["claude-desktop", "vscode"];
        let mut names = std::collections::HashSet::new();
        for agent in MCP_AGENTS {
            let known = crate::agents::agent(agent.id);
            assert_eq!(known.is_none(), alone.contains(&agent.id), "{}", agent.id);
            assert!(!agent.next.is_empty() && !agent.table.is_empty(), "{}", agent.id);
            assert!(!agent.user.is_empty() || !agent.project.is_empty(), "{}", agent.id);
            assert!([agent.id].iter().chain(agent.also).all(|name| names.insert(*name)), "{}", agent.id);
            assert!(agent.project.iter().all(|path| !path.starts_with(['/', '~', '$'])), "{}", agent.id);
        }
    }

    #[test]
    fn mc_08_the_names_that_sp_install_takes_are_understood() {
        for (name, id) in [("claude", "claude-code"), ("copilot", "github-copilot"), ("codex", "codex")] {
            assert_eq!(agent(name).unwrap().id, id);
            assert_eq!(crate::sinks::agent_of(name).unwrap().id, id);
        }
        assert_eq!(unknown("cursr").hints[0], "did you mean `cursor`?");
    }
}
