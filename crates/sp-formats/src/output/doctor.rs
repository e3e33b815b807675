//! Output of `sp doctor`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{PlanStatus, TrashedFolder};

/// `sp doctor`, also with `--fix`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DoctorReport {
    /// Whether no problem remains. Notices are not problems.
    pub healthy: bool,
    /// The checks, in the order in which they ran.
    pub checks: Vec<DoctorCheck>,
    /// Problems and notices that remain, in the order of the checks.
    pub problems: Vec<DoctorProblem>,
    /// What `--fix` repairs; absent without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<DoctorRepair>,
}

/// A group of checks.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DoctorCheck {
    /// What was checked.
    pub area: DoctorArea,
    /// The worst result.
    pub status: DoctorStatus,
    /// What was found, such as a version or a count.
    pub detail: String,
}

/// What a check is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DoctorArea {
    /// The configuration.
    Configuration,
    /// The installed `git`.
    Git,
    /// Interrupted commands.
    Interruptions,
    /// The records of what is installed.
    Records,
    /// The directories of agents.
    Agents,
    /// The manifest and the lockfile, compared with the installed skills.
    Projects,
    /// Stored packages and versions of skills.
    Store,
    /// Cached git repositories.
    Cache,
    /// Permissions of keys and tokens.
    Permissions,
    /// Configured registries.
    Registries,
}

impl DoctorArea {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Git => "git",
            Self::Interruptions => "interruptions",
            Self::Records => "records",
            Self::Agents => "agents",
            Self::Projects => "projects",
            Self::Store => "store",
            Self::Cache => "cache",
            Self::Permissions => "permissions",
            Self::Registries => "registries",
        }
    }
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DoctorStatus {
    /// It was not checked.
    Skipped,
    /// There is no problem.
    Ok,
    /// There is something to know, but no problem.
    Notice,
    /// There is a problem.
    Problem,
}

/// A problem, or something to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorProblem {
    /// Stable code.
    pub code: DoctorCode,
    /// The check that found it.
    pub area: DoctorArea,
    /// `problem` or `notice`.
    pub status: DoctorStatus,
    /// What is wrong.
    pub message: String,
    /// Why, or what it leads to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The file or directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The command that fixes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What to do, if it is more than one command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Whether `sp doctor --fix` repairs it.
    pub fixable: bool,
}

/// What `--fix` repairs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DoctorRepair {
    #[serde(flatten)]
    pub status: PlanStatus,
    /// The problems that are repaired.
    pub repaired: Vec<DoctorProblem>,
    /// Files and directories that were moved to the trash.
    pub kept: Vec<TrashedFolder>,
}

macro_rules! doctor_codes {
    ($($variant:ident $text:literal $meaning:literal,)+) => {
        /// The kind of a problem.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
        pub enum DoctorCode {
            $(#[doc = $meaning] #[serde(rename = $text)] $variant,)+
        }

        impl DoctorCode {
            /// All codes, in the order of the checks.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
}

doctor_codes! {
    ConfigInvalid "config-invalid" "`config.yaml` is invalid.",
    PolicyInvalid "policy-invalid"
        "A policy is invalid, cannot be read, or can be changed by other users.",
    AgentUnknown "agent-unknown" "The configuration names an unknown agent.",
    GitMissing "git-missing" "`git` cannot be run.",
    GitOutdated "git-outdated" "`git` is too old.",
    RunInterrupted "run-interrupted" "A command was interrupted.",
    JournalInvalid "journal-invalid" "The journal of an interrupted command is invalid.",
    StagingLeft "staging-left" "A directory for staging was left behind.",
    StateInvalid "state-invalid" "`state.json` is invalid.",
    StateNewer "state-newer" "`state.json` was written by a newer version of `sp`.",
    RecordOrphaned "record-orphaned" "The project of a record no longer exists.",
    RecordsConflict "records-conflict" "Records of one directory contradict each other.",
    SkillsMissing "skills-missing" "Installed skills are missing.",
    SkillsEdited "skills-edited" "Installed skills were edited.",
    DirectoryUnusable "directory-unusable" "The skills directory of an agent is not a directory.",
    DirectoryNotWritable "directory-not-writable" "The skills directory of an agent is not writable.",
    DirectoryOutsideProject "directory-outside-project"
        "The directory of an agent in a project is a link that points outside the project.",
    AgentUnavailable "agent-unavailable" "An agent of a project cannot be used.",
    ManifestInvalid "manifest-invalid" "`skillpack.yaml` is invalid.",
    LockInvalid "lock-invalid" "`skillpack.lock` is invalid.",
    LockNewer "lock-newer" "`skillpack.lock` was written by a newer version of `sp`.",
    MergeConflict "merge-conflict" "`skillpack.yaml` or `skillpack.lock` has conflict markers.",
    LockNotInstalled "lock-not-installed" "Skills or context packs in `skillpack.lock` are not installed.",
    StoreInvalid "store-invalid" "A record of the package store is invalid.",
    PackageMissing "package-missing" "A package is missing from the store.",
    PackageDamaged "package-damaged" "The content of a stored package is wrong.",
    BaseDamaged "base-damaged" "A stored version of a skill is damaged.",
    CacheDamaged "cache-damaged" "A cached git repository is damaged.",
    SecretExposed "secret-exposed" "Other users can read a key or token.",
    RegistryUnreachable "registry-unreachable" "A registry cannot be reached.",
    CredentialsInvalid "credentials-invalid" "The file with tokens of registries is invalid.",
}
