//! SkillBag workspaces (`sp bag`): skills in `.skills/`, installed from sources with their
//! dependencies.
//!
//! ```text
//! workspace_dir  reads a workspace: skills, contexts, lockfile
//! resolve        requirements → which skill comes from which source (pure)
//! provider       what the resolver chooses from: the workspace and fetched sources
//! source         a fetched source, validated as a whole before anything of it is used
//! get            resolve, fetch, plan, apply
//! changes        one change of skills, catalog and lockfile, as one transaction
//! run            prepares a skill for an agent; nothing is executed
//! ```

mod changes;
mod get;
mod located_source;
mod manage;
mod provider;
mod resolve;
mod run;
mod source;
pub(crate) mod workspace_dir;

pub use get::{ExtraSteps, GetSkillsRequest, UpgradePolicy, get};
pub use manage::{deps, init, list, remove, repair, source_init, sync};
pub use run::{RunSkillRequest, SaveParameters, enter, params, run};
pub use workspace_dir::find_root;
