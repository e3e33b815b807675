//! JSON output of `sp audit`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{CheckedCounts, FindingCounts, FindingItem, UnreadableItem};

/// `sp audit`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AuditReport {
    /// How many items were audited, and how many findings there are.
    pub summary: AuditSummary,
    /// What was found against the rules of safety, sorted by file and place.
    pub findings: Vec<FindingItem>,
    /// What each skill brings, asks for and names, sorted by path.
    pub skills: Vec<AuditedSkill>,
    /// Who signed each package, sorted by path.
    pub packages: Vec<AuditedPackage>,
    /// What could not be read at all.
    pub unreadable: Vec<UnreadableItem>,
}

/// How many items were audited, and how many findings there are.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AuditSummary {
    #[serde(flatten)]
    pub checked: CheckedCounts,
    #[serde(flatten)]
    pub found: FindingCounts,
}

/// What somebody should know of a skill before trusting it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuditedSkill {
    /// The skill's folder.
    pub path: PathBuf,
    /// The skill's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The tools that it asks to use without a question.
    pub allowed_tools: FactList,
    /// Its files that are made to be run: by their mode, their first line or their ending.
    pub scripts: FactList,
    /// The hosts of the addresses that its texts name, without this machine.
    pub hosts: FactList,
    /// Its files in which something looks like a secret.
    pub secrets: FactList,
}

/// Some names, of which not all may be listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FactList {
    /// How many there are; 1000 means as many or more.
    pub count: usize,
    /// The first 50 of them, sorted.
    pub listed: Vec<String>,
}

/// Who signed a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuditedPackage {
    /// The file.
    pub path: PathBuf,
    /// The package's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The key that signed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// As `sp pkg verify` says: `passed` if the key is trusted, `warned` if it is new, `failed` if
    /// it is refused, `skipped` if nobody signed it.
    pub signer: String,
    /// The same in words.
    pub detail: String,
}
