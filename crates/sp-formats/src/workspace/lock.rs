//! `.skills/.skillbag.lock`: what was installed from where, and what it looked like.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sp_tree::Digest;

use super::source::{LockedArchive, SourceRef};
use crate::redact::QueryAllowlist;

const LOCK_VERSION: u32 = 1;

/// What was installed from where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceLock {
    version: u32,
    /// By skill.
    pub skills: BTreeMap<String, LockedSkill>,
    /// What others wrote.
    #[serde(flatten)]
    extra: BTreeMap<String, serde_json::Value>,
}

/// Where a skill came from, and what it looked like when it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedSkill {
    /// The source, as it was written, without credentials, and with those parameters of its query that the user
    /// declared harmless.
    pub source: String,
    /// Whether the source has a query that is not recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub query: Option<LockedQuery>,
    /// The digest of the archive, if the source cannot be fetched without what is not recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub archive: Option<Digest>,
    /// The version that was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// The full commit, of a git source.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commit: Option<String>,
    /// The digest of the skill's tree.
    pub tree: Digest,
    /// The digest of the extra steps that were confirmed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steps: Option<Digest>,
    /// What others wrote.
    #[serde(flatten)]
    pub extra: BTreeMap<String, serde_json::Value>,
}

/// What a lock has of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LockedQuery {
    /// Not all of it: the rest may be a secret.
    Omitted,
}

impl LockedSkill {
    /// The source of the entry `name`, if it can be read.
    pub fn source_ref(&self, name: &str) -> Option<SourceRef> {
        let mut source = SourceRef::new(&self.source)
            .ok()?
            .with_query_allowlist(&QueryAllowlist::from_url(&self.source));
        if let (SourceRef::Web(web), Some(LockedQuery::Omitted)) = (&mut source, self.query) {
            web.locked = Some(LockedArchive { entry: name.into(), digest: self.archive });
        }
        Some(source)
    }
}

impl Default for WorkspaceLock {
    fn default() -> Self {
        Self { version: LOCK_VERSION, skills: BTreeMap::new(), extra: BTreeMap::new() }
    }
}

impl WorkspaceLock {
    /// Reads a lock. What is wrong is told as a fragment.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let lock: Self = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        match lock.version {
            LOCK_VERSION => Ok(lock),
            newer => Err(format!("version {newer} is not known")),
        }
    }

    /// The lock as it is stored.
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
    fn sb_20_a_lock_is_read_as_it_was_written_and_keeps_what_others_wrote() {
        let mut lock = WorkspaceLock::default();
        let skill = LockedSkill {
            source: "./x".into(),
            query: Some(LockedQuery::Omitted),
            archive: Some(Digest::of(b"zip")),
            version: None,
            commit: Some("a".repeat(40)),
            tree: Digest::of(b"x"),
            steps: None,
            extra: BTreeMap::new(),
        };
        lock.skills.insert("x".into(), skill);
        assert_eq!(WorkspaceLock::parse(&lock.to_json()), Ok(lock.clone()));
        let text = String::from_utf8(lock.to_json()).unwrap().replacen('{', "{\"more\": [1],", 1);
        let read = WorkspaceLock::parse(text.as_bytes()).unwrap();
        assert!(String::from_utf8(read.to_json()).unwrap().contains("\"more\""));
        assert!(WorkspaceLock::parse(b"{\"version\": 2, \"skills\": {}}").is_err());
        assert!(WorkspaceLock::parse(b"").is_err());
    }
}
