//! `sp context`

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum, ValueHint};

use super::Check;

#[derive(Debug, Subcommand)]
pub(crate) enum ContextPack {
    /// Report every problem in context packs: folders, zips, or addresses of either
    Check(Check),
    /// Show what is in a pack, and what it costs in tokens
    Show {
        /// The folder of the pack, a zip, or an address
        #[arg(value_hint = ValueHint::AnyPath, default_value = ".")]
        pack: PathBuf,
    },
    /// Show what differs between two packs, whichever way each is stored
    Diff {
        /// The folder of a pack, a zip, or an address
        #[arg(value_hint = ValueHint::AnyPath)]
        before: PathBuf,
        /// The folder of a pack, a zip, or an address
        #[arg(value_hint = ValueHint::AnyPath)]
        after: PathBuf,
    },
    /// Write a pack to be filled by hand
    New {
        /// The folder that is to hold it
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// What the project is called [default: as the folder]
        #[arg(long)]
        name: Option<String>,
        /// What is intended, in one to three sentences
        #[arg(long)]
        description: Option<String>,
        /// What it is built with; may be given more than once
        #[arg(long, value_name = "WORD")]
        stack: Vec<String>,
    },
    /// Give the files of a pack the frontmatter and the hashes that they must have
    Seal {
        /// The folder of the pack
        #[arg(value_hint = ValueHint::DirPath, default_value = ".")]
        pack: PathBuf,
    },
    /// Pack a pack; the same pack gives the same bytes
    Zip {
        /// The folder of the pack, or an address
        #[arg(value_hint = ValueHint::DirPath, default_value = ".")]
        pack: PathBuf,
        /// The zip [default: context-pack.zip]
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
        /// Replace a file that is there
        #[arg(long)]
        force: bool,
    },
    /// Unpack a pack into a new folder
    Unzip {
        /// The zip, or an address
        #[arg(value_hint = ValueHint::FilePath)]
        zip: PathBuf,
        /// The folder
        #[arg(value_hint = ValueHint::DirPath, default_value = "context-pack")]
        dir: PathBuf,
    },
    /// Put a pack into a repository, beside what its people wrote themselves
    Install {
        /// The folder of the pack, a zip, or an address
        #[arg(value_hint = ValueHint::AnyPath)]
        pack: PathBuf,
        /// For whom; may be given more than once [default: cursor and agents]
        #[arg(long = "agent", value_enum, value_name = "AGENT")]
        agents: Vec<PackReader>,
        /// Show what would change, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Take a pack out of a repository; every file is as it was
    Uninstall {
        /// Show what would change, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
}

/// For whom a context pack is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PackReader {
    /// `.cursor/rules/context-pack.mdc`
    Cursor,
    /// A block in `AGENTS.md`
    Agents,
    /// The same, and `CLAUDE.md` leads to it
    Claude,
}
