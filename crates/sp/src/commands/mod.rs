//! The commands, one module each.
//!
//! A command turns its arguments into a request, calls the engine once, and prints the report as
//! text or JSON. [`run`] dispatches. Modules that are not commands hold what several commands print
//! in the same way: [`findings`], [`differences`], [`kept`], [`pack_changes`] and [`plan`]. Nothing
//! here decides anything about packages.

mod audit;
mod bag;
mod check;
mod clean;
mod complete;
mod config;
mod context;
mod cost;
mod differences;
mod doctor;
mod explain;
mod findings;
mod init;
mod install;
mod installed;
mod kept;
mod key;
mod list;
mod manual;
mod mcp;
mod pack_changes;
mod pkg;
mod plan;
mod policy;
mod project;
mod publisher;
mod registry;
mod schema;
mod serve;
mod show;
mod watch;

use std::path::Path;
use std::process::ExitCode;

use sp_engine::{
    ApplyMode, AuditRequest, CleanScope, Context, CostRequest, ImportPolicy, OtherPacks, Result,
    SinkRequest, SinkScope,
};
use sp_formats::text::shell_quote;

pub(crate) use self::complete::answer as answer_completion;
use self::plan::apply_options;
use crate::cli::{self, Cli, CliCommand};
use crate::environment;
use crate::logging;
use crate::terminal::Terminal;

pub(crate) fn run(cli: &Cli, terminal: &Terminal) -> Result<ExitCode> {
    let context = environment::context(&cli.options, terminal)?;
    logging::init(&context.env)?;
    let _command = tracing::info_span!("command").entered();
    let root = cli.options.root.as_deref();
    let result = match &cli.command {
        CliCommand::Check(check) => return check::run(&context, &cli.options, check, terminal),
        CliCommand::Audit { paths, baseline, diff, agents } => {
            let request = AuditRequest {
                paths: paths.clone(),
                baseline: baseline.clone(),
                root: cli.options.root.clone(),
                sinks: sink_requests(&context, &agents.agent, None, agents.scope)?,
                imports: ImportPolicy::Fetch,
            };
            return audit::run(&context, &request, diff, terminal);
        }
        CliCommand::Policy(command) => return policy::run(&context, root, command, terminal),
        CliCommand::Pkg(command) => return pkg::run(context, &cli.options, command, terminal),
        CliCommand::Add(_)
        | CliCommand::Sync(_)
        | CliCommand::Remove(_)
        | CliCommand::Update(_)
        | CliCommand::Outdated(_)
        | CliCommand::Status(_)
        | CliCommand::Why(_)
        | CliCommand::Diff(_)
        | CliCommand::Restore(_)
        | CliCommand::Adopt(_)
        | CliCommand::Disable(_)
        | CliCommand::Enable(_)
        | CliCommand::Migrate(_) => {
            return project::run(&context, &cli.options, &cli.command, terminal);
        }
        CliCommand::Key(command) => key::run(&context, command, terminal),
        CliCommand::Bag(command) => return bag::run(&context, &cli.options, command, terminal),
        CliCommand::Context(command) => {
            return context::run(&context, &cli.options, command, terminal);
        }
        CliCommand::Serve(serve) => serve::run(&context, serve, terminal),
        CliCommand::Mcp(mcp) => mcp::run(&context, &cli.options, mcp, terminal),
        CliCommand::Login { .. }
        | CliCommand::Logout { .. }
        | CliCommand::Publish { .. }
        | CliCommand::Info { .. }
        | CliCommand::Search { .. }
        | CliCommand::Yank { .. } => registry::run(&context, &cli.command, terminal),
        CliCommand::Publisher(command) => publisher::run(&context, command, terminal),
        CliCommand::Explain { rule } => explain::run(rule.as_deref(), terminal),
        CliCommand::Cost { paths, agents } => {
            let (paths, root) = (paths.clone(), cli.options.root.clone());
            let sinks = sink_requests(&context, &agents.agent, None, agents.scope)?;
            cost::run(&context, &CostRequest { paths, root, sinks }, terminal)
        }
        CliCommand::Schema { file } => schema::run(file, terminal),
        CliCommand::List => list::skills(&context, root, terminal),
        CliCommand::Packs => list::packs(&context, root, terminal),
        CliCommand::Show { pack } => show::run(&context, root, pack, terminal),
        CliCommand::Install(install) => {
            install::install(&context, root, install, OtherPacks::Keep, terminal)
        }
        CliCommand::Switch(install) => {
            install::install(&context, root, install, OtherPacks::Remove, terminal)
        }
        CliCommand::Uninstall(uninstall) => install::uninstall(&context, uninstall, terminal),
        CliCommand::Installed(filter) => installed::run(&context, filter, terminal),
        CliCommand::Config => config::run(&context, terminal),
        CliCommand::Init { dir, plan } => init::run(&context, dir.as_deref(), plan, terminal),
        CliCommand::Doctor(args) => return doctor::run(&context, &cli.options, args, terminal),
        CliCommand::Clean { cache, plan } => {
            let scope = if *cache { CleanScope::TrashAndCache } else { CleanScope::Trash };
            clean::run(&context, scope, apply_options(plan), terminal)
        }
        CliCommand::Completions { shell } => manual::completions(*shell),
        CliCommand::Man { dir } => manual::man(&context, dir.as_deref()),
    };
    result.map(|()| ExitCode::SUCCESS)
}

fn mode(dry_run: bool) -> ApplyMode {
    if dry_run { ApplyMode::DryRun } else { ApplyMode::Apply }
}

fn to_sink_scope(scope: cli::ScopeArg) -> SinkScope {
    match scope {
        cli::ScopeArg::Global => SinkScope::Global,
        cli::ScopeArg::Project => SinkScope::Project,
    }
}

/// Returns one request per agent that `--agent` means, each with the given `--path` and `--scope`.
fn sink_requests(
    context: &Context<'_>,
    agents: &[String],
    path: Option<&Path>,
    scope: cli::ScopeArg,
) -> Result<Vec<SinkRequest>> {
    let request =
        |name| SinkRequest { name, path: path.map(Into::into), scope: to_sink_scope(scope) };
    Ok(sp_engine::select_agents(context, agents)?.into_iter().map(request).collect())
}
