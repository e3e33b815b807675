//! The `sp` command line: arguments in, one engine call, text or JSON out.
//!
//! [`cli`] declares the commands and flags, [`environment`] reads the process, [`commands`] calls
//! the engine, [`terminal`] prints, and [`logging`] logs. Decisions about packages are made in
//! `sp-engine`.

mod cli;
mod commands;
mod environment;
mod logging;
mod terminal;

use std::process::ExitCode;

use crate::cli::SettingSources;
use crate::terminal::{Terminal, Verbosity};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    if commands::answer_completion(&arguments) {
        return ExitCode::SUCCESS;
    }
    let sources =
        SettingSources { variable: &environment::variable, read: &environment::read_text };
    let cli = match terminal::parse_cli(arguments, &sources) {
        Ok(cli) => cli,
        Err(code) => return ExitCode::from(code),
    };
    let terminal =
        Terminal::new(cli.options.output_format(), Verbosity::from_flag(cli.options.verbose));
    match commands::run(&cli, &terminal) {
        Ok(code) => code,
        Err(error) => {
            terminal.print_error(&error);
            ExitCode::from(error.kind().exit_code())
        }
    }
}
