//! Finds the skills of other tools in their sources, and compares them with the folders on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sp_formats::foreign::{ForeignEntry, ForeignSelection};
use sp_formats::output::SkippedMigrationItem;
use sp_formats::project::lock::{LockedSource, SourceKey};
use sp_formats::project::manifest::{EntryKey, entry_folder_name};
use sp_formats::project::manifest_edit::NewEntry;
use sp_formats::project::source::ManifestSource;

use super::super::catalog::{CatalogRequest, CatalogSkill, SourceCatalog, open_catalog};
use super::super::files::ProjectFiles;
use super::items::MigratedItem;
use super::places::{AgentPlaces, FolderState, folder_state, has_files_of, sink_name};
use super::records::RecordFile;
use crate::error::Result;
use crate::files::canonicalize_existing;
use crate::session::Session;

/// What a migration adds to the manifest.
#[derive(Default)]
pub(super) struct Migration {
    pub entries: Vec<NewEntry>,
    /// The sources of the entries, at the versions that were installed.
    pub catalogs: Vec<SourceCatalog>,
    /// The names of the folders that are taken over.
    pub adopted: Vec<String>,
    pub skipped: Vec<SkippedMigrationItem>,
}

pub(super) struct Matcher<'a> {
    pub session: &'a Session<'a>,
    pub files: &'a ProjectFiles,
    pub places: &'a AgentPlaces,
}

/// A skill of a source, and where it is installed.
struct MatchedSkill {
    id: String,
    folder: String,
    prefix: String,
    /// The agents' directories that have it.
    dirs: Vec<PathBuf>,
    /// The agents' directories that have something else under its name.
    blocked: Vec<PathBuf>,
}

/// An entry of the new manifest.
struct EntryDraft {
    /// The first entry of another tool with this source.
    source: ForeignEntry,
    ids: BTreeSet<String>,
    folders: BTreeSet<String>,
    agents: BTreeSet<String>,
    blocked: BTreeSet<PathBuf>,
}

type EntryDrafts = BTreeMap<EntryKey, EntryDraft>;

impl EntryDraft {
    fn new(source: &ForeignEntry) -> Self {
        Self {
            source: source.clone(),
            ids: BTreeSet::new(),
            folders: BTreeSet::new(),
            agents: BTreeSet::new(),
            blocked: BTreeSet::new(),
        }
    }
}

impl Migration {
    fn skip(&mut self, file: &RecordFile, start: usize, name: &str, reason: String) {
        let position = file.report.format_position(start);
        self.skipped.push(SkippedMigrationItem { position, name: name.to_owned(), reason });
    }
}

/// A reason not to migrate something.
type Refusal = String;

impl Matcher<'_> {
    pub(super) fn run(
        &self,
        records: &[RecordFile],
        items: Vec<MigratedItem>,
    ) -> Result<Migration> {
        let mut migration = Migration::default();
        let mut drafts = EntryDrafts::new();
        for file in records {
            for item in &file.record.skipped {
                migration.skip(file, item.span.start, &item.name, item.reason.clone());
            }
        }
        for mut item in items {
            item.entry.source = self.relative_source(item.entry.source);
            self.add_item(&records[item.file], &item.entry, &mut migration, &mut drafts)?;
        }
        migration.adopted.sort();
        let used: BTreeSet<SourceKey> = drafts
            .values()
            .map(|draft| SourceKey::new(&draft.source.source, draft.source.version.as_ref()))
            .collect();
        migration.catalogs.retain(|catalog| used.contains(&catalog.key));
        migration.entries =
            drafts.into_iter().map(|(key, draft)| self.new_entry(key, draft)).collect();
        Ok(migration)
    }

    /// Makes the path of a source in the project relative, so that it is valid in any clone.
    fn relative_source(&self, source: ManifestSource) -> ManifestSource {
        let (ManifestSource::Dir(path) | ManifestSource::Zip(path)) = &source else {
            return source;
        };
        let inside = canonicalize_existing(Path::new(path));
        match inside.strip_prefix(&self.files.dir.path) {
            Ok(rest) if path.starts_with('/') => {
                let relative = ManifestSource::new(&format!("./{}", rest.display()));
                relative.unwrap_or(source)
            }
            _ => source,
        }
    }

    /// Adds the skills of something that another tool installed.
    fn add_item(
        &self,
        file: &RecordFile,
        entry: &ForeignEntry,
        migration: &mut Migration,
        drafts: &mut EntryDrafts,
    ) -> Result<()> {
        let start = entry.span.start;
        let source = entry.source.to_string();
        let at = match self.open(&mut migration.catalogs, entry) {
            Ok(at) => at,
            Err(reason) => {
                migration.skip(file, start, &source, reason);
                return Ok(());
            }
        };
        let catalog = &migration.catalogs[at];
        let mut matched = Vec::new();
        for skill in selected_skills(catalog, entry, file.skill_folder.as_deref()) {
            matched.push((skill.name.clone(), self.match_skill(catalog, entry, skill)?));
        }
        if matched.is_empty() {
            migration.skip(file, start, &source, "the source has no such skill".into());
        }
        for (name, result) in matched {
            let added = result.and_then(|skill| self.add_skill(file, entry, skill, drafts));
            match added {
                Ok(folder) => migration.adopted.extend(folder),
                Err(reason) => migration.skip(file, start, &name, reason),
            }
        }
        Ok(())
    }

    /// Adds a skill to the new entries. Returns its folder unless another tool recorded it as well.
    fn add_skill(
        &self,
        file: &RecordFile,
        entry: &ForeignEntry,
        skill: MatchedSkill,
        drafts: &mut EntryDrafts,
    ) -> Result<Option<String>, Refusal> {
        let key = EntryKey {
            source: entry.source.identity(),
            version: entry.version.as_ref().map(ToString::to_string),
            prefix: skill.prefix.clone(),
        };
        if self.files.manifest.skills.iter().any(|known| known.key() == key) {
            return Err("the manifest already has its source".into());
        }
        let same_folder = |draft: &&EntryDraft| draft.folders.contains(&skill.folder);
        if let Some(other) = drafts.values().find(same_folder) {
            let is_same = other.source.source.identity() == key.source;
            let reason = "another source has a skill of this name";
            return if is_same { Ok(None) } else { Err(reason.into()) };
        }
        let draft = drafts.entry(key).or_insert_with(|| EntryDraft::new(entry));
        let named = named_agents(file, entry);
        draft.agents.extend(skill.dirs.iter().flat_map(|dir| self.places.agents_of(dir, &named)));
        if skill.dirs.is_empty() {
            let known = named.iter().filter_map(|name| sink_name(name));
            draft.agents.extend(known.map(str::to_owned));
        }
        draft.ids.insert(skill.id);
        draft.folders.insert(skill.folder.clone());
        draft.blocked.extend(skill.blocked);
        Ok(Some(skill.folder))
    }

    /// Opens the source of an entry at the version that was installed, and returns its position.
    fn open(
        &self,
        catalogs: &mut Vec<SourceCatalog>,
        entry: &ForeignEntry,
    ) -> Result<usize, Refusal> {
        let version = entry.version.as_ref();
        let key = SourceKey::new(&entry.source, version);
        if let Some(at) = catalogs.iter().position(|catalog| catalog.key == key) {
            return match (&entry.commit, &catalogs[at].locked.commit) {
                (Some(commit), Some(opened)) if commit != opened => {
                    Err("another commit of the same source is installed too".into())
                }
                _ => Ok(at),
            };
        }
        let installed = LockedSource { commit: entry.commit.clone(), ..LockedSource::default() };
        let request = match &entry.commit {
            Some(_) => CatalogRequest::Locked { version, lock: &installed },
            None => CatalogRequest::Newest(version),
        };
        let base = &self.files.dir.path;
        let opened = open_catalog(self.session, base, &entry.source, request);
        catalogs.push(opened.map_err(|error| format!("its source cannot be read: {error}"))?);
        Ok(catalogs.len() - 1)
    }

    /// Compares a skill with the folders on disk.
    fn match_skill(
        &self,
        catalog: &SourceCatalog,
        entry: &ForeignEntry,
        skill: &CatalogSkill,
    ) -> Result<Result<MatchedSkill, Refusal>> {
        let folder = entry.folder_name.as_deref().unwrap_or(&skill.name);
        let Some(prefix) = folder.strip_suffix(skill.name.as_str()) else {
            return Ok(Err(format!(
                "it is installed as `{folder}`, which does not end with the name of the skill"
            )));
        };
        if let Err(why) = entry_folder_name(prefix, &skill.name) {
            return Ok(Err(format!("invalid name of a folder: {why}")));
        }
        let tree = catalog.load(self.session, &[&skill.id])?.into_iter().next().unwrap_or_default();
        let (mut dirs, mut blocked) = (Vec::new(), Vec::new());
        for dir in self.places.dirs() {
            let path = dir.join(folder);
            match folder_state(&path) {
                FolderState::Missing => {}
                FolderState::Other => blocked.push(dir.to_path_buf()),
                FolderState::Folder if has_files_of(self.session, &path, &tree)? => {
                    dirs.push(dir.to_path_buf());
                }
                FolderState::Folder => {
                    let shown = self.session.context.display_relative_path(&path);
                    let version = match &entry.commit {
                        Some(_) => "the installed version",
                        None => "the newest version",
                    };
                    return Ok(Err(format!(
                        "`{shown}` differs from {version} of `{}`; move it away and run `sp add` \
                         to install the skill",
                        entry.source
                    )));
                }
            }
        }
        let (id, folder, prefix) = (skill.id.clone(), folder.to_owned(), prefix.to_owned());
        Ok(Ok(MatchedSkill { id, folder, prefix, dirs, blocked }))
    }

    fn new_entry(&self, key: EntryKey, draft: EntryDraft) -> NewEntry {
        let reads_blocked = |agent: &String| {
            draft
                .blocked
                .iter()
                .any(|dir| self.places.agents_of(dir, std::slice::from_ref(agent)).contains(agent))
        };
        NewEntry {
            source: draft.source.source.to_string(),
            version: key.version,
            include: draft.ids.into_iter().collect(),
            agents: draft.agents.iter().filter(|agent| !reads_blocked(agent)).cloned().collect(),
            prefix: key.prefix,
            ..NewEntry::default()
        }
    }
}

/// The agents that the other tool installed an entry for, by the names that it uses.
fn named_agents(file: &RecordFile, entry: &ForeignEntry) -> Vec<String> {
    if entry.agents.is_empty() {
        file.record.agents.iter().map(|agent| agent.name.clone()).collect()
    } else {
        entry.agents.clone()
    }
}

/// Returns the skills of a source that an entry selects.
fn selected_skills<'c>(
    catalog: &'c SourceCatalog,
    entry: &ForeignEntry,
    skill_folder: Option<&Path>,
) -> Vec<&'c CatalogSkill> {
    let ForeignSelection { folder, plugin, skills, exclude } = &entry.selection;
    let folder = folder.as_deref().map(|it| it.trim_start_matches("./").trim_end_matches('/'));
    let is_in_folder = |id: &str| match folder {
        None | Some("" | ".") => true,
        Some(folder) => {
            id.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }
    };
    let is_in_plugin = |id: &str| {
        plugin.as_ref().is_none_or(|plugin| id.split('/').any(|segment| segment == plugin))
    };
    let leaf = |skill: &CatalogSkill| skill.id.rsplit('/').next().unwrap_or_default().to_owned();
    let is_named = |skill: &CatalogSkill, names: &[String]| {
        names.iter().any(|name| *name == skill.name || *name == leaf(skill))
    };
    let own_name =
        skill_folder.and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    let is_own = |skill: &CatalogSkill| {
        own_name.as_ref().is_none_or(|name| *name == skill.name || *name == leaf(skill))
    };
    let mut found: Vec<&CatalogSkill> = Vec::new();
    for skill in &catalog.skills {
        let is_selected = is_in_folder(&skill.id)
            && is_in_plugin(&skill.id)
            && (skills.is_empty() || is_named(skill, skills))
            && !is_named(skill, exclude)
            && is_own(skill);
        // Of several skills with one name, the first is preferred.
        if is_selected && !found.iter().any(|other| other.name == skill.name) {
            found.push(skill);
        }
    }
    found
}

/// Returns the agents of all entries.
pub(super) fn all_agents(entries: &[NewEntry]) -> Vec<String> {
    let agents: BTreeSet<&String> = entries.iter().flat_map(|entry| &entry.agents).collect();
    agents.into_iter().cloned().collect()
}

/// Leaves the agents of an entry out if they are those of the manifest.
pub(super) fn without_agents(entry: NewEntry, of_manifest: &[String]) -> NewEntry {
    let all: BTreeSet<&String> = of_manifest.iter().collect();
    if entry.agents.iter().collect::<BTreeSet<_>>() == all {
        NewEntry { agents: Vec::new(), ..entry }
    } else {
        entry
    }
}
