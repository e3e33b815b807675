//! Projects: the manifest `skillpack.yaml`, and the lockfile `skillpack.lock`.
//!
//! The manifest declares what a project uses: skills from any source, packs, packages and context
//! packs, and the agents to install for. The lockfile records what that resolved to, so that every
//! machine installs the same bytes.
//!
//! - [`manifest`]: reading. [`manifest_edit`]: changing an entry and no other byte.
//! - [`lock`]: reading and writing. Nothing in it depends on the machine.
//! - [`conflict`]: conflict markers of git. [`merge`]: uniting the two sides of a merge.
//! - [`source`]: where skills come from, as people write it.
//! - [`disabled`]: what is disabled on a machine.
//!
//! ```
//! use sp_formats::project::manifest;
//! use sp_tree::Limits;
//!
//! let text = "agents: [claude]\nskills:\n  - source: acme/skills\n    include: [pdf]\n";
//! let (manifest, report) = manifest::read("skillpack.yaml", text, &Limits::default());
//! assert!(report.findings.is_empty());
//! assert_eq!(manifest.expect("it has no errors").skills[0].source.to_string(), "acme/skills");
//! ```

pub mod conflict;
pub mod disabled;
pub mod lock;
pub mod manifest;
pub mod manifest_edit;
pub mod merge;
pub mod rules;
pub mod source;
mod yaml_edit;

/// The name of the manifest.
pub const MANIFEST_FILE: &str = "skillpack.yaml";
/// The name of the lockfile.
pub const LOCK_FILE: &str = "skillpack.lock";
/// The maximum length of a lockfile.
pub const MAX_LOCK_BYTES: u64 = 64 * 1024 * 1024;
