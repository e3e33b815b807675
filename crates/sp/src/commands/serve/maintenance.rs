//! `sp serve verify`, `sp serve gc` and `sp serve delete`.

use std::io::{self, Write};
use std::time::Duration;

use sp_engine::{Context, Error, ErrorCode, Result};
use sp_formats::output::RegistryDamage;
use sp_formats::printable::printable;
use sp_formats::text::{ByteSize, pluralize};
use sp_serve::registry::{GarbageAction, LocalRegistry};

use super::{local_error, open_local};
use crate::cli::RegistryLocationArgs;
use crate::terminal::Terminal;

pub(super) fn verify(
    context: &Context<'_>,
    location: &RegistryLocationArgs,
    terminal: &Terminal,
) -> Result<()> {
    let report = open_local(context, location)?.verify().map_err(local_error)?;
    terminal.print(&report, |out| {
        print_damage(out, &report.damaged)?;
        let (objects, size) = (pluralize(report.objects, "object"), ByteSize(report.bytes));
        writeln!(out, "verified {objects} ({size})")
    })?;
    damage_result(&report.damaged)
}

/// Prints what consists of each damaged object.
pub(super) fn print_damage(out: &mut dyn Write, damaged: &[RegistryDamage]) -> io::Result<()> {
    damaged.iter().try_for_each(|damage| {
        let used_by = damage.used_by.join(", ");
        writeln!(out, "{}: {} ({})", damage.problem, printable(&used_by), damage.sha256)
    })
}

/// Fails if something is damaged.
pub(super) fn damage_result(damaged: &[RegistryDamage]) -> Result<()> {
    if damaged.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> =
        damaged.iter().flat_map(|damage| &damage.used_by).map(String::as_str).collect();
    let count = pluralize(damaged.len(), "object");
    Err(Error::new(ErrorCode::DamagedData, format!("{count} missing or damaged"))
        .because(format!("used by {}", printable(&names.join(", "))))
        .hint("restore them from a backup, or delete these versions with `sp serve delete`"))
}

pub(super) fn collect_garbage(
    registry: &LocalRegistry,
    (grace, action): (Duration, GarbageAction),
    terminal: &Terminal,
) -> Result<()> {
    let report = registry.collect_garbage(grace, action).map_err(local_error)?;
    terminal.print(&report, |out| {
        let verb = if report.deleted { "deleted" } else { "found" };
        let (objects, size) = (pluralize(report.objects.len(), "object"), ByteSize(report.bytes));
        writeln!(out, "{verb} {objects} ({size}) that nothing refers to")
    })
}

pub(super) fn delete(
    registry: &LocalRegistry,
    (package, reason): (&str, &str),
    terminal: &Terminal,
) -> Result<()> {
    let report = registry.delete_version(package, reason).map_err(local_error)?;
    terminal.print(&report, |out| writeln!(out, "deleted {} {}", report.name, report.version))
}
