//! `sp serve backup` and `sp serve restore`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sp_engine::{Context, Error, ErrorCode, Result};
use sp_formats::output::RegistryBackupReport;
use sp_formats::text::pluralize;
use sp_serve::registry::{BackupContent, RegistryCopyError, RegistryCopySummary};

use super::{location, maintenance, serve_error};
use crate::cli::RegistryLocationArgs;
use crate::terminal::Terminal;

pub(super) fn back_up(
    context: &Context<'_>,
    (registry, to, content): (&RegistryLocationArgs, &Path, BackupContent),
    terminal: &Terminal,
) -> Result<()> {
    let (from, to) = (location(context, registry)?, context.current_dir.join(to));
    let copied = sp_serve::registry::back_up_registry(&from, &to, content).map_err(copy_error)?;
    print_copy(context, (from.data_dir, to), copied, terminal)
}

pub(super) fn restore(
    context: &Context<'_>,
    (from, registry): (&Path, &RegistryLocationArgs),
    terminal: &Terminal,
) -> Result<()> {
    let (from, to) = (context.current_dir.join(from), location(context, registry)?);
    let copied = sp_serve::registry::restore_registry(&from, &to).map_err(copy_error)?;
    print_copy(context, (from, to.data_dir), copied, terminal)
}

fn print_copy(
    context: &Context<'_>,
    (from, to): (PathBuf, PathBuf),
    copied: RegistryCopySummary,
    terminal: &Terminal,
) -> Result<()> {
    let RegistryCopySummary { objects, bytes, damaged } = copied;
    let view = RegistryBackupReport { from, to, objects, bytes, damaged };
    terminal.print(&view, |out| {
        maintenance::print_damage(out, &view.damaged)?;
        writeln!(
            out,
            "copied {} to {}; every digest was verified",
            pluralize(view.objects, "object"),
            context.display_path(&view.to)
        )
    })?;
    maintenance::damage_result(&view.damaged)
}

fn copy_error(error: RegistryCopyError) -> Error {
    const NOTHING_COPIED: &str = "nothing was copied; fix the cause, then run the command again";
    let report = Error::new(copy_error_code(&error), error.to_string());
    match error {
        RegistryCopyError::NoRegistry(_) => {
            report.hint("pass its directory with `--data`, or its database with `--database`")
        }
        RegistryCopyError::NoBackup(_) => report.hint("`registry.db` is missing"),
        RegistryCopyError::TargetNotEmpty(_) => {
            report.hint("use an empty or nonexistent directory")
        }
        RegistryCopyError::DatabaseNotEmpty(_) => report.hint("create a new database"),
        RegistryCopyError::Unusable(error) => serve_error(error),
        RegistryCopyError::Database(source) => report.because(source).hint(NOTHING_COPIED),
        RegistryCopyError::File(source) => report.because(source).hint(NOTHING_COPIED),
    }
}

fn copy_error_code(error: &RegistryCopyError) -> ErrorCode {
    match error {
        RegistryCopyError::NoRegistry(_) | RegistryCopyError::NoBackup(_) => {
            ErrorCode::RegistryNotFound
        }
        RegistryCopyError::TargetNotEmpty(_) | RegistryCopyError::DatabaseNotEmpty(_) => {
            ErrorCode::TargetNotEmpty
        }
        RegistryCopyError::Database(_) => ErrorCode::Database,
        RegistryCopyError::File(source) if source.kind() == ErrorKind::InvalidData => {
            ErrorCode::DamagedData
        }
        RegistryCopyError::File(_) | RegistryCopyError::Unusable(_) => ErrorCode::Io,
    }
}
