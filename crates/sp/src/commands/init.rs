//! `sp init`.

use std::path::Path;

use sp_engine::{Context, Result};

use super::plan::{apply_options, write_apply_command};
use super::shell_quote;
use crate::cli::{OutputFormat, PlanArgs};
use crate::terminal::{ADDED, STRONG, Terminal};

pub(super) fn run(
    context: &Context<'_>,
    dir: Option<&Path>,
    plan: &PlanArgs,
    terminal: &Terminal,
) -> Result<()> {
    let report = sp_engine::init(context, dir, apply_options(plan))?;
    terminal.print(&report, |out| {
        if terminal.format == OutputFormat::Plain {
            return report.files.iter().try_for_each(|file| writeln!(out, "{file}"));
        }
        report.files.iter().try_for_each(|file| writeln!(out, "{ADDED}+{ADDED:#} {file}"))?;
        let verb = if report.status.applied { "created" } else { "would create" };
        writeln!(
            out,
            "\n{STRONG}{verb} a repository{STRONG:#} in {}",
            context.display_path(&report.root)
        )?;
        if !report.status.applied {
            return write_apply_command(&report.status, out);
        }
        let enter = if report.root == context.current_dir {
            String::new()
        } else {
            format!("cd {} && ", shell_quote(&context.display_path(&report.root)))
        };
        writeln!(out, "next: {enter}sp install {} --agent claude", report.pack)
    })
}
