//! Arguments of `sp bag`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use super::{CheckArgs, parse_set};

#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// Make a workspace, or complete one, and install what its context declares
    Init {
        /// Where [default: the current directory]
        #[arg(value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
        /// Use this text as `SKILLBAG.md`
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        entrypoint: Option<PathBuf>,
        /// The extra steps that sources ask for are done
        #[arg(long)]
        steps_done: bool,
    },
    /// Install skills into the workspace, with all that they need
    Get {
        /// The skills
        #[arg(value_name = "SKILL")]
        names: Vec<String>,
        /// A git URL, the URL of a zip, or a path to a zip or a directory
        #[arg(long)]
        source: Option<String>,
        /// A query parameter of the source that is not a secret: print and lock it
        #[arg(long, value_name = "NAME")]
        keep_query: Vec<String>,
        /// A tag, a branch or a commit
        #[arg(long)]
        version: Option<String>,
        /// Fetch skills anew that are here already
        #[arg(long)]
        upgrade: bool,
        /// Replace skills that were edited here
        #[arg(long)]
        replace: bool,
        /// The extra steps that sources ask for are done
        #[arg(long)]
        steps_done: bool,
        /// Show what would change, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Write the catalog anew
    Sync {
        /// Show whether it would change, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Show who needs whom
    Deps,
    /// Check the workspace, or the source
    Check(CheckArgs),
    /// Print what an agent must know when it enters the workspace
    Enter,
    /// Print a skill ready for an agent; nothing is executed
    Run {
        /// The execution identifier: `convert_to_pdf` for the skill `convert-to-pdf`
        identifier: String,
        /// The value of a parameter
        #[arg(long, value_name = "NAME=VALUE", value_parser = parse_set)]
        set: Vec<(String, String)>,
        /// Write the values to `USER_CONTEXT.md`; secrets are refused
        #[arg(long, requires = "set")]
        save: bool,
    },
    /// Show what a skill wants to know, and what counts
    Params {
        /// The skill
        skill: String,
        /// Tell where each value was said, and what it overrode
        #[arg(long)]
        explain: bool,
        /// The value of a parameter
        #[arg(long, value_name = "NAME=VALUE", value_parser = parse_set)]
        set: Vec<(String, String)>,
    },
    /// List the skills of the workspace
    List,
    /// Remove skills that no other skill needs
    Remove {
        /// The skills
        #[arg(required = true, value_name = "SKILL")]
        names: Vec<String>,
        /// Show what would change, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Make this repository one that others can install from
    #[command(subcommand)]
    Source(WorkspaceSourceCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceSourceCommand {
    /// Write `AGENTS.md` and the catalog
    Init,
}
