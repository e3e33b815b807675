//! SkillBag workspaces and sources, which are Markdown files written by people.
//!
//! A workspace has an entrypoint `SKILLBAG.md`, a directory `.skills/` with [`WorkspaceSkill`]s, a
//! catalog, a lockfile and context files. A source has an `AGENTS.md` and skills. Each submodule
//! reads one file or section and reports every problem. [`resolve_parameters`] decides which
//! parameter value applies. Fetching and installing skills is part of `sp-engine`.

mod agents;
mod catalog;
mod context;
mod dependencies;
mod entrypoint;
mod lock;
mod parameters;
pub mod rules;
mod secret;
mod skill;
mod source;
mod tags;

pub use agents::{AgentsFile, read_agents_file};
pub use catalog::{
    CatalogLine, WorkspaceCatalog, check_catalog, one_line, read_catalog, write_catalog,
};
pub use context::{ParameterProhibition, ParameterSetting, WorkspaceContext, read_context};
pub use dependencies::{SkillDependency, read_skill_dependencies};
pub use entrypoint::{LATEST_VERSION, SkillBagVersion, read_entrypoint};
pub use lock::{LockedQuery, LockedSkill, WorkspaceLock};
pub use parameters::{
    BlockedValue, LayerProhibition, LayerSetting, ParameterLayer, ParameterLevel,
    ResolvedParameter, SettingFileLine, SettingLocation, SkillParameter, SkillParameters,
    read_parameters, resolve_parameters,
};
pub use secret::{detect_secret, is_made_of_words, is_signed_token, known_secret_prefix};
pub use secret::{is_meaningful_value, is_secret_name};
pub use skill::{WorkspaceSkill, read_workspace_skill};
pub use source::{LockedArchive, SourceRef, SourceRefError, WebSource};
pub use tags::{SkillTags, TagChange, parse_tags};

/// The entrypoint of a workspace.
pub const ENTRYPOINT_FILE: &str = "SKILLBAG.md";
/// The directory with the skills.
pub const SKILLS_DIR: &str = ".skills";
/// The catalog in [`SKILLS_DIR`].
pub const CATALOG_FILE: &str = "SKILLS.md";
/// The lockfile in [`SKILLS_DIR`].
pub const LOCK_FILE: &str = ".skillbag.lock";
/// The project's context.
pub const CONTEXT_FILE: &str = "CONTEXT.md";
/// The user's context, which git should ignore.
pub const USER_CONTEXT_FILE: &str = "USER_CONTEXT.md";
/// The file that makes a directory a source.
pub const AGENTS_FILE: &str = "AGENTS.md";
/// The reserved skill that every workspace has.
pub const BOOTSTRAP_SKILL: &str = "skillbag-get-skills";
/// Its line in the catalog.
pub const BOOTSTRAP_CATALOG_LINE: &str =
    "skillbag-get-skills: Install one or more skills into .skills/.";
