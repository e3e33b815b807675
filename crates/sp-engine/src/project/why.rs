//! `sp why`: which entries of a manifest bring in a skill.

use sp_formats::output::{
    ContextPackReason, ManifestEntryItem, PackageReason, SkillReason, SkillReasonList,
};
use sp_formats::package::PackageName;

use super::context_status::context_pack_reason;
use super::files::ProjectLocation;
use super::packages::dependents;
use super::view::{LockedFolder, ProjectView};
use crate::agent_set::AgentSet;
use crate::context::Context;
use crate::error::Result;
use crate::session::Session;

/// Returns why skills are installed.
pub fn why(
    context: &Context<'_>,
    location: &ProjectLocation,
    names: &[String],
) -> Result<SkillReasonList> {
    let session = Session::begin(context)?;
    let view = ProjectView::read(&session, location)?;
    let mut packages: Vec<PackageReason> = Vec::new();
    let mut context_packs: Vec<ContextPackReason> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    for name in names {
        if let Some(reason) = package_reason(&view, name) {
            packages.push(reason);
        } else if let Some(reason) = context_pack_reason(&view, name)? {
            context_packs.push(reason);
        } else {
            others.push(name.clone());
        }
    }
    context_packs.sort_by(|a, b| a.location.cmp(&b.location));
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    let mut skills: Vec<SkillReason> = Vec::new();
    for selection in view.select(&others, &[])? {
        let folder = selection.folder;
        if !skills.iter().any(|skill| skill.name == folder.name.as_str()) {
            skills.push(reason(&view, folder));
        }
    }
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    let manifest = view.files.dir.manifest_path();
    Ok(SkillReasonList { manifest, skills, packages, context_packs })
}

/// Returns why a package is installed, or `None` if it is not locked.
fn package_reason(view: &ProjectView<'_>, name: &str) -> Option<PackageReason> {
    let files = &view.files;
    let (name, locked) = files.lock.packages.get_key_value(&PackageName::new(name).ok()?)?;
    let mut entries = files.manifest.packages.iter();
    let entry = entries.find(|entry| entry.name == *name);
    Some(PackageReason {
        name: name.to_string(),
        version: locked.version.to_string(),
        from: locked.from.to_string(),
        entry: entry.map(|entry| ManifestEntryItem {
            source: format!("{}: {}", entry.name, entry.range),
            location: view.manifest_report().format_position(entry.span.start),
        }),
        required_by: dependents(&files.lock.packages, name).map(ToString::to_string).collect(),
    })
}

fn reason(view: &ProjectView<'_>, folder: &LockedFolder) -> SkillReason {
    let files = &view.files;
    let locked = &folder.locked;
    let report = view.manifest_report();
    let is_required = !locked.required_by.is_empty();
    let entries = folder.entries.iter().filter(|_| !is_required);
    let entries = entries.filter_map(|number| view.manifest.skills.get(*number));
    let mut agents = AgentSet::default();
    let sinks = view.sinks.iter().filter(|sink| sink.folders.contains_key(folder.name.as_str()));
    sinks.for_each(|sink| agents.extend(&sink.sink.agents));
    let source = files.lock.sources.get(&locked.source);
    let version = source.and_then(|source| {
        let digest = || source.digest.map(|digest| digest.to_string());
        source.commit.clone().or_else(|| source.version.clone()).or_else(digest)
    });
    SkillReason {
        name: folder.name.to_string(),
        id: locked.id.clone(),
        source: locked.source.to_string(),
        version,
        entries: entries
            .map(|entry| ManifestEntryItem {
                source: entry.source.to_string(),
                location: report.format_position(entry.span.start),
            })
            .collect(),
        required_by: locked.required_by.clone(),
        agents: agents.names().to_vec(),
    }
}
