//! The directories that a project installs into.
//!
//! The manifest of a project installs into the project directories of its agents, the manifest of
//! the user into those for all projects. Agents that read the same directory share it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sp_formats::project::manifest::ProjectManifest;
use sp_formats::state::InstallRecord;

use super::files::ProjectDir;
use crate::agent_selection::{ALL_AGENTS, replace_all, select_default_agents};
use crate::agent_set::AgentSet;
use crate::built_in_sinks::agent_for_sink;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;
use crate::sinks::{Sink, SinkRequest, SinkScope, merge_sinks, pin_sink_dir, resolve_sink};

/// The sinks of the agents that a manifest names.
pub(super) struct ProjectSinks<'a> {
    session: &'a Session<'a>,
    dir: &'a ProjectDir,
    by_agent: BTreeMap<String, Sink>,
    /// By the names of agents in the entries of a skill: many skills have the same.
    by_names: BTreeMap<BTreeSet<Vec<String>>, Vec<Sink>>,
}

impl<'a> ProjectSinks<'a> {
    pub(super) fn new(session: &'a Session<'a>, dir: &'a ProjectDir) -> Self {
        Self { session, dir, by_agent: BTreeMap::new(), by_names: BTreeMap::new() }
    }

    /// Returns the sinks of some entries of a manifest. Agents with one directory share it.
    pub(super) fn of_entries(
        &mut self,
        manifest: &ProjectManifest,
        entries: &BTreeSet<usize>,
    ) -> Result<Vec<Sink>> {
        let entries = entries.iter().filter_map(|number| manifest.skills.get(*number));
        let names = entries.map(|entry| {
            if entry.agents.is_empty() {
                manifest.agents.clone()
            } else {
                replace_all(&entry.agents, &manifest.agents)
            }
        });
        let names: BTreeSet<Vec<String>> = names.collect();
        if let Some(known) = self.by_names.get(&names) {
            return Ok(known.clone());
        }
        let mut sinks: Vec<Sink> = Vec::new();
        for names in &names {
            for agent in expand_agents(self.session, names)? {
                sinks.push(self.of_agent(&agent)?);
            }
        }
        let sinks = merge_sinks(sinks);
        self.by_names.insert(names, sinks.clone());
        Ok(sinks)
    }

    pub(super) fn of_agent(&mut self, agent: &str) -> Result<Sink> {
        if let Some(sink) = self.by_agent.get(agent) {
            return Ok(sink.clone());
        }
        let sink = self.resolve(agent)?;
        self.by_agent.insert(agent.to_owned(), sink.clone());
        Ok(sink)
    }

    fn resolve(&self, name: &str) -> Result<Sink> {
        let scope = self.dir.scope;
        let mut request = SinkRequest { name: name.into(), path: None, scope };
        if scope == SinkScope::Project {
            // Agents without a project directory, and unknown ones, are refused without a path.
            if let Some(agent) = agent_for_sink(name) {
                request.path = Some(self.dir.path.join(agent.project));
            }
        }
        let sink = resolve_sink(self.session, &request)?;
        if scope == SinkScope::Project && !sink.path.starts_with(&self.dir.path) {
            let context = self.session.context;
            let requested = request.path.unwrap_or_default();
            let message = format!(
                "the directory `{}` of {name} points outside the project",
                context.display_path(&requested)
            );
            return Err(Error::new(ErrorCode::PathIsLink, message)
                .because(format!("it is a link to `{}`", context.display_path(&sink.path)))
                .hint("remove the link; to install for all projects, use `--global`"));
        }
        Ok(sink)
    }
}

/// Returns the agents that names in a manifest stand for: without names, the default ones.
pub(super) fn expand_agents(session: &Session<'_>, names: &[String]) -> Result<Vec<String>> {
    let all = [ALL_AGENTS.to_owned()];
    let names = if names.is_empty() { &all } else { names };
    select_default_agents(session.context, names, &|_| true)
}

/// Returns the sink of a record.
pub(super) fn recorded_sink(session: &Session<'_>, install: &InstallRecord) -> Result<Sink> {
    let pinned = pin_sink_dir(session.context, Path::new(&install.sink_path))?;
    Ok(Sink::new(AgentSet::of_record(install), pinned))
}
