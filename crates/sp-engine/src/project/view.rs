//! What the manifest and the lockfile of a project install where, without opening any source.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use sp_formats::Report;
use sp_formats::project::MANIFEST_FILE;
use sp_formats::project::lock::LockedProjectSkill;
use sp_formats::project::manifest::ProjectManifest;
use sp_formats::state::{InstallRecord, InstallSource, InstallState};
use sp_formats::suggest::nearest_few;
use sp_tree::{
    Digest, DigestIndex, Dir, DirSnapshot, EntryKind, Follow, LoadedTree, Name, StampScope,
    hash_installed, load_untrusted,
};

use super::disabled::DisabledRecord;
use super::files::{GitConflicts, MissingManifest, ProjectDir, ProjectFiles, ProjectLocation};
use super::packages::with_package_entries;
use super::resolution::select_locked;
use super::targets::{ProjectSinks, expand_agents};
use crate::agent_selection::replace_all;
use crate::agent_set::AgentSet;
use crate::error::{Error, ErrorCode, Result};
use crate::home::{DigestIndexes, read_state};
use crate::session::Session;
use crate::sinks::Sink;

/// Folders per rayon job. Looking at one folder is too little work for a job of its own.
const FOLDERS_PER_JOB: usize = 16;

/// A project, and the folders that its lockfile assigns to each sink.
pub(super) struct ProjectView<'a> {
    pub session: &'a Session<'a>,
    pub files: ProjectFiles,
    /// The manifest, with entries for the skills of packages.
    pub manifest: ProjectManifest,
    pub state: InstallState,
    pub disabled: DisabledRecord,
    pub sinks: Vec<SinkView>,
}

/// A sink of a project.
pub(super) struct SinkView {
    pub sink: Sink,
    /// By name.
    pub folders: BTreeMap<String, LockedFolder>,
}

/// A folder that the lockfile assigns to a sink.
#[derive(Debug, Clone)]
pub(super) struct LockedFolder {
    pub name: Name,
    pub locked: LockedProjectSkill,
    /// The positions of the entries of the manifest that select it.
    pub entries: BTreeSet<usize>,
}

/// What is in a sink under the name of a folder.
#[derive(Debug, Clone)]
pub(super) struct FolderState {
    pub exists: bool,
    /// None if the folder contains what `sp` never writes, such as links.
    pub digest: Option<Digest>,
    /// The new entry of the index, if the folder had to be read.
    index_update: Option<Option<DirSnapshot>>,
}

/// The folders that a command is for.
pub(super) struct FolderSelection<'v> {
    pub sink: &'v SinkView,
    pub folder: &'v LockedFolder,
}

impl<'a> ProjectView<'a> {
    pub(super) fn read(session: &'a Session<'a>, location: &ProjectLocation) -> Result<Self> {
        let dir = ProjectDir::find(session.context, location, MissingManifest::Refuse)?;
        let files = ProjectFiles::read(session, &dir, GitConflicts::Refuse)?;
        let manifest = with_package_entries(&files.manifest, &files.lock.packages);
        let selected = select_locked(&manifest, &files.lock);
        let mut project_sinks = ProjectSinks::new(session, &files.dir);
        let mut sinks: Vec<SinkView> = Vec::new();
        for skill in selected {
            let Some(locked) = files.lock.skills.get(skill.folder.as_str()) else { continue };
            let folder = LockedFolder {
                name: skill.folder.clone(),
                locked: locked.clone(),
                entries: skill.entries.clone(),
            };
            for sink in project_sinks.of_entries(&manifest, &skill.entries)? {
                SinkView::of(&mut sinks, sink).add(folder.clone());
            }
        }
        sinks.sort_by(|a, b| a.sink.path.cmp(&b.sink.path));
        Ok(Self {
            session,
            state: read_state(session.context)?,
            disabled: DisabledRecord::read(session)?,
            files,
            manifest,
            sinks,
        })
    }

    /// Returns a report without findings about the manifest, for positions.
    pub(super) fn manifest_report(&self) -> Report {
        let label = self.session.context.display_relative_path(&self.files.dir.manifest_path());
        Report::new(label, self.files.manifest_text.as_str())
    }

    pub(super) fn project_name(&self) -> String {
        self.files.dir.manifest_path().to_string_lossy().into_owned()
    }

    /// Returns the record of this project in a sink.
    pub(super) fn record(&self, sink: &Sink) -> Option<&InstallRecord> {
        let project = InstallSource::Project(self.project_name());
        let mut records = self.state.installs.iter();
        records.find(|install| install.source == project && sink.matches_record(install))
    }

    /// Returns the digest of the version that a folder was installed with.
    pub(super) fn base(&self, sink: &Sink, folder: &LockedFolder) -> Digest {
        let record = self.record(sink);
        let skill = record.and_then(|record| {
            record.skills.iter().find(|skill| skill.folder == folder.name.as_str())
        });
        skill.map_or(folder.locked.tree, |skill| skill.digest)
    }

    pub(super) fn is_disabled(&self, sink: &Sink, folder: &str) -> bool {
        let path = sink.path.to_string_lossy();
        self.disabled.skills.find(&self.project_name(), &path, folder).is_some()
    }

    /// Looks at folders of a sink. A folder is read only if the index does not know it.
    pub(super) fn observe(
        &self,
        sink: &Sink,
        names: &[&Name],
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<Vec<FolderState>> {
        let index = indexes.for_dir(&sink.path);
        let dir = sink.pinned.dir();
        let states: Vec<FolderState> = names
            .par_iter()
            .with_min_len(FOLDERS_PER_JOB)
            .map(|name| self.observe_folder(dir, index, name))
            .collect::<Result<_>>()?;
        for (name, state) in names.iter().zip(&states) {
            if let Some(snapshot) = &state.index_update {
                index.set_snapshot(name.as_str(), snapshot.as_ref());
            }
        }
        Ok(states)
    }

    fn observe_folder(
        &self,
        dir: Option<&Dir>,
        index: &DigestIndex,
        name: &Name,
    ) -> Result<FolderState> {
        self.session.context.check_cancelled()?;
        let missing = FolderState { exists: false, digest: None, index_update: None };
        let Some(dir) = dir else { return Ok(missing) };
        if let Some(digest) = index.digest(dir, name.as_str(), Follow::Never, StampScope::All) {
            return Ok(FolderState { exists: true, digest: Some(digest), index_update: None });
        }
        let Some(stamp) = dir.stat(name, Follow::Never)? else { return Ok(missing) };
        if stamp.kind() != EntryKind::Dir {
            return Ok(FolderState { exists: true, digest: None, index_update: Some(None) });
        }
        let hashed = hash_installed(&dir.open_dir(name, Follow::Never)?, &self.session.limits)?;
        let Some(hashed) = hashed else {
            return Ok(FolderState { exists: true, digest: None, index_update: Some(None) });
        };
        let digest = hashed.tree.digest();
        let now = (self.session.context.wall_clock)();
        let snapshot = DirSnapshot::from_settled(name.as_str(), digest, hashed.stamps, now);
        Ok(FolderState { exists: true, digest: Some(digest), index_update: Some(snapshot) })
    }

    /// Reads an installed folder. None if it does not exist.
    pub(super) fn load(&self, sink: &Sink, name: &Name) -> Result<Option<LoadedTree>> {
        let Some(dir) = sink.pinned.dir() else { return Ok(None) };
        match dir.stat(name, Follow::Never)?.map(|stamp| stamp.kind()) {
            Some(EntryKind::Dir) => {
                let folder = dir.open_dir(name, Follow::Never)?;
                Ok(Some(load_untrusted(&folder, &self.session.limits)?))
            }
            _ => Ok(None),
        }
    }

    /// Returns the agents that names on the command line stand for; none without names.
    pub(super) fn expand_agents(&self, names: &[String]) -> Result<Vec<String>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        expand_agents(self.session, &replace_all(names, &self.files.manifest.agents))
    }

    /// Returns the folders of skills, in the sinks of these agents; in all sinks without agents.
    pub(super) fn select(
        &self,
        names: &[String],
        agents: &[String],
    ) -> Result<Vec<FolderSelection<'_>>> {
        let agents: Option<AgentSet> = match agents {
            [] => None,
            some => Some(self.expand_agents(some)?.iter().map(String::as_str).collect()),
        };
        let mut selected = Vec::new();
        for name in names {
            let before = selected.len();
            for sink in &self.sinks {
                if agents.as_ref().is_some_and(|agents| !agents.intersects(&sink.sink.agents)) {
                    continue;
                }
                let is_meant = |folder: &&LockedFolder| {
                    folder.name.as_str() == name || folder.locked.id == *name
                };
                let folders = sink.folders.values().filter(is_meant);
                selected.extend(folders.map(|folder| FolderSelection { sink, folder }));
            }
            if selected.len() == before {
                return Err(self.unknown_skill(name));
            }
        }
        Ok(selected)
    }

    pub(super) fn unknown_skill(&self, name: &str) -> Error {
        let known = self.files.lock.skills.keys().map(String::as_str);
        let message = format!("`{MANIFEST_FILE}` does not bring in `{name}` here");
        let error = Error::new(ErrorCode::NotInstalled, message);
        match nearest_few(name, known, 3).as_slice() {
            [] => error.hint("run `sp status` to list the skills"),
            near => error.hint(format!("did you mean: {}?", near.join(", "))),
        }
    }
}

impl SinkView {
    /// Returns the view of a sink. Agents with the same directory share it.
    fn of(all: &mut Vec<Self>, sink: Sink) -> &mut Self {
        let position = all.iter().position(|known| known.sink.path == sink.path);
        let position = position.unwrap_or_else(|| {
            all.push(Self { sink: sink.clone(), folders: BTreeMap::new() });
            all.len() - 1
        });
        let known = &mut all[position];
        known.sink.merge(sink);
        known
    }

    fn add(&mut self, folder: LockedFolder) {
        match self.folders.get_mut(folder.name.as_str()) {
            Some(known) => known.entries.extend(folder.entries),
            None => drop(self.folders.insert(folder.name.to_string(), folder)),
        }
    }
}
