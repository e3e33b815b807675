//! `sp restore`: takes local edits of skills back, or brings edited versions out of the trash.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::sync::Arc;

use sp_formats::output::{ProjectChangeReport, TrashedSkill, TrashedSkillList};
use sp_formats::project::manifest_edit::ManifestEdit;
use sp_tree::transaction::TRASH_DIR;
use sp_tree::{Dir, EntryKind, Follow, load_untrusted};

use super::change::LifecycleChange;
use super::files::ProjectLocation;
use super::lifecycle_request::{LifecycleRequest, LockChange};
use super::overrides::{FolderContent, FolderOverrides};
use super::view::ProjectView;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// The version to restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoredVersion {
    /// The locked version.
    Locked,
    /// The newest version in the trash.
    NewestTrashed,
    /// The version that a run moved to the trash.
    Trashed(String),
}

/// Which skills to restore.
#[derive(Debug, Clone)]
pub struct RestoreRequest {
    pub location: ProjectLocation,
    pub names: Vec<String>,
    /// Only for these agents; for all of the manifest if empty.
    pub agents: Vec<String>,
    pub version: RestoredVersion,
    pub apply: ApplyOptions,
}

/// Restores versions of skills.
pub fn restore(context: &Context<'_>, request: &RestoreRequest) -> Result<ProjectChangeReport> {
    let session = Session::begin(context)?;
    let mode = request.apply.mode;
    let home = LockedHome::open_unless_missing(context, &session.limits, mode)?;
    let view = ProjectView::read(&session, &request.location)?;
    let mut overrides = FolderOverrides::new();
    for selection in view.select(&request.names, &request.agents)? {
        let (sink, folder) = (&selection.sink.sink, selection.folder);
        let content = match &request.version {
            RestoredVersion::Locked => FolderContent::Locked,
            version => {
                let trashed = find_trashed(context, folder.name.as_str(), version)?;
                let tree = load_untrusted(&Dir::open(&trashed.path)?, &session.limits)?;
                FolderContent::Edited { tree: Arc::new(tree), base: folder.locked.tree }
            }
        };
        overrides.insert((sink.path.clone(), folder.name.to_string()), content);
    }
    let edits: Vec<ManifestEdit> = Vec::new();
    let lifecycle = LifecycleRequest {
        lock_change: LockChange::Refused,
        overrides,
        ..LifecycleRequest::edit(edits, request.apply)
    };
    LifecycleChange::new(&session, home.as_ref(), &view.files, lifecycle, Vec::new())?.run()
}

/// Lists the folders in the trash with these names; all of them without names.
pub fn list_trashed(context: &Context<'_>, names: &[String]) -> Result<TrashedSkillList> {
    Session::begin(context)?;
    let mut folders = trashed_folders(context)?;
    folders.retain(|folder| names.is_empty() || names.contains(&folder.name));
    Ok(TrashedSkillList { folders })
}

fn find_trashed(
    context: &Context<'_>,
    name: &str,
    version: &RestoredVersion,
) -> Result<TrashedSkill> {
    let is_meant = |folder: &TrashedSkill| {
        let is_run = match version {
            RestoredVersion::Trashed(run) => folder.run == *run,
            RestoredVersion::NewestTrashed | RestoredVersion::Locked => true,
        };
        folder.name == name && is_run
    };
    trashed_folders(context)?.into_iter().find(is_meant).ok_or_else(|| {
        Error::new(ErrorCode::NoEarlierState, format!("the trash has no such version of `{name}`"))
            .hint("run `sp restore --list` to list what it has")
    })
}

/// Returns the folders in the trash, the newest first. The names of runs start with their time.
fn trashed_folders(context: &Context<'_>) -> Result<Vec<TrashedSkill>> {
    let mut found = Vec::new();
    let trash: PathBuf = context.home.join(TRASH_DIR.0);
    let Ok(dir) = Dir::open(&trash) else { return Ok(found) };
    for run in subdirs(&dir)? {
        for root in subdirs(&run)? {
            for folder in subdirs(&root)? {
                let name = |dir: &Dir| {
                    let name = dir.path().file_name().unwrap_or_default();
                    name.to_string_lossy().into_owned()
                };
                found.push(TrashedSkill {
                    name: name(&folder),
                    run: name(&run),
                    path: folder.path().to_path_buf(),
                });
            }
        }
    }
    found.sort_by_key(|folder| Reverse((folder.run.clone(), folder.path.clone())));
    Ok(found)
}

fn subdirs(dir: &Dir) -> Result<Vec<Dir>> {
    let entries = dir.entries()?;
    let dirs = entries.iter().filter(|entry| entry.kind == EntryKind::Dir);
    Ok(dirs
        .map(|entry| dir.open_dir(entry, Follow::Never))
        .collect::<std::result::Result<_, _>>()?)
}
