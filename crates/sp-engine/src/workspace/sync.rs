//! `sp bag sync`: regenerates the catalog.

use std::path::Path;

use sp_formats::output::WorkspaceChangeReport;
use sp_formats::workspace::{WorkspaceSkill, write_catalog};

use super::changes::WorkspaceChanges;
use super::workspace_dir::{Workspace, read_optional_text};
use crate::apply_mode::ApplyMode;
use crate::context::Context;
use crate::error::Result;
use crate::home::LockedHome;
use crate::session::Session;

/// Regenerates the catalog.
pub fn sync(
    context: &Context<'_>,
    root: Option<&Path>,
    mode: ApplyMode,
) -> Result<WorkspaceChangeReport> {
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, mode)?;
    let workspace = Workspace::open(&session, root)?;
    workspace.refuse_invalid_skills()?;
    let lines: Vec<_> = workspace.skills.iter().map(WorkspaceSkill::catalog_line).collect();
    let old = read_optional_text(&workspace.catalog_path(), session.limits.markdown_bytes)?;
    let mut report = WorkspaceChangeReport {
        applied: mode == ApplyMode::Apply,
        root: workspace.root.clone(),
        ..WorkspaceChangeReport::default()
    };
    report.catalog_changed = old.as_deref() != Some(&write_catalog(&lines));
    if let Some(home) = home.filter(|_| report.catalog_changed) {
        WorkspaceChanges { lock: workspace.lock.clone(), ..WorkspaceChanges::default() }
            .apply(&session, &home, &workspace)?;
    }
    Ok(report)
}
