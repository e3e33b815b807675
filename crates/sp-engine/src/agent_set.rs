//! The agents that share a sink.
//!
//! Agents that read the same directory are one sink with several readers. A record lists the agents
//! that its pack is installed for, and the folders of the pack are removed with the last of them.

use sp_formats::state::InstallRecord;

use crate::built_in_sinks::{CUSTOM_SINK, agent_for_sink};

/// Names of agents, each agent once, in the order in which they were added.
///
/// `claude` and `claude-code` are two names of one agent; the first one that was added is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AgentSet(Vec<String>);

impl AgentSet {
    /// Returns the agents that a pack is installed for. A record without a list has one agent.
    pub(crate) fn of_record(install: &InstallRecord) -> Self {
        if install.agents.is_empty() {
            return install.sink.as_str().into();
        }
        install.agents.iter().map(String::as_str).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the name of the first agent; an empty one if there is none.
    pub(crate) fn first(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|known| agent_id(known) == agent_id(name))
    }

    pub(crate) fn intersects(&self, other: &Self) -> bool {
        self.0.iter().any(|name| other.contains(name))
    }

    pub(crate) fn insert(&mut self, name: &str) {
        if !self.contains(name) {
            self.0.push(name.to_owned());
        }
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        other.0.iter().for_each(|name| self.insert(name));
    }

    pub(crate) fn without(&self, other: &Self) -> Self {
        Self(self.0.iter().filter(|name| !other.contains(name)).cloned().collect())
    }

    /// Returns the product names of the agents, or their names if the table does not have them.
    pub(crate) fn display_names(&self) -> String {
        let display = |name: &String| {
            agent_for_sink(name).map_or_else(|| name.clone(), |agent| agent.name.to_owned())
        };
        self.0.iter().map(display).collect::<Vec<_>>().join(", ")
    }
}

impl From<&str> for AgentSet {
    fn from(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }
}

impl<'a> FromIterator<&'a str> for AgentSet {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        let mut agents = Self::default();
        names.into_iter().for_each(|name| agents.insert(name));
        agents
    }
}

fn agent_id(name: &str) -> &str {
    agent_for_sink(name).map_or(name, |agent| agent.id)
}

/// Returns the agents that a pack is still installed for when it is uninstalled for some.
///
/// A record without a list does not show who else reads the sink, so each agent that uninstalls the
/// pack is treated as the last one. `custom` is the directory itself, not an agent. It represents
/// all agents, unless the pack is installed for it and for others.
pub(crate) fn agents_after_uninstall(install: &InstallRecord, leaving: &AgentSet) -> AgentSet {
    let agents = AgentSet::of_record(install);
    if leaving.is_empty() {
        return agents;
    }
    let all_leave = install.agents.is_empty()
        || leaving.contains(CUSTOM_SINK) && !agents.contains(CUSTOM_SINK)
        || agents.names().iter().all(|name| name == CUSTOM_SINK);
    if all_leave { AgentSet::default() } else { agents.without(leaving) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &str) -> AgentSet {
        names.split_whitespace().collect()
    }

    fn record(sink: &str, agents: &str) -> InstallRecord {
        InstallRecord {
            sink: sink.into(),
            agents: agents.split_whitespace().map(str::to_owned).collect(),
            ..InstallRecord::default()
        }
    }

    #[test]
    fn lc_02_two_names_of_one_agent_are_one_reader() {
        let mut agents = set("claude claude-code codex claude mine mine");
        assert_eq!(agents, set("claude codex mine"));
        agents.extend(&set("claude-code cursor"));
        assert_eq!(agents.names(), ["claude", "codex", "mine", "cursor"]);
        assert!(agents.contains("claude-code") && !agents.contains("copilot"));
        assert_eq!(agents.without(&set("claude-code mine")), set("codex cursor"));
        assert!(set("github-copilot").intersects(&set("codex copilot")));
    }

    #[test]
    fn lc_02_the_last_reader_leaves_a_pack_without_agents() {
        for (sink, agents, leaving, remaining) in [
            ("claude", "claude", "claude", ""),
            ("claude", "claude codex", "claude-code", "codex"),
            ("claude", "claude codex", "codex", "claude"),
            ("claude", "claude codex", "claude codex", ""),
            ("claude", "claude codex", "cursor", "claude codex"),
            ("claude", "claude codex", "", "claude codex"),
            ("claude", "claude", "custom", ""),
            ("claude", "claude custom", "custom", "claude"),
            ("claude", "claude custom", "claude", "custom"),
            ("custom", "custom", "claude", ""),
            // Records of other tools and of earlier versions.
            ("claude", "", "claude", ""),
            ("claude", "", "codex", ""),
            ("claude", "", "", "claude"),
        ] {
            let left = agents_after_uninstall(&record(sink, agents), &set(leaving));
            assert_eq!(left, set(remaining), "{sink} [{agents}] without [{leaving}]");
        }
    }
}
