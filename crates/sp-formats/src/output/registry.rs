//! JSON output of `sp serve` and of the commands that access a registry.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::registry::{PackageVersionItem, RegistryIndexItem, TrustFinding, TrustStep};

/// `sp mcp --http`, when it has started
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct McpStartReport {
    /// Where it is asked.
    pub address: String,
}

/// `sp serve`, once it listens
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryStartReport {
    /// Where it listens.
    pub address: String,
    /// Where everything is kept.
    pub data: PathBuf,
    /// The token of whoever runs it, the first time only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin_token: Option<String>,
}

/// `sp serve backup` and `sp serve restore`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryBackupReport {
    /// What was copied.
    pub from: PathBuf,
    /// Where the copy is.
    pub to: PathBuf,
    /// How many packages' bytes are in it.
    pub objects: u64,
    /// How many bytes they have.
    pub bytes: u64,
}

/// `sp login` and `sp logout`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryLoginReport {
    /// The registry.
    pub registry: String,
    /// Whose token it is; nobody's after `sp logout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What it may be used for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// `sp publish`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryPublishReport {
    /// The registry.
    pub registry: String,
    /// The package.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The hash of its bytes.
    pub sha256: String,
    /// Whether it is new there; if not, these very bytes were there.
    pub published: bool,
    /// Who signed it, as a public key in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// How many warnings the registry has.
    pub warnings: usize,
}

/// `sp yank`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryYankReport {
    /// The registry.
    pub registry: String,
    /// The package.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it is yanked now.
    pub yanked: bool,
}

/// `sp search`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistrySearchReport {
    /// The registry.
    pub registry: String,
    /// What was looked for.
    pub query: String,
    /// What was found, the best first.
    pub packages: Vec<RegistryIndexItem>,
}

/// `sp info`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryPackageInfo {
    /// The registry.
    pub registry: String,
    /// The package.
    pub name: String,
    /// The version that is shown.
    pub version: String,
    /// What it is for: `context` or `skills`.
    pub kind: String,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether strangers do not see it.
    pub private: bool,
    /// The newest version that was not yanked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest: Option<String>,
    /// The versions, the newest first.
    pub versions: Vec<PackageVersionItem>,
    /// What the registry verified, step by step.
    pub steps: Vec<TrustStep>,
    /// What it found.
    pub findings: Vec<TrustFinding>,
}
