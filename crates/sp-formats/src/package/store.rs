//! The records of packages in the home directory: the store's index, pinned keys, received
//! envelopes, and what registries had.
//!
//! Each record is a [`JsonRecord`](crate::JsonRecord). Members written by other tools survive a
//! rewrite.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sp_tree::{Digest, PublicKey};

use super::dependencies::PackageDependency;
use super::manifest::PackageKind;
use super::name::{PackageName, PackageVersion};
use super::recorded_source::RecordedSource;
use crate::json_record::impl_json_record;

const VERSION: u32 = 1;

/// The index of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageStoreIndex {
    version: u32,
    /// Sorted by name and version.
    pub packages: Vec<StoredPackage>,
    /// Every version that was ever stored. A version never changes its content, even after it was
    /// removed.
    pub known: BTreeMap<PackageName, BTreeMap<String, KnownVersion>>,
    /// Received packages that the user has not accepted.
    pub waiting: Vec<WaitingPackage>,
    /// Members written by other tools.
    #[serde(flatten)]
    extra: BTreeMap<String, serde_json::Value>,
}

/// What identifies a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownVersion {
    /// The composite hash in its manifest.
    pub sha256: String,
    /// See [`Package::identity`](super::Package::identity).
    pub identity: Digest,
}

/// A package in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPackage {
    pub name: PackageName,
    pub version: PackageVersion,
    pub kind: PackageKind,
    pub description: String,
    /// The digest of its file, which is its key in the store.
    pub digest: Digest,
    /// The composite hash in its manifest.
    pub sha256: String,
    /// See [`Package::identity`](super::Package::identity).
    pub identity: Digest,
    /// The size of its file.
    pub size: u64,
    pub nodes: u64,
    pub edges: u64,
    /// As written in the package; not trusted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub created_at: Option<String>,
    pub stored_at: String,
    pub from: RecordedSource,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub signer: Option<PublicKey>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub dependencies: Vec<PackageDependency>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub conflicts: Vec<PackageName>,
    /// Whether it was rolled back. It stays in the store, but is only selected by its exact
    /// version.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub withdrawn: bool,
}

/// A received package that the user has not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingPackage {
    pub name: PackageName,
    pub version: PackageVersion,
    /// The digest of its file, which is its key in the store.
    pub digest: Digest,
    /// The sender according to the envelope.
    pub sender: String,
    pub received_at: String,
}

impl Default for PackageStoreIndex {
    fn default() -> Self {
        Self {
            version: VERSION,
            packages: Vec::new(),
            known: BTreeMap::new(),
            waiting: Vec::new(),
            extra: BTreeMap::new(),
        }
    }
}

/// The pinned keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustStore {
    version: u32,
    /// By namespace: a scope, or the name of a package without one.
    pub pins: BTreeMap<String, KeyPin>,
    /// Members written by other tools.
    #[serde(flatten)]
    extra: BTreeMap<String, serde_json::Value>,
}

/// The pinned key of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPin {
    pub key: PublicKey,
    /// Whether its packages are signed including the manifest.
    pub whole: bool,
    pub since: String,
    /// Reason for pinning: `first use`, or `you said so` if the user trusted the key.
    pub because: String,
}

impl Default for TrustStore {
    fn default() -> Self {
        Self { version: VERSION, pins: BTreeMap::new(), extra: BTreeMap::new() }
    }
}

/// Recently received envelopes, to reject replays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceivedEnvelopes {
    version: u32,
    /// The sender and the digest of each envelope, with the second after which it is rejected as
    /// too old.
    pub envelopes: Vec<(String, Digest, i64)>,
}

impl Default for ReceivedEnvelopes {
    fn default() -> Self {
        Self { version: VERSION, envelopes: Vec::new() }
    }
}

/// The versions that registries listed. A version must not disappear or change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenRegistryVersions {
    version: u32,
    /// By registry URL: the digest of the file of each version of each package.
    pub registries: BTreeMap<String, BTreeMap<PackageName, BTreeMap<String, Digest>>>,
    /// Members written by other tools.
    #[serde(flatten)]
    extra: BTreeMap<String, serde_json::Value>,
}

impl Default for SeenRegistryVersions {
    fn default() -> Self {
        Self { version: VERSION, registries: BTreeMap::new(), extra: BTreeMap::new() }
    }
}

impl_json_record!(
    VERSION => PackageStoreIndex,
    TrustStore,
    ReceivedEnvelopes,
    SeenRegistryVersions
);
