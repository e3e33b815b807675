//! What the manifest and the lockfile of a project install, compared with the directories of its
//! agents, for `sp doctor`. Opens no source and changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use sp_formats::output::SkillStatus;
use sp_formats::project::lock::ProjectLock;
use sp_formats::project::manifest::ProjectManifest;

use super::context_packs::ContextPacks;
use super::context_status::installed_status;
use super::disabled::DisabledRecord;
use super::files::{MissingManifest, ProjectDir, ProjectLocation};
use super::packages::with_package_entries;
use super::resolution::select_locked;
use super::targets::{ProjectSinks, expand_agents};
use crate::agent_selection::replace_all;
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
        let of_entries = manifest.skills.iter().filter(|entry| !entry.agents.is_empty());
        let mut names: BTreeSet<String> = self.expand(manifest, &[]).into_iter().collect();
        names.extend(of_entries.flat_map(|entry| self.expand(manifest, &entry.agents)));
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
        let selected = select_locked(manifest, lock);
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
            let entries = skill.entries.iter().filter_map(|number| manifest.skills.get(*number));
            let agents: BTreeSet<String> =
                entries.flat_map(|entry| self.expand(manifest, &entry.agents)).collect();
            for sink in agents.iter().filter_map(|agent| project_sinks.of_agent(agent).ok()) {
                let folder = skill.folder.as_str();
                let is_missing = sink.path.join(folder).symlink_metadata().is_err();
                if is_missing && !is_disabled(&sink, folder) {
                    missing.entry(sink.path).or_default().insert(folder.to_owned());
                }
            }
        }
        missing
    }

    /// Returns what the instruction files lack of the locked context packs; none if nothing is
    /// missing.
    pub(crate) fn missing_context_packs(
        &self,
        manifest: &ProjectManifest,
        lock: &ProjectLock,
    ) -> Option<String> {
        if lock.contexts.is_empty() {
            return None;
        }
        let packs = ContextPacks::new(self.session, &self.dir, (manifest, "")).ok()?;
        let status = installed_status(self.session, &self.dir, (&packs, &lock.contexts));
        let (status, note) = status.ok()?;
        note.filter(|_| matches!(status, SkillStatus::Missing | SkillStatus::Unsynced))
    }

    /// Returns the agents that the names of an entry stand for. If no agent is detected, none.
    fn expand(&self, manifest: &ProjectManifest, names: &[String]) -> Vec<String> {
        let names = match names {
            [] => manifest.agents.clone(),
            names => replace_all(names, &manifest.agents),
        };
        expand_agents(self.session, &names).unwrap_or_default()
    }
}
