//! `sp bag sync`: regenerates the catalog.

use std::path::Path;

use sp_formats::output::WorkspaceChangeReport;

use super::changes::WorkspaceChanges;
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
