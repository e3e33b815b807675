//! Projects: one manifest, one lockfile and one set of verbs for everything that agents read.
//!
//! `skillpack.yaml` declares what a project uses, `skillpack.lock` what that resolved to. `sp add`,
//! `sp sync`, `sp remove`, `sp update` and `sp outdated` are one more front of the pipeline of `sp
//! install`: a project becomes a skill set per sink, and is planned and applied by the same code.
//!
//! ```text
//! files          manifest and lockfile on disk; unites conflicts of git
//! resolution     manifest × lockfile × offers → skills with folders, and the new lockfile
//! sources        opens what resolution needs (catalog), dependencies, content
//! local_sources  which directories are as they are locked, without reading their files
//! local_changes  which of the others differ
//! known_newest   newer versions that a command has seen
//! targets        agents → sinks
//! edits          what happens to skills that were edited locally; bases has what they are based on
//! packages       packages of the manifest → entries for their skills
//! context_packs  context packs of the manifest → instruction files
//! own_lockfiles  what `ctxpkg.lock` and `.skillbag.lock` of the project have
//! on_disk        what `sp doctor` compares
//! change         all of it as one plan, and one transaction
//! add, sync, remove, update, outdated, migrate
//!                one file, or folder, per verb
//! ```
//!
//! # Ownership
//!
//! The state records one install per manifest and sink. But the folders of a project may be
//! committed, and then other machines, without that record, update and remove them. So a folder
//! also belongs to the project if the lockfile names it: if its digest is that of the lockfile, it
//! is unchanged, and otherwise edited. Nothing else is ever replaced.
//!
//! # Versions
//!
//! A skill that comes from the lockfile is planned by its digest alone: nothing is opened or
//! fetched while its folders are unchanged. What has to be written is loaded into memory, so that
//! the lockfile and the folder cannot differ.

mod add;
mod added_sources;
mod adopt;
mod approval;
mod bases;
mod catalog;
mod change;
mod context_packs;
mod context_status;
mod diff_skill;
mod disabled;
mod edits;
mod file_on_disk;
mod files;
mod known_newest;
mod known_outdated;
mod lifecycle_request;
mod local_changes;
mod local_sources;
mod locked_policy;
mod migrate;
mod newest_context_packs;
mod newest_packages;
mod offer;
mod on_disk;
mod open_project;
mod outdated;
mod overrides;
mod own_lockfiles;
mod package_commands;
mod package_status;
mod packages;
mod remove;
mod resolution;
mod restore;
mod skill_changes;
mod source_demand;
mod source_skills;
mod sources;
mod status;
mod sync;
mod targets;
mod toggle;
mod update;
mod view;
mod why;
mod workspace_sync;

pub(crate) use bases::damaged_bases;
pub(crate) use files::locked_names;
pub(crate) use locked_policy::{LockedDecisions, locked_decisions};
pub(crate) use on_disk::ProjectOnDisk;
pub(crate) use source_skills::{LoadedSource, load_source, names_remote_source};

pub use add::{AddRequest, SkillChoice, SkillPicker, add, list_source_skills};
pub use adopt::{AdoptRequest, adopt};
pub use diff_skill::diff_skills;
pub use edits::EditChoice;
pub use files::ProjectLocation;
pub use migrate::{MigrateRequest, migrate};
pub use outdated::outdated;
pub use package_commands::{install_packages, roll_back_packages, uninstall_packages};
pub use remove::{RemoveRequest, remove};
pub use restore::{RestoreRequest, RestoredVersion, list_trashed, restore};
pub use skill_changes::FileTexts;
pub use status::status;
pub use sync::{SyncPolicy, SyncRequest, sync};
pub use toggle::{SkillToggle, ToggleRequest, toggle};
pub use update::{UpdateRequest, update};
pub use why::why;

pub(crate) use bases::unneeded_bases;
