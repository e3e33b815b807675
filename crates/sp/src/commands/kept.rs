//! What several commands print about edited folders and files that they moved to the trash.

use std::io::{self, Write};

use sp_engine::Context;
use sp_formats::output::TrashedFolder;
use sp_formats::printable::printable;

use crate::terminal::WARNING;

/// Writes where edited folders and files are now, each on a line.
pub(super) fn write_kept<'k>(
    context: &Context<'_>,
    kept: impl IntoIterator<Item = &'k TrashedFolder>,
    out: &mut dyn Write,
) -> io::Result<()> {
    kept.into_iter().try_for_each(|kept| {
        writeln!(
            out,
            "{WARNING}kept{WARNING:#} the previous `{}` in {}",
            printable(&kept.folder),
            context.display_path(&kept.kept_at)
        )
    })
}
