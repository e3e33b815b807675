//! Arguments of `sp pkg`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::{ConsentArgs, PlanArgs, ScopeArg};

#[derive(Debug, Subcommand)]
pub(crate) enum PackageCommand {
    /// Create a package from a project, a file, or skills
    Create(Box<PackageCreateArgs>),
    /// Verify packages and import them into the store
    Import {
        /// Package files
        #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        trust: TrustArgs,
        #[command(flatten)]
        plan: PlanArgs,
        #[command(flatten)]
        consent: ConsentArgs,
    },
    /// Export a package from the store to a file, byte for byte
    Export {
        /// `name` or `name@1.2.0`
        package: String,
        /// Output file [default: NAME-VERSION.ctxpkg]
        #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
        /// Overwrite an existing file
        #[arg(long, short)]
        force: bool,
        /// Leave out what this tool does not support
        #[arg(long, value_enum, value_name = "TOOL")]
        compat: Option<CompatToolArg>,
    },
    /// Install packages and their dependencies
    Install {
        /// Files, `name` or `name@^1` [default: those of the project]
        #[arg(value_name = "PACKAGE")]
        packages: Vec<String>,
        #[command(flatten)]
        place: PackageTargetArgs,
        /// Install optional dependencies, if they can be resolved
        #[arg(long)]
        with_optional: bool,
        /// Use only this registry [default: those in the config]
        ///
        /// Without registries in the config, the default is the last one you logged in to.
        #[arg(long, value_name = "URL")]
        registry: Option<String>,
        #[command(flatten)]
        trust: TrustArgs,
        #[command(flatten)]
        consent: ConsentArgs,
    },
    /// Uninstall packages and unused dependencies
    Uninstall {
        /// Names of the packages
        #[arg(required = true, value_name = "PACKAGE")]
        packages: Vec<String>,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// List the packages in the store
    List,
    /// Show the details of a package
    Info {
        /// File, `name` or `name@1.2.0`
        package: String,
        #[command(flatten)]
        size: MaxSizeArgs,
    },
    /// Delete packages from the store
    Remove {
        /// `name` for all versions, `name@1.2.0` for one
        #[arg(required = true, value_name = "PACKAGE")]
        packages: Vec<String>,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Show the differences between two packages
    Diff {
        /// File, `name` or `name@1.2.0` of the old package
        before: String,
        /// File, `name` or `name@1.2.0` of the new package
        after: String,
        #[command(flatten)]
        size: MaxSizeArgs,
    },
    /// List the versions of a package in the store, newest first
    Log {
        /// Name of the package
        name: String,
    },
    /// Restore earlier versions of packages
    Rollback {
        /// `name` or `name@1.2.0` [default: undo the last change]
        package: Option<String>,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Merge packages into a new one
    Merge {
        /// Files, or packages in the store
        #[arg(required = true, value_name = "PACKAGE")]
        packages: Vec<String>,
        /// Name of the new package
        #[arg(long)]
        name: String,
        /// Version [default: 1.0.0, or the next patch version]
        #[arg(long)]
        version: Option<String>,
        #[command(flatten)]
        sign: SignArgs,
        /// Write the package to this file, too
        #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
        /// Overwrite an existing file
        #[arg(long, short, requires = "output")]
        force: bool,
        #[command(flatten)]
        plan: PlanArgs,
        #[command(flatten)]
        size: MaxSizeArgs,
    },
    /// Search the knowledge in packages
    Query {
        /// Files, or packages in the store [default: the packages of the project]
        #[arg(value_name = "PACKAGE")]
        packages: Vec<String>,
        /// Only nodes of this type
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
        /// Only nodes about this file or directory
        #[arg(long, value_name = "PATH")]
        file: Option<String>,
        /// Only nodes that contain these words
        #[arg(long, value_name = "WORDS")]
        text: Option<String>,
        /// Show the neighbors of this node
        #[arg(long, value_name = "ID", conflicts_with_all = ["kind", "file", "text", "path"])]
        near: Option<String>,
        /// Maximum distance from the node, in edges
        #[arg(long, default_value_t = 1, requires = "near")]
        steps: usize,
        /// Show the shortest path between two nodes
        #[arg(long, num_args = 2, value_names = ["FROM", "TO"], conflicts_with_all = ["kind", "file", "text"])]
        path: Vec<String>,
    },
    /// Report nodes whose source files have changed
    Stale {
        /// Files, or packages in the store [default: the packages of the project]
        #[arg(value_name = "PACKAGE")]
        packages: Vec<String>,
        /// Root directory of the source files [default: the current directory]
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
        /// Exit with code 1 if a source file was changed or deleted
        #[arg(long)]
        exit_code: bool,
    },
    /// Mark nodes as used, in the next version of a package
    Touch {
        /// File, or package in the store
        package: String,
        /// IDs of the nodes
        #[arg(required = true, value_name = "ID")]
        nodes: Vec<String>,
        #[command(flatten)]
        sign: SignArgs,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Strengthen edges, in the next version of a package
    Reinforce {
        /// File, or package in the store
        package: String,
        /// IDs of nodes that were used together
        #[arg(required = true, num_args = 2.., value_name = "ID")]
        nodes: Vec<String>,
        #[command(flatten)]
        sign: SignArgs,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Remove inactive nodes, in the next version of a package
    Prune {
        /// File, or package in the store
        package: String,
        /// Remove nodes whose activation is lower than this
        #[arg(long, value_name = "ACTIVATION", default_value_t = 0.05)]
        below: f64,
        #[command(flatten)]
        sign: SignArgs,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Draw the knowledge graph
    Graph {
        /// Files, or packages in the store [default: the packages of the project]
        #[arg(value_name = "PACKAGE")]
        packages: Vec<String>,
        /// `dot`, `mermaid`, `html` or `json`
        #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
        to: GraphFormatArg,
        /// Output file [default: stdout]
        #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
        /// Overwrite an existing file
        #[arg(long, short)]
        force: bool,
    },
    /// Print the most relevant knowledge within a token budget
    Load {
        /// Files, or packages in the store [default: the packages of the project]
        #[arg(value_name = "PACKAGE")]
        packages: Vec<String>,
        /// Maximum number of tokens
        #[arg(long, value_name = "TOKENS", default_value_t = 4000)]
        budget: usize,
        /// Topic to focus on, in a few words
        #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true)]
        focus: String,
        /// Compute activations for this time, such as `2026-05-22T00:00:00Z` [default: now]
        #[arg(long, value_name = "TIME")]
        at: Option<String>,
        #[command(flatten)]
        size: MaxSizeArgs,
    },
    /// Verify the hashes and the signature of a package
    Verify {
        /// File, or package in the store
        package: String,
        #[command(flatten)]
        trust: TrustArgs,
    },
    /// Send a package to another machine
    Send {
        /// File, or package in the store [default: the only package in the store]
        package: Option<String>,
        /// Receiver, such as `agent.example` or `127.0.0.1:8765`
        #[arg(long, value_name = "URL")]
        target: String,
        /// Name of the recipient
        #[arg(long, value_name = "NAME")]
        to: Option<String>,
        /// Name of the sender
        #[arg(long = "as", value_name = "NAME", default_value = "sp")]
        sender: String,
        #[command(flatten)]
        secret: SecretArgs,
        /// Version of the envelope
        #[arg(long, value_enum, default_value_t, hide_short_help = true)]
        envelope: EnvelopeVersionArg,
    },
    /// Receive packages from other machines
    Receive {
        /// Address to listen on
        ///
        /// Port 0 selects a free port.
        #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8765")]
        listen: String,
        /// Reject packages for other recipients
        #[arg(long = "as", value_name = "NAME")]
        recipient: Option<String>,
        #[command(flatten)]
        secret: SecretArgs,
        /// Accept envelopes that are not signed with the secret
        #[arg(long)]
        allow_unsigned: bool,
        /// Keep packages in the inbox until you accept them
        ///
        /// `sp pkg inbox` lists and accepts them.
        #[arg(long)]
        queue: bool,
        /// Stop after one package
        #[arg(long)]
        once: bool,
        #[command(flatten)]
        trust: TrustArgs,
    },
    /// List received packages, accept one, or reject one
    Inbox {
        /// Accept this package
        #[arg(long, value_name = "ID", conflicts_with = "reject")]
        accept: Option<String>,
        /// Reject this package
        #[arg(long, value_name = "ID")]
        reject: Option<String>,
        #[command(flatten)]
        trust: TrustArgs,
        #[command(flatten)]
        plan: PlanArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PackageCreateArgs {
    /// Name [default: the name in the input]
    #[arg(long)]
    pub name: Option<String>,
    /// Scope: `acme` makes `@acme/<name>`
    #[arg(long, hide_short_help = true)]
    pub scope: Option<String>,
    /// Version [default: 1.0.0, or the next patch version]
    #[arg(long)]
    pub version: Option<String>,
    /// Description
    #[arg(long, hide_short_help = true)]
    pub description: Option<String>,
    /// Author
    #[arg(long, hide_short_help = true)]
    pub author: Option<String>,
    /// Tag; can be repeated
    #[arg(long, value_name = "WORD", hide_short_help = true)]
    pub tag: Vec<String>,
    /// Dependency; can be repeated
    #[arg(long, value_name = "NAME@RANGE", hide_short_help = true)]
    pub depends: Vec<String>,
    /// Conformance level: 1 nodes, 2 edges, 3 activation and decay
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=3), hide_short_help = true)]
    pub level: Option<u64>,
    /// `context` or `skills`
    ///
    /// A package contains either knowledge or skills.
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    pub kind: PackageKindArg,
    /// Extract knowledge from this project [default: .]
    ///
    /// Reads its documents, manifests, source code and git history.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["input", "skills"])]
    pub from: Option<PathBuf>,
    /// Read nodes and edges from this JSON or YAML file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "skills")]
    pub input: Option<PathBuf>,
    /// With `--kind skills`: directories of skills, or packs
    #[arg(value_name = "SKILL", value_hint = ValueHint::AnyPath)]
    pub skills: Vec<String>,
    #[command(flatten)]
    pub sign: SignArgs,
    /// Write the package to this file, too
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, short, requires = "output", hide_short_help = true)]
    pub force: bool,
    #[command(flatten)]
    pub plan: PlanArgs,
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
    /// lean-ctx, which rejects the layer `policies`
    LeanCtx,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum GraphFormatArg {
    /// DOT, for Graphviz
    #[default]
    Dot,
    /// Mermaid
    Mermaid,
    /// An interactive page for a browser, in one file
    Html,
    /// JSON
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum EnvelopeVersionArg {
    /// For older receivers
    V2,
    /// Signs every field
    #[default]
    V3,
}

/// Where a package is installed.
#[derive(Debug, Args)]
pub(crate) struct PackageTargetArgs {
    /// Agents for skills: `claude,codex`, `detected` or `all`
    ///
    /// Can be repeated.
    #[arg(long, short, value_name = "AGENT", value_delimiter = ',')]
    pub agent: Vec<String>,
    /// Use this directory instead of the agent's own
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "agent")]
    pub path: Option<PathBuf>,
    /// `global` for the user, or `project`
    #[arg(long, value_enum, default_value_t, requires = "agent", hide_possible_values = true)]
    pub scope: ScopeArg,
    /// Prefix for the directories of skills
    #[arg(long, hide_short_help = true)]
    pub prefix: Option<String>,
    #[command(flatten)]
    pub plan: PlanArgs,
}

/// Exceptions from the trust policy.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Reject unsigned packages
    #[arg(long)]
    pub require_signed: bool,
    /// Accept a package that is unsigned although earlier versions were signed
    #[arg(long, conflicts_with = "require_signed", hide_short_help = true)]
    pub allow_downgrade: bool,
    /// Accept a new signing key, and trust it from now on
    #[arg(long)]
    pub accept_new_key: bool,
    #[command(flatten)]
    pub size: MaxSizeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SignArgs {
    /// Sign the package with this key [default key: default]
    #[arg(long, value_name = "KEY", num_args = 0..=1, default_missing_value = "", require_equals = true)]
    pub sign: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct MaxSizeArgs {
    /// Maximum size of a package [default: 10 MiB]
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    pub max_size: Option<u64>,
}

/// A secret that two machines share. It is never an argument.
#[derive(Debug, Args)]
pub(crate) struct SecretArgs {
    /// Environment variable that contains the shared secret
    ///
    /// [default: SP_TRANSPORT_SECRET]
    #[arg(long, value_name = "NAME", conflicts_with = "secret_file")]
    pub secret_env: Option<String>,
    /// File with the shared secret, readable only by you
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub secret_file: Option<PathBuf>,
    /// Environment variable that contains a bearer token
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub token_env: Option<String>,
}
