//! What the manifest and the lockfile of a project install, compared with the directories of its
//! agents, for `sp doctor`. Opens no source and changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use sp_formats::Report;
use sp_formats::project::MANIFEST_FILE;
use sp_formats::project::lock::ProjectLock;
use sp_formats::project::manifest::ProjectManifest;

use super::disabled::DisabledRecord;
use super::files::{MissingManifest, ProjectDir, ProjectLocation};
use super::packages::with_package_entries;
use super::resolution::{add_locked_dependencies, select};
use super::targets::ProjectSinks;
use crate::agent_selection::{ALL_AGENTS, DETECTED_AGENTS};
use crate::agents::agents;
use crate::error::Error;
use crate::session::Session;
use crate::sinks::{Sink, merge_sinks};

/// A project whose files are read by the caller.
pub(crate) struct ProjectOnDisk<'a> {
    session: &'a Session<'a>,
    dir: ProjectDir,
}

/// An agent of a project that cannot be used.
pub(crate) struct UnusableAgent {
    pub agent: String,
    pub error: Error,
}

impl<'a> ProjectOnDisk<'a> {
    /// Returns the project at a location; none if there is no manifest.
    pub(crate) fn find(session: &'a Session<'a>, location: &ProjectLocation) -> Option<Self> {
        let dir = ProjectDir::find(session.context, location, MissingManifest::Refuse).ok()?;
        Some(Self { session, dir })
    }

    /// Returns the directory of the manifest.
    pub(crate) fn path(&self) -> &PathBuf {
        &self.dir.path
    }

    /// Returns the directories of the agents that the manifest names, and the agents that cannot be
    /// used.
    pub(crate) fn sinks(&self, manifest: &ProjectManifest) -> (Vec<Sink>, Vec<UnusableAgent>) {
        let mut names = self.expand(&manifest.agents);
        let of_entries = manifest.skills.iter().flat_map(|entry| &entry.agents).cloned();
        names.extend(self.expand_given(&of_entries.collect::<Vec<_>>()));
        let mut project_sinks = ProjectSinks::new(self.session, &self.dir);
        let (mut sinks, mut unusable) = (Vec::new(), Vec::new());
        for agent in names {
            match project_sinks.of_agent(&agent) {
                Ok(sink) => sinks.push(sink),
                Err(error) => unusable.push(UnusableAgent { agent, error }),
            }
        }
        (merge_sinks(sinks), unusable)
    }

    /// Returns the locked skills that are missing from a directory of an agent and not disabled, by
    /// directory.
    pub(crate) fn missing_skills(
        &self,
        manifest: &ProjectManifest,
        lock: &ProjectLock,
    ) -> BTreeMap<PathBuf, BTreeSet<String>> {
        let manifest = &with_package_entries(manifest, &lock.packages);
        let mut report = Report::new(MANIFEST_FILE, "");
        let mut selected = select(manifest, lock, &BTreeMap::new(), &mut report);
        add_locked_dependencies(&mut selected, lock);
        let disabled = DisabledRecord::read(self.session).map(|record| record.skills);
        let disabled = disabled.unwrap_or_default();
        let manifest_path = self.dir.manifest_path();
        let is_disabled = |sink: &Sink, folder: &str| {
            let (manifest, sink) = (manifest_path.to_string_lossy(), sink.path.to_string_lossy());
            disabled.find(&manifest, &sink, folder).is_some()
        };
        let mut project_sinks = ProjectSinks::new(self.session, &self.dir);
        let mut missing: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
        for skill in selected {
            for entry in skill.entries.iter().filter_map(|number| manifest.skills.get(*number)) {
                let named = if entry.agents.is_empty() { &manifest.agents } else { &entry.agents };
                let sinks = self.expand(named).into_iter();
                for sink in sinks.filter_map(|agent| project_sinks.of_agent(&agent).ok()) {
                    let folder = skill.folder.as_str();
                    let is_missing = sink.path.join(folder).symlink_metadata().is_err();
                    if is_missing && !is_disabled(&sink, folder) {
                        missing.entry(sink.path).or_default().insert(folder.to_owned());
                    }
                }
            }
        }
        missing
    }

    /// Returns the agents that names in a manifest stand for; without names, the default ones.
    fn expand(&self, names: &[String]) -> BTreeSet<String> {
        if names.is_empty() {
            return self.expand_given(&[ALL_AGENTS.to_owned()]);
        }
        self.expand_given(names)
    }

    fn expand_given(&self, names: &[String]) -> BTreeSet<String> {
        let defaults = &self.session.config.agents;
        let mut expanded = BTreeSet::new();
        for name in names {
            match name.as_str() {
                ALL_AGENTS if !defaults.is_empty() => {
                    let is_other = |name: &&String| name.as_str() != ALL_AGENTS;
                    let others: Vec<String> = defaults.iter().filter(is_other).cloned().collect();
                    expanded.extend(self.expand_given(&others));
                }
                ALL_AGENTS | DETECTED_AGENTS => {
                    let detected =
                        agents().iter().filter(|it| it.is_installed(self.session.context));
                    expanded.extend(detected.map(|agent| agent.id.to_owned()));
                }
                name => {
                    expanded.insert(name.to_owned());
                }
            }
        }
        expanded
    }
}
