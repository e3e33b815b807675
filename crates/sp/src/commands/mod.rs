//! A module a command: arguments to a request, a result to text.

mod audit;
mod bag;
mod change;
mod check;
mod clean;
mod config;
mod context;
mod cost;
mod differences;
mod explain;
mod init;
mod installed;
mod key;
mod list;
mod manual;
mod mcp;
mod pkg;
mod registry;
mod schema;
mod serve;
mod show;
mod watch;

use std::process::ExitCode;

use sp_engine::{AuditRequest, Cleaning, CostRequest, Error, Kind, Mode, Others, Result, Scope, SinkRequest};

use crate::cli::{self, Cli, Command, Format};
use crate::surroundings;
use crate::terminal::Terminal;

/// Runs the command that was asked for.
pub(crate) fn run(cli: &Cli, terminal: &Terminal) -> Result<ExitCode> {
    refuse_format(cli)?;
    let context = surroundings::context(&cli.options, terminal)?;
    let root = cli.options.root.as_deref();
    let done = match &cli.command {
        Command::Check(check) => return check::run(&context, &cli.options, check, terminal),
        Command::Audit { paths, agent, scope } => {
            let sink = |name: &String| SinkRequest { name: name.clone(), path: None, scope: scope_of(*scope) };
            let sinks = agent.iter().map(sink).collect();
            let request = AuditRequest { paths: paths.clone(), root: cli.options.root.clone(), sinks };
            return audit::run(&context, &request, terminal);
        }
        Command::Pkg(command) => return pkg::run(context, &cli.options, command, terminal),
        Command::Key(command) => key::run(&context, command, terminal),
        Command::Bag(command) => return bag::run(&context, &cli.options, command, terminal),
        Command::Context(command) => return context::run(&context, &cli.options, command, terminal),
        Command::Serve(serve) => serve::run(&context, serve, terminal),
        Command::Mcp(wanted) => mcp::run(&context, &cli.options, wanted, terminal),
        Command::Login { .. }
        | Command::Logout { .. }
        | Command::Publish { .. }
        | Command::Info { .. }
        | Command::Search { .. }
        | Command::Yank { .. } => registry::run(&context, &cli.command, terminal),
        Command::Explain { rule } => explain::run(rule.as_deref(), terminal),
        Command::Cost { paths, agent, scope } => {
            let sink = |name: &String| SinkRequest { name: name.clone(), path: None, scope: scope_of(*scope) };
            let sinks = agent.iter().map(sink).collect();
            let request = CostRequest { paths: paths.clone(), root: cli.options.root.clone(), sinks };
            cost::run(&context, &request, terminal)
        }
        Command::Schema { file } => schema::run(file, terminal),
        Command::List => list::skills(&context, root, terminal),
        Command::Packs => list::packs(&context, root, terminal),
        Command::Show { pack } => show::run(&context, root, pack, terminal),
        Command::Install(install) => change::install(&context, root, install, Others::Stay, terminal),
        Command::Switch(install) => change::install(&context, root, install, Others::Go, terminal),
        Command::Uninstall(uninstall) => change::uninstall(&context, uninstall, terminal),
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
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// Some forms are only for what one command has to tell.
fn refuse_format(cli: &Cli) -> Result<()> {
    let (format, wanted) = match cli.options.format {
        Format::Sarif => ("sarif", "sp check"),
        Format::Github => ("github", "sp check"),
        Format::Md => ("md", "sp pkg load"),
        Format::Xml => ("xml", "sp pkg load"),
        _ => return Ok(()),
    };
    let is = match cli.command {
        Command::Check(_)
        | Command::Audit { .. }
        | Command::Bag(cli::Bag::Check(_))
        | Command::Context(cli::ContextPack::Check(_)) => "sp check",
        Command::Pkg(cli::Pkg::Load { .. }) => "sp pkg load",
        _ => "",
    };
    match is == wanted {
        true => Ok(()),
        false => Err(Error::new(Kind::Usage, format!("`--format {format}` is for `{wanted}` only"))
            .hint("use `human`, `plain` or `json`")),
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

/// A path, or another word, as a shell reads it; a `~` at its start stays outside the quotes.
fn quoted(path: &str) -> String {
    let (home, rest) = path.strip_prefix("~/").map_or(("", path), |rest| ("~/", rest));
    let plain = !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+~".contains(c));
    if plain { path.into() } else { format!("{home}'{}'", rest.replace('\'', "'\\''")) }
}

/// `1 skill`, `2 skills`.
fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// `1,234,567`.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes as people read them.
fn size(bytes: u64) -> String {
    const KB: f64 = 1024.0;
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    let number = bytes as f64;
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KB", number / KB),
        _ => format!("{:.1} MB", number / KB / KB),
    }
}
