//! `--dry-run` and `--plan`, in the same way for every command.

use std::io::{self, Write};

use sp_engine::{ApplyMode, ApplyOptions};
use sp_formats::output::PlanStatus;
use sp_formats::printable::printable;

use super::shell_quote;
use crate::cli::PlanArgs;
use crate::environment;
use crate::terminal::DIM;

pub(super) fn apply_options(args: &PlanArgs) -> ApplyOptions {
    let mode = if args.dry_run { ApplyMode::DryRun } else { ApplyMode::Apply };
    ApplyOptions { mode, expected_plan: args.plan }
}

/// Writes the command that applies exactly the plan of a dry run. Callers leave it out if nothing
/// would change.
pub(super) fn write_apply_command(status: &PlanStatus, out: &mut dyn Write) -> io::Result<()> {
    if status.applied {
        return Ok(());
    }
    let Some(arguments) = environment::arguments() else { return Ok(()) };
    let command = apply_command(&arguments, &status.plan);
    // A command that has to be escaped for display cannot be copied and run.
    if printable(&command) == command {
        writeln!(out, "\n{DIM}to apply this plan:{DIM:#} {command}")?;
    }
    Ok(())
}

/// Replaces `--dry-run` by `--plan`.
fn apply_command(arguments: &[String], plan: &str) -> String {
    let plan = format!("--plan {plan}");
    let shown = |argument: &String| {
        if ["--dry-run", "-n"].contains(&argument.as_str()) {
            plan.clone()
        } else {
            shell_quote(argument)
        }
    };
    format!("sp {}", arguments.iter().map(shown).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dry_run_becomes_the_plan_and_other_arguments_are_quoted() {
        for (line, expected) in [
            ("install -n team -a claude", "sp install --plan ID team -a claude"),
            ("pkg\tremove\ta b\t--dry-run", "sp pkg remove 'a b' --plan ID"),
        ] {
            let separator = if line.contains('\t') { '\t' } else { ' ' };
            let arguments: Vec<String> = line.split(separator).map(str::to_owned).collect();
            assert_eq!(apply_command(&arguments, "ID"), expected);
        }
    }
}
