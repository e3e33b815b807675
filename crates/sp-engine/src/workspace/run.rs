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
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// Which skill to prepare.
#[derive(Debug, Clone)]
pub struct RunSkillRequest {
    /// The name of a skill, or its execution identifier such as `convert_to_pdf`.
    pub identifier: String,
    /// Parameter values given on the command line.
    pub set: Vec<(String, String)>,
    pub save: SaveParameters,
    /// Whether the values are saved, or what would be saved is only reported.
    pub apply: ApplyOptions,
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
    let saved = match request.save {
        SaveParameters::Yes => {
            save_parameters(&session, &workspace, skill, &request.set, request.apply)?
        }
        SaveParameters::No => None,
    };
    let missing = resolved.iter().filter(|parameter| parameter.is_missing());
    let companions = companion_skills(&workspace, skill).into_iter();
    Ok(WorkspaceRunReport {
        missing: missing.map(|parameter| parameter.parameter.name.clone()).collect(),
        parameters: resolved.iter().map(parameter_item).collect(),
        companions: companions.map(|skill| run_item(&workspace, skill)).collect(),
        saved: saved.as_ref().is_some_and(|status| status.applied),
        plan: saved.map(|status| status.plan),
        skill: run_item(&workspace, skill),
    })
}

fn find_by_identifier<'w>(
    workspace: &'w Workspace,
    identifier: &str,
) -> Result<&'w WorkspaceSkill> {
    let name = SkillName::from_identifier(identifier).map_err(|why| {
        Error::new(ErrorCode::InvalidName, format!("invalid skill name `{identifier}`"))
            .because(format!("it {why}"))
            .hint("write the name or its identifier: `convert-to-pdf` or `convert_to_pdf`")
    })?;
    workspace.require_skill(name.as_str())
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
