//! What the store holds, whom we trust, and what was received: the records of packages in the home.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sp_tree::{Digest, PublicKey};

use super::manifest::{PackageDependency, PackageKind};
use super::name::{PackageName, PackageVersion};

const VERSION: u32 = 1;

/// Every package of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageStoreIndex {
    version: u32,
    /// The packages, sorted by name and version.
    pub packages: Vec<StoredPackage>,
    /// What every version was that ever was here: it never becomes another, even after it was removed.
    pub known: BTreeMap<PackageName, BTreeMap<String, KnownVersion>>,
    /// Packages that were received and wait to be taken.
    pub waiting: Vec<WaitingPackage>,
    /// What others wrote.
    #[serde(flatten)]
    extra: BTreeMap<String, serde_json::Value>,
}

/// What a version was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownVersion {
    /// What its manifest says that name, version and content hash to.
    pub sha256: String,
    /// What makes it this version: all of its manifest but the signature, and its content.
    pub identity: Digest,
}

/// A package of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPackage {
    /// Its name.
    pub name: PackageName,
    /// Its version.
    pub version: PackageVersion,
    /// What it is for.
    pub kind: PackageKind,
    /// What it is about.
    pub description: String,
    /// The digest of its file, by which the store finds it.
    pub digest: Digest,
    /// What its manifest says that name, version and content hash to.
    pub sha256: String,
    /// What makes it this version: all of its manifest but the signature, and its content.
    pub identity: Digest,
    /// The bytes of its file.
    pub size: u64,
    /// How many nodes its graph has.
    pub nodes: u64,
    /// How many edges its graph has.
    pub edges: u64,
    /// When it was made, as it says.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub created_at: Option<String>,
    /// When it came here.
    pub stored_at: String,
    /// Where it came from.
    pub from: String,
    /// Who signed it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub signer: Option<PublicKey>,
    /// What it needs.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub dependencies: Vec<PackageDependency>,
    /// What it cannot be together with.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub conflicts: Vec<PackageName>,
    /// Whether it was rolled back: it stays, and is chosen only by its exact version.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub withdrawn: bool,
}

/// A package that was received and waits to be taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingPackage {
    /// Its name.
    pub name: PackageName,
    /// Its version.
    pub version: PackageVersion,
    /// The digest of its file, by which the store finds it.
    pub digest: Digest,
    /// Who sent it, as they say.
    pub sender: String,
    /// When it came here.
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

/// Whom we trust for which names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustStore {
    version: u32,
    /// The key of each namespace: a scope, or the name of a package without one.
    pub pins: BTreeMap<String, KeyPin>,
    /// What others wrote.
    #[serde(flatten)]
    extra: BTreeMap<String, serde_json::Value>,
}

/// The key of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPin {
    /// The key.
    pub key: PublicKey,
    /// Whether its packages were signed whole, manifest and all.
    pub whole: bool,
    /// Since when.
    pub since: String,
    /// Why: `first use`, or `you said so`.
    pub because: String,
}

impl Default for TrustStore {
    fn default() -> Self {
        Self { version: VERSION, pins: BTreeMap::new(), extra: BTreeMap::new() }
    }
}

/// What was received of late, so that nothing is taken twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceivedEnvelopes {
    version: u32,
    /// The sender and the hash of each envelope, with the second after which it is too old anyway.
    pub envelopes: Vec<(String, Digest, i64)>,
}

impl Default for ReceivedEnvelopes {
    fn default() -> Self {
        Self { version: VERSION, envelopes: Vec::new() }
    }
}

/// What registries said they have: what one had once, it has for ever, and as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenRegistryVersions {
    version: u32,
    /// By the address of the registry: the hash of the bytes of each version of each package.
    pub registries: BTreeMap<String, BTreeMap<PackageName, BTreeMap<String, Digest>>>,
    /// What others wrote.
    #[serde(flatten)]
    extra: BTreeMap<String, serde_json::Value>,
}

impl Default for SeenRegistryVersions {
    fn default() -> Self {
        Self { version: VERSION, registries: BTreeMap::new(), extra: BTreeMap::new() }
    }
}

/// A record that is kept as a JSON file.
pub trait StoreRecord: Default + Serialize + for<'de> Deserialize<'de> {
    /// Its version.
    fn version(&self) -> u32;

    /// Reads it. What is wrong is told as a fragment.
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let record: Self = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        match record.version() {
            VERSION => Ok(record),
            newer => Err(format!("version {newer} is not known")),
        }
    }

    /// The record as it is stored.
    fn to_json(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}

macro_rules! impl_store_record {
    ($($type:ident),+) => {
        $(impl StoreRecord for $type {
            fn version(&self) -> u32 {
                self.version
            }
        })+
    };
}
impl_store_record!(PackageStoreIndex, TrustStore, ReceivedEnvelopes, SeenRegistryVersions);
