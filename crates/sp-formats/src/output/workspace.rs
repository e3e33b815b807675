//! JSON output of `sp bag`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{FolderAction, PlanStatus, TrashedFolder};

/// `sp bag init`, `sp bag add`, `sp bag sync`, `sp bag remove` and `sp bag source init`
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct WorkspaceChangeReport {
    /// Whether the changes were applied, and the ID of the plan.
    #[serde(flatten)]
    pub status: PlanStatus,
    /// Root directory of the workspace.
    pub root: PathBuf,
    /// Skill changes, sorted by name.
    pub skills: Vec<WorkspaceSkillChange>,
    /// Files outside of skills that were written.
    pub files: Vec<String>,
    /// Whether the catalog `.skills/SKILLS.md` changed.
    pub catalog_changed: bool,
    /// Replaced or removed folders that had been edited and were moved to the trash.
    pub kept: Vec<TrashedFolder>,
}

/// Change to a skill of a workspace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceSkillChange {
    /// Name of the skill.
    pub name: String,
    /// The change.
    pub action: FolderAction,
    /// What requested the skill: the command line, skills or context files.
    pub by: Vec<String>,
    /// Source of the skill; absent if the skill does not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// `sp bag list`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceSkillList {
    /// Root directory of the workspace.
    pub root: PathBuf,
    /// Skills of the workspace, sorted by name.
    pub skills: Vec<WorkspaceSkillItem>,
}

/// A skill of a workspace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceSkillItem {
    /// Name of the skill.
    pub name: String,
    /// Description from the frontmatter.
    pub description: String,
    /// Tags of the skill, including changes by context files.
    pub tags: Vec<String>,
    /// Source of the skill; absent if `sp` did not install it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Version that was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Full hash of the installed commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether the skill has been edited since it was installed.
    pub edited: bool,
}

/// `sp bag deps`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceDependencyReport {
    /// Root directory of the workspace.
    pub root: PathBuf,
    /// Names of the installed skills.
    pub skills: Vec<String>,
    /// Declared dependencies.
    pub dependencies: Vec<WorkspaceDependencyItem>,
    /// Descriptions of conflicting declarations.
    pub conflicts: Vec<String>,
}

/// A declared dependency.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceDependencyItem {
    /// Name of the required skill.
    pub name: String,
    /// Skill or context file that declares the dependency.
    pub by: String,
    /// Source that the skill should be installed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Version that is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether the dependency is mandatory.
    pub required: bool,
    /// Whether the skill is installed in the workspace.
    pub present: bool,
}

/// `sp bag enter`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceOverview {
    /// Root directory of the workspace.
    pub root: PathBuf,
    /// SkillBag version from the entrypoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Context files that exist.
    pub contexts: Vec<String>,
    /// Skills in the catalog.
    pub skills: Vec<WorkspaceOverviewSkill>,
    /// Skills that run automatically, in order.
    pub always: Vec<String>,
    /// Required skills that are not installed.
    pub missing: Vec<String>,
}

/// A skill in the catalog.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceOverviewSkill {
    /// Name of the skill.
    pub name: String,
    /// Identifier for running the skill.
    pub run: String,
    /// Description from the frontmatter.
    pub description: String,
    /// Tags of the skill, including changes by context files.
    pub tags: Vec<String>,
}

/// `sp bag run`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceRunReport {
    /// The requested skill.
    pub skill: WorkspaceRunSkill,
    /// Parameters of the skill and their values.
    pub parameters: Vec<ParameterItem>,
    /// Required parameters without a value.
    pub missing: Vec<String>,
    /// Skills that run together with the requested skill.
    pub companions: Vec<WorkspaceRunSkill>,
    /// Whether values were written to `USER_CONTEXT.md`.
    pub saved: bool,
    /// ID of the plan to save values; absent if none were to be saved. `--plan <ID>` saves exactly
    /// these values, or fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}

/// A skill that is ready to run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceRunSkill {
    /// Name of the skill.
    pub name: String,
    /// Directory of the skill.
    pub path: PathBuf,
    /// Instructions for the agent.
    pub instructions: String,
}

/// `sp bag params`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ParameterList {
    /// Name of the skill.
    pub skill: String,
    /// Parameters of the skill, in the order of its file.
    pub parameters: Vec<ParameterItem>,
}

/// A parameter, its value, and where the value comes from.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ParameterItem {
    /// Name of the parameter.
    pub name: String,
    /// Whether the skill requires a value.
    pub required: bool,
    /// Description of the parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Effective value; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<ParameterValueItem>,
    /// Values that were overridden, closest first.
    pub overrode: Vec<ParameterValueItem>,
    /// Values that were ignored because a context file prohibits them.
    pub kept_out: Vec<ParameterValueItem>,
}

/// A value and where it is set.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ParameterValueItem {
    /// The value.
    pub value: serde_json::Value,
    /// Level that sets the value: `conversation`, `user context`, `context`, `entrypoint` or
    /// `skill`.
    pub level: String,
    /// File that sets the value.
    pub file: String,
    /// Line in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Location of the prohibition, if the value is prohibited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prohibited_by: Option<String>,
}
