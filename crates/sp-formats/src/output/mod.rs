//! What `--format json` prints, one type per command.
//!
//! The format is stable: members are added, but never removed, renamed or changed in type. Doc
//! comments on the types and their fields are descriptions in the published JSON Schema. Types here
//! are only serialized; nothing is decided here.

mod audit;
mod check;
mod context_pack;
mod mcp;
mod pkg;
mod registry;
mod workspace;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use sp_tree::transaction::TrashedEntry;

pub use audit::*;
pub use check::*;
pub use context_pack::*;
pub use mcp::*;
pub use pkg::*;
pub use registry::*;
pub use workspace::*;

/// `sp list`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SkillList {
    /// The directory that holds `skills/` and `packs/`.
    pub root: PathBuf,
    /// The skills, sorted by id.
    pub skills: Vec<SkillItem>,
    /// Directories with a `SKILL.md` that are no skills because another stands below them.
    pub hidden: Vec<String>,
}

/// A local skill.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SkillItem {
    /// The path below `skills/`.
    pub id: String,
    /// Where it is.
    pub path: PathBuf,
}

/// `sp packs`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackList {
    /// The directory that holds `skills/` and `packs/`.
    pub root: PathBuf,
    /// The packs, sorted by name.
    pub packs: Vec<PackItem>,
}

/// A pack file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackItem {
    /// The pack's name.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// Whether it can be read; `sp show` says what is wrong if not.
    pub valid: bool,
}

/// `sp show`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackView {
    /// The pack's name.
    pub pack: String,
    /// The pack file.
    pub pack_file: PathBuf,
    /// The selected skills in the order of installation: local ones, then imports.
    pub skills: Vec<SelectedSkillItem>,
    /// What was imported, in the order of the file.
    pub imports: Vec<ImportItem>,
}

/// A selected skill.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SelectedSkillItem {
    /// The skill's id in its source.
    pub id: String,
    /// Which of the imports it comes from; none for a local skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<usize>,
    /// The folder that it gets in a sink.
    pub folder: String,
}

/// An import and what it resolved to.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImportItem {
    /// The repository, as the pack names it, without credentials.
    pub repo: String,
    /// The ref that the pack asks for.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub git_ref: Option<String>,
    /// The full commit.
    pub commit: String,
}

/// `sp install`, `sp uninstall` and `sp switch`, also with `--dry-run`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackChangeReport {
    /// Whether it was done, or only planned.
    pub applied: bool,
    /// What tells the plan from every other: `--plan` takes it, and does this and nothing else.
    pub plan: String,
    /// What changed, or would, by sink.
    pub sinks: Vec<SinkChange>,
}

/// What changed in one sink.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SinkChange {
    /// The sink's name.
    pub sink: String,
    /// Its real path.
    pub path: PathBuf,
    /// The packs that are installed there by this command.
    pub packs: Vec<String>,
    /// The packs that are removed from there by this command.
    pub removed_packs: Vec<String>,
    /// The folders, in the order of the plan.
    pub folders: Vec<FolderChange>,
    /// Old folders that were kept because they had been edited.
    pub kept: Vec<TrashedFolder>,
}

/// What happens to one folder.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FolderChange {
    /// The folder's name.
    pub folder: String,
    /// The pack that it belongs to.
    pub pack: String,
    /// The skill's id, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What happens.
    pub action: FolderAction,
    /// Whether somebody has edited the folder since it was installed.
    pub edited: bool,
}

/// What happens to a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FolderAction {
    /// It is new.
    Add,
    /// Its content changes.
    Update,
    /// It goes.
    Remove,
    /// It stays as it is.
    Keep,
}

/// An old folder that was kept.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TrashedFolder {
    /// The folder's name in the sink.
    pub folder: String,
    /// Where it is now, until `sp clean`.
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
    /// The records, sorted by sink and pack.
    pub installs: Vec<InstalledItem>,
}

/// A pack in a sink.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct InstalledItem {
    /// The sink's name.
    pub sink: String,
    /// The sink's path.
    pub path: PathBuf,
    /// The pack's name.
    pub pack: String,
    /// The pack file it came from.
    pub pack_file: String,
    /// The folders.
    pub folders: Vec<String>,
    /// What was imported.
    pub imports: Vec<ImportItem>,
    /// When, in RFC 3339.
    pub installed_at: String,
}

/// `sp config`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ConfigView {
    /// Skillpack's own directory.
    pub home: PathBuf,
    /// The config file, whether it exists or not.
    pub config_file: PathBuf,
    /// The git cache.
    pub cache: PathBuf,
    /// Every sink, built-in and configured ones first.
    pub sinks: Vec<SinkItem>,
    /// The limits in force.
    pub limits: Vec<LimitItem>,
}

/// A sink.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SinkItem {
    /// Its name, as `--agent` takes it.
    pub sink: String,
    /// The agent's own name.
    pub agent: String,
    /// Where a global install goes; none where the agent has no such place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Where a project install goes, from the project's directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_path: Option<PathBuf>,
    /// Where the sink comes from.
    pub origin: SinkOrigin,
    /// Whether the agent was found on this machine.
    pub found: bool,
    /// Where the agent really reads on this machine, if it is elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<PathBuf>,
}

/// Where a sink comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SinkOrigin {
    /// One of the format's own sinks.
    BuiltIn,
    /// The user's config.
    Config,
    /// The table of agents.
    Table,
}

/// A limit in force.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LimitItem {
    /// Its name, as `--limit` takes it.
    pub name: String,
    /// Its value.
    pub value: u64,
}

/// `sp init`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct InitReport {
    /// The new repository.
    pub root: PathBuf,
    /// The pack that it has.
    pub pack: String,
    /// The files that were written.
    pub files: Vec<String>,
}

/// `sp clean`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CleanReport {
    /// Whether it was done, or only planned.
    pub applied: bool,
    /// What was removed.
    pub removed: Vec<PathBuf>,
    /// Their bytes together.
    pub bytes: u64,
}

/// What is printed on stderr when a command fails.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ErrorReport {
    /// The error.
    pub error: ErrorItem,
}

/// An error.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ErrorItem {
    /// The stable code: the rule ID of the first finding, or a code from `docs/errors.md`.
    pub code: String,
    /// The exit code that goes with it.
    pub exit_code: u8,
    /// What failed.
    pub message: String,
    /// Why, outermost first.
    pub because: Vec<String>,
    /// What to do.
    pub hints: Vec<String>,
    /// Problems in files.
    pub findings: Vec<FindingItem>,
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
        ("cost", schemars::schema_for!(CostReport)),
        ("explain", schemars::schema_for!(RuleList)),
        ("bag get", schemars::schema_for!(WorkspaceChangeReport)),
        ("bag list", schemars::schema_for!(WorkspaceSkillList)),
        ("bag deps", schemars::schema_for!(WorkspaceDependencyReport)),
        ("bag enter", schemars::schema_for!(WorkspaceOverview)),
        ("bag run", schemars::schema_for!(WorkspaceRunReport)),
        ("bag params", schemars::schema_for!(ParameterList)),
        ("login", schemars::schema_for!(RegistryLoginReport)),
        ("publish", schemars::schema_for!(RegistryPublishReport)),
        ("registry-info", schemars::schema_for!(RegistryPackageInfo)),
        ("search", schemars::schema_for!(RegistrySearchReport)),
        ("yank", schemars::schema_for!(RegistryYankReport)),
        ("mcp", schemars::schema_for!(McpStartReport)),
        ("serve", schemars::schema_for!(RegistryStartReport)),
        ("serve backup", schemars::schema_for!(RegistryBackupReport)),
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
        ("error", schemars::schema_for!(ErrorReport)),
    ]
}
