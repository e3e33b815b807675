//! The agents we know, as rows of one table.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::context::Context;

const AGENTS_TSV: &str = include_str!("agents.tsv");

/// An agent and where it reads its skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its id, as `--agent` takes it.
    pub id: &'static str,
    /// Its own name.
    pub name: &'static str,
    /// Where it reads in a project.
    pub project: &'static str,
    /// Where it reads for a user; may name a variable.
    pub global: Option<&'static str>,
    /// Where its own files are, which tells that it is on this machine.
    marker: Option<&'static str>,
    /// Whether it minds a folder whose name is not the skill's.
    pub requires_matching_names: bool,
}

/// All agents, in the order of the table.
pub fn agents() -> &'static [Agent] {
    static AGENTS: OnceLock<Vec<Agent>> = OnceLock::new();
    AGENTS.get_or_init(|| AGENTS_TSV.lines().filter_map(parse_row).collect())
}

fn parse_row(line: &'static str) -> Option<Agent> {
    let some = |field: &'static str| (field != "-").then_some(field);
    match line.split('\t').collect::<Vec<_>>()[..] {
        [id, name, project, global, marker, minds] if !line.starts_with('#') => Some(Agent {
            id,
            name,
            project,
            global: some(global),
            marker: some(marker),
            requires_matching_names: minds == "minds",
        }),
        _ => None,
    }
}

/// The agent with this id.
pub(crate) fn find_agent(id: &str) -> Option<&'static Agent> {
    agents().iter().find(|agent| agent.id == id)
}

impl Agent {
    /// Where it reads for this user.
    pub(crate) fn global_dir(&self, context: &Context<'_>) -> Option<PathBuf> {
        self.global.map(|path| expand_env_path(context, path))
    }

    /// Whether it is on this machine: its directory holds more than the skills that `sp` may have put there.
    pub(crate) fn is_installed(&self, context: &Context<'_>) -> bool {
        let entries =
            self.marker.and_then(|path| std::fs::read_dir(expand_env_path(context, path)).ok());
        entries.into_iter().flatten().flatten().any(|entry| entry.file_name() != "skills")
    }
}

/// Expands `${VAR:-default}` at the start of a path, then `~`.
pub(crate) fn expand_env_path(context: &Context<'_>, path: &str) -> PathBuf {
    let Some((variable, rest)) = path.strip_prefix("${").and_then(|path| path.split_once('}'))
    else {
        return context.expand(path);
    };
    let (variable, default) = variable.split_once(":-").unwrap_or((variable, "~"));
    let base =
        context.env.get(variable).filter(|value| !value.is_empty()).map_or(default, String::as_str);
    context.expand(&format!("{base}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sp_27_the_table_is_whole_and_its_ids_are_distinct() {
        let rows = AGENTS_TSV.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(agents().len(), rows);
        assert_eq!(rows, 79);
        let ids: std::collections::HashSet<_> = agents().iter().map(|agent| agent.id).collect();
        assert_eq!(ids.len(), rows);
        assert!(agents().iter().all(|agent| !agent.project.starts_with('/')));
    }
}
