//! Arguments of `sp policy`.

use clap::{Subcommand, ValueHint};

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Explain what policies allow and deny
    ///
    /// Exits with 4 if something is denied.
    Check {
        /// Sources as for `sp add`, directories or package files [default: the skills of the
        /// lockfile]
        #[arg(value_name = "PATH|SOURCE", value_hint = ValueHint::AnyPath)]
        targets: Vec<String>,
    },
    /// List the policies that apply, and their rules
    Show,
}
