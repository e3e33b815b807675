//! Files that a command writes where the user asked for them: `--output`, a zip, a drawing.
//!
//! A file is written whole or not at all, and replaces an existing file only with
//! [`Overwrite::Allow`]. Files that `sp` manages itself are not written here; they belong to a
//! plan.

use std::path::Path;

use sp_tree::atomic::{self, ExistingFilePolicy, OutputFile};

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};

/// Whether an existing output file may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// The command fails and leaves the file as it is.
    Refuse,
    /// The file is replaced.
    Allow,
}

impl From<Overwrite> for ExistingFilePolicy {
    fn from(overwrite: Overwrite) -> Self {
        match overwrite {
            Overwrite::Refuse => Self::Refuse,
            Overwrite::Allow => Self::Replace,
        }
    }
}

/// The hint for an existing file, for commands that have both flags.
pub(crate) const OUTPUT_OR_FORCE_HINT: &str =
    "choose another file with `--output`, or add `--force` to overwrite this one";

/// Fails if [`write_output_file`] would refuse to replace an existing file.
pub(crate) fn check_output_file(
    context: &Context<'_>,
    path: &Path,
    overwrite: Overwrite,
    hint: &str,
) -> Result<()> {
    if overwrite == Overwrite::Allow || path.symlink_metadata().is_err() {
        return Ok(());
    }
    let message = format!("`{}` already exists", context.display_path(path));
    Err(Error::new(ErrorCode::AlreadyExists, message).hint(hint))
}

/// Writes a file atomically. If it exists and must not be replaced, the error carries `hint`, which
/// names the flags that the command has.
pub(crate) fn write_output_file(
    context: &Context<'_>,
    path: &Path,
    file: OutputFile<'_>,
    hint: &str,
) -> Result<()> {
    atomic::write_output(path, &context.run_id, file).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Error::new(
            ErrorCode::AlreadyExists,
            format!("`{}` already exists", context.display_path(path)),
        )
        .hint(hint),
        _ => error.into(),
    })
}
