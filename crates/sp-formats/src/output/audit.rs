//! JSON output of `sp audit`.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{CheckedCounts, FindingCounts, FindingItem, UnreadableItem};

/// `sp audit`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AuditReport {
    /// Number of audited items and findings.
    pub summary: AuditSummary,
    /// Security findings, sorted by file and position.
    pub findings: Vec<FindingItem>,
    /// Contents and permissions of each skill, sorted by path.
    pub skills: Vec<AuditedSkill>,
    /// Signer of each package, sorted by path.
    pub packages: Vec<AuditedPackage>,
    /// Items that could not be read.
    pub unreadable: Vec<UnreadableItem>,
}

/// Number of audited items and findings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AuditSummary {
    #[serde(flatten)]
    pub checked: CheckedCounts,
    #[serde(flatten)]
    pub found: FindingCounts,
    /// Number of findings that the project accepts, in `skillpack-accept.yaml`, in comments, or by
    /// the baseline. They are not listed.
    pub accepted: usize,
}

/// Facts about a skill that are relevant to whether it can be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuditedSkill {
    /// Directory of the skill.
    pub path: PathBuf,
    /// Name from the frontmatter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Tools that the skill requests to use without asking the user.
    pub allowed_tools: FactList,
    /// Executable files, recognized by mode, shebang line or extension.
    pub scripts: FactList,
    /// Hosts of the URLs in the skill's files, except loopback addresses.
    pub hosts: FactList,
    /// Values in the skill's files that appear to be secrets. Placeholders are left out.
    pub secrets: SecretList,
}

/// A list of possible secrets that may be truncated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SecretList {
    /// Total number of entries; 1000 means 1000 or more.
    pub count: usize,
    /// Up to 50 entries, sorted.
    pub listed: Vec<AuditedSecret>,
}

/// The position of a possible secret. Its value is not part of the output.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct AuditedSecret {
    /// Path of the file in the skill.
    pub file: String,
    /// Line, starting at 1.
    pub line: usize,
    /// Column in characters, starting at 1.
    pub column: usize,
    /// What it looks like, such as `access token`.
    pub kind: String,
}

impl fmt::Display for AuditedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{} ({})", self.file, self.line, self.column, self.kind)
    }
}

/// A list that may be truncated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FactList {
    /// Total number of entries; 1000 means 1000 or more.
    pub count: usize,
    /// The first 50 entries, sorted.
    pub listed: Vec<String>,
}

/// A package and its signer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuditedPackage {
    /// Path of the package file.
    pub path: PathBuf,
    /// Package name, including its scope.
    pub name: String,
    /// Package version.
    pub version: String,
    /// Public key that signed the package, in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Result of the `signer` step of `sp pkg verify`: `passed` if the key is trusted, `warned` if
    /// it is new, `failed` if it is rejected, `skipped` if the package is not signed.
    pub signer: String,
    /// Description of the result.
    pub detail: String,
}
