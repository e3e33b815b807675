//! What `sp` does without a terminal, a module a verb.
//!
//! ```text
//! source  ──▶ resolve ──▶ plan ──▶ apply
//! bytes       selection    value    one transaction
//! ```
//!
//! Decisions are pure functions of values; reaching out (git, the disk) and changing things
//! stand apart from them and are small. Nothing here prints, exits or parses arguments: what
//! is worth telling on the way goes to the [`EventListener`] of the [`Context`].

mod agents;
mod apply;
mod audit;
mod check;
mod clean;
mod config;
mod context;
pub mod context_pack;
mod cost;
mod diff;
mod error;
mod files;
mod home;
mod http;
mod init;
mod install;
mod installed;
pub mod kb;
pub mod library;
mod list;
mod mcp_config;
pub mod model;
mod output_file;
pub mod pkg;
mod plan;
mod plan_id;
mod registry;
mod repository;
mod resolve;
mod secret;
mod server_url;
mod show;
mod sinks;
mod source;
mod stage;
mod token_counter;
mod uninstall;
pub mod workspace;

pub use agents::{Agent, agents};
pub use audit::{AuditRequest, audit};
pub use check::{
    AuditFacts, CheckRequest, CheckResults, CheckStrictness, CheckWatcher, FixResults, FixedFile,
    ImportPolicy, check, fix, watch,
};
pub use clean::{CleanScope, clean};
pub use config::config;
pub use context::{Context, Event, EventListener, Network};
pub use cost::{CostRequest, cost};
pub use error::{Error, FailureKind, Result};
pub use files::write_files;
pub use init::init;
pub use install::{ApplyMode, InstallRequest, OtherPacks, ReplacePolicy, install};
pub use installed::installed;
pub use list::{packs, skills};
pub use mcp_config::{
    DEFAULT_MCP_NAME, MCP_AGENTS, McpAgent, McpConfigTarget, McpServer, install_mcp, uninstall_mcp,
};
pub use plan_id::PlanId;
pub use show::show;
pub use sinks::{SinkRequest, SinkScope};
pub use sp_analyze::knowledge::Brief;
pub use sp_analyze::tokens::TOKENIZER;
pub use sp_analyze::{graph, hidden};
pub use sp_tree::transaction::RecoveryOutcome;
pub use sp_tree::{LIMIT_NAMES, Limits, fault};
pub use uninstall::{UninstallRequest, uninstall};
