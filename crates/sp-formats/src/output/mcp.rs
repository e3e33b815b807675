//! JSON output of `sp mcp install` and `sp mcp uninstall`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::PlanStatus;

/// `sp mcp install` and `sp mcp uninstall`, also with `--dry-run`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct McpChangeReport {
    #[serde(flatten)]
    pub status: PlanStatus,
    /// Name of the server in the agents' settings.
    pub server: String,
    /// Changes to the settings of each agent.
    pub agents: Vec<McpAgentChange>,
}

/// Change to the settings of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct McpAgentChange {
    /// ID of the agent.
    pub agent: String,
    /// Display name of the agent.
    pub name: String,
    /// Settings file that the agent reads.
    pub file: PathBuf,
    /// Target of `file`, if it is a symbolic link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_file: Option<PathBuf>,
    /// Whether the file does not exist yet and is created.
    pub new_file: bool,
    /// What happens to the server entry.
    pub action: McpServerAction,
    /// Minimal settings file with only the server entry; absent for `sp mcp uninstall`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// Steps that the user has to take in the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Change to a server entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum McpServerAction {
    /// The entry is added.
    Add,
    /// An existing entry of the same name is replaced.
    Replace,
    /// The entry is removed.
    Remove,
    /// The entry does not change.
    Keep,
}
