//! `sp completions` and `sp man`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use sp_engine::{Context, Error, ErrorCode, Result, write_files};

use crate::cli::{command, completion_script};

pub(super) fn completions(shell: clap_complete::Shell) -> Result<()> {
    if let Some(script) = completion_script(shell) {
        return print(script.as_bytes());
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "sp", &mut script);
    print(&script)
}

/// Prints the main page, or writes one page per command to `dir`.
pub(super) fn man(context: &Context<'_>, dir: Option<&Path>) -> Result<()> {
    let failed =
        |e: io::Error| Error::new(ErrorCode::Output, "cannot generate the man pages").because(e);
    let command = command();
    let Some(dir) = dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(failed)?;
        return print(&page);
    };
    let (mut commands, mut pages) = (Vec::new(), BTreeMap::new());
    collect_commands("sp", &command, &mut commands);
    for (typed, command) in commands {
        let mut page = Vec::new();
        let name = typed.replace(' ', "-");
        // The page footer shows the version. The flag is disabled because `sp bag add` has its own
        // `--version`.
        let command = command
            .display_name(name.clone())
            .bin_name(typed)
            .version(env!("CARGO_PKG_VERSION"))
            .disable_version_flag(true);
        clap_mangen::Man::new(command).render(&mut page).map_err(failed)?;
        pages.insert(format!("{name}.1"), page);
    }
    write_files(&context.current_dir.join(dir), &pages)
}

/// Collects a command and its subcommands, each with its full command line.
fn collect_commands(
    typed: &str,
    command: &clap::Command,
    found: &mut Vec<(String, clap::Command)>,
) {
    found.push((typed.into(), command.clone()));
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        collect_commands(&format!("{typed} {}", below.get_name()), below, found);
    }
}

fn print(bytes: &[u8]) -> Result<()> {
    match io::stdout().lock().write_all(bytes) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::new(ErrorCode::Output, "cannot write to standard output").because(e))
        }
        _ => Ok(()),
    }
}
