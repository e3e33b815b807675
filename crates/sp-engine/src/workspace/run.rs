//! `sp bag run`: prepares a skill for an agent.
//!
//! Nothing is executed. The agent gets instructions and parameter values.

use std::path::PathBuf;

use sp_formats::output::{WorkspaceRunReport, WorkspaceRunSkill};
use sp_formats::skill::{SKILL_FILE, SkillName};
use sp_formats::workspace::{WorkspaceSkill, resolve_parameters};

use super::params::{conversation_layer, parameter_item};
use super::save_parameters::save_parameters;
use super::workspace_dir::Workspace;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// Which skill to prepare.
#[derive(Debug, Clone)]
pub struct RunSkillRequest {
    /// The execution identifier, such as `convert_to_pdf`.
    pub identifier: String,
    /// Parameter values given on the command line.
    pub set: Vec<(String, String)>,
    pub save: SaveParameters,
    /// The workspace given with `--root`. By default, the nearest one upward.
    pub root: Option<PathBuf>,
}

/// Whether given parameter values are written to `USER_CONTEXT.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveParameters {
    No,
    Yes,
}

/// Returns a skill with everything that an agent needs to run it.
pub fn run(context: &Context<'_>, request: &RunSkillRequest) -> Result<WorkspaceRunReport> {
    let session = Session::begin(context)?;
    let workspace = Workspace::open(&session, request.root.as_deref())?;
    let skill = find_by_identifier(&workspace, &request.identifier)?;
    let layer = conversation_layer(skill, &request.set)?;
    let resolved =
        resolve_parameters(&skill.parameters, SKILL_FILE, &workspace.layers(skill, layer));
    if request.save == SaveParameters::Yes {
        save_parameters(&session, &workspace, skill, &request.set)?;
    }
    let missing = resolved.iter().filter(|parameter| parameter.is_missing());
    let companions = companion_skills(&workspace, skill).into_iter();
    Ok(WorkspaceRunReport {
        missing: missing.map(|parameter| parameter.parameter.name.clone()).collect(),
        parameters: resolved.iter().map(parameter_item).collect(),
        companions: companions.map(|skill| run_item(&workspace, skill)).collect(),
        saved: request.save == SaveParameters::Yes && !request.set.is_empty(),
        skill: run_item(&workspace, skill),
    })
}

fn find_by_identifier<'w>(
    workspace: &'w Workspace,
    identifier: &str,
) -> Result<&'w WorkspaceSkill> {
    let name = SkillName::from_identifier(identifier).map_err(|why| {
        let canonical = identifier.replace('-', "_");
        Error::new(ErrorCode::InvalidName, format!("the identifier `{identifier}` {why}")).hint(
            format!("skills are run by identifiers with underscores: `sp bag run {canonical}`"),
        )
    })?;
    workspace.require_skill(name.as_str()).map_err(|error| Error {
        // Suggest identifiers instead of names.
        hints: error.hints.iter().map(|hint| hint.replace('-', "_")).collect(),
        ..error
    })
}

/// Returns the skills that run together with a skill, in their order.
fn companion_skills<'w>(
    workspace: &'w Workspace,
    skill: &WorkspaceSkill,
) -> Vec<&'w WorkspaceSkill> {
    let tags = workspace.tags(skill);
    let mut companions: Vec<&WorkspaceSkill> = tags
        .companions()
        .filter(|other| *other != skill.name.as_str())
        .filter_map(|name| workspace.skill(name))
        .collect();
    companions.sort_by_key(|skill| {
        (workspace.tags(skill).runs_last(), workspace.rank(skill.name.as_str()))
    });
    companions
}

fn run_item(workspace: &Workspace, skill: &WorkspaceSkill) -> WorkspaceRunSkill {
    WorkspaceRunSkill {
        name: skill.name.to_string(),
        path: workspace.skills_dir().join(skill.name.as_str()),
        instructions: skill.instructions().to_owned(),
    }
}
