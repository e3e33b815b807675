//! `sp update`: moves sources to the newest version that the manifest allows.

use std::collections::BTreeSet;

use sp_formats::output::ProjectChangeReport;
use sp_formats::package::PackageName;
use sp_formats::project::lock::SourceKey;
use sp_formats::project::source::{ManifestSource, SourceArgument};
use sp_formats::suggest::nearest_few;

use super::approval::with_approval;
use super::catalog::{BranchHistory, NewestSource};
use super::context_packs::named_context_pack;
use super::edits::EditChoice;
use super::files::{ProjectFiles, ProjectLocation};
use super::lifecycle_request::{LifecycleRequest, LockChange};
use super::newest_context_packs::ask_context_packs;
use super::newest_packages::{ask_packages, named_packages};
use super::open_project::OpenProject;
use super::outdated::ask_sources;
use super::packages::with_pack_entries;
use super::resolution::entry_source_key;
use super::skill_changes::FileTexts;
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::pkg::PackageSelection;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// What to update in which manifest.
#[derive(Debug, Clone)]
pub struct UpdateRequest {
    pub location: ProjectLocation,
    /// Names or IDs of skills, sources, packages, or context packs; everything if empty. A skill is
    /// updated together with the other skills of its source, because a source has one version.
    pub names: Vec<String>,
    pub edits: EditChoice,
    pub texts: FileTexts,
    pub apply: ApplyOptions,
}

/// Updates sources of a manifest.
pub fn update(context: &Context<'_>, request: &UpdateRequest) -> Result<ProjectChangeReport> {
    with_approval(context, &|context| run_update(context, request))
}

fn run_update(context: &Context<'_>, request: &UpdateRequest) -> Result<ProjectChangeReport> {
    let project = OpenProject::open(context, &request.location, request.apply.mode)?;
    let (session, files) = (&project.session, &project.files);
    let named = named_sources(files, &request.names)?;
    let packages = PackageSelection::refresh(newer_packages(session, files, &named)?);
    project.run(LifecycleRequest {
        refreshed: newer_sources(session, files, &named)?,
        refreshed_contexts: newer_context_packs(session, files, &named)?,
        packages,
        lock_change: LockChange::Allowed,
        edit_choice: request.edits,
        texts: request.texts,
        ..LifecycleRequest::edit(Vec::new(), request.apply)
    })
}

/// Returns those of the sources that have a newer version.
///
/// A source whose published versions were changed is not updated: if it was named, this is an
/// error, and otherwise a warning.
fn newer_sources(
    session: &Session<'_>,
    files: &ProjectFiles,
    named: &NamedSources,
) -> Result<BTreeSet<SourceKey>> {
    let (mut newer, mut unchanged) = (BTreeSet::new(), BTreeSet::new());
    let mut refused = BTreeSet::new();
    let is_asked = |key: &SourceKey| named.keys.contains(key);
    for asked in ask_sources(session, files, &is_asked, BranchHistory::Check) {
        let problem = match asked.newest {
            Ok(NewestSource::Newer(_)) => {
                newer.insert(asked.key);
                continue;
            }
            Ok(NewestSource::Current) => None,
            Ok(other) => other.into_problem(&asked.name),
            Err(error) => Some(error),
        };
        match problem {
            Some(error) => {
                named.report(session, error)?;
                refused.insert(asked.key);
            }
            None => drop(unchanged.insert(asked.key)),
        }
    }
    let is_newer = |key: &&SourceKey| {
        !refused.contains(*key) && (newer.contains(*key) || !unchanged.contains(*key))
    };
    Ok(named.keys.iter().filter(is_newer).cloned().collect())
}

/// Returns those of the packages that have a newer version.
fn newer_packages(
    session: &Session<'_>,
    files: &ProjectFiles,
    named: &NamedSources,
) -> Result<BTreeSet<PackageName>> {
    let mut newer = BTreeSet::new();
    for asked in ask_packages(session, files, &|name| named.packages.contains(name))? {
        if asked.newer().is_some() {
            newer.insert(asked.name);
        } else if let Err(error) = asked.newest {
            named.report(session, error)?;
        }
    }
    Ok(newer)
}

/// Returns the locations of those of the context packs that have a newer version.
fn newer_context_packs(
    session: &Session<'_>,
    files: &ProjectFiles,
    named: &NamedSources,
) -> Result<BTreeSet<String>> {
    let mut newer = BTreeSet::new();
    let is_asked = |location: &str| named.context_packs.contains(location);
    for asked in ask_context_packs(session, files, &is_asked)? {
        if asked.newer().is_some() {
            newer.insert(asked.location);
        } else if let Err(error) = asked.newest {
            named.report(session, error)?;
        }
    }
    Ok(newer)
}

/// The sources to update.
struct NamedSources {
    keys: BTreeSet<SourceKey>,
    packages: BTreeSet<PackageName>,
    /// By location.
    context_packs: BTreeSet<String>,
    scope: NamedScope,
}

impl NamedSources {
    /// Reports why something is not updated. If it was named, this is an error.
    fn report(&self, session: &Session<'_>, error: Error) -> Result<()> {
        if self.scope == NamedScope::Named {
            return Err(error);
        }
        session.context.emit(Event::Warning(error.to_string()));
        let hints = error.hints.into_iter();
        hints.for_each(|hint| session.context.emit(Event::Hint(hint)));
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NamedScope {
    All,
    Named,
}

/// Returns the sources that names stand for; all of them without names.
fn named_sources(files: &ProjectFiles, names: &[String]) -> Result<NamedSources> {
    let manifest = with_pack_entries(&files.manifest);
    let of_manifest = manifest.skills.iter().map(entry_source_key);
    let all: BTreeSet<SourceKey> = of_manifest.chain(files.lock.sources.keys().cloned()).collect();
    if names.is_empty() {
        let packages = files.lock.packages.keys().cloned().collect();
        let context_packs = files.lock.contexts.keys().cloned().collect();
        return Ok(NamedSources { keys: all, packages, context_packs, scope: NamedScope::All });
    }
    let (mut packages, mut context_packs) = (BTreeSet::new(), BTreeSet::new());
    let mut refreshed = BTreeSet::new();
    for name in names {
        let of_skills = files
            .lock
            .skills
            .iter()
            .filter(|(folder, skill)| *folder == name || skill.id == *name)
            .map(|(_, skill)| skill.source.clone());
        let mut found: BTreeSet<SourceKey> = of_skills.collect();
        let identity = SourceArgument::parse(name).ok().map(|it| it.source.identity());
        let entries = manifest.skills.iter().filter(|entry| {
            identity.as_deref() == Some(&*entry.source.identity())
                || entry_source_key(entry).as_str() == name
                || matches!(&entry.source, ManifestSource::Pack(pack) if pack.to_string() == *name)
        });
        found.extend(entries.map(entry_source_key));
        let of_packages = named_packages(files, name);
        let named_pack = named_context_pack(&files.lock.contexts, name);
        if found.is_empty() && of_packages.is_empty() && named_pack.is_none() {
            return Err(unknown_name(files, name));
        }
        refreshed.extend(found);
        packages.extend(of_packages);
        context_packs.extend(named_pack.map(str::to_owned));
    }
    Ok(NamedSources { keys: refreshed, packages, context_packs, scope: NamedScope::Named })
}

fn unknown_name(files: &ProjectFiles, name: &str) -> Error {
    let sources: Vec<String> =
        files.manifest.skills.iter().map(|entry| entry.source.to_string()).collect();
    let known = files.lock.skills.keys().map(String::as_str);
    let packages = files.lock.packages.keys().map(PackageName::as_str);
    let context_packs = files.lock.contexts.keys().map(String::as_str);
    let known = known.chain(sources.iter().map(String::as_str)).chain(packages);
    let known = known.chain(context_packs);
    let message = format!("`skillpack.yaml` does not bring in `{name}`");
    let error = Error::new(ErrorCode::NotInstalled, message);
    match nearest_few(name, known, 3).as_slice() {
        [] => error.hint("name a skill, or a source as it is written in `skillpack.yaml`"),
        near => error.hint(format!("did you mean: {}?", near.join(", "))),
    }
}
