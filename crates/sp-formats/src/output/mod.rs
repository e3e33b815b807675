//! What `--format json` prints, one type per command.
//!
//! The format is stable: members are added, but never removed, renamed or changed in type. Doc
//! comments on the types and their fields are descriptions in the published JSON Schema. Types here
//! are only serialized; nothing is decided here.

mod audit;
mod check;
mod context_pack;
mod doctor;
mod mcp;
mod pkg;
mod policy;
mod project;
mod project_status;
mod registry;
mod workspace;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use sp_tree::transaction::TrashedEntry;

pub use audit::*;
pub use check::*;
pub use context_pack::*;
pub use doctor::*;
pub use mcp::*;
pub use pkg::*;
pub use policy::*;
pub use project::*;
pub use project_status::*;
pub use registry::*;
pub use workspace::*;

/// `sp list`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SkillList {
    /// The repository: the directory that contains `skills/` and `packs/`.
    pub root: PathBuf,
    /// Local skills, sorted by ID.
    pub skills: Vec<SkillItem>,
    /// Directories with a `SKILL.md` that are not skills because they contain other skills.
    pub hidden: Vec<String>,
}

/// A local skill.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SkillItem {
    /// Path below `skills/`.
    pub id: String,
    /// Directory of the skill.
    pub path: PathBuf,
    /// Description from the frontmatter, if it can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// `sp packs`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackList {
    /// The repository: the directory that contains `skills/` and `packs/`.
    pub root: PathBuf,
    /// Packs of the repository, sorted by name.
    pub packs: Vec<PackItem>,
}

/// A pack file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackItem {
    /// Name of the pack; the file name without its extension if the file is invalid.
    pub name: String,
    /// Path of the pack file.
    pub path: PathBuf,
    /// Whether the file is a valid pack. If not, `sp show` reports the errors.
    pub valid: bool,
}

/// `sp show`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackView {
    /// Name of the pack.
    pub pack: String,
    /// Path of the pack file.
    pub pack_file: PathBuf,
    /// Selected skills in installation order: local skills first, then imported ones.
    pub skills: Vec<SelectedSkillItem>,
    /// Imports of the pack, in the order of the file.
    pub imports: Vec<ImportItem>,
}

/// A selected skill.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SelectedSkillItem {
    /// ID of the skill in its source.
    pub id: String,
    /// Index in `imports` of the import that provides the skill; absent for local skills.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<usize>,
    /// Name of the directory that the skill is installed as.
    pub folder: String,
}

/// An import and the commit that it resolved to.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImportItem {
    /// Repository as written in the pack, without credentials.
    pub repo: String,
    /// Tag, branch or commit that the pack requests.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub git_ref: Option<String>,
    /// Full hash of the resolved commit.
    pub commit: String,
}

/// `sp install`, `sp uninstall` and `sp switch`, also with `--dry-run`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackChangeReport {
    /// Whether the changes were applied; `false` for a dry run.
    pub applied: bool,
    /// ID of the plan. `--plan <ID>` applies exactly these changes, or fails.
    pub plan: String,
    /// Changes in each agent's skills directory.
    pub sinks: Vec<SinkChange>,
}

/// Whether a plan was applied, and its ID.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanStatus {
    /// Whether the changes were applied; `false` for a dry run.
    pub applied: bool,
    /// ID of the plan. `--plan <ID>` applies exactly these changes, or fails.
    pub plan: String,
}

/// Changes in one agent's skills directory.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SinkChange {
    /// ID of the first agent, or `custom` for a directory given with `--path`.
    pub sink: String,
    /// IDs of all agents that the command changes the directory for.
    pub agents: Vec<String>,
    /// Real path of the skills directory.
    pub path: PathBuf,
    /// Default directory of the agent, if it reads `path` instead on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<PathBuf>,
    /// Directory that packs move to, because the agent does not read this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<PathBuf>,
    /// Whether anything changes: folders, packs, or the agents that a pack is installed for.
    pub changed: bool,
    /// Packs that this command installs in the directory.
    pub packs: Vec<String>,
    /// Packs that this command removes from the directory.
    pub removed_packs: Vec<String>,
    /// Packs that this command uninstalls only for `agents`, with the other agents that read the
    /// directory. The folders stay.
    pub released_packs: Vec<SharedPackItem>,
    /// Packs in the directory that are also installed for other agents, or only for others, if the
    /// command would have replaced them.
    pub shared_packs: Vec<SharedPackItem>,
    /// Changed and unchanged skill folders, in the order of the plan.
    pub folders: Vec<FolderChange>,
    /// Replaced or removed folders that had been edited and were moved to the trash.
    pub kept: Vec<TrashedFolder>,
}

/// A pack in a directory that several agents read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SharedPackItem {
    /// Name of the pack.
    pub pack: String,
    /// IDs of the other agents that it is installed for.
    pub agents: Vec<String>,
}

/// What happens to one skill folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FolderChange {
    /// Name of the folder.
    pub folder: String,
    /// Pack that the folder belongs to.
    pub pack: String,
    /// ID of the skill, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The change.
    pub action: FolderAction,
    /// Whether the folder has been edited since it was installed.
    pub edited: bool,
}

/// A change to a folder, skill or package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FolderAction {
    /// It is added.
    Add,
    /// Its content changes.
    Update,
    /// It is removed.
    Remove,
    /// It does not change.
    Keep,
}

/// An edited folder that was moved to the trash.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TrashedFolder {
    /// Name of the folder in its original directory.
    pub folder: String,
    /// Current path of the folder. `sp clean` deletes it.
    pub kept_at: PathBuf,
}

impl From<TrashedEntry> for TrashedFolder {
    fn from(entry: TrashedEntry) -> Self {
        let folder = entry.from.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { folder, kept_at: entry.to }
    }
}

/// `sp installed`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct InstalledList {
    /// Installed packs, sorted by agent and pack.
    pub installs: Vec<InstalledItem>,
}

/// A pack installed for an agent.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct InstalledItem {
    /// ID of the first agent.
    pub sink: String,
    /// IDs of all agents that the pack is installed for.
    pub agents: Vec<String>,
    /// Skills directory of the agents.
    pub path: PathBuf,
    /// Name of the pack.
    pub pack: String,
    /// Pack file that was installed.
    pub pack_file: String,
    /// Names of the installed skill folders.
    pub folders: Vec<String>,
    /// Imports of the pack with the commits that were installed.
    pub imports: Vec<ImportItem>,
    /// Time of installation, in RFC 3339.
    pub installed_at: String,
}

/// `sp config`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ConfigView {
    /// Home directory of `sp`: `~/.skillpack`, or `SKILLPACK_HOME`.
    pub home: PathBuf,
    /// Path of the config file, which may not exist.
    pub config_file: PathBuf,
    /// Directory of cached git repositories.
    pub cache: PathBuf,
    /// All known agents: built-in and configured ones first.
    pub sinks: Vec<SinkItem>,
    /// Limits in effect.
    pub limits: Vec<LimitItem>,
}

/// An agent and its skills directory.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SinkItem {
    /// ID of the agent for `--agent`.
    pub sink: String,
    /// Display name of the agent.
    pub agent: String,
    /// Skills directory for global installs; absent if the agent has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Skills directory for project installs, relative to the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_path: Option<PathBuf>,
    /// Where the entry is defined.
    pub origin: SinkOrigin,
    /// Whether the agent was detected on this machine.
    pub found: bool,
    /// Default directory of the agent, if it reads `path` instead on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<PathBuf>,
    /// Directory that the agent reads on this machine, if the config file defines another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<PathBuf>,
}

/// Where an agent's skills directory is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SinkOrigin {
    /// Defined by the Skillpacks format.
    BuiltIn,
    /// Defined in the config file.
    Config,
    /// Defined in the table of agents.
    Table,
}

/// A limit in effect.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LimitItem {
    /// Name of the limit for `--limit`.
    pub name: String,
    /// Current maximum.
    pub value: u64,
}

/// `sp init`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct InitReport {
    #[serde(flatten)]
    pub status: PlanStatus,
    /// Root directory of the new repository.
    pub root: PathBuf,
    /// Name of the generated pack.
    pub pack: String,
    /// Files of the new repository.
    pub files: Vec<String>,
}

/// `sp clean`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CleanReport {
    #[serde(flatten)]
    pub status: PlanStatus,
    /// Files and directories that are deleted.
    pub removed: Vec<PathBuf>,
    /// The same with their sizes.
    pub items: Vec<CleanedItem>,
    /// Total size in bytes.
    pub bytes: u64,
}

/// A file or directory that is deleted.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CleanedItem {
    pub path: PathBuf,
    /// Size in bytes.
    pub bytes: u64,
}

/// Printed on stderr when a command fails.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ErrorReport {
    /// The error that ended the command.
    pub error: ErrorItem,
}

/// An error.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ErrorItem {
    /// Stable error code: the rule ID of the first finding, or a code from `docs/errors.md`.
    pub code: String,
    /// Exit code of the process.
    pub exit_code: u8,
    /// What failed.
    pub message: String,
    /// Causes, outermost first.
    pub because: Vec<String>,
    /// Suggested fixes.
    pub hints: Vec<String>,
    /// Findings that caused the error, if any.
    pub findings: Vec<FindingItem>,
    /// The text in a file that the error is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<ErrorPositionItem>,
}

/// The text in a file that an error is about.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ErrorPositionItem {
    /// Path of the file.
    pub file: String,
    /// First line, from 1.
    pub line: usize,
    /// First column, from 1, in characters.
    pub column: usize,
}

/// The JSON Schemas of the output by command.
pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
    vec![
        ("list", schemars::schema_for!(SkillList)),
        ("packs", schemars::schema_for!(PackList)),
        ("show", schemars::schema_for!(PackView)),
        ("install", schemars::schema_for!(PackChangeReport)),
        ("installed", schemars::schema_for!(InstalledList)),
        ("config", schemars::schema_for!(ConfigView)),
        ("init", schemars::schema_for!(InitReport)),
        ("clean", schemars::schema_for!(CleanReport)),
        ("check", schemars::schema_for!(CheckReport)),
        ("audit", schemars::schema_for!(AuditReport)),
        ("audit --diff", schemars::schema_for!(AuditChanges)),
        ("policy check", schemars::schema_for!(PolicyCheckReport)),
        ("policy show", schemars::schema_for!(PolicyView)),
        ("cost", schemars::schema_for!(CostReport)),
        ("explain", schemars::schema_for!(RuleList)),
        ("bag add", schemars::schema_for!(WorkspaceChangeReport)),
        ("bag list", schemars::schema_for!(WorkspaceSkillList)),
        ("bag deps", schemars::schema_for!(WorkspaceDependencyReport)),
        ("bag enter", schemars::schema_for!(WorkspaceOverview)),
        ("bag run", schemars::schema_for!(WorkspaceRunReport)),
        ("bag params", schemars::schema_for!(ParameterList)),
        ("login", schemars::schema_for!(RegistryLoginReport)),
        ("publish", schemars::schema_for!(RegistryPublishReport)),
        ("publisher", schemars::schema_for!(RegistryPublisherReport)),
        ("registry-info", schemars::schema_for!(RegistryPackageInfo)),
        ("search", schemars::schema_for!(RegistrySearchReport)),
        ("yank", schemars::schema_for!(RegistryYankReport)),
        ("mcp", schemars::schema_for!(McpStartReport)),
        ("serve", schemars::schema_for!(RegistryStartReport)),
        ("serve backup", schemars::schema_for!(RegistryBackupReport)),
        ("serve token", schemars::schema_for!(RegistryTokenReport)),
        ("serve verify", schemars::schema_for!(RegistryVerifyReport)),
        ("serve gc", schemars::schema_for!(RegistryGarbageReport)),
        ("serve delete", schemars::schema_for!(RegistryDeleteReport)),
        ("context build", schemars::schema_for!(ContextPackBuildReport)),
        ("context kb add", schemars::schema_for!(KbAddReport)),
        ("context kb list", schemars::schema_for!(KbList)),
        ("context kb remove", schemars::schema_for!(KbRemoveReport)),
        ("context kb search", schemars::schema_for!(KbSearchReport)),
        ("context kb stats", schemars::schema_for!(KbStats)),
        ("context seal", schemars::schema_for!(ContextPackWriteReport)),
        ("context zip", schemars::schema_for!(ContextPackZipReport)),
        ("context show", schemars::schema_for!(ContextPackView)),
        ("context push", schemars::schema_for!(ContextPackPushReport)),
        ("context url", schemars::schema_for!(ContextPackUrlReport)),
        ("context revoke", schemars::schema_for!(ContextPackRevokeReport)),
        ("context diff", schemars::schema_for!(ContextPackDiff)),
        ("pkg create", schemars::schema_for!(StoredPackageList)),
        ("pkg list", schemars::schema_for!(PackageList)),
        ("pkg info", schemars::schema_for!(PackageInfo)),
        ("pkg export", schemars::schema_for!(PackageExportReport)),
        ("pkg remove", schemars::schema_for!(PackageRemoveReport)),
        ("pkg log", schemars::schema_for!(PackageLog)),
        ("pkg verify", schemars::schema_for!(PackageVerification)),
        ("pkg diff", schemars::schema_for!(PackageDiff)),
        ("pkg install", schemars::schema_for!(PackageChangeReport)),
        ("pkg merge", schemars::schema_for!(PackageMergeReport)),
        ("pkg query", schemars::schema_for!(GraphView)),
        ("pkg stale", schemars::schema_for!(StaleReport)),
        ("pkg load", schemars::schema_for!(PackageLoadReport)),
        ("pkg send", schemars::schema_for!(PackageSendReport)),
        ("pkg receive", schemars::schema_for!(PackageReceiveEvent)),
        ("key list", schemars::schema_for!(KeyList)),
        ("mcp install", schemars::schema_for!(McpChangeReport)),
        ("add", schemars::schema_for!(ProjectAddReport)),
        ("add --list", schemars::schema_for!(SourceContentList)),
        ("sync", schemars::schema_for!(ProjectChangeReport)),
        ("outdated", schemars::schema_for!(OutdatedList)),
        ("migrate", schemars::schema_for!(ProjectMigrationReport)),
        ("status", schemars::schema_for!(ProjectStatusReport)),
        ("why", schemars::schema_for!(SkillReasonList)),
        ("diff", schemars::schema_for!(SkillEditReport)),
        ("restore --list", schemars::schema_for!(TrashedSkillList)),
        ("doctor", schemars::schema_for!(DoctorReport)),
        ("error", schemars::schema_for!(ErrorReport)),
    ]
}
