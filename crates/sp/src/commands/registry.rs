//! `sp login`, `logout`, `publish`, `search` and `yank`

use sp_engine::pkg::{self, LoginRequest, PublishRequest, SecretFrom, YankRequest, Yanking};
use sp_engine::{Context, Result};
use sp_formats::output::RegistrySearch;
use sp_formats::printable::printable;
use sp_formats::registry::IndexItem;

use super::count;
use crate::cli::{Command, Format};
use crate::terminal::{DIM, STRONG, Terminal, table};

pub(super) fn run(context: &Context<'_>, command: &Command, terminal: &Terminal) -> Result<()> {
    match command {
        Command::Login { registry, token_env, token_file } => {
            let token = token_file.clone().map_or_else(|| SecretFrom::Env(token_env.clone()), SecretFrom::File);
            let known = pkg::login(context, &LoginRequest { registry: registry.clone(), token })?;
            terminal.print(&known, |out| {
                let (user, scope) =
                    (known.user.as_deref().unwrap_or_default(), known.scope.as_deref().unwrap_or_default());
                writeln!(out, "{} knows you as {} {DIM}({}){DIM:#}", known.registry, printable(user), printable(scope))
            })
        }
        Command::Logout { registry } => {
            let forgotten = pkg::logout(context, registry.as_deref())?;
            terminal.print(&forgotten, |out| writeln!(out, "forgot the token for {}", forgotten.registry))
        }
        Command::Publish { package, registry } => {
            let request = PublishRequest { package: package.clone(), registry: registry.clone() };
            let done = pkg::publish(context, &request)?;
            terminal.print(&done, |out| {
                let what = if done.published { "published" } else { "it was there already:" };
                writeln!(out, "{what} {STRONG}{} {}{STRONG:#} · {}", done.name, done.version, done.registry)?;
                let signer =
                    done.signer.as_deref().map_or_else(|| "not signed".into(), |key| format!("signed by {key}"));
                let warnings =
                    if done.warnings > 0 { format!(" · {}", count(done.warnings, "warning")) } else { String::new() };
                writeln!(out, "{DIM}sha256 {} · {signer}{warnings}{DIM:#}", done.sha256)
            })
        }
        Command::Search { words, registry } => {
            found(&pkg::search(context, &words.join(" "), registry.as_deref())?, terminal)
        }
        Command::Yank { package, undo, registry } => {
            let way = if *undo { Yanking::Undo } else { Yanking::Yank };
            let request = YankRequest { package: package.clone(), way, registry: registry.clone() };
            let done = pkg::yank(context, &request)?;
            terminal.print(&done, |out| {
                let what = if done.yanked { "yanked" } else { "took back the yank of" };
                writeln!(out, "{what} {} {} · {}", done.name, done.version, done.registry)
            })
        }
        _ => Ok(()),
    }
}

fn found(answer: &RegistrySearch, terminal: &Terminal) -> Result<()> {
    terminal.print(answer, |out| {
        let name = |item: &IndexItem| format!("@{}/{}", item.namespace, item.name);
        let latest = |item: &IndexItem| item.latest.clone().unwrap_or_else(|| "yanked".into());
        if terminal.format == Format::Plain {
            return answer.packages.iter().try_for_each(|item| writeln!(out, "{}\t{}", name(item), latest(item)));
        }
        let about = |item: &IndexItem| item.description.clone().unwrap_or_default();
        let row = |item: &IndexItem| vec![name(item), latest(item), item.kind.clone(), about(item)];
        let rows: Vec<Vec<String>> = answer.packages.iter().map(row).collect();
        if !rows.is_empty() {
            write!(out, "{}", table(&["package", "latest", "kind", "about"], rows, terminal.width()))?;
        }
        writeln!(out, "{DIM}{} · {}{DIM:#}", count(answer.packages.len(), "package"), answer.registry)
    })
}
