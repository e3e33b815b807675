//! Arguments of `sp context`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::{CheckArgs, ConsentArgs, PlanArgs, RegistryArg, parse_duration};

#[derive(Debug, Subcommand)]
pub(crate) enum ContextPackCommand {
    /// Check skills, packs, packages and workspaces for problems
    Check(CheckArgs),
    /// Show the contents of a context pack and their cost in tokens
    Show {
        /// Directory, zip or URL of the context pack
        #[arg(value_hint = ValueHint::AnyPath, default_value = ".")]
        pack: PathBuf,
    },
    /// Build a context pack from notes, pages and packages
    Build(Box<ContextBuildArgs>),
    /// Manage knowledge bases, the input of context packs
    #[command(subcommand)]
    Kb(KbCommand),
    /// Show the differences between two context packs
    Diff {
        /// Directory, zip or URL of the old context pack
        #[arg(value_hint = ValueHint::AnyPath)]
        before: PathBuf,
        /// Directory, zip or URL of the new context pack
        #[arg(value_hint = ValueHint::AnyPath)]
        after: PathBuf,
    },
    /// Create an empty context pack to fill in by hand
    New {
        /// Directory to create
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// Name of the project [default: that of the directory]
        #[arg(long)]
        name: Option<String>,
        /// What the project builds, in one to three sentences
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Technologies in use; repeat or separate with commas
        #[arg(long, value_name = "WORD", value_delimiter = ',')]
        stack: Vec<String>,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Update frontmatter and hashes after you edited a context pack
    Seal {
        /// Directory of the context pack
        #[arg(value_hint = ValueHint::DirPath, default_value = ".")]
        pack: PathBuf,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Create a reproducible zip of a context pack
    Zip {
        /// Directory or URL of the context pack
        #[arg(value_hint = ValueHint::DirPath, default_value = ".")]
        pack: PathBuf,
        /// Output file [default: context-pack.zip]
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
        /// Overwrite an existing file
        #[arg(long, short)]
        force: bool,
    },
    /// Unpack a zip into a new directory
    Unzip {
        /// Path or URL of the zip
        #[arg(value_hint = ValueHint::FilePath)]
        zip: PathBuf,
        /// Directory to create
        #[arg(value_hint = ValueHint::DirPath, default_value = "context-pack")]
        dir: PathBuf,
    },
    /// Upload a context pack to a registry
    Push {
        /// Directory, zip or URL of the context pack
        #[arg(value_hint = ValueHint::AnyPath, default_value = ".")]
        pack: PathBuf,
        #[command(flatten)]
        registry: RegistryArg,
    },
    /// Create a signed URL that gives access for a limited time
    Url {
        /// ID of the context pack, `pk_…`
        id: String,
        /// How long the URL is valid: `30m`, `1h`, `7d` [default: 1h]
        #[arg(long, value_name = "DURATION")]
        expires: Option<String>,
        #[command(flatten)]
        registry: RegistryArg,
    },
    /// Revoke all signed URLs of a context pack
    Revoke {
        /// ID of the context pack, `pk_…`
        id: String,
        #[command(flatten)]
        registry: RegistryArg,
    },
    /// Install a context pack into the current project
    Install {
        /// Directory, zip or URL of the context pack
        #[arg(value_hint = ValueHint::AnyPath)]
        pack: PathBuf,
        /// `cursor`, `agents` or `claude` [default: cursor,agents]
        ///
        /// The files to write to: a rule of Cursor, `AGENTS.md`, or `CLAUDE.md`. Can be repeated,
        /// or separated with commas.
        #[arg(
            long = "agent",
            short,
            value_enum,
            value_name = "AGENT",
            value_delimiter = ',',
            hide_possible_values = true
        )]
        agents: Vec<ContextPackAgentArg>,
        #[command(flatten)]
        plan: PlanArgs,
        #[command(flatten)]
        consent: ConsentArgs,
    },
    /// Uninstall the context pack from the current project
    Uninstall {
        #[command(flatten)]
        plan: PlanArgs,
    },
}

/// `sp context build`
#[derive(Debug, Args)]
pub(crate) struct ContextBuildArgs {
    /// Name of the project
    #[arg(long)]
    pub(crate) name: String,
    /// What the project builds, in one to three sentences
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: String,
    /// A question or task, to select what matters
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Technologies in use; repeat or separate with commas
    #[arg(long, value_name = "WORD", value_delimiter = ',')]
    pub(crate) stack: Vec<String>,
    /// Knowledge base; can be repeated [default: all]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) kb: Vec<PathBuf>,
    /// Only documents captured since then: `90d` or a date
    ///
    /// Units are days (`d`), weeks (`w`), months (`m`) and years (`y`).
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Output directory [default: context-pack]
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// Create a zip beside the directory, too
    #[arg(long)]
    pub(crate) zip: bool,
    /// Replace an edited context pack, and an existing zip
    #[arg(long, short)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    /// Maximum number of tokens in each file
    #[arg(long, value_name = "TOKENS", default_value_t = 6000, hide_short_help = true)]
    pub(crate) budget: usize,
    /// Show what was left out, and why
    #[arg(long)]
    pub(crate) explain: bool,
    /// Creation time to record, such as `2026-04-24T14:22:03Z` [default: now]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub(crate) generated_at: Option<String>,
    /// Pack ID, a ULID or UUID [default: derived from the creation time and the input]
    #[arg(long, value_name = "ID", hide_short_help = true)]
    pub(crate) pack_id: Option<String>,
    /// OpenAI-compatible endpoint of a model that selects and shortens sentences; the API key is
    /// read from SP_MODEL_KEY
    #[arg(long, value_name = "URL", hide_short_help = true)]
    pub(crate) model: Option<String>,
    /// Name of the model
    #[arg(
        long,
        value_name = "NAME",
        requires = "model",
        default_value = "default",
        hide_short_help = true
    )]
    pub(crate) model_name: String,
    /// Timeout of model requests, such as `60s` or `5m`
    #[arg(
        long,
        value_name = "DURATION",
        requires = "model",
        default_value = "60s",
        value_parser = parse_duration,
        hide_short_help = true
    )]
    pub(crate) model_timeout: Duration,
}

/// `sp context kb`
#[derive(Debug, Subcommand)]
pub(crate) enum KbCommand {
    /// Index a directory, or update its index
    Add {
        /// Directory to index
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// List the knowledge bases, or the documents of one
    List {
        /// Directory of a knowledge base
        #[arg(value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Search the knowledge bases
    Search {
        /// Words to search for
        #[arg(required = true, value_name = "WORDS")]
        query: Vec<String>,
        /// Search only this knowledge base
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        kb: Option<PathBuf>,
        /// Maximum number of results
        #[arg(long, value_name = "COUNT", default_value_t = 10)]
        max_results: usize,
    },
    /// Show the size of the knowledge bases, and what is stale
    Stats {
        /// Show only this knowledge base
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        kb: Option<PathBuf>,
    },
    /// Remove a knowledge base, but not its directory
    Remove {
        /// Directory of the knowledge base
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        #[command(flatten)]
        plan: PlanArgs,
    },
}

/// The files that an installed context pack goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ContextPackAgentArg {
    /// `.cursor/rules/context-pack.mdc`
    Cursor,
    /// A block in `AGENTS.md`
    Agents,
    /// A block in `AGENTS.md`, and an import in `CLAUDE.md`
    Claude,
}
