//! A module a command: arguments to a request, a result to text.

mod change;
mod clean;
mod config;
mod init;
mod installed;
mod list;
mod manual;
mod show;

use sp_engine::{Cleaning, Mode, Others, Result, Scope, SinkRequest};

use crate::cli::{self, Cli, Command};
use crate::surroundings;
use crate::terminal::Terminal;

/// Runs the command that was asked for.
pub(crate) fn run(cli: &Cli, terminal: &Terminal) -> Result<()> {
    let context = surroundings::context(&cli.options, terminal)?;
    let root = cli.options.root.as_deref();
    match &cli.command {
        Command::List => list::skills(&context, root, terminal),
        Command::Packs => list::packs(&context, root, terminal),
        Command::Show { pack } => show::run(&context, root, pack, terminal),
        Command::Install(install) => change::install(&context, root, install, Others::Stay, terminal),
        Command::Switch(install) => change::install(&context, root, install, Others::Go, terminal),
        Command::Uninstall { packs, sinks, dry_run } => {
            change::uninstall(&context, packs, sinks, mode(*dry_run), terminal)
        }
        Command::Installed { agent, path, scope } => {
            let request = match (agent, path) {
                (None, None) => None,
                (agent, path) => Some(SinkRequest {
                    name: agent.clone().unwrap_or_else(|| "custom".into()),
                    path: path.clone(),
                    scope: scope_of(*scope),
                }),
            };
            installed::run(&context, request.as_ref(), terminal)
        }
        Command::Config => config::run(&context, terminal),
        Command::Init { dir } => init::run(&context, dir.as_deref(), terminal),
        Command::Clean { cache, dry_run } => {
            let what = if *cache { Cleaning::TrashAndCache } else { Cleaning::Trash };
            clean::run(&context, what, mode(*dry_run), terminal)
        }
        Command::Completions { shell } => manual::completions(*shell),
        Command::Man { dir } => manual::man(&context, dir.as_deref()),
    }
}

fn mode(dry_run: bool) -> Mode {
    if dry_run { Mode::DryRun } else { Mode::Apply }
}

fn scope_of(scope: cli::Scope) -> Scope {
    match scope {
        cli::Scope::Global => Scope::Global,
        cli::Scope::Project => Scope::Project,
    }
}

/// The sinks that `--agent`, `--path` and `--scope` name.
fn sink_requests(sinks: &cli::Sinks) -> Vec<SinkRequest> {
    let request =
        |name: &String| SinkRequest { name: name.clone(), path: sinks.path.clone(), scope: scope_of(sinks.scope) };
    sinks.agent.iter().map(request).collect()
}

/// `1 skill`, `2 skills`.
fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
