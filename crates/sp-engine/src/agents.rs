//! The known coding agents, from the table in `agents.tsv`.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::context::Context;

const AGENTS_TSV: &str = include_str!("agents.tsv");

/// A coding agent and the directories it reads skills from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The value for `--agent`.
    pub id: &'static str,
    /// The product name.
    pub name: &'static str,
    /// The directory it reads in a project, relative to its root.
    pub project: &'static str,
    /// The directory it reads in all projects. May start with `${VAR:-default}` or `~`.
    pub global: Option<&'static str>,
    /// A directory that exists if the agent is installed.
    marker: Option<&'static str>,
    /// Whether the folder of a skill must have the name of the skill.
    pub requires_matching_names: bool,
}

/// Returns all agents, in the order of the table.
pub fn agents() -> &'static [Agent] {
    static AGENTS: OnceLock<Vec<Agent>> = OnceLock::new();
    AGENTS.get_or_init(|| AGENTS_TSV.lines().filter_map(parse_row).collect())
}

fn parse_row(line: &'static str) -> Option<Agent> {
    let some = |field: &'static str| (field != "-").then_some(field);
    match line.split('\t').collect::<Vec<_>>()[..] {
        [id, name, project, global, marker, naming] if !line.starts_with('#') => Some(Agent {
            id,
            name,
            project,
            global: some(global),
            marker: some(marker),
            requires_matching_names: naming == "minds",
        }),
        _ => None,
    }
}

pub(crate) fn find_agent(id: &str) -> Option<&'static Agent> {
    agents().iter().find(|agent| agent.id == id)
}

impl Agent {
    /// Returns the directory that the agent reads in all projects of the user.
    pub(crate) fn global_dir(&self, context: &Context<'_>) -> Option<PathBuf> {
        self.global.map(|path| expand_env_path(context, path))
    }

    /// Returns the directory that the agent reads in all projects if no variable is set.
    pub(crate) fn default_dir(&self, context: &Context<'_>) -> Option<PathBuf> {
        self.global.map(|path| {
            let path = EnvPath::parse(path);
            context.expand(&format!("{}{}", path.default, path.rest))
        })
    }

    /// Whether the agent is installed: its directory contains more than a `skills` directory, which
    /// `sp` may have created.
    pub(crate) fn is_installed(&self, context: &Context<'_>) -> bool {
        let entries =
            self.marker.and_then(|path| std::fs::read_dir(expand_env_path(context, path)).ok());
        entries.into_iter().flatten().flatten().any(|entry| entry.file_name() != "skills")
    }
}

/// A path that may start with `${VAR:-default}`.
struct EnvPath<'p> {
    variable: Option<&'p str>,
    default: &'p str,
    rest: &'p str,
}

impl<'p> EnvPath<'p> {
    fn parse(path: &'p str) -> Self {
        match path.strip_prefix("${").and_then(|path| path.split_once('}')) {
            None => Self { variable: None, default: "", rest: path },
            Some((variable, rest)) => {
                let (variable, default) = variable.split_once(":-").unwrap_or((variable, "~"));
                Self { variable: Some(variable), default, rest }
            }
        }
    }
}

/// Expands `${VAR:-default}` at the start of a path, then `~`.
pub(crate) fn expand_env_path(context: &Context<'_>, path: &str) -> PathBuf {
    let path = EnvPath::parse(path);
    let value = path.variable.and_then(|variable| context.env.get(variable));
    let base = value.filter(|value| !value.is_empty()).map_or(path.default, String::as_str);
    context.expand(&format!("{base}{}", path.rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sp_27_agent_table_is_complete_and_ids_are_unique() {
        let rows = AGENTS_TSV.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(agents().len(), rows);
        assert_eq!(rows, 79);
        let ids: std::collections::HashSet<_> = agents().iter().map(|agent| agent.id).collect();
        assert_eq!(ids.len(), rows);
        assert!(agents().iter().all(|agent| !agent.project.starts_with('/')));
    }
}
