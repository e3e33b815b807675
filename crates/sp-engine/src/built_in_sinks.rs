//! The sinks of the Skillpacks format, and which agents of the table they belong to.
//!
//! The format gives each of its sinks a default directory. On some machines the agent does not read
//! it: a variable moves its settings, or it never read it. [`BuiltInSink::dir_read`] returns the
//! directory that the agent reads instead.

use std::path::PathBuf;

use crate::agents::{Agent, find_agent};
use crate::context::Context;

/// The sink without a default directory: it requires `--path`.
pub(crate) const CUSTOM_SINK: &str = "custom";

/// A sink of the Skillpacks format.
pub(crate) struct BuiltInSink {
    pub name: &'static str,
    default_path: &'static str,
    /// The agent's ID in the table of agents.
    agent_id: &'static str,
    dir_choice: DirChoice,
}

/// When an agent reads another directory than the default of the format.
enum DirChoice {
    Default,
    /// If this variable is set, the agent reads `skills` in the directory that it names.
    Variable(&'static str),
    /// If the agent is installed, it reads the directory of the table.
    Table,
}

pub(crate) const BUILT_IN_SINKS: [BuiltInSink; 5] = [
    BuiltInSink {
        name: "codex",
        // Codex also reads `~/.agents/skills`, which the table has.
        default_path: "~/.codex/skills",
        agent_id: "codex",
        dir_choice: DirChoice::Variable("CODEX_HOME"),
    },
    BuiltInSink {
        name: "claude",
        default_path: "~/.claude/skills",
        agent_id: "claude-code",
        dir_choice: DirChoice::Variable("CLAUDE_CONFIG_DIR"),
    },
    BuiltInSink {
        name: "copilot",
        default_path: "~/.copilot/skills",
        agent_id: "github-copilot",
        dir_choice: DirChoice::Default,
    },
    BuiltInSink {
        name: "cursor",
        default_path: "~/.cursor/skills",
        agent_id: "cursor",
        dir_choice: DirChoice::Default,
    },
    BuiltInSink {
        name: "windsurf",
        default_path: "~/.windsurf/skills",
        agent_id: "windsurf",
        dir_choice: DirChoice::Table,
    },
];

impl BuiltInSink {
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        BUILT_IN_SINKS.iter().find(|sink| sink.name == name)
    }

    /// Returns the directory that the format defines.
    pub(crate) fn default_dir(&self, context: &Context<'_>) -> PathBuf {
        context.expand(self.default_path)
    }

    /// Returns the directory that the agent reads on this machine. If it reads the default one, it
    /// is that, although the agent may read others as well.
    pub(crate) fn dir_read(&self, context: &Context<'_>) -> PathBuf {
        let instead = match self.dir_choice {
            DirChoice::Default => None,
            DirChoice::Variable(variable) => {
                let dir = context.env.get(variable).filter(|dir| !dir.is_empty());
                dir.map(|dir| context.expand(dir).join("skills"))
            }
            DirChoice::Table => find_agent(self.agent_id)
                .filter(|agent| agent.is_installed(context))
                .and_then(|agent| agent.global_dir(context)),
        };
        instead.unwrap_or_else(|| self.default_dir(context))
    }
}

/// Returns the agent that a sink belongs to.
pub(crate) fn agent_for_sink(name: &str) -> Option<&'static Agent> {
    find_agent(BuiltInSink::find(name).map_or(name, |sink| sink.agent_id))
}
