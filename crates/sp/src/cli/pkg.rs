//! Arguments of `sp pkg`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::ScopeArg;

#[derive(Debug, Subcommand)]
pub(crate) enum PackageCommand {
    /// Make a package: from a project, from a file written by hand, or from skills
    Create(Box<PackageCreateArgs>),
    /// Put packages into the store, after verifying them
    Import {
        /// The files
        #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        trust: TrustArgs,
    },
    /// Write a package of the store into a file, to the letter
    Export {
        /// The package: `name`, `name@version`
        package: String,
        /// The file [default: `NAME-VERSION.ctxpkg`]
        #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
        /// Replace a file that is there
        #[arg(long)]
        force: bool,
        /// Leave out what another tool does not take
        #[arg(long, value_enum)]
        compat: Option<CompatToolArg>,
    },
    /// Install packages into a project, with all that they need
    Install {
        /// Names, names with versions or ranges, or files [default: what ctxpkg.lock says]
        #[arg(value_name = "PACKAGE")]
        packages: Vec<String>,
        #[command(flatten)]
        place: PackageTargetArgs,
        /// Install optional dependencies too, where they can be
        #[arg(long)]
        with_optional: bool,
        /// Look for packages in this registry only [default: those of the config, or where you
        /// logged in last]
        #[arg(long, value_name = "ADDRESS")]
        registry: Option<String>,
        #[command(flatten)]
        trust: TrustArgs,
    },
    /// Take packages out of a project, and what nothing else needs
    Uninstall {
        /// The packages, by name
        #[arg(required = true, value_name = "PACKAGE")]
        packages: Vec<String>,
        /// Show what would change, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// List the packages of the store
    List,
    /// Show everything about a package
    Info {
        /// A file, or a package of the store
        package: String,
        #[command(flatten)]
        size: MaxSizeArgs,
    },
    /// Take packages out of the store
    Remove {
        /// `name` for every version, `name@version` for one
        #[arg(required = true, value_name = "PACKAGE")]
        packages: Vec<String>,
        /// Show what would go, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Show what differs between two packages
    Diff {
        /// A file, or a package of the store
        before: String,
        /// A file, or a package of the store
        after: String,
        #[command(flatten)]
        size: MaxSizeArgs,
    },
    /// List the versions of a package, the newest first
    Log {
        /// The package, by name
        name: String,
    },
    /// Go back to an earlier version, or to all that the project had before
    Rollback {
        /// The package [default: everything]
        name: Option<String>,
        /// The version to go back to [default: the one before]
        #[arg(long, value_name = "VERSION", requires = "name")]
        to: Option<String>,
        /// Show what would change, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Make one package of several
    Merge {
        /// Files, or packages of the store
        #[arg(required = true, value_name = "PACKAGE")]
        packages: Vec<String>,
        /// The name of the new package
        #[arg(long)]
        name: String,
        /// Its version [default: 1.0.0, then the next patch whenever the content is another]
        #[arg(long)]
        version: Option<String>,
        #[command(flatten)]
        sign: SignArgs,
        /// Write it into this file too
        #[arg(long, visible_alias = "output", short, value_name = "FILE", value_hint = ValueHint::FilePath)]
        out: Option<PathBuf>,
        /// Replace the output file if it exists
        #[arg(long, requires = "out")]
        force: bool,
        #[command(flatten)]
        size: MaxSizeArgs,
    },
    /// Ask what is known: by type, by file, by words, near a node, or between two
    Query {
        /// Files, or packages of the store [default: those of the project]
        #[arg(value_name = "PACKAGE")]
        packages: Vec<String>,
        /// Nodes of this type
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
        /// Nodes of this file, or of a folder
        #[arg(long, value_name = "PATH")]
        file: Option<String>,
        /// Nodes that say this
        #[arg(long, value_name = "WORDS")]
        says: Option<String>,
        /// What is near this node
        #[arg(long, value_name = "ID", conflicts_with_all = ["kind", "file", "says", "path"])]
        near: Option<String>,
        /// Over how many edges
        #[arg(long, default_value_t = 1, requires = "near")]
        steps: usize,
        /// How two nodes hang together
        #[arg(long, num_args = 2, value_names = ["FROM", "TO"], conflicts_with_all = ["kind", "file", "says"])]
        path: Vec<String>,
    },
    /// Tell what the files that it was read from have outgrown
    Stale {
        /// Files, or packages of the store [default: those of the project]
        #[arg(value_name = "PACKAGE")]
        packages: Vec<String>,
        /// The folder that the paths of nodes start from [default: the current one]
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
        /// Exit with 1 if something was changed or is gone
        #[arg(long)]
        exit_code: bool,
    },
    /// Make the next version of a package, in which some nodes are as active as if they were new
    Touch {
        /// A package of the store, or a file
        package: String,
        /// The nodes that were used
        #[arg(required = true, value_name = "ID")]
        nodes: Vec<String>,
        #[command(flatten)]
        sign: SignArgs,
    },
    /// Make the next version of a package, in which edges between some nodes are stronger
    Reinforce {
        /// A package of the store, or a file
        package: String,
        /// The nodes that were used together
        #[arg(required = true, num_args = 2.., value_name = "ID")]
        nodes: Vec<String>,
        #[command(flatten)]
        sign: SignArgs,
    },
    /// Make the next version of a package, without what has faded
    Prune {
        /// A package of the store, or a file
        package: String,
        /// What is less active than this goes
        #[arg(long, value_name = "ACTIVATION", default_value_t = 0.05)]
        below: f64,
        #[command(flatten)]
        sign: SignArgs,
    },
    /// Draw what is known
    Graph {
        /// Files, or packages of the store [default: those of the project]
        #[arg(value_name = "PACKAGE")]
        packages: Vec<String>,
        /// In which language
        #[arg(long, value_enum, default_value_t)]
        to: GraphFormatArg,
        /// Write it into this file, and not to stdout
        #[arg(long, visible_alias = "output", short, value_name = "FILE", value_hint = ValueHint::FilePath)]
        out: Option<PathBuf>,
        /// Replace a file that is there
        #[arg(long)]
        force: bool,
    },
    /// Print the best of what is known, within a number of tokens, for an agent to read
    Load {
        /// Files, or packages of the store [default: those of the project]
        #[arg(value_name = "PACKAGE")]
        packages: Vec<String>,
        /// The most tokens
        #[arg(long, value_name = "TOKENS", default_value_t = 4000)]
        budget: usize,
        /// What it should be about, in a few words
        #[arg(long, value_name = "WORDS", default_value = "")]
        focus: String,
        /// As of this time, such as `2026-05-22T00:00:00Z` [default: now]
        #[arg(long, value_name = "TIME")]
        at: Option<String>,
        #[command(flatten)]
        size: MaxSizeArgs,
    },
    /// Verify a package, step by step
    Verify {
        /// A file, or a package of the store
        package: String,
        #[command(flatten)]
        trust: TrustArgs,
    },
    /// Send a package to another machine
    Send {
        /// A file, or a package of the store [default: the only one there is]
        package: Option<String>,
        /// Where to: `agent.example`, or `127.0.0.1:8765`
        #[arg(long, value_name = "URL")]
        target: String,
        /// Whom it is for
        #[arg(long, value_name = "NAME")]
        to: Option<String>,
        /// By which name the other side knows you
        #[arg(long = "as", value_name = "NAME", default_value = "sp")]
        sender: String,
        #[command(flatten)]
        secret: SecretArgs,
        /// How the envelope is signed
        #[arg(long, value_enum, default_value_t)]
        envelope: EnvelopeVersionArg,
    },
    /// Take packages that other machines send
    Receive {
        /// The address to listen on; port 0 takes any that is free
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8765")]
        listen: String,
        /// Refuse what is for somebody else
        #[arg(long = "as", value_name = "NAME")]
        recipient: Option<String>,
        #[command(flatten)]
        secret: SecretArgs,
        /// Accept envelopes that are not signed with the secret
        #[arg(long)]
        allow_unsigned: bool,
        /// Let packages wait until `sp pkg inbox` takes them
        #[arg(long)]
        queue: bool,
        /// Stop after one package
        #[arg(long)]
        once: bool,
        #[command(flatten)]
        trust: TrustArgs,
    },
    /// List packages that wait, take one, or refuse one
    Inbox {
        /// Take this one
        #[arg(long, value_name = "ID", conflicts_with = "reject")]
        accept: Option<String>,
        /// Refuse this one
        #[arg(long, value_name = "ID")]
        reject: Option<String>,
        #[command(flatten)]
        trust: TrustArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PackageCreateArgs {
    /// The name [default: what the file says]
    #[arg(long)]
    pub name: Option<String>,
    /// The scope: `acme` makes `@acme/<name>`
    #[arg(long)]
    pub scope: Option<String>,
    /// The version [default: 1.0.0, then the next patch whenever the content is another]
    #[arg(long)]
    pub version: Option<String>,
    /// What it is about
    #[arg(long)]
    pub description: Option<String>,
    /// Who wrote it
    #[arg(long)]
    pub author: Option<String>,
    /// A free word; may be given several times
    #[arg(long, value_name = "WORD")]
    pub tag: Vec<String>,
    /// What it needs; may be given several times
    #[arg(long, value_name = "NAME@RANGE")]
    pub depends: Vec<String>,
    /// The conformance level: 1 nodes, 2 edges too, 3 activation and decay too
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=3))]
    pub level: Option<u64>,
    /// What it is for
    #[arg(long, value_enum, default_value_t)]
    pub kind: PackageKindArg,
    /// Make it from this project: its documents, manifests, source code and history [default: the
    /// current directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["input", "skills"])]
    pub from: Option<PathBuf>,
    /// Make it from this file: nodes, edges and layers in JSON or YAML
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "skills")]
    pub input: Option<PathBuf>,
    /// With `--kind skills`: folders of skills, or packs
    #[arg(value_name = "SKILL", value_hint = ValueHint::AnyPath)]
    pub skills: Vec<String>,
    #[command(flatten)]
    pub sign: SignArgs,
    /// Write it into this file too
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long, requires = "output")]
    pub force: bool,
    #[command(flatten)]
    pub size: MaxSizeArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum PackageKindArg {
    /// Knowledge
    #[default]
    Context,
    /// Skills
    Skills,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompatToolArg {
    /// lean-ctx, which refuses the layer `policies`
    LeanCtx,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum GraphFormatArg {
    /// For Graphviz
    #[default]
    Dot,
    /// For Mermaid
    Mermaid,
    /// A page for a browser, all in one file
    Html,
    /// For programs
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum EnvelopeVersionArg {
    /// For older peers
    V2,
    /// Every field is covered
    #[default]
    V3,
}

/// Where a package goes.
#[derive(Debug, Args)]
pub(crate) struct PackageTargetArgs {
    /// The agent that skills are installed for; may be given several times
    #[arg(long, value_name = "SINK")]
    pub agent: Vec<String>,
    /// Use this directory instead of the agent's own
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "agent")]
    pub path: Option<PathBuf>,
    /// Where the agent reads: for the user, or in this project
    #[arg(long, value_enum, default_value_t, requires = "agent")]
    pub scope: ScopeArg,
    /// What stands before the names of skills' folders
    #[arg(long)]
    pub prefix: Option<String>,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What is accepted for once.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Refuse packages that nobody signed
    #[arg(long)]
    pub require_signed: bool,
    /// Take a package that is signed less well than those before it
    #[arg(long, conflicts_with = "require_signed")]
    pub allow_downgrade: bool,
    /// Take a package that is signed by another key than before, and trust that key from now on
    #[arg(long)]
    pub accept_new_key: bool,
    #[command(flatten)]
    pub size: MaxSizeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SignArgs {
    /// Sign it; with a name, with that key
    #[arg(long, value_name = "KEY", num_args = 0..=1, default_missing_value = "", require_equals = true)]
    pub sign: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct MaxSizeArgs {
    /// Take packages of up to this size [default: 10 MiB]
    #[arg(long, value_name = "BYTES")]
    pub max_size: Option<u64>,
}

/// A secret that two machines share: never an argument.
#[derive(Debug, Args)]
pub(crate) struct SecretArgs {
    /// The environment variable that holds the secret [default: SP_TRANSPORT_SECRET]
    #[arg(long, value_name = "NAME", conflicts_with = "secret_file")]
    pub secret_env: Option<String>,
    /// A file that holds the secret, and that only you may read
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub secret_file: Option<PathBuf>,
    /// The environment variable that holds a bearer token
    #[arg(long, value_name = "NAME")]
    pub token_env: Option<String>,
}
