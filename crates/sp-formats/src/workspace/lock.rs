//! `.skills/.skillbag.lock`: the sources and digests of installed skills.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sp_tree::Digest;

use super::source::{LockedArchive, SourceRef};
use crate::json_record::impl_json_record;
use crate::redact::QueryAllowlist;

const LOCK_VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceLock {
    version: u32,
    /// By skill name.
    pub skills: BTreeMap<String, LockedSkill>,
    /// Members written by other tools.
    #[serde(flatten)]
    extra: BTreeMap<String, serde_json::Value>,
}

/// The source of a skill, and its digest when it was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedSkill {
    /// The source as written, without credentials, and with only those query parameters that the
    /// user declared harmless.
    pub source: String,
    /// Whether the source has a query that is not recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub query: Option<LockedQuery>,
    /// The digest of the archive, if the recorded source is not enough to fetch it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub archive: Option<Digest>,
    /// The requested version.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// The full commit of a git source.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commit: Option<String>,
    /// The digest of the skill's tree.
    pub tree: Digest,
    /// The digest of the additional installation steps that the user confirmed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steps: Option<Digest>,
    /// Members written by other tools.
    #[serde(flatten)]
    pub extra: BTreeMap<String, serde_json::Value>,
}

/// How much of the query a lockfile records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LockedQuery {
    /// Not all of it, because the rest may be secret.
    Omitted,
}

impl LockedSkill {
    /// Returns the source of the entry `name`, if it is valid.
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

impl_json_record!(LOCK_VERSION => WorkspaceLock);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JsonRecord;

    #[test]
    fn sb_20_lock_round_trips_with_unknown_members() {
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
