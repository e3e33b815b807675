//! `sp remove`: takes skills and sources out of the manifest, and removes their folders.

use sp_formats::output::ProjectChangeReport;
use sp_formats::package::PackageName;
use sp_formats::project::lock::{LockedProjectSkill, SourceKey};
use sp_formats::project::manifest::{ContextEntry, PackEntry, ProjectManifest, SkillsEntry};
use sp_formats::project::manifest_edit::{ItemList, ManifestEdit, PatternList};
use sp_formats::project::source::{ManifestSource, SourceArgument, SourceVersion};
use sp_formats::suggest::nearest_few;

use super::context_packs::{context_pack_key, named_context_pack};
use super::files::{ProjectFiles, ProjectLocation};
use super::lifecycle_request::LifecycleRequest;
use super::open_project::OpenProject;
use super::package_commands::removal;
use super::packages::package_source_key;
use super::resolution::{entry_source_key, is_literal};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::plan_id::ApplyOptions;

/// What to remove from which manifest.
#[derive(Debug, Clone)]
pub struct RemoveRequest {
    pub location: ProjectLocation,
    /// Names or IDs of skills, sources, packages, packs or context packs.
    pub names: Vec<String>,
    pub apply: ApplyOptions,
}

/// Removes skills and sources from a manifest.
pub fn remove(context: &Context<'_>, request: &RemoveRequest) -> Result<ProjectChangeReport> {
    let project = OpenProject::open(context, &request.location, request.apply.mode)?;
    let mut removals =
        Removals { files: &project.files, entries: Vec::new(), includes: Vec::new() };
    let mut excludes = Vec::new();
    for name in &request.names {
        excludes.extend(removals.add(name)?);
    }
    let edits = removals.into_edits(excludes);
    project.run(LifecycleRequest::edit(edits, request.apply))
}

/// What to take out of the entries of a manifest.
struct Removals<'f> {
    files: &'f ProjectFiles,
    /// The positions of entries to remove.
    entries: Vec<usize>,
    /// Entries, and the IDs in their `include`.
    includes: Vec<(usize, String)>,
}

impl Removals<'_> {
    fn manifest(&self) -> &ProjectManifest {
        &self.files.manifest
    }

    /// Adds what a name stands for. Returns the exclusions that are needed for it.
    fn add(&mut self, name: &str) -> Result<Vec<ManifestEdit>> {
        if self.manifest().packs.iter().any(|pack| pack.text == name) {
            let (list, text) = (ItemList::Packs, name.to_owned());
            return Ok(vec![ManifestEdit::RemoveItem { list, text }]);
        }
        if let Some(text) = self.context_entry(name) {
            let list = ItemList::Context;
            return Ok(vec![ManifestEdit::RemoveItem { list, text }]);
        }
        if let Some(edit) = self.package_removal(name)? {
            self.entries.extend(self.entries_of_source(name).unwrap_or_default());
            return Ok(vec![edit]);
        }
        if let Some(entries) = self.entries_of_source(name) {
            self.entries.extend(entries);
            return Ok(Vec::new());
        }
        let locked = &self.files.lock.skills;
        let found: Vec<_> =
            locked.iter().filter(|(folder, skill)| *folder == name || skill.id == name).collect();
        if found.is_empty() {
            return Err(self.not_found(name));
        }
        let mut excludes = Vec::new();
        for (folder, skill) in found {
            if !skill.required_by.is_empty() {
                return Err(Error::new(
                    ErrorCode::StillRequired,
                    format!("`{folder}` is needed by: {}", skill.required_by.join(", ")),
                )
                .hint("remove these skills first; it goes with them"));
            }
            self.refuse_skill_of_pack(folder, skill)?;
            self.refuse_skill_of_package(folder, skill)?;
            let is_owner = |entry: &SkillsEntry| {
                entry_source_key(entry) == skill.source
                    && entry.selects(&skill.id)
                    && folder.starts_with(&entry.prefix)
            };
            let owners: Vec<usize> = (0..self.manifest().skills.len())
                .filter(|number| is_owner(&self.manifest().skills[*number]))
                .collect();
            for number in owners {
                let entry = &self.files.manifest.skills[number];
                let has_id = entry.include.iter().any(|it| it.pattern.as_str() == skill.id);
                let by_pattern = entry.include.is_empty()
                    || entry.include.iter().any(|it| {
                        !is_literal(it.pattern.as_str()) && it.pattern.matches(&skill.id)
                    });
                if has_id {
                    self.includes.push((number, skill.id.clone()));
                }
                if by_pattern {
                    excludes.push(ManifestEdit::AddPattern {
                        entry: entry.key(),
                        list: PatternList::Exclude,
                        pattern: skill.id.clone(),
                    });
                }
            }
        }
        Ok(excludes)
    }

    /// Returns the entry of a context pack, if the name is its location or its ID.
    fn context_entry(&self, name: &str) -> Option<String> {
        let locked = named_context_pack(&self.files.lock.contexts, name).unwrap_or(name);
        let is_meant = |entry: &&ContextEntry| {
            entry.location == name || context_pack_key(&entry.location) == locked
        };
        let entry = self.manifest().context.iter().find(is_meant);
        entry.map(|entry| entry.location.clone())
    }

    /// Returns the edit that removes a package, if the name is one.
    fn package_removal(&self, name: &str) -> Result<Option<ManifestEdit>> {
        let Ok(name) = PackageName::new(name) else { return Ok(None) };
        let is_locked = self.files.lock.packages.contains_key(&name);
        if !is_locked && self.manifest().packages.iter().all(|entry| entry.name != name) {
            return Ok(None);
        }
        removal(self.files, name).map(Some)
    }

    fn refuse_skill_of_pack(&self, folder: &str, skill: &LockedProjectSkill) -> Result<()> {
        let is_source = |pack: &&PackEntry| {
            SourceKey::new(&ManifestSource::Pack(pack.location.clone()), None) == skill.source
        };
        let Some(pack) = self.manifest().packs.iter().find(is_source) else { return Ok(()) };
        let message = format!("`{folder}` is part of the pack `{}`", pack.text);
        Err(Error::new(ErrorCode::StillRequired, message)
            .hint(format!("run `sp remove {}` to remove the pack", pack.text))
            .hint("or exclude the skill in the file of the pack, then run `sp sync`"))
    }

    fn refuse_skill_of_package(&self, folder: &str, skill: &LockedProjectSkill) -> Result<()> {
        let mut packages = self.files.lock.packages.keys();
        let Some(package) = packages.find(|name| package_source_key(name) == skill.source) else {
            return Ok(());
        };
        let message = format!("`{folder}` is part of the package `{package}`");
        Err(Error::new(ErrorCode::StillRequired, message)
            .hint(format!("run `sp remove {package}` to remove the package"))
            .hint(format!("to choose its skills, run `sp add {package}` afterwards")))
    }

    /// Returns the entries of a source, if the name is one.
    fn entries_of_source(&self, name: &str) -> Option<Vec<usize>> {
        let argument = SourceArgument::parse(name).ok().filter(|it| it.skill.is_none());
        let source: Option<(ManifestSource, Option<SourceVersion>)> =
            argument.map(|argument| (argument.source, argument.version));
        let is_meant = |entry: &SkillsEntry| match &source {
            Some((source, version)) => {
                entry.source.identity() == source.identity()
                    && (version.is_none() || entry.version == *version)
            }
            None => entry.source.to_string() == name,
        };
        let skills = &self.manifest().skills;
        let entries: Vec<usize> = (0..skills.len()).filter(|at| is_meant(&skills[*at])).collect();
        (!entries.is_empty()).then_some(entries)
    }

    fn not_found(&self, name: &str) -> Error {
        let sources: Vec<String> =
            self.manifest().skills.iter().map(|entry| entry.source.to_string()).collect();
        let known = self.files.lock.skills.keys().map(String::as_str);
        let packages = self.manifest().packages.iter().map(|entry| entry.name.as_str());
        let known = known.chain(sources.iter().map(String::as_str)).chain(packages);
        let context_packs: Vec<String> =
            self.manifest().context.iter().map(|it| context_pack_key(&it.location)).collect();
        let known = known.chain(context_packs.iter().map(String::as_str));
        let message = format!("`skillpack.yaml` does not bring in `{name}`");
        let error = Error::new(ErrorCode::NotInstalled, message);
        match nearest_few(name, known, 3).as_slice() {
            [] => error.hint("name a skill, or a source as it is written in `skillpack.yaml`"),
            near => error.hint(format!("did you mean: {}?", near.join(", "))),
        }
    }

    /// Returns the edits. An entry that includes nothing anymore is removed: without `include`, it
    /// would select everything.
    fn into_edits(mut self, excludes: Vec<ManifestEdit>) -> Vec<ManifestEdit> {
        let skills = &self.files.manifest.skills;
        for (number, entry) in skills.iter().enumerate() {
            let is_removed =
                |pattern: &str| self.includes.iter().any(|(of, id)| *of == number && id == pattern);
            let all = entry.include.iter().all(|it| is_removed(it.pattern.as_str()));
            if all && !entry.include.is_empty() {
                self.entries.push(number);
            }
        }
        let is_gone = |number: &usize| self.entries.contains(number);
        let removed_keys: Vec<_> =
            skills.iter().enumerate().filter(|(number, _)| is_gone(number)).collect();
        let mut edits: Vec<ManifestEdit> = Vec::new();
        for (number, id) in self.includes.iter().filter(|(number, _)| !is_gone(number)) {
            let (entry, list) = (skills[*number].key(), PatternList::Include);
            edits.push(ManifestEdit::RemovePattern { entry, list, pattern: id.clone() });
        }
        let is_kept = |edit: &ManifestEdit| match edit {
            ManifestEdit::AddPattern { entry, .. } => {
                !removed_keys.iter().any(|(_, gone)| gone.key() == *entry)
            }
            _ => true,
        };
        edits.extend(excludes.into_iter().filter(is_kept));
        edits.extend(removed_keys.iter().map(|(_, it)| ManifestEdit::RemoveEntry(it.key())));
        edits.dedup();
        edits
    }
}
