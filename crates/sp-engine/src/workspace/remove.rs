//! `sp bag remove`: removes skills that nothing else in the workspace requires.

use std::path::Path;

use sp_formats::output::{FolderAction, WorkspaceChangeReport, WorkspaceSkillChange};
use sp_formats::workspace::{BOOTSTRAP_SKILL, WorkspaceContext, WorkspaceLock, WorkspaceSkill};

use super::changes::WorkspaceChanges;
use super::workspace_dir::Workspace;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// Removes skills. Fails if a remaining skill requires one of them.
pub fn remove(
    context: &Context<'_>,
    root: Option<&Path>,
    names: &[String],
    apply: ApplyOptions,
) -> Result<WorkspaceChangeReport> {
    let session = Session::begin(context)?;
    let mut names = names.to_vec();
    names.sort();
    names.dedup();
    let home = LockedHome::open_unless_dry_run(context, &session.limits, apply.mode)?;
    let workspace = Workspace::open(&session, root)?;
    for name in &names {
        check_removable(&workspace, name, &names)?;
    }
    let mut report = removal_report(&workspace, &names);
    let lock = prune_lock(&workspace.lock, &names);
    let changes = WorkspaceChanges { remove: names, lock, ..WorkspaceChanges::default() };
    changes.run(&session, home.as_ref(), &workspace, apply)?.add_to(&mut report);
    Ok(report)
}

fn removal_report(workspace: &Workspace, names: &[String]) -> WorkspaceChangeReport {
    let removal = |name: &String| WorkspaceSkillChange {
        name: name.clone(),
        action: FolderAction::Remove,
        by: vec!["you".into()],
        source: workspace.lock.skills.get(name).map(|record| record.source.clone()),
    };
    WorkspaceChangeReport {
        root: workspace.root.clone(),
        skills: names.iter().map(removal).collect(),
        ..WorkspaceChangeReport::default()
    }
}

/// Checks that a skill exists and that nothing requires it except the skills in `removed`.
fn check_removable(workspace: &Workspace, name: &str, removed: &[String]) -> Result<()> {
    if name == BOOTSTRAP_SKILL {
        return Err(Error::new(
            ErrorCode::ReservedName,
            format!("`{BOOTSTRAP_SKILL}` is required in every workspace"),
        )
        .hint("nothing was changed: remove the other skills only"));
    }
    check_exists(workspace, name)?;
    check_not_declared(workspace, name)?;
    check_not_required(workspace, name, removed)
}

fn check_exists(workspace: &Workspace, name: &str) -> Result<()> {
    let is_skill_folder = !name.is_empty()
        && workspace.skills_dir().join(name).is_dir()
        && !name.contains(['/', '\\'])
        && !name.starts_with('.');
    if is_skill_folder {
        return Ok(());
    }
    let names: Vec<&str> = workspace.skills.iter().map(|skill| skill.name.as_str()).collect();
    Err(Error::new(ErrorCode::SkillNotFound, format!("no skill `{name}` in `.skills/`")).suggest(
        name,
        &names,
        "available skills",
    ))
}

/// Checks that no context declares a skill.
fn check_not_declared(workspace: &Workspace, name: &str) -> Result<()> {
    let declares = |context: &&WorkspaceContext| {
        context.dependencies.iter().any(|dependency| dependency.name.as_str() == name)
    };
    match workspace.contexts.iter().find(declares) {
        None => Ok(()),
        Some(context) => Err(Error::new(
            ErrorCode::StillRequired,
            format!("`{name}` is declared in `{}`", context.file),
        )
        .hint("nothing was changed: remove it there first")),
    }
}

/// Checks that no skill requires a skill, except those in `removed`.
fn check_not_required(workspace: &Workspace, name: &str, removed: &[String]) -> Result<()> {
    let requires = |skill: &&WorkspaceSkill| {
        let mut required = skill.dependencies.iter().filter(|dependency| dependency.required);
        required.any(|dependency| dependency.name.as_str() == name)
    };
    let remains =
        |skill: &&WorkspaceSkill| !removed.iter().any(|removed| removed == skill.name.as_str());
    let remaining = workspace.skills.iter().filter(remains);
    let dependents: Vec<&str> =
        remaining.filter(requires).map(|skill| skill.name.as_str()).collect();
    if dependents.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::StillRequired,
        format!("`{name}` is required by `{}`", dependents.join("`, `")),
    )
    .hint("nothing was changed: remove those skills in the same command"))
}

/// Returns a lockfile without the records of removed skills.
fn prune_lock(lock: &WorkspaceLock, removed: &[String]) -> WorkspaceLock {
    let mut lock = lock.clone();
    lock.skills.retain(|name, _| !removed.contains(name));
    lock
}
