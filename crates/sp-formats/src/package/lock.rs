//! `ctxpkg.lock`: the exact packages of a project, and the history for rolling back.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sp_tree::{Digest, PublicKey};

use super::dependencies::PackageDependency;
use super::manifest::PackageKind;
use super::name::{PackageName, PackageVersion, VersionRange};
use super::recorded_source::RecordedSource;
use crate::json_record::{impl_json_record, to_json_file};

pub const LOCKFILE_NAME: &str = "ctxpkg.lock";
const VERSION: u32 = 1;

/// The packages of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageLock {
    version: u32,
    /// The requested packages.
    pub requests: BTreeMap<PackageName, VersionRange>,
    /// The resolved packages.
    pub packages: BTreeMap<PackageName, LockedPackage>,
    /// The merged graph of the context packages, if it is stored.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub context: Option<LockedContext>,
    /// Members written by other tools.
    #[serde(flatten)]
    extra: BTreeMap<String, serde_json::Value>,
}

/// The stored merged graph of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedContext {
    /// The digest of its file.
    pub digest: Digest,
    /// The digests of the merged packages.
    pub packages: BTreeSet<Digest>,
}

/// A resolved package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedPackage {
    pub version: PackageVersion,
    pub kind: PackageKind,
    /// The digest of its file.
    pub digest: Digest,
    /// The composite hash in its manifest.
    pub sha256: String,
    /// See [`Package::identity`](super::Package::identity).
    pub identity: Digest,
    pub from: RecordedSource,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub signer: Option<PublicKey>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub dependencies: Vec<PackageDependency>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub conflicts: Vec<PackageName>,
    /// Members written by other tools.
    #[serde(flatten)]
    pub extra: BTreeMap<String, serde_json::Value>,
}

impl Default for PackageLock {
    fn default() -> Self {
        let (requests, packages) = (BTreeMap::new(), BTreeMap::new());
        Self { version: VERSION, requests, packages, context: None, extra: BTreeMap::new() }
    }
}

impl_json_record!(VERSION => PackageLock);

impl PackageLock {
    /// The packages of a project whose manifest has the requests.
    pub fn of_manifest(
        requests: BTreeMap<PackageName, VersionRange>,
        packages: BTreeMap<PackageName, LockedPackage>,
        context: Option<LockedContext>,
    ) -> Self {
        Self { requests, packages, context, ..Self::default() }
    }

    /// The digests of the context packages.
    pub fn knowledge_digests(&self) -> BTreeSet<Digest> {
        let known = self.packages.values().filter(|package| package.kind == PackageKind::Context);
        known.map(|package| package.digest).collect()
    }
}

/// Earlier lockfiles of a project, for rolling back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LockHistory {
    /// Oldest first.
    pub entries: Vec<LockHistoryEntry>,
}

/// An earlier lockfile of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockHistoryEntry {
    /// When it was replaced.
    pub until: String,
    pub lock: PackageLock,
    /// The sinks that each package's skills were installed in: the name of each sink, and its path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub sinks: BTreeMap<PackageName, Vec<(String, String)>>,
}

impl LockHistory {
    /// Older entries are dropped.
    const MAX_ENTRIES: usize = 20;

    /// Parses a history. The error is a message fragment.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|e| e.to_string())
    }

    /// Appends a lockfile.
    pub fn with_entry(mut self, past: LockHistoryEntry) -> Self {
        self.entries.push(past);
        let first = self.entries.len().saturating_sub(Self::MAX_ENTRIES);
        self.entries.drain(..first);
        self
    }

    pub fn to_json(&self) -> Vec<u8> {
        to_json_file(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JsonRecord;

    #[test]
    fn pk_23_lock_round_trips_with_unknown_members() {
        let mut lock = PackageLock::default();
        let name = PackageName::new("@acme/context").unwrap();
        lock.requests.insert(name.clone(), VersionRange::new("^1"));
        let package = LockedPackage {
            version: PackageVersion::new("1.0.0").unwrap(),
            kind: PackageKind::Context,
            digest: Digest::of(b"x"),
            sha256: "0".repeat(64),
            identity: Digest::of(b"y"),
            from: RecordedSource::Store,
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
            "`context` is written only if it is set"
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
        let hostile =
            String::from_utf8(lock.to_json()).unwrap().replace("@acme/context", "../../x");
        assert!(PackageLock::parse(hostile.as_bytes()).is_err());
    }
}
