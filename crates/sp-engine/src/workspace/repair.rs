//! Repairing a workspace: creates what is missing and can be generated.

use std::path::Path;

use sp_formats::workspace::{BOOTSTRAP_SKILL, ENTRYPOINT_FILE};

use super::changes::WorkspaceChanges;
use super::generated_parts::{bootstrap_skill, gitignore_update};
use super::workspace_dir::Workspace;
use crate::context::Context;
use crate::error::Result;
use crate::home::LockedHome;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// Creates missing generated parts of a workspace: the reserved skill, the catalog, and the line in
/// `.gitignore`.
pub fn repair(context: &Context<'_>, root: Option<&Path>) -> Result<()> {
    let session = Session::begin(context)?;
    let home = LockedHome::open(context, &session.limits)?;
    let workspace = Workspace::open(&session, root)?;
    let mut changes =
        WorkspaceChanges { lock: workspace.lock.clone(), ..WorkspaceChanges::default() };
    if workspace.root.join(ENTRYPOINT_FILE).is_file() {
        if !workspace.skills_dir().join(BOOTSTRAP_SKILL).exists() {
            let skill = bootstrap_skill()?;
            changes.put_skill(skill.name, skill.content, skill.record);
        }
        changes.files.extend(gitignore_update(&session, &workspace.root)?);
    }
    changes.run(&session, Some(&home), &workspace, ApplyOptions::APPLY)?;
    Ok(())
}
