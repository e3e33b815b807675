//! `sp bag sync`: regenerates the catalog. `sp sync`: installs what the contexts declare before.

use std::path::Path;

use sp_formats::output::WorkspaceChangeReport;

use super::changes::WorkspaceChanges;
use super::get::{ExtraSteps, GetSkillsRequest, WorkspaceExtras, get_into};
use super::workspace_dir::Workspace;
use crate::context::Context;
use crate::error::Result;
use crate::home::LockedHome;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// Regenerates the catalog.
pub fn sync(
    context: &Context<'_>,
    root: Option<&Path>,
    apply: ApplyOptions,
) -> Result<WorkspaceChangeReport> {
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, apply.mode)?;
    let workspace = Workspace::open(&session, root)?;
    workspace.refuse_invalid_skills()?;
    let changes = WorkspaceChanges { lock: workspace.lock.clone(), ..WorkspaceChanges::default() };
    let mut report =
        WorkspaceChangeReport { root: workspace.root.clone(), ..WorkspaceChangeReport::default() };
    changes.run(&session, home.as_ref(), &workspace, apply)?.add_to(&mut report);
    Ok(report)
}

/// Installs the skills that the contexts declare and the workspace lacks, and regenerates the
/// catalog. Skills that the workspace has stay as they are, edited or not.
pub(crate) fn sync_dependencies(
    session: &Session<'_>,
    root: &Path,
    apply: ApplyOptions,
) -> Result<WorkspaceChangeReport> {
    let workspace = Workspace::read(session, root.to_path_buf())?;
    workspace.refuse_invalid_skills()?;
    let request = GetSkillsRequest {
        root: Some(root.to_path_buf()),
        ..GetSkillsRequest::declared(ExtraSteps::Unconfirmed, apply)
    };
    get_into(session, &workspace, &request, WorkspaceExtras::default())
}
