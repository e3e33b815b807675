//! Everything `sp` does, without a terminal: one module per operation.
//!
//! ```text
//! source ──▶ select ──▶ plan ──▶ apply
//! bytes      skills     value    one transaction
//! ```
//!
//! An operation is a function from a [`Context`] and a request to a report. Decisions are pure
//! functions of values; fetching and applying are separate and small. Clock, environment, home
//! directory and randomness come in through the [`Context`].
//!
//! Nothing here prints, exits, parses arguments or is async. Progress, warnings and hints are
//! [`Event`]s that go to the [`EventListener`] of the [`Context`].

mod agent_selection;
mod agent_set;
mod agents;
mod apply_mode;
mod audit;
mod built_in_sinks;
mod check;
mod clean;
mod completion;
mod config;
mod content_audit;
mod content_gate;
mod context;
pub mod context_pack;
mod cost;
mod diff;
mod digest_cache;
mod doctor;
mod downloads;
mod error;
mod files;
mod home;
mod http;
mod init;
mod install;
mod installed;
mod io_threads;
pub mod kb;
pub mod library;
mod list;
mod manifest_dir;
mod mcp_config;
pub mod model;
mod open_files;
mod output_file;
mod pack_intentions;
pub mod pkg;
mod plan_id;
mod policy;
mod policy_report;
mod project;
mod project_acceptance;
mod registry;
mod repository;
mod secret;
mod select;
mod server_url;
mod session;
mod show;
mod sinks;
mod source;
mod token_counter;
mod uninstall;
pub mod workspace;

pub use agent_selection::{ALL_AGENTS, DETECTED_AGENTS, select_agents};
pub use agents::{Agent, agents};
pub use apply_mode::ApplyMode;
pub use audit::{AuditRequest, audit, audit_diff};
pub use check::{
    AcceptedCounts, AuditFacts, CheckRequest, CheckResults, CheckStrictness, CheckWatcher,
    FixResults, FixedFile, ImportPolicy, WorkspaceRepairs, check, check_rules, check_targets_help,
    confirm_fixes, find_check_rule, fix, fix_if_confirmed, repair_workspaces, rule_sets, watch,
    write_baseline,
};
pub use clean::{CleanScope, clean};
pub use completion::{CompletionKind, CompletionValue, completion_values};
pub use config::config;
pub use context::{CapabilityConsent, Context, Event, EventListener, InstallConsent, Network};
pub use cost::{CostRequest, cost};
pub use digest_cache::{DigestCache, UnpackedSkills, UnpackedSkillsCache};
pub use doctor::{DoctorRequest, doctor};
pub use error::{Error, ErrorCode, ErrorPosition, FailureKind, Result};
pub use files::write_files;
pub use http::{
    AddressReach, OutgoingError, OutgoingForm, OutgoingLimits, OutgoingResponse, fetch_json,
    post_form,
};
pub use init::init;
pub use install::plan::{OtherPacks, ReplacePolicy};
pub use install::{InstallRequest, install};
pub use installed::{InstalledFilter, installed};
pub use list::{packs, skills};
pub use mcp_config::{
    DEFAULT_MCP_NAME, MCP_AGENTS, McpAgent, McpConfigTarget, McpServer, install_mcp, uninstall_mcp,
};
pub use open_files::raise_open_file_limit;
pub use plan_id::{ApplyOptions, PlanId};
pub use policy_report::{PolicyCheckRequest, check_policy, show_policy};
pub use project::{
    AddRequest, AdoptRequest, EditChoice, FileTexts, MigrateRequest, ProjectLocation,
    RemoveRequest, RestoreRequest, RestoredVersion, SkillChoice, SkillPicker, SkillToggle,
    SyncPolicy, SyncRequest, ToggleRequest, UpdateRequest, add, adopt, diff_skills,
    install_packages, list_source_skills, list_trashed, migrate, outdated, remove, restore,
    roll_back_packages, status, sync, toggle, uninstall_packages, update, why,
};
pub use secret::read_secret;
pub use show::show;
pub use sinks::{SinkRequest, SinkScope};
pub use sp_analyze::knowledge::Brief;
pub use sp_analyze::tokens::TOKENIZER;
pub use sp_analyze::{graph, hidden};
pub use sp_tree::transaction::RecoveryOutcome;
pub use sp_tree::{LIMIT_NAMES, Limits, fault, read_trace};
pub use uninstall::{UninstallRequest, uninstall};
