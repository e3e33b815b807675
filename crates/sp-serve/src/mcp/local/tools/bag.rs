//! `bag_enter` and `bag_run`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use sp_engine::Result;
use sp_engine::bag::{RunRequest, Save, enter, run};
use sp_formats::output::{BagDigest, BagRun};

use super::Local;
use crate::mcp::tools::{About, Call, Tool};

const BAG_ENTER: About = About::reads(
    "bag_enter",
    "Enter a workspace",
    "What an agent that enters this workspace must know: its skills, which of them always run, and what is missing.",
);
const BAG_RUN: About = About::reads(
    "bag_run",
    "Ready a skill",
    "A skill of the workspace with its parameters filled in and its companions, ready to be followed. Nothing is \
     executed.",
)
.with_data(&["instructions"]);

pub(super) fn tools() -> Vec<Tool<Local>> {
    vec![Tool::new(BAG_ENTER, bag_enter), Tool::new(BAG_RUN, bag_run)]
}

#[derive(Deserialize, JsonSchema)]
struct EnterWanted {}

fn bag_enter(local: &Local, EnterWanted {}: EnterWanted, call: &Call) -> Result<BagDigest> {
    local.with(Some(call), |context| enter(context, local.root()))
}

#[derive(Deserialize, JsonSchema)]
struct RunWanted {
    /// The skill, by its name or by what `bag_enter` calls `run`.
    skill: String,
    /// What the user said, by parameter.
    #[serde(default)]
    set: BTreeMap<String, String>,
}

fn bag_run(local: &Local, wanted: RunWanted, call: &Call) -> Result<BagRun> {
    let request = RunRequest {
        // `bag_enter` tells both, and either will do.
        identifier: wanted.skill.replace('-', "_"),
        set: wanted.set.into_iter().collect(),
        save: Save::No,
        root: local.settings.shelves.root.clone(),
    };
    local.with(Some(call), |context| run(context, &request))
}
