//! The HTTP API of a registry: names, indexes, reports and errors.
//!
//! Types that derive `JsonSchema` are part of the OpenAPI document, and their doc comments are its
//! descriptions. [`RegistryPackageName`] is a package name that a registry accepts.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::package::{PackageName, PackageVersion};

/// The path prefix of version 1 of the API.
pub const API_PREFIX: &str = "/api/v1";
/// The digest of the downloaded bytes.
pub const SHA256_HEADER: &str = "x-ctxpkg-sha256";
/// Whether the downloaded version was yanked.
pub const YANKED_HEADER: &str = "x-ctxpkg-yanked";
/// The prefix of tokens that may publish.
pub const PUBLISH_TOKEN_PREFIX: &str = "ctxp_";
/// The prefix of tokens that may only read.
pub const READ_TOKEN_PREFIX: &str = "ctxr_";

/// The reason why a registry rejects a package name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegistryNameError {
    #[error("package names in a registry require a namespace: `@namespace/name`")]
    NoNamespace,
    #[error(
        "a namespace has 2 to 32 characters of `a-z`, `0-9` and `-`, and does not start or end \
         with `-`"
    )]
    InvalidNamespace,
    #[error(
        "a package name has 1 to 64 characters of `a-z`, `0-9`, `.`, `_` and `-`, and starts with \
         a letter or digit"
    )]
    InvalidName,
}

/// A package name in a registry: a namespace and a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegistryPackageName {
    namespace: Box<str>,
    name: Box<str>,
}

impl RegistryPackageName {
    pub fn new(namespace: &str, name: &str) -> Result<Self, RegistryNameError> {
        let is_small = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_namespace = (2..=32).contains(&namespace.len())
            && namespace.bytes().all(|byte| is_small(byte) || byte == b'-')
            && !namespace.starts_with('-')
            && !namespace.ends_with('-');
        let is_name = (1..=64).contains(&name.len())
            && name.bytes().all(|byte| is_small(byte) || matches!(byte, b'.' | b'_' | b'-'))
            && name.bytes().next().is_some_and(is_small)
            && !name.ends_with('.');
        match (is_namespace, is_name) {
            (false, _) => Err(RegistryNameError::InvalidNamespace),
            (_, false) => Err(RegistryNameError::InvalidName),
            _ => Ok(Self { namespace: namespace.into(), name: name.into() }),
        }
    }

    pub fn from_package_name(name: &PackageName) -> Result<Self, RegistryNameError> {
        let scoped = name.as_str().strip_prefix('@').and_then(|rest| rest.split_once('/'));
        let (namespace, name) = scoped.ok_or(RegistryNameError::NoNamespace)?;
        Self::new(namespace, name)
    }

    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name within the namespace.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for RegistryPackageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}/{}", self.namespace, self.name)
    }
}

/// `GET /api/v1/index.json`: the packages that the caller can read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RegistryIndex {
    /// Packages, sorted by namespace and name.
    pub packages: Vec<RegistryIndexItem>,
    /// If there are more packages, the value of the parameter `after` for the next ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A package in an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RegistryIndexItem {
    /// Namespace of the package, without `@`.
    pub namespace: String,
    /// Name within the namespace.
    pub name: String,
    /// Kind of package: `context` or `skills`.
    pub kind: String,
    /// Newest version that is not yanked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest: Option<String>,
    /// Description from the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Number of downloads.
    pub downloads: u64,
}

/// `GET /api/v1/search?q=`: matching packages, best match first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RegistrySearchResponse {
    /// Search query.
    pub query: String,
    /// Matching packages.
    pub packages: Vec<RegistryIndexItem>,
}

/// `GET /api/v1/packages/{ns}/{name}/index.json`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PackageIndex {
    /// Namespace of the package, without `@`.
    pub namespace: String,
    /// Name within the namespace.
    pub name: String,
    /// Newest version that is not yanked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest: Option<String>,
    /// Whether the package is visible only to authorized users.
    pub private: bool,
    /// Number of downloads.
    #[serde(default)]
    pub downloads: u64,
    /// All versions, newest first.
    pub versions: Vec<PackageVersionItem>,
}

/// The version of the format of [`PublishedPackageIndex`].
const INDEX_SCHEMA_VERSION: u32 = 1;

/// A [`PackageIndex`] as a registry returns it, with the members that other clients of the same API
/// read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PublishedPackageIndex {
    /// Version of this format; always 1.
    schema: u32,
    /// Namespace of the package, without `@`.
    namespace: String,
    /// Name within the namespace.
    name: String,
    /// Newest version that is not yanked.
    #[serde(skip_serializing_if = "Option::is_none")]
    latest: Option<String>,
    /// Whether the package is visible only to authorized users.
    private: bool,
    /// Number of downloads.
    downloads: u64,
    /// All versions, newest first.
    versions: Vec<PublishedVersion>,
}

/// A [`PackageVersionItem`] with the members that other clients of the same API read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct PublishedVersion {
    #[serde(flatten)]
    item: PackageVersionItem,
    /// SHA-256 of the package file, in hex; same as `sha256`.
    artifact_sha256: String,
}

impl From<PackageIndex> for PublishedPackageIndex {
    fn from(index: PackageIndex) -> Self {
        let PackageIndex { namespace, name, latest, private, downloads, versions } = index;
        let version = |item: PackageVersionItem| PublishedVersion {
            artifact_sha256: item.sha256.clone(),
            item,
        };
        let versions = versions.into_iter().map(version).collect();
        Self { schema: INDEX_SCHEMA_VERSION, namespace, name, latest, private, downloads, versions }
    }
}

/// A version of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PackageVersionItem {
    /// Version number.
    pub version: String,
    /// SHA-256 of the package file, in hex.
    pub sha256: String,
    /// Size of the package file in bytes.
    pub bytes: u64,
    /// Time of publication.
    pub published_at: String,
    /// Whether the version is yanked: new resolutions skip it, but existing lockfiles keep working.
    pub yanked: bool,
    /// Whether the version was deleted by an administrator, so that it cannot be downloaded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// Public key of the signer, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// Packages that this version depends on.
    pub dependencies: Vec<RegistryDependencyItem>,
    /// Packages that cannot be installed together with this version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
}

/// A dependency of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RegistryDependencyItem {
    /// Name of the package.
    pub name: String,
    /// SemVer range of accepted versions.
    pub range: String,
    /// Whether the package can be used without this dependency.
    pub optional: bool,
}

/// Verification results of a published version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustReport {
    /// Namespace of the package, without `@`.
    pub namespace: String,
    /// Name within the namespace.
    pub name: String,
    /// Version number.
    pub version: String,
    /// SHA-256 of the package file, in hex.
    pub sha256: String,
    /// Size of the package file in bytes.
    pub bytes: u64,
    /// Verification steps, in order.
    pub steps: Vec<TrustStep>,
    /// Public key of the signer, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// Findings of `sp check` and `sp audit`. None of them is an error.
    pub findings: Vec<TrustFinding>,
    /// What each skill of the package can do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<TrustCapabilities>,
}

/// What a skill can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustCapabilities {
    /// Path of the skill in the package.
    pub skill: String,
    /// Kinds and values, such as `host api.example.com`.
    pub capabilities: Vec<String>,
    /// Number of files that the audit did not read, or only in part.
    pub unread_files: usize,
}

/// A step of the verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustStep {
    /// Name of the step.
    pub name: String,
    /// Result: `passed`, `failed` or `skipped`.
    pub outcome: String,
    /// Details, such as the hash or key that was verified.
    pub detail: String,
}

/// A problem in a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustFinding {
    /// Rule ID, such as `PK-12`.
    pub rule: String,
    /// Severity: `error`, `warning` or `note`.
    pub severity: String,
    /// Description of the problem, after its position if an audit found it.
    pub message: String,
    /// ID of the finding of an audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// A token of a registry, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RegistryToken {
    /// Number of the token.
    pub id: i64,
    /// User of the token.
    pub user: String,
    /// What the token permits: `read`, `publish` or `admin`.
    pub scope: String,
    /// What the token is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Namespaces that the token is limited to; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<String>>,
    /// When the token was created.
    pub created_at: String,
    /// When the token expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// When the token was last used, up to a minute too early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<String>,
    /// Whether the token was revoked.
    pub revoked: bool,
}

/// A token with its secret, which is shown only once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssuedRegistryToken {
    #[serde(flatten)]
    pub item: RegistryToken,
    /// The secret.
    pub token: String,
}

/// Error response of a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RegistryErrorResponse {
    /// Machine-readable error code: `not_found`, `exists`, `invalid`, `unauthorized`, `forbidden`
    /// or `too_large`.
    pub code: String,
    /// What failed.
    pub message: String,
    /// How to fix the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Findings in the package that was sent, if any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<TrustFinding>,
}

/// Returns the newest version that is not yanked. Pre-releases count only if there is no release.
pub fn latest_version<'v>(
    versions: impl Iterator<Item = &'v PackageVersion>,
) -> Option<&'v PackageVersion> {
    versions.max_by_key(|version| (!version.is_pre_release(), *version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pk_25_registry_name_has_a_namespace_and_a_name() {
        for (namespace, name) in [("acme", "tools"), ("a1", "x"), ("a-b", "x.y_z-1")] {
            assert!(RegistryPackageName::new(namespace, name).is_ok(), "{namespace}/{name}");
        }
        let long = "a".repeat(65);
        for (namespace, name) in [
            ("a", "x"),
            ("-ab", "x"),
            ("ab-", "x"),
            ("Acme", "x"),
            ("a.b", "x"),
            (&long[..33], "x"),
            ("acme", ""),
            ("acme", "X"),
            ("acme", ".x"),
            ("acme", "x."),
            ("acme", &long),
            ("acme", "../x"),
        ] {
            assert!(RegistryPackageName::new(namespace, name).is_err(), "{namespace}/{name}");
        }
        let name = PackageName::new("plain").unwrap();
        assert_eq!(
            RegistryPackageName::from_package_name(&name),
            Err(RegistryNameError::NoNamespace)
        );
        let name = PackageName::new("@acme/tools").unwrap();
        assert_eq!(
            RegistryPackageName::from_package_name(&name).unwrap().to_string(),
            "@acme/tools"
        );
    }

    #[test]
    fn pk_25_latest_version_is_the_newest_release() {
        let versions: Vec<PackageVersion> = ["1.0.0", "2.0.0-beta", "1.10.0", "1.9.0"]
            .iter()
            .map(|text| PackageVersion::new(text).unwrap())
            .collect();
        assert_eq!(latest_version(versions.iter()).map(PackageVersion::as_str), Some("1.10.0"));
        assert_eq!(
            latest_version(versions[1..2].iter()).map(PackageVersion::as_str),
            Some("2.0.0-beta")
        );
        assert_eq!(latest_version(std::iter::empty()), None);
    }
}
