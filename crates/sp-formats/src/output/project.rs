//! Output of the commands that manage the manifest of a project.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    AuditedSkill, ChangeKind, ContextPackFileItem, ContextPackWrittenFile, FindingItem,
    GraphChangeReport, PackageChangeItem, PlanStatus, SinkChange, SkillCost, TrashedFolder,
    WorkspaceChangeReport,
};

/// `sp add`, `sp sync`, `sp remove` and `sp update`, also with `--dry-run`
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct ProjectChangeReport {
    #[serde(flatten)]
    pub status: PlanStatus,
    /// Path of the manifest.
    pub manifest: PathBuf,
    /// Whether the manifest changes.
    pub manifest_changed: bool,
    /// Whether the lockfile changes.
    pub lock_changed: bool,
    /// Files in which conflicts of a merge were resolved.
    pub united: Vec<String>,
    /// Lockfiles whose content moves to `skillpack.lock`.
    pub converted: Vec<String>,
    /// Skills whose version in the lockfile changes, sorted by name.
    pub skills: Vec<ProjectSkillChange>,
    /// Changes in each agent's skills directory.
    pub sinks: Vec<SinkChange>,
    /// Skills that were edited locally, and what happens to them.
    pub edits: Vec<EditedSkillItem>,
    /// Changes of the SkillBag workspace in the same directory; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceChangeReport>,
    /// Packages, sorted by name.
    pub packages: Vec<PackageChangeItem>,
    /// Changes to the merged graph of the packages; absent if it does not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<GraphChangeReport>,
    /// Context packs whose version in the lockfile changes, sorted by location.
    pub context_packs: Vec<ContextPackChangeItem>,
    /// Instruction files of the project that context packs are installed in, such as `AGENTS.md`.
    pub instructions: Vec<ContextPackWrittenFile>,
    /// Files that had been edited and were moved to the trash.
    pub kept: Vec<TrashedFolder>,
}

/// A context pack whose version changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackChangeItem {
    /// Path or URL, without secrets.
    pub location: String,
    /// ID of the new version; of a removed context pack, that of the old one.
    pub pack_id: String,
    /// What changes.
    pub change: ChangeKind,
}

/// A skill whose version changes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProjectSkillChange {
    /// Name of the folder.
    pub name: String,
    /// ID of the skill in its source.
    pub id: String,
    /// Source of the skill, with its ref.
    pub source: String,
    /// What changes.
    pub change: ChangeKind,
    /// Capabilities that an update adds, such as `host api.example.com`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added_capabilities: Vec<String>,
    /// Files that change; empty unless they were requested.
    pub files: Vec<SkillFileChange>,
}

/// A file of a skill that changes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SkillFileChange {
    /// Path in the skill.
    pub path: String,
    /// What changes.
    pub change: ChangeKind,
    /// Old text; absent if there is none or if it is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// New text; absent if there is none or if it is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A skill that was edited locally, and of which another version is to be installed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EditedSkillItem {
    /// Name of the folder.
    pub folder: String,
    /// Path of the folder.
    pub path: PathBuf,
    /// What happens to it.
    pub outcome: EditOutcome,
    /// Why the versions could not be merged.
    pub conflicts: Vec<EditConflictItem>,
}

/// What happens to an edited skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EditOutcome {
    /// The edits are merged with the newer version.
    Merged,
    /// The edited version stays.
    Kept,
    /// The newer version is installed, and the edited one is moved to the trash.
    Replaced,
    /// The edited version stays, because it conflicts with the newer one.
    Conflict,
}

/// A file that cannot be merged.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EditConflictItem {
    /// Path in the skill; absent if the whole folder cannot be merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Why it cannot be merged.
    pub reason: String,
}

/// `sp add --list`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SourceContentList {
    /// The sources, in the order of the arguments.
    pub sources: Vec<SourceContent>,
}

/// What a source contains.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SourceContent {
    /// The source, with its ref.
    pub source: String,
    /// Full commit of a git repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Version of a package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its skills.
    pub skills: Vec<OfferedSkillItem>,
    /// The context pack, if the source is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_pack: Option<OfferedContextPack>,
}

/// A context pack that a source consists of.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OfferedContextPack {
    /// ID of the context pack.
    pub pack_id: String,
    /// Name of the project that it describes.
    pub name: String,
    /// Description of the project.
    pub description: String,
    /// Files that are installed, with their tokens.
    pub files: Vec<ContextPackFileItem>,
    /// Problems that `sp check` reports.
    pub findings: Vec<FindingItem>,
}

/// A skill that a source contains.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OfferedSkillItem {
    /// Path in the source.
    pub id: String,
    /// Name of the skill.
    pub name: String,
    /// Description of the skill.
    pub description: String,
    /// Whether the command selects it.
    pub selected: bool,
    /// Tokens by when an agent reads them.
    pub cost: SkillCost,
    /// Problems that `sp check` and `sp audit` report.
    pub findings: Vec<FindingItem>,
    /// What to review before you trust it.
    pub facts: AuditedSkill,
}

/// `sp outdated`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OutdatedList {
    /// Path of the manifest.
    pub manifest: PathBuf,
    /// Sources and packages with a newer version, and those that could not be asked.
    pub sources: Vec<OutdatedSource>,
}

/// A source with a newer version.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OutdatedSource {
    /// The source, with its ref.
    pub source: String,
    /// Locked commit, version or digest.
    pub locked: String,
    /// Newest commit, version or digest that the manifest allows; absent if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<String>,
    /// What is unusual about it, such as a moved tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Names of the installed skills that come from it.
    pub skills: Vec<String>,
}

/// `sp add`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProjectAddReport {
    #[serde(flatten)]
    pub change: ProjectChangeReport,
    /// The sources, with the selected skills.
    pub sources: Vec<SourceContent>,
}

/// `sp migrate`, also with `--dry-run`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProjectMigrationReport {
    #[serde(flatten)]
    pub change: ProjectChangeReport,
    /// Files of other tools that were read.
    pub files: Vec<String>,
    /// Names of the skills that are taken over, sorted.
    pub adopted: Vec<String>,
    /// What is not taken over.
    pub skipped: Vec<SkippedMigrationItem>,
}

/// Something that another tool installed and that is not taken over.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SkippedMigrationItem {
    /// File, line and column.
    pub position: String,
    /// Its name in the file.
    pub name: String,
    /// Why it is not taken over.
    pub reason: String,
}
