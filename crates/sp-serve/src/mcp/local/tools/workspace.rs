//! `bag_enter` and `bag_run`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use sp_engine::ApplyOptions;
use sp_engine::Result;
use sp_engine::workspace::{RunSkillRequest, SaveParameters, enter, run};
use sp_formats::output::{WorkspaceOverview, WorkspaceRunReport};

use super::LocalBackend;
use crate::mcp::tool::{McpTool, ToolSpec};
use crate::mcp::tool_call::ToolCall;

const BAG_ENTER: ToolSpec = ToolSpec::read_only(
    "bag_enter",
    "Enter a workspace",
    "Get an overview of the current workspace: its skills, which of them always run, and which \
     required skills are missing. Call it once, before you work in the workspace.",
);
const BAG_RUN: ToolSpec = ToolSpec::read_only(
    "bag_run",
    "Prepare a skill",
    "Get the instructions of a workspace skill, with its parameter values and companion skills. \
     Follow the returned instructions; the tool itself executes nothing.",
)
.with_data_fields(&["instructions"]);

pub(super) fn tools() -> Vec<McpTool<LocalBackend>> {
    vec![McpTool::new(BAG_ENTER, bag_enter), McpTool::new(BAG_RUN, bag_run)]
}

#[derive(Deserialize, JsonSchema)]
struct WorkspaceEnterInput {}

fn bag_enter(
    local: &LocalBackend,
    WorkspaceEnterInput {}: WorkspaceEnterInput,
    call: &ToolCall,
) -> Result<WorkspaceOverview> {
    local.with_context(Some(call), |context| enter(context, local.root()))
}

#[derive(Deserialize, JsonSchema)]
struct WorkspaceRunInput {
    /// Name of the skill, or its `run` identifier from `bag_enter`.
    skill: String,
    /// Values from the user, by parameter name.
    #[serde(default)]
    set: BTreeMap<String, String>,
}

fn bag_run(
    local: &LocalBackend,
    input: WorkspaceRunInput,
    call: &ToolCall,
) -> Result<WorkspaceRunReport> {
    let request = RunSkillRequest {
        identifier: input.skill,
        set: input.set.into_iter().collect(),
        save: SaveParameters::No,
        apply: ApplyOptions::APPLY,
        root: local.settings.library_filter.root.clone(),
    };
    local.with_context(Some(call), |context| run(context, &request))
}
