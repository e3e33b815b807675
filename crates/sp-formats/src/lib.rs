//! Every byte layout that Skillpack promises: skills, packs, workspaces, context packs, packages,
//! lockfile, configuration, state, wire formats, and what `--format json` prints.
//!
//! Reading is pure: text in, a value and a [`Report`] of *every* problem out. Each problem is a
//! [`Finding`] with a rule from [`rules`], a severity and a span. Nothing here touches disk or
//! network, reads the clock or prints, so all of it can be fuzzed.
//!
//! - Formats: [`skill`], [`pack`], [`workspace`], [`context_pack`], [`package`].
//! - Projects: [`project`], with the manifest and the lockfile; [`foreign`], those of other tools.
//! - Syntax with spans: [`json`], [`yaml`], [`markdown`].
//! - Text in URLs: [`web_url`], [`percent`], [`redact`].
//! - Diagnostics: [`report`], [`rules`], and findings that a project accepts: [`accept`].
//! - Files of `sp` itself: [`config`], [`state`], [`settings`].
//! - Text for people: [`printable`], [`text`], [`time`].
//! - Output and wire formats: [`output`], [`registry`], [`mcp`], [`schema`].
//!
//! ```
//! use sp_formats::{Severity, pack};
//! use sp_tree::Limits;
//!
//! let text = "name: ''\ninclude: review/**\n";
//! let (pack, report) = pack::read("packs/team.yaml", text, &Limits::default());
//! assert!(pack.is_none());
//! let places: Vec<String> =
//!     report.findings.iter().map(|finding| report.format_location(finding)).collect();
//! assert_eq!(places, ["packs/team.yaml:1:7", "packs/team.yaml:2:10"]);
//! assert_eq!(report.findings[0].severity, Severity::Error);
//! ```

pub mod accept;
pub mod config;
pub mod context_pack;
pub mod discovery;
pub mod error_code;
pub mod foreign;
pub mod git_repo;
pub mod json;
mod json_record;
pub mod markdown;
pub mod mcp;
pub mod naming;
pub mod output;
pub mod pack;
pub mod package;
pub mod pattern;
pub mod percent;
pub mod policy;
pub mod printable;
pub mod project;
pub mod redact;
pub mod registry;
pub mod report;
pub mod rules;
pub mod schema;
pub mod settings;
pub mod skill;
pub mod state;
pub mod suggest;
pub mod text;
pub mod time;
mod toml_json;
pub mod trusted_publisher;
pub mod web_url;
pub mod workspace;
pub mod yaml;
mod yaml_mapping;

pub use json_record::JsonRecord;
pub use report::{FileFindings, Finding, Report, Severity};
