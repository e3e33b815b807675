//! JSON output of `sp policy`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

/// Who set a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyLevel {
    /// An administrator, for all users of the machine.
    System,
    /// The user.
    User,
    /// The project.
    Project,
}

impl PolicyLevel {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// What a rule of a policy does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyEffect {
    /// The value is in a list `allow`.
    Allow,
    /// The value is in a list `deny`.
    Deny,
    /// There is a list `allow`, and the value is not in it.
    NotAllowed,
    /// Something is required.
    Require,
}

impl PolicyEffect {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::NotAllowed => "not-allowed",
            Self::Require => "require",
        }
    }
}

/// `sp policy show`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PolicyView {
    /// The files that apply, and the places where there is none, the system's first.
    pub files: Vec<PolicyFileItem>,
}

/// A policy file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PolicyFileItem {
    /// Who set it.
    pub level: PolicyLevel,
    /// Path of the file.
    pub path: PathBuf,
    /// Whether the file exists.
    pub exists: bool,
    /// Whom to ask about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    /// Its rules, in the order of the file.
    pub rules: Vec<PolicyRuleItem>,
}

/// A rule of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PolicyRuleItem {
    /// Who set it.
    pub level: PolicyLevel,
    /// Path of the file.
    pub file: PathBuf,
    /// First line, from 1.
    pub line: usize,
    /// First column, from 1, in characters.
    pub column: usize,
    /// The section: `sources`, `registries`, `signers`, `hosts`, `capabilities`, `severities`,
    /// `licenses`, `accept` or `require`.
    pub section: String,
    /// What the rule does.
    pub effect: PolicyEffect,
    /// The pattern or requirement, as written; absent if a value is not in a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// `sp policy check`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PolicyCheckReport {
    /// Whether everything may be installed.
    pub permitted: bool,
    /// The files that apply.
    pub files: Vec<PolicyFileItem>,
    /// What was checked, in the order of the arguments.
    pub targets: Vec<PolicyTargetItem>,
}

/// Something that was checked against the policies.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PolicyTargetItem {
    /// As named, or the source of a skill in the lockfile.
    pub target: String,
    /// Whether it may be installed.
    pub permitted: bool,
    /// The skills and packages that were checked. Empty if the source is denied, because then it is
    /// not read.
    pub checked: Vec<String>,
    /// The decisions that a rule of a policy makes.
    pub decisions: Vec<PolicyDecisionItem>,
}

/// What the policies decide about a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PolicyDecisionItem {
    /// The skill or package that it is about; absent for the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// `source`, `registry`, `signer`, `host`, `capability`, `severity`, `license`, `acceptance`,
    /// `lock` or `signature`.
    pub subject: String,
    /// The value, such as a host.
    pub value: String,
    /// Whether all policies permit it.
    pub permitted: bool,
    /// The rules that decide: those that deny it, or else those that allow it.
    pub rules: Vec<PolicyRuleItem>,
}
