//! Output of the commands that show the state of a project.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::SkillFileChange;

/// `sp status`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProjectStatusReport {
    /// Path of the manifest.
    pub manifest: PathBuf,
    /// Whether every skill is as the manifest and the lockfile declare it.
    pub in_sync: bool,
    /// Sources, packages and context packs of the manifest that are not locked.
    pub unlocked: Vec<String>,
    /// The agents' directories, in the order of the manifest.
    pub sinks: Vec<SinkStatus>,
    /// The context packages, sorted by name. Those of skills are shown as their skills.
    pub packages: Vec<PackageStatusItem>,
    /// The context packs, sorted by location.
    pub context_packs: Vec<ContextPackStatusItem>,
}

/// A context pack of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackStatusItem {
    /// Path or URL, without secrets.
    pub location: String,
    /// ID of the locked version.
    pub pack_id: String,
    pub status: SkillStatus,
    /// What to know about the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A context package of a project.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageStatusItem {
    /// Name of the package, with its scope.
    pub name: String,
    /// Locked version.
    pub version: String,
    pub status: SkillStatus,
    /// What to know about the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The skills in a directory.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SinkStatus {
    /// The agents that read the directory.
    pub agents: Vec<String>,
    /// Path of the directory.
    pub path: PathBuf,
    /// Its skills, sorted by name.
    pub skills: Vec<SkillStatusItem>,
}

/// A skill in a directory.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SkillStatusItem {
    /// Name of the folder.
    pub name: String,
    pub status: SkillStatus,
    /// Source of the skill, with its ref; absent if it is foreign.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What to know about the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How a skill differs from the lockfile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SkillStatus {
    /// The locked version is installed.
    UpToDate,
    /// The installed version was edited.
    Edited,
    /// It is not installed.
    Missing,
    /// Another version than the locked one is installed.
    Unsynced,
    /// It is not installed, because its audit has certain findings.
    Blocked,
    /// The locked version is installed, and a newer one is known.
    Outdated,
    /// It is disabled on this machine.
    Disabled,
    /// Neither the manifest nor the lockfile has it.
    Foreign,
}

/// `sp why`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SkillReasonList {
    /// Path of the manifest.
    pub manifest: PathBuf,
    /// The skills that were asked for, sorted by name.
    pub skills: Vec<SkillReason>,
    /// The packages that were asked for, sorted by name.
    pub packages: Vec<PackageReason>,
    /// The context packs that were asked for, sorted by location.
    pub context_packs: Vec<ContextPackReason>,
}

/// Why a context pack is installed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ContextPackReason {
    /// Path or URL, without secrets.
    pub location: String,
    /// ID of the locked version.
    pub pack_id: String,
    /// The entry of the manifest, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<ManifestEntryItem>,
    /// The instruction files that it is installed in, relative to the project.
    pub files: Vec<String>,
}

/// Why a package is installed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageReason {
    /// Name of the package, with its scope.
    pub name: String,
    /// Locked version.
    pub version: String,
    /// URL of the registry, or `store`.
    pub from: String,
    /// The entry of the manifest, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<ManifestEntryItem>,
    /// The packages that depend on it.
    pub required_by: Vec<String>,
}

/// Why a skill is installed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SkillReason {
    /// Name of the folder.
    pub name: String,
    /// ID of the skill in its source.
    pub id: String,
    /// Source of the skill, with its ref.
    pub source: String,
    /// Locked commit, version or digest of the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The entries of the manifest that select it.
    pub entries: Vec<ManifestEntryItem>,
    /// The skills that need it, if no entry selects it.
    pub required_by: Vec<String>,
    /// The agents that it is installed for.
    pub agents: Vec<String>,
}

/// An entry of a manifest.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ManifestEntryItem {
    /// The source as written.
    pub source: String,
    /// File and line of the entry.
    pub location: String,
}

/// `sp diff`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SkillEditReport {
    /// The folders of the skill that were edited.
    pub folders: Vec<EditedFolder>,
}

/// A folder that was edited.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EditedFolder {
    /// Name of the folder.
    pub name: String,
    /// Path of the folder.
    pub path: PathBuf,
    /// The files that differ from the version that was installed.
    pub files: Vec<SkillFileChange>,
}

/// `sp restore --list`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TrashedSkillList {
    /// The folders in the trash, the newest first.
    pub folders: Vec<TrashedSkill>,
}

/// A folder in the trash.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TrashedSkill {
    /// Name of the folder.
    pub name: String,
    /// The run that replaced it, which identifies it.
    pub run: String,
    /// Path of the folder.
    pub path: PathBuf,
}
