//! The skills that are disabled on a machine: `disabled.json` in the home directory of `sp`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sp_tree::Digest;

use crate::json_record::impl_json_record;

const VERSION: u32 = 1;

/// Skills of projects that are not installed, although the manifest selects them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DisabledSkills {
    version: u32,
    #[serde(default)]
    pub skills: Vec<DisabledSkill>,
    /// Members written by a newer version.
    #[serde(flatten)]
    extra: BTreeMap<String, Value>,
}

/// A folder that is not installed into a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DisabledSkill {
    /// The absolute path of the manifest.
    pub manifest: String,
    /// The real path of the agents' directory.
    pub sink: String,
    pub folder: String,
    /// The edited version that was installed, if it was edited.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub edits: Option<DisabledEdits>,
    /// Members written by a newer version.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// An edited version, and the version that was edited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisabledEdits {
    pub edited: Digest,
    pub base: Digest,
}

impl Default for DisabledSkills {
    fn default() -> Self {
        Self { version: VERSION, skills: Vec::new(), extra: BTreeMap::new() }
    }
}

impl DisabledSkills {
    /// Returns the record of a folder.
    pub fn find(&self, manifest: &str, sink: &str, folder: &str) -> Option<&DisabledSkill> {
        self.skills
            .iter()
            .find(|it| it.manifest == manifest && it.sink == sink && it.folder == folder)
    }
}

impl_json_record!(VERSION => DisabledSkills);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JsonRecord;

    #[test]
    fn lc_16_unknown_members_of_disabled_skills_are_kept() {
        let text = r#"{"version": 1, "new": 1, "skills": [{"manifest": "/m", "sink": "/s",
                       "folder": "a", "more": true}]}"#;
        let disabled = DisabledSkills::parse(text.as_bytes()).unwrap();
        assert!(disabled.find("/m", "/s", "a").is_some());
        assert!(disabled.find("/m", "/s", "b").is_none());
        let rewritten = DisabledSkills::parse(&disabled.to_json()).unwrap();
        assert_eq!(rewritten, disabled);
        let rewritten = String::from_utf8(disabled.to_json()).unwrap();
        assert!(rewritten.contains("\"new\": 1") && rewritten.contains("\"more\": true"));
        assert!(DisabledSkills::parse(b"{\"version\": 2}").is_err());
    }
}
