//! What an audit reports: findings with a class, a risk and a confidence.

use serde::{Deserialize, Serialize};
use std::ops::Range;

use sp_formats::rules::CheckRule;
use sp_formats::rules::audit as rules;
use sp_formats::rules::safety::SE_09;
use sp_tree::Digest;

/// The kind of danger that a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AuditClass {
    /// Text that people do not see, or that looks like other text.
    Hidden,
    /// Instructions that override the agent, ask for silence, or address a reviewer.
    Override,
    /// Credentials in the files of the skill.
    Secret,
    /// Private data that is sent somewhere.
    Exfiltration,
    /// Changes that outlive the task.
    Persistence,
    /// Code that hides what it does.
    Obfuscation,
    /// Commands that destroy data or traces.
    Destructive,
    /// Commands that raise privileges or remove protection.
    Privilege,
    /// Code or instructions that are loaded when the skill is used.
    Remote,
    /// Tools that the skill may use without asking.
    ToolGrant,
    /// A name that imitates another one.
    Typosquat,
    /// Requests that only notify someone that the skill is used.
    Tracker,
    /// Content that the audit cannot read.
    Opaque,
    /// Differences between what a skill declares and what it contains.
    Mismatch,
}

impl AuditClass {
    pub const ALL: [Self; 14] = [
        Self::Hidden,
        Self::Override,
        Self::Secret,
        Self::Exfiltration,
        Self::Persistence,
        Self::Obfuscation,
        Self::Destructive,
        Self::Privilege,
        Self::Remote,
        Self::ToolGrant,
        Self::Typosquat,
        Self::Tracker,
        Self::Opaque,
        Self::Mismatch,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hidden => "hidden-text",
            Self::Override => "override",
            Self::Secret => "secret",
            Self::Exfiltration => "exfiltration",
            Self::Persistence => "persistence",
            Self::Obfuscation => "obfuscation",
            Self::Destructive => "destructive",
            Self::Privilege => "privilege",
            Self::Remote => "remote-content",
            Self::ToolGrant => "tool-grant",
            Self::Typosquat => "typosquat",
            Self::Tracker => "tracker",
            Self::Opaque => "opaque",
            Self::Mismatch => "mismatch",
        }
    }

    /// What to do about a finding of this class.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Hidden => "remove it: agents read this text, but people cannot see it",
            Self::Override => "remove the sentence, or quote it if it is an example",
            Self::Secret => "revoke the credential, and read it from the environment",
            Self::Exfiltration => "do not install it unless you know the host and agree",
            Self::Persistence => "leave such changes to the user",
            Self::Obfuscation => "replace it with readable code",
            Self::Destructive => "name the files that the task created",
            Self::Privilege => "do not run it, or let an administrator run it",
            Self::Remote => "download the content, review it, and add it to the skill",
            Self::ToolGrant => "name the commands that the skill requires",
            Self::Typosquat => "check that this is the name that you mean",
            Self::Tracker => "remove the request",
            Self::Opaque => "ask for the source, or open it in a sandbox",
            Self::Mismatch => "correct the description, or remove what contradicts it",
        }
    }

    /// The rule that findings of this class report.
    pub fn rule(self) -> &'static CheckRule {
        match self {
            Self::Hidden => &SE_09,
            Self::Override => &rules::AU_21,
            Self::Secret => &rules::AU_22,
            Self::Exfiltration => &rules::AU_23,
            Self::Persistence => &rules::AU_24,
            Self::Obfuscation => &rules::AU_25,
            Self::Destructive => &rules::AU_26,
            Self::Privilege => &rules::AU_27,
            Self::Remote => &rules::AU_28,
            Self::ToolGrant => &rules::AU_29,
            Self::Typosquat => &rules::AU_30,
            Self::Tracker => &rules::AU_31,
            Self::Opaque => &rules::AU_32,
            Self::Mismatch => &rules::AU_33,
        }
    }
}

/// How much damage is possible if a finding is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Risk {
    Low,
    Medium,
    High,
}

impl Risk {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// How probable it is that a finding is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Confidence {
    /// Often harmless, or quoted.
    Hint,
    /// Usually right. Prose is never more than this.
    Likely,
    /// There is no harmless explanation.
    Certain,
}

impl Confidence {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hint => "hint",
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }
}

/// A finding before its position is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Detection {
    pub class: AuditClass,
    pub risk: Risk,
    pub confidence: Confidence,
    pub message: String,
}

impl Detection {
    pub(super) fn new(
        class: AuditClass,
        risk: Risk,
        confidence: Confidence,
        message: impl Into<String>,
    ) -> Self {
        Self { class, risk, confidence, message: message.into() }
    }
}

/// A danger in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditFinding {
    pub class: AuditClass,
    pub risk: Risk,
    pub confidence: Confidence,
    /// The path of the file in the audited tree.
    pub file: String,
    /// The bytes of the file; `None` for the whole file.
    pub span: Option<Range<usize>>,
    /// One-based line of the start.
    pub line: u32,
    /// One-based column of the start, in characters.
    pub column: u32,
    /// What was found, as a fragment without a period.
    pub message: String,
    /// The text after decoding. It is unescaped: escape it before printing.
    pub decoded: Option<String>,
    /// Identifies the finding as long as the file contains the same text: see `finding_id`.
    pub id: String,
}

/// Returns the ID of a finding: its rule, and a digest of the file name, the message and the text.
///
/// The text is that of the line. Positions are not part of it, so an edit elsewhere in the file
/// keeps the ID.
pub(super) fn finding_id(detection: &Detection, file: &str, text: &str) -> String {
    let rule = detection.class.rule().id;
    let key = format!("{rule}\0{file}\0{}\0{text}", detection.message);
    let digest = Digest::of(key.as_bytes()).to_string();
    let hex = digest.rsplit(':').next().unwrap_or_default();
    format!("{rule}-{}", &hex[..hex.len().min(10)])
}
