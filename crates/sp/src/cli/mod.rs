//! Command-line arguments: every command and flag, but not what they do.
//!
//! Doc comments on commands and flags are the help text.

mod bag;
mod context;
#[cfg(test)]
mod hints;
mod key;
mod mcp;
mod pkg;
mod serve;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use sp_engine::PlanId;

pub(crate) use bag::{WorkspaceCommand, WorkspaceSourceCommand};
pub(crate) use context::{ContextBuildArgs, ContextPackAgentArg, ContextPackCommand, KbCommand};
pub(crate) use key::KeyCommand;
pub(crate) use mcp::{McpArgs, McpCommand, McpInstallArgs, McpTargetArgs, SkillSourceArg};
pub(crate) use pkg::{
    EnvelopeVersionArg, GraphFormatArg, PackageCommand, PackageCreateArgs, PackageKindArg,
    PackageTargetArgs, SecretArgs, SignArgs, TrustArgs,
};
pub(crate) use serve::{LogFormatArg, ServeArgs, ServeCopyCommand};

/// One fast, safe command for everything that a coding agent reads.
#[derive(Debug, Parser)]
#[command(
    name = "sp",
    version,
    arg_required_else_help = true,
    propagate_version = false,
    max_term_width = 100
)]
#[command(after_help = "Start with `sp init`, then `sp install <pack> --agent claude`.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub options: GlobalOptions,

    #[command(subcommand)]
    pub command: CliCommand,
}

/// Flags that every command takes.
#[derive(Debug, Args)]
pub(crate) struct GlobalOptions {
    /// The directory that holds `skills/` and `packs/` [default: the nearest upward]
    #[arg(long, visible_alias = "repo-root", global = true, value_name = "PATH", value_hint = ValueHint::DirPath, help_heading = "Common options")]
    pub root: Option<PathBuf>,

    /// Where git repositories are cached [default: ~/.skillpack/cache]
    #[arg(long, global = true, value_name = "PATH", value_hint = ValueHint::DirPath, help_heading = "Common options")]
    pub cache_dir: Option<PathBuf>,

    /// How the result is printed
    #[arg(long, global = true, value_enum, default_value_t, help_heading = "Common options")]
    pub format: OutputFormat,

    /// Never use the network
    #[arg(long, global = true, help_heading = "Common options")]
    pub offline: bool,

    /// Raise a limit on what is taken from outside; `sp config --verbose` lists them
    #[arg(long, global = true, value_name = "NAME=NUMBER", value_parser = parse_limit, help_heading = "Common options")]
    pub limit: Vec<(String, u64)>,

    /// Say more
    #[arg(long, short, global = true, help_heading = "Common options")]
    pub verbose: bool,
}

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people, as wide as the terminal
    #[default]
    Human,
    /// For scripts, one item a line, fields separated by tabs
    Plain,
    /// For programs, as documented in docs/json.md
    Json,
    /// For code scanning (`sp check` and `sp audit` only)
    Sarif,
    /// For GitHub's workflows (`sp check` and `sp audit` only)
    Github,
    /// Markdown, for an agent (`sp pkg load` only)
    Md,
    /// XML, for an agent (`sp pkg load` only)
    Xml,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// List the skills below ./skills
    #[command(visible_alias = "skills")]
    List,
    /// List the packs below ./packs
    Packs,
    /// Show what a pack selects and how it would be installed
    Show {
        /// The pack, by name or by path
        pack: String,
    },
    /// Install packs into agents' sinks
    Install(InstallArgs),
    /// Uninstall packs from agents' sinks
    Uninstall(UninstallArgs),
    /// Replace all packs of a sink by the named ones, at once
    Switch(InstallArgs),
    /// List installed packs and where they are
    Installed {
        /// Only this sink
        #[arg(long, value_name = "SINK")]
        agent: Option<String>,
        /// Only the sink at this path
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        path: Option<PathBuf>,
        /// Where the agent reads: for the user, or in this project
        #[arg(long, value_enum, default_value_t)]
        scope: ScopeArg,
    },
    /// Check files and directories, and report every problem
    Check(CheckArgs),
    /// Show what to know before trusting files: security findings, scripts, hosts, secrets, signers
    Audit {
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, help = check_paths_help())]
        paths: Vec<PathBuf>,
        /// An agent, with all that it reads; may be given several times
        #[arg(long, value_name = "SINK", conflicts_with = "paths")]
        agent: Vec<String>,
        /// Where the agent reads: for the user, or in this project
        #[arg(long, value_enum, default_value_t, requires = "agent")]
        scope: ScopeArg,
    },
    /// Tell what a rule asks, and why, with examples
    Explain {
        /// The rule, such as `AS-04` [default: list all rules]
        rule: Option<String>,
    },
    /// Show what skills cost in tokens, by when an agent reads them
    Cost {
        /// Skills, repositories or folders of skills [default: what the current directory is in]
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
        /// An agent, with all that it reads; may be given several times
        #[arg(long, value_name = "SINK", conflicts_with = "paths")]
        agent: Vec<String>,
        /// Where the agent reads: for the user, or in this project
        #[arg(long, value_enum, default_value_t, requires = "agent")]
        scope: ScopeArg,
    },
    /// Print a JSON Schema, for editors
    Schema {
        /// Of which file
        #[arg(value_parser = clap::builder::PossibleValuesParser::new(sp_formats::schema::SCHEMA_FILES))]
        file: String,
    },
    /// Keep a workspace's own skills: SkillBag
    #[command(subcommand)]
    Bag(WorkspaceCommand),
    /// Build, check, compare, pack and install context packs: `pack.json` with cited Markdown
    #[command(subcommand)]
    Context(ContextPackCommand),
    /// Make, verify, install, send and keep packages: .ctxpkg
    #[command(subcommand, visible_alias = "pack")]
    Pkg(PackageCommand),
    /// Run a registry of packages for a team
    Serve(ServeArgs),
    /// Let agents ask for themselves: serve skills, context packs and packages over MCP
    Mcp(McpArgs),
    /// Remember a token for a registry
    Login {
        /// The address of the registry
        registry: String,
        /// The environment variable that holds the token
        #[arg(
            long,
            value_name = "NAME",
            default_value = "SP_REGISTRY_TOKEN",
            conflicts_with = "token_file"
        )]
        token_env: String,
        /// A file that holds the token, and that only you may read
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        token_file: Option<PathBuf>,
        /// The registry was set up anew: forget which versions it had
        #[arg(long)]
        anew: bool,
    },
    /// Forget the token for a registry
    Logout {
        /// The address [default: where you logged in last]
        registry: Option<String>,
    },
    /// Publish a package in a registry; a version never changes
    Publish {
        /// The package: a file, `@team/name` or `@team/name@version`
        #[arg(value_hint = ValueHint::AnyPath)]
        package: String,
        /// The address of the registry [default: where you logged in last]
        #[arg(long, value_name = "ADDRESS")]
        registry: Option<String>,
    },
    /// Show a package of a registry: its versions, and what was verified
    Info {
        /// The package: `@team/name`, `@team/name@1.2.0` or `@team/name@^1`
        package: String,
        /// The address of the registry [default: where you logged in last]
        #[arg(long, value_name = "ADDRESS")]
        registry: Option<String>,
    },
    /// Look for packages in a registry
    Search {
        /// What they are called, or about
        #[arg(required = true, value_name = "WORDS")]
        words: Vec<String>,
        /// The address of the registry [default: where you logged in last]
        #[arg(long, value_name = "ADDRESS")]
        registry: Option<String>,
    },
    /// Take a version out of what is newest; who has it locked still gets it
    Yank {
        /// The version: `@team/name@1.2.0`
        package: String,
        /// Put it back
        #[arg(long)]
        undo: bool,
        /// The address of the registry [default: where you logged in last]
        #[arg(long, value_name = "ADDRESS")]
        registry: Option<String>,
    },
    /// Make keys, and say whom to trust
    #[command(subcommand)]
    Key(KeyCommand),
    /// Show sinks, paths and limits, and which agents are on this machine
    Config,
    /// Make a small authoring repository
    Init {
        /// Where [default: the current directory]
        #[arg(value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Remove what was kept of edited folders
    Clean {
        /// Remove cached git repositories too
        #[arg(long)]
        cache: bool,
        /// Show what would be removed, and remove nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write man pages
    Man {
        /// Into this directory [default: print the main page]
        #[arg(value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// The packs, by name or by path
    #[arg(required = true, value_name = "PACK")]
    pub packs: Vec<String>,
    #[command(flatten)]
    pub sinks: SinkArgs,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do only what a dry run showed, by the id that it told
    #[arg(long, value_name = "ID", conflicts_with = "dry_run")]
    pub plan: Option<PlanId>,
    /// Replace a pack of the same name that came from elsewhere
    #[arg(long)]
    pub replace: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UninstallArgs {
    /// The packs, by name
    #[arg(required = true, value_name = "PACK")]
    pub packs: Vec<String>,
    #[command(flatten)]
    pub sinks: SinkArgs,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do only what a dry run showed, by the id that it told
    #[arg(long, value_name = "ID", conflicts_with = "dry_run")]
    pub plan: Option<PlanId>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArgs {
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, help = check_paths_help())]
    pub paths: Vec<PathBuf>,
    /// Count warnings as errors
    #[arg(long)]
    pub strict: bool,
    /// Fetch what packs import, and hold their patterns against it
    #[arg(long)]
    pub imports: bool,
    /// Mend what can be mended without a thought
    #[arg(long)]
    pub fix: bool,
    /// Show what would be mended, and change nothing
    #[arg(long, requires = "fix")]
    pub dry_run: bool,
    /// Check again whenever something changes
    #[arg(long, conflicts_with = "fix")]
    pub watch: bool,
}

/// Lists the formats that `sp check` and `sp audit` know.
fn check_paths_help() -> String {
    let targets = sp_engine::check_targets_help();
    format!("What to look at: {targets} [default: what the current directory is in]")
}

#[derive(Debug, Args)]
pub(crate) struct SinkArgs {
    /// The agent to install for; may be given several times (`sp config` lists them)
    #[arg(long, required = true, value_name = "SINK")]
    pub agent: Vec<String>,
    /// Use this directory instead of the agent's own
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub path: Option<PathBuf>,
    /// Where the agent reads: for the user, or in this project
    #[arg(long, value_enum, default_value_t)]
    pub scope: ScopeArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ScopeArg {
    /// For the user, in every project
    #[default]
    #[value(alias = "user")]
    Global,
    /// In the project of the current directory
    Project,
}

fn parse_set(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    Ok((name.into(), value.into()))
}

fn parse_limit(text: &str) -> Result<(String, u64), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=NUMBER")?;
    if !sp_engine::LIMIT_NAMES.contains(&name) {
        return Err(format!("the limits are: {}", sp_engine::LIMIT_NAMES.join(", ")));
    }
    let value = value.parse().map_err(|_| format!("`{value}` is not a whole number"))?;
    Ok((name.into(), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn command_definitions_are_consistent() {
        Cli::command().debug_assert();
    }
}
