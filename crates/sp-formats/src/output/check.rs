//! JSON output of `sp check`, `sp cost` and `sp explain`.

use std::borrow::Cow;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use super::ErrorPositionItem;
use crate::report::LocatedFinding;

/// `sp check`, also with `--fix`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CheckReport {
    /// Number of checked items and findings.
    pub summary: CheckSummary,
    /// All findings, sorted by file and position.
    pub findings: Vec<FindingItem>,
    /// Token cost of each skill, sorted by path.
    pub skills: Vec<SkillCost>,
    /// Tokenizer that was used to count tokens.
    pub tokenizer: String,
    /// ID of the plan, for `--fix` with `--dry-run` or `--plan`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Files changed by `--fix`, or that would be changed with `--dry-run`.
    pub fixed: Vec<FixedFileItem>,
    /// Items that could not be read.
    pub unreadable: Vec<UnreadableItem>,
}

/// Number of checked items and findings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CheckSummary {
    #[serde(flatten)]
    pub checked: CheckedCounts,
    #[serde(flatten)]
    pub found: FindingCounts,
    /// Number of findings that `--fix` can fix.
    pub fixable: usize,
    /// Number of imports that were not checked; `--imports` checks them.
    pub imports_left: usize,
    /// Number of skills in hidden directories and in `node_modules/` of a repository, which are
    /// only checked if their directory is named.
    pub skills_left: usize,
    /// Number of findings that the project accepts, in `skillpack-accept.yaml`, in comments, or by
    /// the baseline. They are not listed.
    pub accepted: usize,
}

/// Number of findings of each severity.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FindingCounts {
    /// Number of errors.
    pub errors: usize,
    /// Number of warnings.
    pub warnings: usize,
    /// Number of notes.
    pub notes: usize,
}

/// A kind of item that `sp check` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedKind {
    /// Member of the JSON output, such as `context_packs`.
    pub key: &'static str,
    /// Singular noun, such as `context pack`.
    pub noun: &'static str,
}

/// Number of checked items of each kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedCounts(pub Vec<(CountedKind, usize)>);

impl Serialize for CheckedCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(kind, count)| (kind.key, count)))
    }
}

impl JsonSchema for CheckedCounts {
    fn schema_name() -> Cow<'static, str> {
        "CheckedCounts".into()
    }

    /// The members that programs rely on are named. Every further kind has a member of its own.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut count = |what: &str| {
            let mut count = generator.subschema_for::<usize>();
            count.insert("description".into(), format!("How many {what} were checked.").into());
            count
        };
        json_schema!({
            "type": "object",
            "properties": {
                "skills": count("skills"),
                "packs": count("packs"),
                "packages": count("packages"),
                "context_packs": count("context packs"),
            },
            "required": ["skills", "packs", "packages", "context_packs"],
            "additionalProperties": count("items of a further kind"),
        })
    }
}

/// Number of tokens in a skill, by when they are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkillCost {
    /// Directory of the skill.
    pub path: PathBuf,
    /// Name from the frontmatter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Tokens of the name and description, which are part of every session.
    pub always: usize,
    /// Tokens of the body of `SKILL.md`, which is read when the skill is used.
    pub body: usize,
    /// Tokens of all other files, which are read on demand.
    pub files: usize,
}

/// A file that `--fix` changed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FixedFileItem {
    /// Path of the file.
    pub file: String,
    /// Whether the file was written; `false` with `--dry-run`.
    pub applied: bool,
    /// The change as a unified diff.
    pub diff: String,
}

/// An item that could not be read.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UnreadableItem {
    /// Stable error code from `docs/errors.md`.
    pub code: String,
    /// What failed.
    pub message: String,
    /// Causes, outermost first.
    pub because: Vec<String>,
    /// Suggested fixes.
    pub hints: Vec<String>,
    /// The text in a file that the error is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<ErrorPositionItem>,
}

/// `sp cost`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CostReport {
    /// Tokenizer that was used to count tokens.
    pub tokenizer: String,
    /// Skills grouped by location, such as an agent's skills directory.
    pub groups: Vec<CostGroup>,
}

/// Skills in one location.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CostGroup {
    /// ID of the agent, if the location is an agent's skills directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sink: Option<String>,
    /// IDs of all agents of the command that read this skills directory.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub agents: Vec<String>,
    /// Name of the pack, if the skills are those that a pack selects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pack: Option<String>,
    /// Directory that contains the skills, or the pack file.
    pub path: PathBuf,
    /// Tokens of all names and descriptions, which are part of every session.
    pub always: usize,
    /// Tokens of all bodies.
    pub body: usize,
    /// Tokens of all other files.
    pub files: usize,
    /// Skills of the group, most expensive first.
    pub skills: Vec<SkillCost>,
}

/// `sp explain`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RuleList {
    /// Matching rules.
    pub rules: Vec<RuleItem>,
}

/// A rule that `sp check` can report.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RuleItem {
    /// Rule ID, such as `SP-17`.
    pub rule: String,
    /// Requirement in one line.
    pub title: String,
    /// Requirement in detail.
    pub what: String,
    /// Reason for the rule.
    pub why: String,
    /// Files that violate the rule.
    pub bad: Vec<ExampleItem>,
    /// The same files, corrected.
    pub good: Vec<ExampleItem>,
}

/// A file of an example.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ExampleItem {
    /// Path relative to the example.
    pub path: String,
    /// Content of a regular file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Target of a symbolic link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// A problem in a file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FindingItem {
    /// Rule ID, such as `SP-17`.
    pub rule: String,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// Path of the file.
    pub file: String,
    /// Start line, starting at 1.
    pub line: usize,
    /// Start column in characters, starting at 1.
    pub column: usize,
    /// End line; absent if the finding refers to the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<usize>,
    /// End column, exclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<usize>,
    /// Start offset in bytes, starting at 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_byte: Option<usize>,
    /// End offset in bytes, exclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_byte: Option<usize>,
    /// Description of the problem.
    pub message: String,
    /// How to fix the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Whether `sp check --fix` can fix the problem.
    pub fixable: bool,
    /// What an audit knows in addition.
    #[serde(flatten)]
    pub audit: Option<AuditFindingDetails>,
}

/// What an audit knows about a finding, in addition to a check.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AuditFindingDetails {
    /// ID of the finding. It stays the same while the file contains the same text.
    pub id: String,
    /// Class of danger, such as `exfiltration`.
    pub class: String,
    /// Possible damage: `high`, `medium` or `low`.
    pub risk: String,
    /// Probability that the finding is right: `certain`, `likely` or `hint`.
    pub confidence: String,
    /// Text after decoding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoded: Option<String>,
    /// Why it matters.
    pub why: String,
}

impl FindingItem {
    pub fn new(file: &str, placed: &LocatedFinding) -> Self {
        let LocatedFinding { finding, location: place } = placed;
        let place = place.as_ref();
        Self {
            rule: finding.check.id.into(),
            severity: finding.severity.as_str().into(),
            file: file.into(),
            line: place.map_or(1, |place| place.start.line),
            column: place.map_or(1, |place| place.start.column),
            end_line: place.map(|place| place.end.line),
            end_column: place.map(|place| place.end.column),
            start_byte: place.map(|place| place.span.start),
            end_byte: place.map(|place| place.span.end),
            message: finding.message.clone(),
            help: finding.help.clone(),
            fixable: !finding.fix.is_empty(),
            audit: finding.audit.as_deref().map(|details| AuditFindingDetails {
                id: details.id.clone(),
                class: details.class.into(),
                risk: details.risk.into(),
                confidence: details.confidence.into(),
                decoded: details.decoded.clone(),
                why: finding.check.why.into(),
            }),
        }
    }
}
