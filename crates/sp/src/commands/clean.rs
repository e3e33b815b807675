//! `sp clean`.

use sp_engine::{ApplyMode, CleanScope, Context, Result};
use sp_formats::text::{ByteSize, pluralize};

use crate::cli::OutputFormat;
use crate::terminal::{REMOVED, Terminal};

pub(super) fn run(
    context: &Context<'_>,
    what: CleanScope,
    mode: ApplyMode,
    terminal: &Terminal,
) -> Result<()> {
    let report = sp_engine::clean(context, what, mode)?;
    terminal.print(&report, |out| {
        if terminal.format == OutputFormat::Plain {
            return report.removed.iter().try_for_each(|path| writeln!(out, "{}", path.display()));
        }
        report.removed.iter().try_for_each(|path| {
            writeln!(out, "{REMOVED}-{REMOVED:#} {}", context.display_path(path))
        })?;
        let verb = if report.applied { "removed" } else { "would remove" };
        let count = pluralize(report.removed.len(), "item");
        writeln!(out, "{verb} {count}, {}", ByteSize(report.bytes))
    })
}
