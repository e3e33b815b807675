//! `sp completions` and `sp man`

use std::io::{self, Write};
use std::path::Path;

use clap::CommandFactory;
use sp_engine::{Context, Error, Kind, Result};
use sp_tree::atomic::{self, Durability, Temp};
use sp_tree::{Dir, Fixed, Name};

use crate::cli::Cli;

pub(super) fn completions(shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "sp", &mut script);
    print(&script)
}

/// Prints the main page, or writes a page a command into `dir`.
pub(super) fn man(context: &Context<'_>, dir: Option<&Path>) -> Result<()> {
    let failed = |e: io::Error| Error::new(Kind::Environment, "cannot make the man pages").because(e);
    let command = Cli::command();
    let Some(dir) = dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(failed)?;
        return print(&page);
    };
    let dir = Dir::create_all(&context.current_dir.join(dir))?;
    let mut pages = vec![("sp".to_owned(), command.clone())];
    let commands = command.get_subcommands().filter(|command| command.get_name() != "help");
    pages.extend(commands.map(|command| (format!("sp-{}", command.get_name()), command.clone())));
    for (name, command) in pages {
        let mut page = Vec::new();
        clap_mangen::Man::new(
            command.display_name(name.clone()).bin_name(name.replacen('-', " ", 1)).version(env!("CARGO_PKG_VERSION")),
        )
        .render(&mut page)
        .map_err(failed)?;
        let file = Name::new(&format!("{name}.1")).map_err(|e| Error::new(Kind::Data, e.to_string()))?;
        atomic::replace(&dir, &file, Temp { dir: &dir, name: Fixed(".sp-man.tmp") }, &page, Durability::Durable)?;
    }
    Ok(())
}

fn print(bytes: &[u8]) -> Result<()> {
    match io::stdout().lock().write_all(bytes) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::new(Kind::Environment, "cannot write to standard output").because(e))
        }
        _ => Ok(()),
    }
}
