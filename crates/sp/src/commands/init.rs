//! `sp init`.

use std::path::Path;

use sp_engine::{Context, Result};

use super::shell_quote;
use crate::cli::OutputFormat;
use crate::terminal::{ADDED, STRONG, Terminal};

pub(super) fn run(context: &Context<'_>, dir: Option<&Path>, terminal: &Terminal) -> Result<()> {
    let report = sp_engine::init(context, dir)?;
    terminal.print(&report, |out| {
        if terminal.format == OutputFormat::Plain {
            return report.files.iter().try_for_each(|file| writeln!(out, "{file}"));
        }
        report.files.iter().try_for_each(|file| writeln!(out, "{ADDED}+{ADDED:#} {file}"))?;
        writeln!(
            out,
            "\n{STRONG}created a repository{STRONG:#} in {}",
            context.display_path(&report.root)
        )?;
        let enter = if report.root == context.current_dir {
            String::new()
        } else {
            format!("cd {} && ", shell_quote(&context.display_path(&report.root)))
        };
        writeln!(out, "next: {enter}sp install {} --agent claude", report.pack)
    })
}
