//! `sp bag enter`: what an agent must know when it enters a workspace.

use std::path::Path;

use sp_formats::output::{WorkspaceOverview, WorkspaceOverviewSkill};
use sp_formats::workspace::{
    CONTEXT_FILE, ENTRYPOINT_FILE, USER_CONTEXT_FILE, WorkspaceSkill, read_entrypoint,
};

use super::workspace_dir::{Workspace, read_optional_text};
use crate::context::Context;
use crate::error::Result;
use crate::session::Session;

/// Returns what an agent must know when it enters the workspace.
pub fn enter(context: &Context<'_>, root: Option<&Path>) -> Result<WorkspaceOverview> {
    let session = Session::begin(context)?;
    let workspace = Workspace::open(&session, root)?;
    let version = entrypoint_version(&session, &workspace)?;
    let contexts = [CONTEXT_FILE, USER_CONTEXT_FILE]
        .into_iter()
        .filter(|file| workspace.root.join(file).is_file());
    let overview = |skill: &WorkspaceSkill| WorkspaceOverviewSkill {
        name: skill.name.to_string(),
        run: skill.name.identifier(),
        description: skill.description.clone(),
        tags: workspace.tags(skill).0.into_iter().collect(),
    };
    let always_on = always_on_skills(&workspace);
    Ok(WorkspaceOverview {
        root: workspace.root.clone(),
        version,
        contexts: contexts.map(Into::into).collect(),
        skills: workspace.skills.iter().map(overview).collect(),
        always: always_on.into_iter().map(|skill| skill.name.to_string()).collect(),
        missing: missing_skills(&workspace),
    })
}

/// Returns the format version that the entrypoint declares.
fn entrypoint_version(session: &Session<'_>, workspace: &Workspace) -> Result<Option<String>> {
    let path = workspace.root.join(ENTRYPOINT_FILE);
    let text = read_optional_text(&path, session.limits.markdown_bytes)?;
    let version = text.and_then(|text| read_entrypoint(ENTRYPOINT_FILE, &text).0);
    Ok(version.map(|version| version.to_string()))
}

/// Returns the names of required skills that are not in the workspace, sorted.
fn missing_skills(workspace: &Workspace) -> Vec<String> {
    let declared = workspace.contexts.iter().flat_map(|context| &context.dependencies);
    let mut missing: Vec<String> = declared
        .chain(workspace.skills.iter().flat_map(|skill| &skill.dependencies))
        .filter(|dependency| {
            dependency.required && workspace.skill(dependency.name.as_str()).is_none()
        })
        .map(|dependency| dependency.name.to_string())
        .collect();
    missing.sort();
    missing.dedup();
    missing
}

/// Returns the skills that always run, in their order.
fn always_on_skills(workspace: &Workspace) -> Vec<&WorkspaceSkill> {
    let mut always: Vec<&WorkspaceSkill> =
        workspace.skills.iter().filter(|skill| workspace.tags(skill).runs_always()).collect();
    // Skills that run last are sorted by name, the others by precedence.
    always.sort_by_key(|skill| {
        if workspace.tags(skill).runs_last() {
            (1, (usize::MAX, usize::MAX, skill.name.to_string()))
        } else {
            (0, workspace.rank(skill.name.as_str()))
        }
    });
    always
}
