//! JSON output of `sp bag`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{FolderAction, TrashedFolder};

/// `sp bag init`, `sp bag get`, `sp bag sync`, `sp bag remove` and `sp bag source init`
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct WorkspaceChangeReport {
    /// Whether it was done, or only planned.
    pub applied: bool,
    /// The workspace.
    pub root: PathBuf,
    /// What happens to skills, sorted by name.
    pub skills: Vec<WorkspaceSkillChange>,
    /// Files outside the skills that were written.
    pub files: Vec<String>,
    /// Whether the catalog is other than it was.
    pub catalog_changed: bool,
    /// Old folders that were kept because they had been edited.
    pub kept: Vec<TrashedFolder>,
}

/// What happens to a skill of a workspace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceSkillChange {
    /// The skill.
    pub name: String,
    /// What happens.
    pub action: FolderAction,
    /// Who asked for it.
    pub by: Vec<String>,
    /// Where it comes from, if it does not stay as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// `sp bag list`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceSkillList {
    /// The workspace.
    pub root: PathBuf,
    /// Its skills, sorted by name.
    pub skills: Vec<WorkspaceSkillItem>,
}

/// A skill of a workspace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceSkillItem {
    /// The skill.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its tags, after the contexts had their say.
    pub tags: Vec<String>,
    /// Where it came from; absent if it was not installed by `sp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The version that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The full commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether it is other than what was installed.
    pub edited: bool,
}

/// `sp bag deps`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceDependencyReport {
    /// The workspace.
    pub root: PathBuf,
    /// The skills that are here.
    pub skills: Vec<String>,
    /// Who needs whom.
    pub dependencies: Vec<WorkspaceDependencyItem>,
    /// Where two declarations want different things, in words.
    pub conflicts: Vec<String>,
}

/// A declared dependency.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceDependencyItem {
    /// The skill that is needed.
    pub name: String,
    /// Who needs it: a skill, or a context file.
    pub by: String,
    /// Where it is to come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Which version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether it cannot be done without.
    pub required: bool,
    /// Whether it is here.
    pub present: bool,
}

/// `sp bag enter`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceOverview {
    /// The workspace.
    pub root: PathBuf,
    /// The version that the entrypoint states.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The context files that are there.
    pub contexts: Vec<String>,
    /// The catalog.
    pub skills: Vec<WorkspaceOverviewSkill>,
    /// The skills that run without being asked for, in order.
    pub always: Vec<String>,
    /// Skills that are needed and not here.
    pub missing: Vec<String>,
}

/// A skill of the catalog.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceOverviewSkill {
    /// The skill.
    pub name: String,
    /// The identifier by which it is run.
    pub run: String,
    /// What it does.
    pub description: String,
    /// Its tags, after the contexts had their say.
    pub tags: Vec<String>,
}

/// `sp bag run`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceRunReport {
    /// The skill.
    pub skill: WorkspaceRunSkill,
    /// Its parameters.
    pub parameters: Vec<ParameterItem>,
    /// Required parameters that nobody has given.
    pub missing: Vec<String>,
    /// Skills that run with it.
    pub companions: Vec<WorkspaceRunSkill>,
    /// Whether values were written to `USER_CONTEXT.md`.
    pub saved: bool,
}

/// A skill that is ready.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceRunSkill {
    /// The skill.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// What to do.
    pub instructions: String,
}

/// `sp bag params`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ParameterList {
    /// The skill.
    pub skill: String,
    /// Its parameters, in the order of its file.
    pub parameters: Vec<ParameterItem>,
}

/// A parameter and why it is what it is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ParameterItem {
    /// Its name.
    pub name: String,
    /// Whether the skill cannot run without it.
    pub required: bool,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The value that counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<ParameterValueItem>,
    /// What it overrode, the nearest first.
    pub overrode: Vec<ParameterValueItem>,
    /// What a prohibition kept out.
    pub kept_out: Vec<ParameterValueItem>,
}

/// A value and where it was said.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ParameterValueItem {
    /// The value.
    pub value: serde_json::Value,
    /// `conversation`, `user context`, `context`, `entrypoint` or `skill`.
    pub level: String,
    /// The file.
    pub file: String,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Where it was prohibited, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prohibited_by: Option<String>,
}
