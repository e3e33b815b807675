//! The commands that manage a project.

use clap::Args;

use super::{ConsentArgs, PlanArgs, UpdateConsentArgs};

/// Which manifest a command works on.
#[derive(Debug, Clone, Args)]
pub(crate) struct ManifestArgs {
    /// Use `~/.skillpack/skillpack.yaml`, for all projects
    #[arg(long, short)]
    pub global: bool,
}

/// The manifest that a command changes, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProjectChangeArgs {
    #[command(flatten)]
    pub manifest: ManifestArgs,
    #[command(flatten)]
    pub plan: PlanArgs,
}

/// The agents whose skills a command changes.
#[derive(Debug, Clone, Args)]
pub(crate) struct ManifestAgentArgs {
    /// Only for these agents [default: all in the manifest]
    ///
    /// Can be repeated, or separated with commas.
    #[arg(long, short, value_name = "AGENT", value_delimiter = ',')]
    pub agent: Vec<String>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct AddArgs {
    /// `owner/repo`, URL, path, zip file, host or package `@team/name`
    ///
    /// A URL can be that of a git repository, or of a folder on the website of a git host. A host
    /// has an index of skills. `#<ref>` selects a tag, branch or commit. `owner/repo@<skill>`
    /// selects a skill, and `@team/name@<range>` versions of a package. A directory, zip file or
    /// URL can also be a context pack, and a path or `owner/repo//packs/<name>.yaml` a pack.
    #[arg(required = true, value_name = "SOURCE")]
    pub sources: Vec<String>,
    /// Name, ID or pattern of a skill, or several with commas
    ///
    /// Can be repeated.
    #[arg(long, short, value_name = "SKILL", value_delimiter = ',')]
    pub skill: Vec<String>,
    /// Add a pack of the source, in place of skills
    ///
    /// A name, or the path of its file in the repository. Can be repeated, or separated with
    /// commas.
    #[arg(
        long,
        value_name = "PACK",
        value_delimiter = ',',
        conflicts_with_all = ["skill", "all", "prefix"]
    )]
    pub pack: Vec<String>,
    /// Add all skills, and those that the source adds later
    #[arg(long, conflicts_with = "skill")]
    pub all: bool,
    /// List the skills, and add none
    #[arg(long, conflicts_with_all = ["all", "dry_run", "plan"])]
    pub list: bool,
    /// Agents, such as `claude` [default: those of the manifest]
    ///
    /// Can be repeated, or separated with commas. `detected` selects the agents that are found on
    /// this machine, and `all` the default agents of the config, or else the detected ones.
    #[arg(long, short, value_name = "AGENT", value_delimiter = ',')]
    pub agent: Vec<String>,
    /// Prefix for the names of the installed folders
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub prefix: String,
    #[command(flatten)]
    pub change: ProjectChangeArgs,
    #[command(flatten)]
    pub consent: ConsentArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct SyncArgs {
    /// Fail if the lockfile would change
    #[arg(long)]
    pub locked: bool,
    /// Fail if the lockfile would change, and do not use the network
    #[arg(long)]
    pub frozen: bool,
    #[command(flatten)]
    pub change: ProjectChangeArgs,
    #[command(flatten)]
    pub consent: UpdateConsentArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RemoveArgs {
    /// Names or IDs of skills, sources, packages, packs or context packs
    #[arg(required = true, value_name = "SKILL|SOURCE")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub change: ProjectChangeArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct UpdateArgs {
    /// Names or IDs of skills, sources, packages, packs or context packs [default: all]
    ///
    /// All skills of a source have the same version, so they are updated together.
    #[arg(value_name = "SKILL|SOURCE")]
    pub names: Vec<String>,
    /// Show how the text of the skills changes
    #[arg(long)]
    pub diff: bool,
    /// Replace skills that were edited locally
    ///
    /// The edited versions are moved to the trash.
    #[arg(long, conflicts_with = "ours")]
    pub theirs: bool,
    /// Keep skills that were edited locally as they are
    #[arg(long)]
    pub ours: bool,
    #[command(flatten)]
    pub change: ProjectChangeArgs,
    #[command(flatten)]
    pub consent: UpdateConsentArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct OutdatedArgs {
    /// Exit with code 1 if something is outdated
    #[arg(long)]
    pub exit_code: bool,
    #[command(flatten)]
    pub manifest: ManifestArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct StatusArgs {
    /// Exit with code 1 if a skill differs from the lockfile
    #[arg(long)]
    pub exit_code: bool,
    #[command(flatten)]
    pub manifest: ManifestArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct WhyArgs {
    /// Names or IDs of skills, packages or context packs
    #[arg(required = true, value_name = "SKILL")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub manifest: ManifestArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct DiffArgs {
    /// Names or IDs of skills [default: all skills]
    #[arg(value_name = "SKILL")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub manifest: ManifestArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RestoreArgs {
    /// Names or IDs of skills
    #[arg(required_unless_present = "list", value_name = "SKILL")]
    pub names: Vec<String>,
    /// Restore the newest version in the trash, or that of a run
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub trash: Option<String>,
    /// List the versions in the trash
    #[arg(long, conflicts_with_all = ["trash", "dry_run", "plan"])]
    pub list: bool,
    #[command(flatten)]
    pub agents: ManifestAgentArgs,
    #[command(flatten)]
    pub change: ProjectChangeArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ToggleArgs {
    /// Names or IDs of skills
    #[arg(required = true, value_name = "SKILL")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub agents: ManifestAgentArgs,
    #[command(flatten)]
    pub change: ProjectChangeArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct AdoptArgs {
    /// Names of folders in the agents' directories, or paths
    #[arg(required = true, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    pub folders: Vec<String>,
    #[command(flatten)]
    pub change: ProjectChangeArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    pub change: ProjectChangeArgs,
}
