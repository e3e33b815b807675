//! `ctxpkg.lock`: which packages a project has, to the byte.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sp_tree::{Digest, PublicKey};

use super::manifest::{PackageDependency, PackageKind};
use super::name::{PackageName, PackageVersion, VersionRange};

/// The name of the file.
pub const LOCKFILE_NAME: &str = "ctxpkg.lock";
const VERSION: u32 = 1;

/// Which packages a project has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageLock {
    version: u32,
    /// What was asked for, by name.
    pub requests: BTreeMap<PackageName, VersionRange>,
    /// What that led to, by name.
    pub packages: BTreeMap<PackageName, LockedPackage>,
    /// The merged graph of the packages of knowledge, if it is stored.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub context: Option<LockedContext>,
    /// What others wrote.
    #[serde(flatten)]
    extra: BTreeMap<String, serde_json::Value>,
}

/// The merged graph of a project, to the byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedContext {
    /// The digest of its file.
    pub digest: Digest,
    /// The digests of the packages that it was made of.
    pub packages: BTreeSet<Digest>,
}

/// One package, to the byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedPackage {
    /// Its version.
    pub version: PackageVersion,
    /// What it is for.
    pub kind: PackageKind,
    /// The digest of its file.
    pub digest: Digest,
    /// What its manifest says that name, version and content hash to.
    pub sha256: String,
    /// What makes it this version: all of its manifest but the signature, and its content.
    pub identity: Digest,
    /// Where it came from: `store`, a file, or later a registry.
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
    /// What others wrote.
    #[serde(flatten)]
    pub extra: BTreeMap<String, serde_json::Value>,
}

impl Default for PackageLock {
    fn default() -> Self {
        let (requests, packages) = (BTreeMap::new(), BTreeMap::new());
        Self { version: VERSION, requests, packages, context: None, extra: BTreeMap::new() }
    }
}

impl PackageLock {
    /// Reads a lock. What is wrong is told as a fragment.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let lock: Self = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        match lock.version {
            VERSION => Ok(lock),
            newer => Err(format!("version {newer} is not known")),
        }
    }

    /// The digests of the packages of knowledge.
    pub fn knowledge_digests(&self) -> BTreeSet<Digest> {
        let known = self.packages.values().filter(|package| package.kind == PackageKind::Context);
        known.map(|package| package.digest).collect()
    }

    /// The lock as it is stored.
    pub fn to_json(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}

/// The locks that a project had, so that it can go back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LockHistory {
    /// The oldest first.
    pub entries: Vec<LockHistoryEntry>,
}

/// A lock that a project had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockHistoryEntry {
    /// Until when.
    pub until: String,
    /// The lock.
    pub lock: PackageLock,
    /// Into which sinks the skills of which package had gone: the name of each sink, and its path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub sinks: BTreeMap<PackageName, Vec<(String, String)>>,
}

impl LockHistory {
    /// More steps back than this are not remembered.
    const MAX_ENTRIES: usize = 20;

    /// Reads a history. What is wrong is told as a fragment.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|e| e.to_string())
    }

    /// The history with a lock more.
    pub fn with_entry(mut self, past: LockHistoryEntry) -> Self {
        self.entries.push(past);
        let first = self.entries.len().saturating_sub(Self::MAX_ENTRIES);
        self.entries.drain(..first);
        self
    }

    /// The history as it is stored.
    pub fn to_json(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pk_23_a_lock_is_read_as_it_was_written_and_keeps_what_others_wrote() {
        let mut lock = PackageLock::default();
        let name = PackageName::new("@acme/context").unwrap();
        lock.requests.insert(name.clone(), VersionRange::new("^1"));
        let package = LockedPackage {
            version: PackageVersion::new("1.0.0").unwrap(),
            kind: PackageKind::Context,
            digest: Digest::of(b"x"),
            sha256: "0".repeat(64),
            identity: Digest::of(b"y"),
            from: "store".into(),
            signer: None,
            dependencies: vec![PackageDependency {
                name: name.clone(),
                range: VersionRange::any(),
                optional: true,
            }],
            conflicts: Vec::new(),
            extra: BTreeMap::new(),
        };
        lock.packages.insert(name, package);
        assert!(
            !String::from_utf8(lock.to_json()).unwrap().contains("\"context\":"),
            "old locks have none"
        );
        assert_eq!(PackageLock::parse(&lock.to_json()), Ok(lock.clone()));
        lock.context =
            Some(LockedContext { digest: Digest::of(b"z"), packages: lock.knowledge_digests() });
        assert_eq!(PackageLock::parse(&lock.to_json()), Ok(lock.clone()));
        let text = String::from_utf8(lock.to_json()).unwrap().replacen('{', "{\"more\": [1],", 1);
        assert!(
            String::from_utf8(PackageLock::parse(text.as_bytes()).unwrap().to_json())
                .unwrap()
                .contains("\"more\"")
        );
        for bad in ["", "{}", "{\"version\":2,\"requests\":{},\"packages\":{}}"] {
            assert!(PackageLock::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        let evil = String::from_utf8(lock.to_json()).unwrap().replace("@acme/context", "../../x");
        assert!(PackageLock::parse(evil.as_bytes()).is_err());
    }
}
