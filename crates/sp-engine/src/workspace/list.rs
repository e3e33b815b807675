//! `sp bag list`: the skills of a workspace.

use std::path::Path;

use sp_formats::output::{WorkspaceSkillItem, WorkspaceSkillList};

use super::workspace_dir::Workspace;
use crate::context::Context;
use crate::error::Result;
use crate::session::Session;

/// Returns the skills of the workspace with their sources.
pub fn list(context: &Context<'_>, root: Option<&Path>) -> Result<WorkspaceSkillList> {
    let session = Session::begin(context)?;
    let workspace = Workspace::open(&session, root)?;
    let mut skills = Vec::new();
    for skill in &workspace.skills {
        let record = workspace.lock.skills.get(skill.name.as_str());
        skills.push(WorkspaceSkillItem {
            name: skill.name.to_string(),
            description: skill.description.clone(),
            tags: workspace.tags(skill).0.into_iter().collect(),
            source: record.map(|record| record.source.clone()),
            version: record.and_then(|record| record.version.clone()),
            commit: record.and_then(|record| record.commit.clone()),
            edited: workspace.is_edited(&session, skill.name.as_str())?,
        });
    }
    Ok(WorkspaceSkillList { root: workspace.root.clone(), skills })
}
