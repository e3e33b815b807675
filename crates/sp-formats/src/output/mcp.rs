//! JSON output of `sp mcp install` and `sp mcp uninstall`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

/// `sp mcp install` and `sp mcp uninstall`, also with `--dry-run`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct McpChangeReport {
    /// Whether it was done, or only planned.
    pub applied: bool,
    /// The name of the server in the agents' settings.
    pub server: String,
    /// What changed, or would, by agent.
    pub agents: Vec<McpAgentChange>,
}

/// What changed in the settings of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct McpAgentChange {
    /// The agent's id.
    pub agent: String,
    /// The agent's own name.
    pub name: String,
    /// The file that the agent reads.
    pub file: PathBuf,
    /// The file that is written, if the agent's is a link to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_file: Option<PathBuf>,
    /// Whether there is no such file yet, so that it is made.
    pub new_file: bool,
    /// What happens to the server in it.
    pub action: McpServerAction,
    /// What the file would be if nothing else was in it; none for `sp mcp uninstall`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// What is left to do in the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What happens to a server in an agent's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum McpServerAction {
    /// It is new.
    Add,
    /// It takes the place of another of its name.
    Replace,
    /// It goes.
    Remove,
    /// Nothing changes.
    Keep,
}
