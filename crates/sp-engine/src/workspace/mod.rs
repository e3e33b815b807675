//! SkillBag: a workspace's own skills, installed from sources, resolved, and made ready for an agent.

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
