//! Arguments of `sp bag`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use super::{CheckArgs, ConsentArgs, PlanArgs, parse_set};

#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// Create or complete a workspace
    Init {
        /// Directory of the workspace [default: the current directory]
        #[arg(value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
        /// File to use as `SKILLBAG.md`
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        entrypoint: Option<PathBuf>,
        /// Confirm the extra installation steps of the sources
        ///
        /// Some sources require steps that `sp` does not run. Complete them first.
        #[arg(long)]
        steps_done: bool,
        #[command(flatten)]
        plan: PlanArgs,
        #[command(flatten)]
        consent: ConsentArgs,
    },
    /// Add skills to the workspace, with their dependencies
    #[command(alias = "get")]
    Add {
        /// Names of the skills
        #[arg(value_name = "SKILL")]
        names: Vec<String>,
        /// Git URL, URL of a zip, or path of a zip or directory
        #[arg(long, value_name = "SOURCE")]
        source: Option<String>,
        /// Tag, branch or commit of the source
        #[arg(long)]
        version: Option<String>,
        /// Query parameter of the source URL that is not a secret
        ///
        /// It is printed, and written to the lockfile. Can be repeated.
        #[arg(long, value_name = "NAME", hide_short_help = true)]
        keep_query: Vec<String>,
        /// Update skills that are already in the workspace
        #[arg(long)]
        upgrade: bool,
        /// Replace edited skills
        #[arg(long, short = 'f', visible_alias = "force")]
        replace: bool,
        /// Confirm the extra installation steps of the sources
        ///
        /// Some sources require steps that `sp` does not run. Complete them first.
        #[arg(long)]
        steps_done: bool,
        #[command(flatten)]
        plan: PlanArgs,
        #[command(flatten)]
        consent: ConsentArgs,
    },
    /// Regenerate the catalog
    Sync {
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Show the dependencies between skills
    Deps,
    /// Check skills, packs, packages and workspaces for problems
    Check(CheckArgs),
    /// Print what an agent reads when it enters the workspace
    Enter,
    /// Print a skill with its parameters filled in
    Run {
        /// Name of the skill, or its execution identifier
        #[arg(value_name = "SKILL")]
        identifier: String,
        /// Set a parameter
        #[arg(long, value_name = "NAME=VALUE", value_parser = parse_set)]
        set: Vec<(String, String)>,
        /// Save the values in `USER_CONTEXT.md`; secrets are refused
        #[arg(long, requires = "set")]
        save: bool,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Show the parameters of a skill and their values
    Params {
        /// Name of the skill
        skill: String,
        /// Show where each value was set, and what it overrides
        #[arg(long)]
        explain: bool,
        /// Set a parameter
        #[arg(long, value_name = "NAME=VALUE", value_parser = parse_set)]
        set: Vec<(String, String)>,
    },
    /// List the skills of the workspace
    List,
    /// Remove skills that no other skill requires
    Remove {
        /// Names of the skills
        #[arg(required = true, value_name = "SKILL")]
        names: Vec<String>,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Manage a source of skills
    #[command(subcommand)]
    Source(WorkspaceSourceCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceSourceCommand {
    /// Create `AGENTS.md` and the catalog
    Init {
        #[command(flatten)]
        plan: PlanArgs,
    },
}
