//! SkillBag: what a workspace and a source of skills say, in Markdown that people write.

mod agents;
mod catalog;
mod context;
mod dependencies;
mod entrypoint;
mod lock;
mod parameters;
mod secret;
mod skill;
mod source;
mod tags;

pub use agents::{AgentsFile, read_agents};
pub use catalog::{Catalog, CatalogLine, compare, one_line, read_catalog, write_catalog};
pub use context::{ContextFile, Prohibition, Setting, read_context};
pub use dependencies::{Dependency, read_skill_dependencies};
pub use entrypoint::{NEWEST, Version, read_entrypoint};
pub use lock::{Lock, LockedQuery, LockedSkill};
pub use parameters::{
    Blocked, Layer, Level, Origin, OriginOf, Parameter, Parameters, Resolved, read_parameters, resolve,
};
pub use secret::secret;
pub use secret::{is_secret_name, is_worth_hiding};
pub use skill::{BagSkill, read_bag_skill};
pub use source::{LockedArchive, SourceError, SourceRef, WebSource};
pub use tags::{TagChange, Tags, tags_in};

/// The entrypoint of a workspace.
pub const ENTRYPOINT: &str = "SKILLBAG.md";
/// The directory that holds the skills.
pub const ROOT: &str = ".skills";
/// The catalog, in the root.
pub const CATALOG: &str = "SKILLS.md";
/// What was installed from where, in the root.
pub const LOCK: &str = ".skillbag.lock";
/// The project's context.
pub const CONTEXT: &str = "CONTEXT.md";
/// The user's context, which git should not track.
pub const USER_CONTEXT: &str = "USER_CONTEXT.md";
/// What makes a directory a source.
pub const AGENTS: &str = "AGENTS.md";
/// The reserved skill that every workspace has.
pub const BOOTSTRAP: &str = "skillbag-get-skills";
/// Its line in the catalog.
pub const BOOTSTRAP_LINE: &str = "skillbag-get-skills: Install one or more skills into .skills/.";
