//! `sp`: arguments in, one verb of the engine called, text or JSON out. Nothing is decided here.

mod cli;
mod commands;
mod surroundings;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;
use crate::terminal::{Terminal, Words};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let terminal = Terminal::new(cli.options.format, Words::of(cli.options.verbose));
    match commands::run(&cli, &terminal) {
        Ok(code) => code,
        Err(error) => {
            terminal.error(&error);
            ExitCode::from(error.kind.exit_code())
        }
    }
}
