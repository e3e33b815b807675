//! The agents' directories of a project or user, and what is in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sp_formats::foreign::OPENSKILLS_METADATA_FILE;
use sp_tree::{Dir, EntryKind, LoadedTree, load_untrusted};

use super::super::files::ProjectDir;
use crate::agents::agents;
use crate::built_in_sinks::{BUILT_IN_SINKS, agent_for_sink};
use crate::error::Result;
use crate::session::Session;
use crate::sinks::SinkScope;

/// The agents' directories that exist, each with the names of the agents that read it.
pub(super) struct AgentPlaces {
    /// By the real path. The name to prefer comes first.
    dirs: BTreeMap<PathBuf, Vec<&'static str>>,
}

/// What an agent's directory has under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FolderState {
    Missing,
    Folder,
    /// A link, or something else that is not a folder.
    Other,
}

impl AgentPlaces {
    pub(super) fn new(session: &Session<'_>, dir: &ProjectDir) -> Self {
        let context = session.context;
        let mut dirs: BTreeMap<PathBuf, Vec<&'static str>> = BTreeMap::new();
        let mut add = |name: &'static str, path: Option<PathBuf>| {
            let found = path.and_then(|path| path.canonicalize().ok());
            if let Some(found) = found.filter(|path| path.is_dir()) {
                dirs.entry(found).or_default().push(name);
            }
        };
        for sink in &BUILT_IN_SINKS {
            let path = match dir.scope {
                SinkScope::Project => {
                    agent_for_sink(sink.name).map(|agent| dir.path.join(agent.project))
                }
                SinkScope::Global => Some(sink.dir_read(context)),
            };
            add(sink.name, path);
        }
        let is_built_in = |id: &str| {
            let mut agents = BUILT_IN_SINKS.iter().filter_map(|sink| agent_for_sink(sink.name));
            agents.any(|agent| agent.id == id)
        };
        for agent in agents().iter().filter(|agent| !is_built_in(agent.id)) {
            let path = match dir.scope {
                SinkScope::Project => Some(dir.path.join(agent.project)),
                SinkScope::Global => agent.global_dir(context),
            };
            add(agent.id, path);
        }
        if dir.scope == SinkScope::Global {
            // On this machine, the agents that it has.
            let is_missing = |name: &&str| {
                !agent_for_sink(name).is_some_and(|agent| agent.is_installed(context))
            };
            dirs.values_mut().for_each(|readers| readers.sort_by_key(is_missing));
        }
        Self { dirs }
    }

    pub(super) fn dirs(&self) -> impl Iterator<Item = &Path> {
        self.dirs.keys().map(PathBuf::as_path)
    }

    /// Returns the agents to install for, so that this directory is used: those that the other tool
    /// names, or else one that reads it.
    pub(super) fn agents_of(&self, dir: &Path, named: &[String]) -> Vec<String> {
        let readers = self.dirs.get(dir).map(Vec::as_slice).unwrap_or_default();
        let is_named = |reader: &&&str| named.iter().any(|name| sink_name(name) == Some(**reader));
        let meant: Vec<String> =
            readers.iter().filter(is_named).map(|name| (*name).to_owned()).collect();
        if meant.is_empty() {
            readers.first().map(|name| (*name).to_owned()).into_iter().collect()
        } else {
            meant
        }
    }

    /// Returns all folders in the agents' directories.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for dir in self.dirs.keys() {
            let entries = Dir::open(dir).and_then(|dir| dir.entries()).unwrap_or_default();
            let found = entries.iter().filter(|entry| entry.kind == EntryKind::Dir);
            folders.extend(found.map(|entry| dir.join(entry.name())));
        }
        folders
    }
}

/// Returns the name of an agent here, for the name that another tool uses.
pub(super) fn sink_name(foreign: &str) -> Option<&'static str> {
    let built_in = BUILT_IN_SINKS.iter().find(|sink| {
        sink.name == foreign || agent_for_sink(sink.name).is_some_and(|agent| agent.id == foreign)
    });
    let in_table = || agents().iter().find(|agent| agent.id == foreign).map(|agent| agent.id);
    built_in.map(|sink| sink.name).or_else(in_table)
}

pub(super) fn folder_state(path: &Path) -> FolderState {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => FolderState::Folder,
        Ok(_) => FolderState::Other,
        Err(_) => FolderState::Missing,
    }
}

/// Whether a folder has the files of a skill. Permissions do not count, because some tools do not
/// keep them, and neither does the file that a tool adds.
pub(super) fn has_files_of(
    session: &Session<'_>,
    folder: &Path,
    skill: &LoadedTree,
) -> Result<bool> {
    let installed = load_untrusted(&Dir::open(folder)?, &session.limits)?;
    let content = |tree: &LoadedTree| -> BTreeMap<String, Vec<u8>> {
        let files = tree.files().filter(|(path, ..)| path.as_str() != OPENSKILLS_METADATA_FILE);
        files.map(|(path, _, bytes)| (path.to_string(), bytes.to_vec())).collect()
    };
    Ok(content(&installed) == content(skill))
}
