//! Every byte layout that Skillpack promises: what a pack file, a `SKILL.md`, the config and
//! the state say, and what `--format json` prints.
//!
//! Reading is pure: text in, a value and a [`Report`] of *every* problem out. Nothing here
//! touches disk or network, reads the clock, or prints, so all of it can be fuzzed.

pub mod checks;
pub mod config;
pub mod context_pack;
pub mod discovery;
pub mod git_repo;
pub mod json;
pub mod markdown;
pub mod mcp;
pub mod naming;
pub mod output;
pub mod pack;
pub mod package;
pub mod pattern;
pub mod printable;
pub mod redact;
pub mod registry;
pub mod report;
pub mod rules;
pub mod schema;
pub mod settings;
pub mod skill;
pub mod state;
pub mod suggest;
pub mod workspace;
pub mod yaml;

pub use report::{FileFindings, Finding, Report, Severity};
