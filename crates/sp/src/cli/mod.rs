//! Command-line arguments: every command and flag, but not what they do.
//!
//! Doc comments on commands and flags are the help text. [`command`] adds what derives cannot
//! express: groups, examples, and the formats that each command supports ([`help`],
//! [`mod@format`]). Spellings of earlier versions are rewritten before the arguments are parsed
//! ([`old_spellings`]).

mod bag;
mod completion;
mod consent;
mod context;
mod examples;
mod format;
mod help;
#[cfg(test)]
mod hints;
mod intentions;
mod key;
mod mcp;
mod old_spellings;
mod pkg;
#[cfg(test)]
mod plan_options;
mod policy;
mod project;
mod publisher;
mod serve;
mod serve_oidc;
mod serve_settings;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{
    ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum, ValueHint,
};
use sp_engine::PlanId;
use sp_formats::suggest::nearest_few;

pub(crate) use bag::{WorkspaceCommand, WorkspaceSourceCommand};
pub(crate) use completion::{COMPLETE_COMMAND, complete_words, completion_script};
pub(crate) use consent::{ConsentArgs, UpdateConsentArgs};
pub(crate) use context::{ContextBuildArgs, ContextPackAgentArg, ContextPackCommand, KbCommand};
pub(crate) use format::OutputFormat;
pub(crate) use key::KeyCommand;
pub(crate) use mcp::{McpArgs, McpCommand, McpInstallArgs, McpTargetArgs, SkillSourceArg};
pub(crate) use old_spellings::rewrite;
pub(crate) use pkg::{
    EnvelopeVersionArg, GraphFormatArg, PackageCommand, PackageCreateArgs, PackageKindArg,
    SecretArgs, SignArgs, TrustArgs,
};
pub(crate) use policy::PolicyCommand;
pub(crate) use project::{
    AddArgs, AdoptArgs, DiffArgs, ManifestArgs, MigrateArgs, OutdatedArgs, RemoveArgs, RestoreArgs,
    StatusArgs, SyncArgs, ToggleArgs, UpdateArgs, WhyArgs,
};
pub(crate) use publisher::{PublisherAddArgs, PublisherCommand};
pub(crate) use serve::{
    LogFormatArg, RegistryLocationArgs, ServeArgs, ServeCommand, ServeTokenArgs, TokenScopeArg,
};
pub(crate) use serve_oidc::OidcArgs;
pub(crate) use serve_settings::SettingSources;

/// Manage skills, rules and knowledge that coding agents read
#[derive(Debug, Parser)]
#[command(
    name = "sp",
    version,
    arg_required_else_help = true,
    propagate_version = false,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub options: GlobalOptions,

    #[command(subcommand)]
    pub command: CliCommand,
}

/// Returns the whole command line: commands, flags, help texts and examples.
pub(crate) fn command() -> clap::Command {
    help::add_help(definitions())
}

/// Returns commands and flags without what only help shows. Shells ask for completions on every key
/// press, and should not wait for it.
fn definitions() -> clap::Command {
    format::restrict_formats(Cli::command())
}

/// Parses arguments, and settings from elsewhere.
pub(crate) fn parse_with_settings(
    arguments: &[OsString],
    sources: &SettingSources<'_>,
) -> clap::error::Result<Cli> {
    let mut command = command();
    let Ok(matches) = command.try_get_matches_from_mut(arguments) else {
        return parse(arguments.iter().cloned());
    };
    let more = serve_settings::additional_arguments(&mut command, &matches, sources)?;
    parse(arguments.iter().cloned().chain(more))
}

/// Parses arguments, of which the first is the name of the program.
pub(crate) fn parse<I: IntoIterator<Item = OsString>>(arguments: I) -> clap::error::Result<Cli> {
    let mut command = command();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let matches: ArgMatches = command
        .try_get_matches_from_mut(&arguments)
        .map_err(|error| intentions::suggest_intended(error, &arguments))?;
    format::check_format(&command, &matches)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Options that every command takes. Short help lists their names only.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct GlobalOptions {
    /// Print JSON; short for `--format json`
    #[arg(long, global = true, conflicts_with = "format", hide_short_help = true)]
    json: bool,

    /// Output format
    #[arg(long, global = true, default_value = "human", value_parser = format::FormatParser::common(), hide_short_help = true)]
    format: OutputFormat,

    /// Print more details
    #[arg(long, short, global = true, hide_short_help = true)]
    pub verbose: bool,

    /// Do not use the network
    #[arg(long, global = true, hide_short_help = true)]
    pub offline: bool,

    /// The repository, a directory with `skills/` and `packs/` [default: the nearest one upward]
    #[arg(long, visible_alias = "repo-root", global = true, value_name = "DIR", value_hint = ValueHint::DirPath, hide_short_help = true)]
    pub root: Option<PathBuf>,

    /// Cache directory for git repositories [default: ~/.skillpack/cache]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath, hide_short_help = true)]
    pub cache_dir: Option<PathBuf>,

    /// Raise a limit on external input; `sp config --verbose` lists all limits
    #[arg(long, global = true, value_name = "NAME=NUMBER", value_parser = parse_limit, hide_short_help = true)]
    pub limit: Vec<(String, u64)>,
}

impl GlobalOptions {
    /// Returns the output format, which `--json` abbreviates.
    pub(crate) fn output_format(&self) -> OutputFormat {
        if self.json { OutputFormat::Json } else { self.format }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Create a repository with an example skill and a pack
    Init {
        /// Directory of the repository [default: the current directory]
        #[arg(value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Add skills, packs or context packs to a project
    ///
    /// Writes `skillpack.yaml`, which declares what the project uses, and `skillpack.lock`, which
    /// records the exact versions. Commit both.
    Add(AddArgs),
    /// Install what `skillpack.yaml` and `skillpack.lock` declare
    Sync(SyncArgs),
    /// Remove skills or sources from a project
    #[command(visible_alias = "rm")]
    Remove(RemoveArgs),
    /// Update the skills of a project to newer versions
    #[command(visible_alias = "upgrade")]
    Update(UpdateArgs),
    /// List sources of a project that have newer versions
    Outdated(OutdatedArgs),
    /// Take over the skills that another tool installed
    ///
    /// Reads the manifests and lockfiles of `skills`, `apm`, `dotagents`, `openskills` and `skil`,
    /// and the plugins in the settings of Claude Code. Installed skills are taken over if their
    /// files are those of the source. The files of the other tool stay as they are.
    Migrate(MigrateArgs),
    /// Show the state of the skills of a project
    Status(StatusArgs),
    /// Show which entry of the manifest a skill comes from
    Why(WhyArgs),
    /// Show how skills of a project were edited
    Diff(DiffArgs),
    /// Undo edits of a skill, or restore a version from the trash
    ///
    /// The version that is replaced is moved to the trash if it was edited.
    Restore(RestoreArgs),
    /// Adopt skills that you wrote or that another tool installed
    ///
    /// If a source of the project has the same files, the skill comes from there. Otherwise it is
    /// copied into `skills/`.
    Adopt(AdoptArgs),
    /// Hide skills from agents on this machine
    Disable(ToggleArgs),
    /// Install disabled skills again, with their edits
    Enable(ToggleArgs),
    /// List the skills in the repository
    #[command(visible_alias = "skills")]
    List,
    /// List the packs in the repository
    Packs,
    /// Show which skills a pack selects and installs
    Show {
        /// Name or path of the pack
        pack: String,
    },
    /// Install packs for agents
    Install(InstallArgs),
    /// Replace all installed packs of an agent, atomically
    Switch(InstallArgs),
    /// Uninstall packs
    Uninstall(UninstallArgs),
    /// List installed packs
    Installed(InstalledArgs),
    /// Manage the skills of a SkillBag workspace
    #[command(subcommand)]
    Bag(WorkspaceCommand),
    /// Check skills, packs, packages and workspaces for problems
    Check(CheckArgs),
    /// Show what to review before you trust a skill or package
    Audit {
        /// Files or directories [default: the current directory], or sources as for `sp add`
        #[arg(value_name = "PATH|SOURCE", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
        /// Leave out the findings in this file
        ///
        /// `sp check --write-baseline` writes it.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        baseline: Option<PathBuf>,
        /// Show what the new version adds to the old one
        #[arg(
            long,
            num_args = 2,
            value_names = ["OLD", "NEW"],
            value_hint = ValueHint::DirPath,
            conflicts_with_all = ["paths", "agent"]
        )]
        diff: Vec<PathBuf>,
        #[command(flatten)]
        agents: AgentFilterArgs,
    },
    /// Show the policies that apply, and explain what they decide
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Show what skills cost in tokens
    Cost {
        /// Packs, skills or directories of them [default: the current directory]
        #[arg(value_name = "PATH|PACK", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
        #[command(flatten)]
        agents: AgentFilterArgs,
    },
    /// Explain a rule, with examples
    Explain {
        /// Rule ID, such as `AS-04` [default: list all rules]
        rule: Option<String>,
    },
    /// Create, verify, install and share packages (.ctxpkg)
    #[command(subcommand, alias = "pack")]
    Pkg(PackageCommand),
    /// Publish a package to a registry
    Publish {
        /// File, `@team/name` or `@team/name@1.2.0`
        #[arg(value_hint = ValueHint::AnyPath)]
        package: String,
        /// Make the package visible only to members of its namespace
        #[arg(long)]
        private: bool,
        /// Publish with the identity of a CI job instead of a token
        ///
        /// The identity token comes from GitHub Actions or from the environment variable
        /// `SP_ID_TOKEN`.
        #[arg(long)]
        oidc: bool,
        #[command(flatten)]
        registry: RegistryArg,
    },
    /// Manage the CI jobs that can publish a package
    #[command(subcommand)]
    Publisher(PublisherCommand),
    /// Search a registry for packages
    Search {
        /// Words in the name or the description
        #[arg(required = true, value_name = "WORDS")]
        words: Vec<String>,
        #[command(flatten)]
        registry: RegistryArg,
    },
    /// Show a package in the store or a registry
    Info {
        /// File, `name`, `@team/name`, `@team/name@1.2.0` or `@team/name@^1`
        package: String,
        /// URL of the registry; the store is not searched
        #[arg(long, value_name = "URL")]
        registry: Option<String>,
    },
    /// Yank a version, so that new resolutions skip it
    ///
    /// Existing lockfiles keep working.
    Yank {
        /// Version to yank, such as `@team/name@1.2.0`
        package: String,
        /// Restore a yanked version
        #[arg(long)]
        undo: bool,
        #[command(flatten)]
        registry: RegistryArg,
    },
    /// Save a token for a registry
    Login {
        /// URL of the registry
        registry: String,
        /// Environment variable that contains the token
        #[arg(
            long,
            value_name = "NAME",
            default_value = "SP_REGISTRY_TOKEN",
            conflicts_with = "token_file"
        )]
        token_env: String,
        /// File that contains the token and is readable only by you
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        token_file: Option<PathBuf>,
        /// Forget the versions seen so far, because the registry was set up again
        #[arg(long)]
        reset_history: bool,
    },
    /// Delete the saved token of a registry
    Logout {
        /// URL of the registry [default: the last one you logged in to]
        registry: Option<String>,
    },
    /// Manage signing keys and trusted keys
    #[command(subcommand)]
    Key(KeyCommand),
    /// Build, check and install context packs
    #[command(subcommand)]
    Context(ContextPackCommand),
    /// Run a package registry for a team
    Serve(Box<ServeArgs>),
    /// Serve skills and knowledge to agents over MCP
    Mcp(McpArgs),
    /// Show agents, directories and limits
    Config,
    /// Find damage, and repair it where that is safe
    ///
    /// Checks agents, records, interrupted commands, projects, the package store, the cache,
    /// permissions, git and configured registries. Exits with 1 if problems remain.
    Doctor(DoctorArgs),
    /// Delete replaced skills, and versions that no project needs
    Clean {
        /// Delete cached git repositories too
        #[arg(long)]
        cache: bool,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Print a JSON Schema for editors
    Schema {
        /// Kind of file
        #[arg(value_parser = clap::builder::PossibleValuesParser::new(sp_formats::schema::SCHEMA_FILES))]
        file: String,
    },
    /// Print a script for shell completion
    Completions {
        /// Name of the shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all manual pages
    Man {
        /// Directory for all pages [default: print the page of `sp`]
        #[arg(value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// Names or paths of the packs
    #[arg(required = true, value_name = "PACK")]
    pub packs: Vec<String>,
    #[command(flatten)]
    pub agents: AgentArgs,
    #[command(flatten)]
    pub plan: PlanArgs,
    #[command(flatten)]
    pub consent: ConsentArgs,
    /// Replace a pack of the same name from another source
    #[arg(long, short = 'f', visible_alias = "force")]
    pub replace: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UninstallArgs {
    /// Names of the packs
    #[arg(required = true, value_name = "PACK")]
    pub packs: Vec<String>,
    #[command(flatten)]
    pub agents: AgentArgs,
    #[command(flatten)]
    pub plan: PlanArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InstalledArgs {
    /// Only for these agents, such as `claude,codex`
    ///
    /// Can be repeated.
    #[arg(long, short, value_name = "AGENT", value_delimiter = ',')]
    pub agent: Vec<String>,
    /// Only in this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub path: Option<PathBuf>,
    /// Only `global`, or only `project` [default: both]
    #[arg(long, value_enum, hide_possible_values = true)]
    pub scope: Option<ScopeArg>,
}

/// A dry run, and a change that must match one.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlanArgs {
    /// Show what would change, with an ID for `--plan`
    #[arg(long, short = 'n')]
    pub dry_run: bool,
    /// Apply only if the plan matches this dry-run ID
    #[arg(long, value_name = "ID", conflicts_with = "dry_run", hide_short_help = true)]
    pub plan: Option<PlanId>,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Repair what can be repaired safely
    ///
    /// What is removed is moved to the trash.
    #[arg(long)]
    pub fix: bool,
    #[command(flatten)]
    pub plan: PlanArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArgs {
    /// Files or directories [default: the current directory]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, long_help = checked_paths_help())]
    pub paths: Vec<PathBuf>,
    /// Treat warnings as errors
    #[arg(long)]
    pub strict: bool,
    /// Fetch what packs import, and check the patterns
    #[arg(long)]
    pub imports: bool,
    /// Fix problems automatically where it is safe
    #[arg(long)]
    pub fix: bool,
    /// Show what `--fix` would change, with an ID for `--plan`
    #[arg(long, short = 'n', requires = "fix")]
    pub dry_run: bool,
    /// Fix only if the plan matches this dry-run ID
    #[arg(
        long,
        value_name = "ID",
        requires = "fix",
        conflicts_with = "dry_run",
        hide_short_help = true
    )]
    pub plan: Option<PlanId>,
    /// Fix without asking
    ///
    /// On a terminal, `--fix` shows the changes and asks.
    #[arg(long, short, requires = "fix", conflicts_with = "dry_run")]
    pub yes: bool,
    /// Report only findings that are not in this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub baseline: Option<PathBuf>,
    /// Write all findings to the file given with `--baseline`
    #[arg(long, requires = "baseline", conflicts_with_all = ["fix", "watch"])]
    pub write_baseline: bool,
    /// Check again whenever a file changes
    #[arg(long, conflicts_with = "fix")]
    pub watch: bool,
}

/// Lists the formats that `sp check` and `sp audit` know.
fn checked_paths_help() -> String {
    let targets = sp_engine::check_targets_help();
    format!("Files or directories [default: the current directory]\n\nEach can be {targets}.")
}

/// The agents to install for.
#[derive(Debug, Clone, Args)]
pub(crate) struct AgentArgs {
    /// Agents: `claude,codex`, `detected` or `all`
    ///
    /// Can be repeated. `detected` selects the agents that are found on this machine, and `all` the
    /// default agents of the config, or else the detected ones.
    #[arg(long, short, required = true, value_name = "AGENT", value_delimiter = ',')]
    pub agent: Vec<String>,
    /// Use this directory instead of the agent's own
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub path: Option<PathBuf>,
    /// `global` for the user, or `project`
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    pub scope: ScopeArg,
}

/// The agents whose skills are inspected instead of files.
#[derive(Debug, Clone, Args)]
pub(crate) struct AgentFilterArgs {
    /// What these agents read, such as `claude,codex`
    ///
    /// Can be repeated.
    #[arg(long, short, value_name = "AGENT", value_delimiter = ',', conflicts_with = "paths")]
    pub agent: Vec<String>,
    /// `global` for the user, or `project`
    #[arg(long, value_enum, default_value_t, requires = "agent", hide_possible_values = true)]
    pub scope: ScopeArg,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RegistryArg {
    /// Registry URL [default: the last one you logged in to]
    #[arg(long, value_name = "URL")]
    pub registry: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ScopeArg {
    /// For the user, in every project
    #[default]
    #[value(alias = "user")]
    Global,
    /// In the current project
    Project,
}

/// Parses a duration such as `30s`, `5m` or `1h`, of at most an hour.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let duration = sp_formats::time::parse_duration(text);
    duration
        .filter(|it| (Duration::from_secs(1)..=Duration::from_hours(1)).contains(it))
        .ok_or_else(|| "expected a duration from `1s` to `1h`, such as `30s` or `5m`".into())
}

fn parse_set(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.into(), value.into()))
}

fn parse_limit(text: &str) -> Result<(String, u64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=NUMBER")?;
    if !sp_engine::LIMIT_NAMES.contains(&name) {
        let similar = nearest_few(name, sp_engine::LIMIT_NAMES.iter().copied(), 3);
        let hint = if similar.is_empty() {
            "`sp config --verbose` lists all limits".into()
        } else {
            format!("did you mean {}?", similar.join(", "))
        };
        return Err(format!("unknown limit `{name}`: {hint}"));
    }
    let value = value.parse().map_err(|_| format!("`{value}` is not a whole number"))?;
    Ok((name.into(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_definitions_are_consistent() {
        command().debug_assert();
    }
}
