//! JSON output of `sp audit`.

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
    /// Errors are findings that are certain, warnings are likely, and notes are hints.
    #[serde(flatten)]
    pub found: FindingCounts,
    /// Number of findings that the project accepts, in `skillpack-accept.yaml`, in comments, or by
    /// the baseline. They are not listed.
    pub accepted: usize,
    /// Number of files of skills that were read as text.
    pub read_files: usize,
    /// Total bytes of these files.
    pub read_bytes: u64,
    /// Number of files of skills that were not read, or only in part.
    pub opaque_files: usize,
    /// Number of imports of packs that were not read.
    pub imports_left: usize,
}

/// Facts about a skill that are relevant to whether it can be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuditedSkill {
    /// Directory of the skill.
    pub path: PathBuf,
    /// Name from the frontmatter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the skill can do, sorted by kind and value.
    pub capabilities: Vec<CapabilityItem>,
    /// Executable files, recognized by mode, shebang line or extension.
    pub scripts: FactList,
    /// Files that were not read, or only in part, sorted by path.
    pub opaque: Vec<OpaqueItem>,
    /// Number of files that were read as text.
    pub read_files: usize,
    /// Total bytes of these files.
    pub read_bytes: u64,
}

/// Something that a skill can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CapabilityItem {
    /// `host`, `program`, `read`, `write`, `environment`, `secret`, `package-install`,
    /// `persistence`, `tool`, `mcp-server` or `remote-instructions`.
    pub kind: String,
    /// Host, program, path, variable or the like.
    pub value: String,
    /// The first positions at which it was found.
    pub positions: Vec<PositionItem>,
}

/// A position in a file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PositionItem {
    /// Path of the file in the skill.
    pub file: String,
    /// Line, starting at 1.
    pub line: u32,
    /// Column in characters, starting at 1.
    pub column: u32,
}

/// A file that was not read, or only in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OpaqueItem {
    /// Path of the file in the skill.
    pub file: String,
    /// `executable`, `bytecode`, `archive`, `document`, `media`, `binary`, `oversize`,
    /// `undecodable`, or `unparsed` for scripts that are searched but not parsed.
    pub reason: String,
    /// Size of the file.
    pub bytes: u64,
}

/// `sp audit --diff`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AuditChanges {
    /// Capabilities that only the new version has.
    pub added: Vec<CapabilityItem>,
    /// Capabilities that only the old version has.
    pub removed: Vec<CapabilityItem>,
    /// Findings that only the new version has, without hints.
    pub findings: Vec<ChangedFinding>,
}

/// A finding that an update adds.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangedFinding {
    /// ID of the finding.
    pub id: String,
    /// Rule ID, such as `AU-23`.
    pub rule: String,
    /// Class of danger, such as `exfiltration`.
    pub class: String,
    /// Possible damage: `high`, `medium` or `low`.
    pub risk: String,
    /// `certain` or `likely`.
    pub confidence: String,
    /// Path of the file in the skill.
    pub file: String,
    /// Line, starting at 1.
    pub line: u32,
    /// Column in characters, starting at 1.
    pub column: u32,
    /// Description of the danger.
    pub message: String,
    /// Text after decoding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoded: Option<String>,
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
