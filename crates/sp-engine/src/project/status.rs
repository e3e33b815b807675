//! `sp status`: how the folders of a project differ from its lockfile.
//!
//! A folder whose files have the same stamps as when its digest was computed is not read, so that
//! the status of an unchanged project costs one `stat` per file.

use std::collections::{BTreeMap, BTreeSet};

use sp_formats::output::{ProjectStatusReport, SinkStatus, SkillStatus, SkillStatusItem};
use sp_formats::project::lock::{LockedProjectSkill, SourceKey};
use sp_formats::skill::SKILL_FILE;
use sp_tree::{Dir, EntryKind, Follow, Name};

use super::approval::owner_of;
use super::context_packs::ContextPacks;
use super::context_status::context_pack_statuses;
use super::files::ProjectLocation;
use super::known_outdated::known_outdated_sources;
use super::locked_policy::decide_locked;
use super::package_status::package_statuses;
use super::packages::unlocked_packages;
use super::resolution::demands;
use super::view::{FolderState, LockedFolder, ProjectView, SinkView};
use crate::content_audit::AuditKey;
use crate::content_gate::{ContentGate, GatedContent};
use crate::context::Context;
use crate::error::Result;
use crate::home::{DigestIndexes, LockedHome};
use crate::session::Session;
use crate::sinks::Sink;

const UNSYNCED_NOTE: &str = "the lockfile has another version; run `sp sync`";
const OUTDATED_NOTE: &str = "a newer version is known; run `sp update`";

/// Returns the status of every skill of a project.
pub fn status(context: &Context<'_>, location: &ProjectLocation) -> Result<ProjectStatusReport> {
    let session = Session::begin(context)?;
    let view = ProjectView::read(&session, location)?;
    let mut indexes = DigestIndexes::new(context);
    let outdated = known_outdated_sources(&view);
    let mut sinks = Vec::new();
    for sink in &view.sinks {
        sinks.push(sink_status(&view, sink, &outdated, &mut indexes)?);
    }
    let packages = package_statuses(&view, &mut indexes)?;
    let files = &view.files;
    let manifest = (&files.manifest, files.manifest_text.as_str());
    let packs = ContextPacks::new(&session, &files.dir, manifest)?;
    let context_packs = context_pack_statuses(&view, &packs)?;
    // What was read now need not be read again. Another command may have the lock.
    LockedHome::store_indexes(context, &indexes);
    let manifest = &view.manifest;
    let mut unlocked: Vec<String> =
        demands(manifest, &view.files.lock, &BTreeSet::new(), &BTreeSet::new())
            .into_iter()
            .filter(|demand| !demand.source.is_local() || !is_locked(&view, &demand.key))
            .map(|demand| demand.source.to_string())
            .collect();
    unlocked.extend(unlocked_packages(manifest, &view.files.lock).iter().map(ToString::to_string));
    unlocked.extend(packs.unlocked(&view.files.lock.contexts).into_iter().map(str::to_owned));
    let is_wrong = |status: SkillStatus| {
        matches!(
            status,
            SkillStatus::Edited
                | SkillStatus::Missing
                | SkillStatus::Unsynced
                | SkillStatus::Blocked
        )
    };
    let skills = sinks.iter().flat_map(|sink: &SinkStatus| &sink.skills).map(|it| it.status);
    let statuses = skills.chain(packages.iter().map(|package| package.status));
    let mut statuses = statuses.chain(context_packs.iter().map(|pack| pack.status));
    let in_sync = unlocked.is_empty() && !statuses.any(is_wrong);
    let manifest = view.files.dir.manifest_path();
    Ok(ProjectStatusReport { manifest, in_sync, unlocked, sinks, packages, context_packs })
}

fn is_locked(view: &ProjectView<'_>, key: &SourceKey) -> bool {
    view.files.lock.sources.contains_key(key)
}

fn sink_status(
    view: &ProjectView<'_>,
    sink: &SinkView,
    outdated: &BTreeSet<SourceKey>,
    indexes: &mut DigestIndexes<'_>,
) -> Result<SinkStatus> {
    let folders: Vec<&LockedFolder> = sink.folders.values().collect();
    let names: Vec<&Name> = folders.iter().map(|folder| &folder.name).collect();
    let states = view.observe(&sink.sink, &names, indexes)?;
    let mut skills: Vec<SkillStatusItem> = folders
        .iter()
        .zip(&states)
        .map(|(folder, state)| skill_status(view, &sink.sink, folder, state, outdated))
        .collect();
    for (item, folder) in skills.iter_mut().zip(&folders) {
        mark_blocked(view, folder, item)?;
    }
    skills.extend(foreign_skills(view, sink)?);
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(SinkStatus {
        agents: sink.sink.agents.names().to_vec(),
        path: sink.sink.path.clone(),
        skills,
    })
}

fn skill_status(
    view: &ProjectView<'_>,
    sink: &Sink,
    folder: &LockedFolder,
    state: &FolderState,
    outdated: &BTreeSet<SourceKey>,
) -> SkillStatusItem {
    let locked = folder.locked.tree;
    let (status, note) = if view.is_disabled(sink, folder.name.as_str()) {
        (SkillStatus::Disabled, None)
    } else if !state.exists {
        (SkillStatus::Missing, None)
    } else if state.digest == Some(locked) {
        if outdated.contains(&folder.locked.source) {
            (SkillStatus::Outdated, Some(OUTDATED_NOTE))
        } else {
            (SkillStatus::UpToDate, None)
        }
    } else if state.digest == Some(view.base(sink, folder)) {
        (SkillStatus::Unsynced, Some(UNSYNCED_NOTE))
    } else {
        (SkillStatus::Edited, None)
    };
    SkillStatusItem {
        name: folder.name.to_string(),
        status,
        source: Some(folder.locked.source.to_string()),
        note: note.map(Into::into),
    }
}

/// Marks a skill that policies deny, or that an earlier command did not install because of its
/// audit.
fn mark_blocked(
    view: &ProjectView<'_>,
    folder: &LockedFolder,
    item: &mut SkillStatusItem,
) -> Result<()> {
    let policies = view.session.policies(Some(&view.files.dir.path))?;
    let decisions = decide_locked(view.session, &policies, &view.files.dir, &folder.locked);
    let mut denied = decisions.iter().filter(|decision| !decision.is_permitted);
    if let Some(decision) = denied.next().filter(|_| item.status != SkillStatus::Disabled) {
        item.status = SkillStatus::Blocked;
        item.note = Some(decision.explain(&policies));
        return Ok(());
    }
    if !matches!(item.status, SkillStatus::Missing | SkillStatus::Unsynced) {
        return Ok(());
    }
    let LockedProjectSkill { id, source, tree, accepted, .. } = &folder.locked;
    let Some(audit) = view.session.audits.get(&AuditKey::of_tree(*tree)) else { return Ok(()) };
    let dir = &view.files.dir;
    let accepted = accepted.iter().cloned().collect();
    let gate = ContentGate::new(view.session, Some(&dir.path), &accepted)?;
    let owner = owner_of(dir, &folder.locked);
    let blocking = gate.blocking(GatedContent { id, source: source.as_str(), owner }, &audit);
    if !blocking.is_empty() {
        let ids: Vec<&str> = blocking.iter().map(|finding| finding.id.as_str()).collect();
        item.status = SkillStatus::Blocked;
        item.note = Some(ids.join(", "));
    }
    Ok(())
}

/// Returns the skills in a sink that the project did not bring in.
fn foreign_skills(view: &ProjectView<'_>, sink: &SinkView) -> Result<Vec<SkillStatusItem>> {
    let Some(dir) = sink.sink.pinned.dir() else { return Ok(Vec::new()) };
    let project = view.project_name();
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for install in view.state.installs.iter().filter(|it| sink.sink.matches_record(it)) {
        for path in install.installed_paths.iter().filter(|_| install.pack != project) {
            owners.insert(path.rsplit('/').next().unwrap_or_default(), &install.pack);
        }
    }
    let mut skills = Vec::new();
    for entry in dir.entries()? {
        let Some(name) = entry.name().to_str().filter(|name| !sink.folders.contains_key(*name))
        else {
            continue;
        };
        let is_folder = matches!(entry.kind, EntryKind::Dir | EntryKind::Link);
        if !is_folder || name.starts_with('.') || !has_skill_file(dir, name) {
            continue;
        }
        skills.push(SkillStatusItem {
            name: name.to_owned(),
            status: SkillStatus::Foreign,
            source: None,
            note: owners.get(name).map(|pack| format!("installed by `{pack}`")),
        });
    }
    Ok(skills)
}

fn has_skill_file(dir: &Dir, folder: &str) -> bool {
    let file = sp_tree::RelPath::new(&format!("{folder}/{SKILL_FILE}"));
    file.is_ok_and(|file| dir.stat_beneath(&file, Follow::Links).is_ok_and(|stamp| stamp.is_some()))
}
