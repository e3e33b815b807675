//! Arguments of `sp context`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::CheckArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum ContextPackCommand {
    /// Report every problem in context packs: folders, zips, or addresses of either
    Check(CheckArgs),
    /// Show what is in a pack, and what it costs in tokens
    Show {
        /// The folder of the pack, a zip, or an address
        #[arg(value_hint = ValueHint::AnyPath, default_value = ".")]
        pack: PathBuf,
    },
    /// Build a pack from what you collected: notes, saved pages, captures, bookmarks, packages
    Build(Box<ContextBuildArgs>),
    /// The index of what you collected: add folders, search, see what is stale
    #[command(subcommand)]
    Kb(KbCommand),
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
    /// Give a pack to a registry, which keeps it and opens it to those whom you give an address
    Push {
        /// The folder of the pack, a zip, or an address
        #[arg(value_hint = ValueHint::AnyPath, default_value = ".")]
        pack: PathBuf,
        /// The address of the registry [default: where you logged in last]
        #[arg(long, value_name = "ADDRESS")]
        registry: Option<String>,
    },
    /// Get an address that opens a pack in a registry to whoever has it, for some time
    Url {
        /// The pack: `pk_…`
        id: String,
        /// For how long: `30m`, `1h`, `7d` [default: 1h]
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        /// The address of the registry [default: where you logged in last]
        #[arg(long, value_name = "ADDRESS")]
        registry: Option<String>,
    },
    /// Close every address of a pack in a registry that was given so far
    Revoke {
        /// The pack: `pk_…`
        id: String,
        /// The address of the registry [default: where you logged in last]
        #[arg(long, value_name = "ADDRESS")]
        registry: Option<String>,
    },
    /// Put a pack into a repository, beside what its people wrote themselves
    Install {
        /// The folder of the pack, a zip, or an address
        #[arg(value_hint = ValueHint::AnyPath)]
        pack: PathBuf,
        /// For whom; may be given more than once [default: cursor and agents]
        #[arg(long = "agent", value_enum, value_name = "AGENT")]
        agents: Vec<ContextPackAgentArg>,
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

/// `sp context build`
#[derive(Debug, Args)]
pub(crate) struct ContextBuildArgs {
    /// The folder of a knowledge base; may be given more than once [default: all that were added]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) kb: Vec<PathBuf>,
    /// What the project is called
    #[arg(long)]
    pub(crate) name: String,
    /// What is intended, in one to three sentences
    #[arg(long)]
    pub(crate) description: String,
    /// What you would ask an agent
    #[arg(long)]
    pub(crate) prompt: Option<String>,
    /// What it is built with; may be given more than once, or with commas
    #[arg(long, value_name = "WORD", value_delimiter = ',')]
    pub(crate) stack: Vec<String>,
    /// Only what was captured since: `90d`, `12w`, `6m`, `1y` or a day
    #[arg(long, value_name = "SPAN")]
    pub(crate) since: Option<String>,
    /// The folder of the pack [default: context-pack]
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Write a zip beside the folder, too
    #[arg(long)]
    pub(crate) zip: bool,
    /// How many tokens each file has at the most
    #[arg(long, value_name = "TOKENS", default_value_t = 6000)]
    pub(crate) budget: usize,
    /// Tell what is not in the pack, and why
    #[arg(long)]
    pub(crate) explain: bool,
    /// When it is made, as `2026-04-24T14:22:03Z` [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) generated_at: Option<String>,
    /// What tells the pack from every other, a ULID or a UUID [default: made of the time and the
    /// input]
    #[arg(long, value_name = "ID")]
    pub(crate) pack_id: Option<String>,
    /// Replace a pack that was edited, and a zip
    #[arg(long)]
    pub(crate) force: bool,
    /// An OpenAI-compatible endpoint whose model may choose and shorten sentences; its key is read
    /// from SP_MODEL_KEY
    #[arg(long, value_name = "URL")]
    pub(crate) model: Option<String>,
    /// Which model to ask
    #[arg(long, value_name = "NAME", requires = "model", default_value = "default")]
    pub(crate) model_name: String,
    /// How long the model may take
    #[arg(long, value_name = "SECONDS", requires = "model", default_value_t = 60)]
    pub(crate) model_timeout: u64,
}

/// `sp context kb`
#[derive(Debug, Subcommand)]
pub(crate) enum KbCommand {
    /// Read a folder, or what changed in it since
    Add {
        /// The folder
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
    /// Show the folders that were added, or the documents of one
    List {
        /// The folder
        #[arg(value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Look for documents
    Search {
        /// What they are about
        #[arg(required = true, value_name = "WORDS")]
        query: Vec<String>,
        /// Only in this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        kb: Option<PathBuf>,
        /// How many are shown
        #[arg(long, value_name = "COUNT", default_value_t = 10)]
        most: usize,
    },
    /// Show how much is there, of which kinds, and what is stale
    Stats {
        /// Only of this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        kb: Option<PathBuf>,
    },
    /// Forget a folder; the folder itself stays as it is
    Remove {
        /// The folder
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
}

/// For whom a context pack is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ContextPackAgentArg {
    /// `.cursor/rules/context-pack.mdc`
    Cursor,
    /// A block in `AGENTS.md`
    Agents,
    /// The same, and `CLAUDE.md` leads to it
    Claude,
}
