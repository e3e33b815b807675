//! JSON output of `sp serve` and of the commands that access a registry.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::registry::{
    PackageVersionItem, RegistryIndexItem, RegistryToken, TrustFinding, TrustStep,
};
use crate::trusted_publisher::TrustedPublisher;

/// `sp mcp --listen`, when it has started
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct McpStartReport {
    /// URL of the MCP endpoint.
    pub address: String,
}

/// `sp serve`, once it listens
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryStartReport {
    /// URL that the registry listens on.
    pub address: String,
    /// Directory of the registry's data.
    pub data: PathBuf,
    /// Token of the administrator; only present on the first start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin_token: Option<String>,
}

/// `sp serve backup` and `sp serve restore`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryBackupReport {
    /// Directory that was copied.
    pub from: PathBuf,
    /// Directory of the copy.
    pub to: PathBuf,
    /// Number of stored objects in the copy.
    pub objects: u64,
    /// Total size of the objects in bytes.
    pub bytes: u64,
    /// Objects that were not copied.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub damaged: Vec<RegistryDamage>,
}

/// An object that is missing or damaged
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryDamage {
    /// SHA-256 of the object, in hex.
    pub sha256: String,
    /// Problem: `missing`, `damaged` or `unreadable`.
    pub problem: String,
    /// Versions and context packs that consist of the object.
    pub used_by: Vec<String>,
}

/// `sp serve verify`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryVerifyReport {
    /// Number of objects that are intact.
    pub objects: u64,
    /// Total size of these objects in bytes.
    pub bytes: u64,
    /// Objects that are missing or damaged.
    pub damaged: Vec<RegistryDamage>,
}

/// `sp serve gc`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryGarbageReport {
    /// SHA-256 of each object that nothing refers to, in hex.
    pub objects: Vec<String>,
    /// Total size of these objects in bytes.
    pub bytes: u64,
    /// Whether they were deleted.
    pub deleted: bool,
}

/// `sp serve delete`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryDeleteReport {
    /// Package name, including its scope.
    pub name: String,
    /// Version that was deleted.
    pub version: String,
    /// Whether its bytes were deleted; `false` if something else consists of the same bytes.
    pub bytes_deleted: bool,
}

/// `sp serve token`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryTokenReport {
    /// Tokens that were created, changed or listed.
    pub tokens: Vec<RegistryToken>,
    /// Secret of the token that was created or rotated; it is shown only once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// `sp login` and `sp logout`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryLoginReport {
    /// URL of the registry.
    pub registry: String,
    /// Owner of the token; absent after `sp logout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Scope of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// `sp publish`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryPublishReport {
    /// URL of the registry.
    pub registry: String,
    /// Package name, including its scope.
    pub name: String,
    /// Published version.
    pub version: String,
    /// SHA-256 of the package file, in hex.
    pub sha256: String,
    /// Whether the version is new; `false` if the same bytes had already been published.
    pub published: bool,
    /// Public key of the signer, in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// Number of warnings from the registry.
    pub warnings: usize,
}

/// `sp publisher`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryPublisherReport {
    /// URL of the registry.
    pub registry: String,
    /// Package name, including its scope.
    pub package: String,
    /// Number of the publisher that was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<i64>,
    /// Whether only trusted publishers may publish the package.
    pub trusted_only: bool,
    /// Trusted publishers of the package.
    pub publishers: Vec<TrustedPublisher>,
}

/// `sp yank`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryYankReport {
    /// URL of the registry.
    pub registry: String,
    /// Package name, including its scope.
    pub name: String,
    /// Version that was yanked or unyanked.
    pub version: String,
    /// Whether the version is now yanked.
    pub yanked: bool,
}

/// `sp search`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistrySearchReport {
    /// URL of the registry.
    pub registry: String,
    /// Search query.
    pub query: String,
    /// Matching packages, best match first.
    pub packages: Vec<RegistryIndexItem>,
}

/// `sp info`, for a package at a registry. One from a file or the store is printed as by
/// `sp pkg info`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryPackageInfo {
    /// URL of the registry.
    pub registry: String,
    /// Package name, including its scope.
    pub name: String,
    /// Version that `steps` and `findings` refer to.
    pub version: String,
    /// Kind of package: `context` or `skills`.
    pub kind: String,
    /// Description from the manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the package is visible only to authorized users.
    pub private: bool,
    /// Newest version that is not yanked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest: Option<String>,
    /// All versions, newest first.
    pub versions: Vec<PackageVersionItem>,
    /// Verification steps that the registry performed.
    pub steps: Vec<TrustStep>,
    /// Findings of the registry.
    pub findings: Vec<TrustFinding>,
}
