//! JSON output of `sp check`, `sp cost` and `sp explain`.

use std::borrow::Cow;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::report::LocatedFinding;

/// `sp check`, also with `--fix`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CheckReport {
    /// How many items were checked, and how many findings there are.
    pub summary: CheckSummary,
    /// Everything that was found, sorted by file and place.
    pub findings: Vec<FindingItem>,
    /// What each skill costs, sorted by path.
    pub skills: Vec<SkillCost>,
    /// Which tokenizer counted.
    pub tokenizer: String,
    /// The files that were mended, or would be with `--dry-run`.
    pub fixed: Vec<FixedFileItem>,
    /// What could not be read at all.
    pub unreadable: Vec<UnreadableItem>,
}

/// How many items were checked, and how many findings there are.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CheckSummary {
    #[serde(flatten)]
    pub checked: CheckedCounts,
    #[serde(flatten)]
    pub found: FindingCounts,
    /// How many findings `--fix` would fix.
    pub fixable: usize,
    /// How many imports were not looked at; `--imports` does.
    pub imports_left: usize,
}

/// How many findings there are.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FindingCounts {
    /// How many errors there are.
    pub errors: usize,
    /// How many warnings there are.
    pub warnings: usize,
    /// How many notes there are.
    pub notes: usize,
}

/// A kind of item that `sp check` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedKind {
    /// The member of the JSON output, such as `context_packs`.
    pub key: &'static str,
    /// Such as `context pack`.
    pub noun: &'static str,
}

/// The number of checked items of each kind, as an object.
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

/// What a skill costs in tokens, by when it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkillCost {
    /// The skill's folder.
    pub path: PathBuf,
    /// The skill's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The name and description, which every session reads.
    pub always: usize,
    /// The body, which is read when the skill is used.
    pub body: usize,
    /// The other files, which are read when they are needed.
    pub files: usize,
}

/// A file that was mended.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FixedFileItem {
    /// The file.
    pub file: String,
    /// Whether it was written, or only shown.
    pub applied: bool,
    /// The change as a unified diff.
    pub diff: String,
}

/// Something that could not be read.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UnreadableItem {
    /// The stable code, from `docs/errors.md`.
    pub code: String,
    /// What failed.
    pub message: String,
    /// Why, outermost first.
    pub because: Vec<String>,
    /// What to do.
    pub hints: Vec<String>,
}

/// `sp cost`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CostReport {
    /// Which tokenizer counted.
    pub tokenizer: String,
    /// What is looked at together, such as an agent's sink.
    pub groups: Vec<CostGroup>,
}

/// Skills that are looked at together.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CostGroup {
    /// The sink's name, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sink: Option<String>,
    /// Where they are.
    pub path: PathBuf,
    /// The names and descriptions together: what every session pays before the first word.
    pub always: usize,
    /// All bodies together.
    pub body: usize,
    /// All other files together.
    pub files: usize,
    /// The skills, the dearest first.
    pub skills: Vec<SkillCost>,
}

/// `sp explain`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RuleList {
    /// The rules.
    pub rules: Vec<RuleItem>,
}

/// A rule that `sp check` can report.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RuleItem {
    /// Its id.
    pub rule: String,
    /// What it asks, in a line.
    pub title: String,
    /// What it asks.
    pub what: String,
    /// Why it is there.
    pub why: String,
    /// Files that break it.
    pub bad: Vec<ExampleItem>,
    /// The same files, mended.
    pub good: Vec<ExampleItem>,
}

/// A file of an example.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ExampleItem {
    /// Its path.
    pub path: String,
    /// Its text, if it is a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its target, if it is a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// A problem in a file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FindingItem {
    /// The rule's id.
    pub rule: String,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The line on which it ends; absent if it is about the file as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<usize>,
    /// The column behind its last character.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<usize>,
    /// The first of its bytes, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_byte: Option<usize>,
    /// The byte behind its last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_byte: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Whether `sp check --fix` mends it.
    pub fixable: bool,
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
        }
    }
}
