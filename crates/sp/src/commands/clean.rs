//! `sp clean`.

use sp_engine::{ApplyOptions, CleanScope, Context, Result};
use sp_formats::text::{ByteSize, pluralize};

use super::plan::write_apply_command;
use crate::cli::OutputFormat;
use crate::terminal::{DIM, REMOVED, Terminal};

pub(super) fn run(
    context: &Context<'_>,
    what: CleanScope,
    apply: ApplyOptions,
    terminal: &Terminal,
) -> Result<()> {
    let report = sp_engine::clean(context, what, apply)?;
    terminal.print(&report, |out| {
        if terminal.format == OutputFormat::Plain {
            return report.removed.iter().try_for_each(|path| writeln!(out, "{}", path.display()));
        }
        report.items.iter().try_for_each(|item| {
            let (path, size) = (context.display_path(&item.path), ByteSize(item.bytes));
            writeln!(out, "{REMOVED}-{REMOVED:#} {path}  {DIM}{size}{DIM:#}")
        })?;
        let verb = if report.status.applied { "removed" } else { "would remove" };
        let count = pluralize(report.removed.len(), "item");
        writeln!(out, "{verb} {count}, {}", ByteSize(report.bytes))?;
        if report.removed.is_empty() {
            return Ok(());
        }
        write_apply_command(&report.status, out)
    })
}
