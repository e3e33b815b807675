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
//!
//! Each of the other operations is in the module of its name.

mod changes;
mod deps;
mod enter;
mod generated_parts;
mod get;
mod init;
mod list;
mod located_source;
mod params;
mod provider;
mod remove;
mod repair;
mod resolve;
mod run;
mod save_parameters;
mod source;
mod source_init;
mod sync;
pub(crate) mod workspace_dir;

pub use deps::deps;
pub use enter::enter;
pub use get::{ExtraSteps, GetSkillsRequest, UpgradePolicy, get};
pub use init::init;
pub use list::list;
pub use params::params;
pub use remove::remove;
pub use repair::{RepairedFile, repair};
pub use run::{RunSkillRequest, SaveParameters, run};
pub use source_init::source_init;
pub use sync::sync;
pub use workspace_dir::find_root;

pub(crate) use source::WorkspaceSource;
pub(crate) use sync::sync_dependencies;
