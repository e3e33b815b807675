//! `sp disable` and `sp enable`: takes skills away from agents on this machine, and back.
//!
//! A disabled skill stays in the manifest and in the lockfile, and other machines keep it. Its
//! folder is removed; if it was edited, the edited version is kept and comes back when the skill is
//! enabled.

use std::sync::Arc;

use sp_formats::output::ProjectChangeReport;
use sp_formats::project::disabled::{DisabledEdits, DisabledSkill};

use super::bases::{base_plan, read_base};
use super::change::LifecycleChange;
use super::files::ProjectLocation;
use super::lifecycle_request::{LifecycleRequest, LockChange};
use super::overrides::{FolderContent, FolderOverrides};
use super::view::{FolderSelection, ProjectView};
use crate::agent_set::AgentSet;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::{DigestIndexes, LockedHome};
use crate::install::plan::FilePlan;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// Whether to disable or to enable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillToggle {
    Disable,
    Enable,
}

/// Which skills to disable or enable.
#[derive(Debug, Clone)]
pub struct ToggleRequest {
    pub location: ProjectLocation,
    pub names: Vec<String>,
    /// Only for these agents; for all of the manifest if empty.
    pub agents: Vec<String>,
    pub toggle: SkillToggle,
    pub apply: ApplyOptions,
}

/// Disables or enables skills.
pub fn toggle(context: &Context<'_>, request: &ToggleRequest) -> Result<ProjectChangeReport> {
    let session = Session::begin(context)?;
    let mode = request.apply.mode;
    let home = LockedHome::open_unless_missing(context, &session.limits, mode)?;
    let view = ProjectView::read(&session, &request.location)?;
    let mut disabled = view.disabled.skills.clone();
    let mut overrides = FolderOverrides::new();
    let mut files: Vec<FilePlan> = Vec::new();
    let manifest = view.project_name();
    let agents = view.expand_agents(&request.agents)?;
    for selection in view.select(&request.names, &agents)? {
        refuse_shared_sink(&selection, &agents)?;
        let sink = selection.sink.sink.path.to_string_lossy().into_owned();
        let folder = selection.folder.name.as_str();
        let known = disabled.find(&manifest, &sink, folder).cloned();
        match (request.toggle, known) {
            (SkillToggle::Disable, None) => {
                let edits = edited_version(&view, &selection)?;
                if let Some(edits) = &edits {
                    files.extend(base_plan(&session, &edits.0.edited, &edits.1)?);
                }
                disabled.skills.push(DisabledSkill {
                    manifest: manifest.clone(),
                    sink,
                    folder: folder.to_owned(),
                    edits: edits.map(|(edits, _)| edits),
                    extra: Default::default(),
                });
            }
            (SkillToggle::Enable, Some(record)) => {
                disabled.skills.retain(|it| *it != record);
                if let Some(DisabledEdits { edited, base }) = record.edits {
                    let tree = read_base(&session, &edited)?.ok_or_else(|| lost_error(folder))?;
                    let content = FolderContent::Edited { tree: Arc::new(tree), base };
                    let path = selection.sink.sink.path.clone();
                    overrides.insert((path, folder.to_owned()), content);
                }
            }
            (SkillToggle::Disable, Some(_)) | (SkillToggle::Enable, None) => {}
        }
    }
    let lifecycle = LifecycleRequest {
        lock_change: LockChange::Refused,
        overrides,
        disabled: Some(disabled),
        files,
        ..LifecycleRequest::edit(Vec::new(), request.apply)
    };
    LifecycleChange::new(&session, home.as_ref(), &view.files, lifecycle, Vec::new())?.run()
}

/// Refuses to change a directory for one of several agents that read it.
fn refuse_shared_sink(selection: &FolderSelection<'_>, agents: &[String]) -> Result<()> {
    let sink = &selection.sink.sink;
    let named: AgentSet = agents.iter().map(String::as_str).collect();
    let others = sink.agents.without(&named);
    if agents.is_empty() || others.is_empty() {
        return Ok(());
    }
    let message = format!("`{}` is shared with {}", sink.path.display(), others.display_names());
    let all = [agents, others.names()].concat().join(",");
    Err(Error::new(ErrorCode::SinkOverlap, message)
        .hint(format!("nothing was changed: name all of them with `--agent {all}`")))
}

/// Returns the edited version of a folder; none if it was not edited.
fn edited_version(
    view: &ProjectView<'_>,
    selection: &FolderSelection<'_>,
) -> Result<Option<(DisabledEdits, sp_tree::LoadedTree)>> {
    let (sink, folder) = (&selection.sink.sink, selection.folder);
    let mut indexes = DigestIndexes::new(view.session.context);
    let base = view.base(sink, folder);
    let states = view.observe(sink, &[&folder.name], &mut indexes)?;
    let is_edited = states.iter().any(|state| {
        state.exists && state.digest != Some(base) && state.digest != Some(folder.locked.tree)
    });
    if !is_edited {
        return Ok(None);
    }
    let tree = view.load(sink, &folder.name)?;
    Ok(tree.map(|tree| (DisabledEdits { edited: tree.digest(), base }, tree)))
}

fn lost_error(folder: &str) -> Error {
    Error::new(ErrorCode::NoEarlierState, format!("the edited version of `{folder}` is missing"))
        .because("it was removed from the home directory of `sp`")
        .hint("run `sp restore --list` to see whether the trash has it")
}
