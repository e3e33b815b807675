//! Printing of stored packages: `sp pkg create`, `import`, `list`, `info`, `remove`, `log` and
//! `export`.

use std::io::{self, Write};

use sp_engine::{Context, Result};
use sp_formats::output::{
    PackageExportReport, PackageInfo, PackageItem, PackageList, PackageLog, PackageRemoveReport,
    StoredPackageList, TypeCount,
};
use sp_formats::package::PackageKind;
use sp_formats::printable::printable;
use sp_formats::text::{ByteSize, pluralize};
use sp_formats::time::relative_text;

use super::super::plan::write_apply_command;
use crate::cli::OutputFormat;
use crate::terminal::{ADDED, DIM, REMOVED, STRONG, Terminal, pad, table};

pub(super) fn print_created(
    context: &Context<'_>,
    stored: &StoredPackageList,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(stored, |out| {
        for item in &stored.packages {
            let package = &item.package;
            if terminal.format == OutputFormat::Plain {
                write_plain_package(out, package)?;
                continue;
            }
            let verb = match (item.new, stored.status.applied) {
                (true, true) => "Package created",
                (true, false) => "Package that would be created",
                (false, _) => "Package already in the store",
            };
            writeln!(out, "{STRONG}{verb}{STRONG:#}")?;
            writeln!(
                out,
                "  Name:    {} {}",
                printable(&package.name),
                printable(&package.version)
            )?;
            match package.kind {
                PackageKind::Skills => writeln!(out, "  Kind:    skills")?,
                _ if package.nodes > 0 || package.edges > 0 => {
                    writeln!(
                        out,
                        "  Graph:   {}, {}",
                        pluralize(package.nodes, "node"),
                        pluralize(package.edges, "edge")
                    )?;
                }
                _ => {}
            }
            writeln!(out, "  Size:    {}", ByteSize(package.size))?;
            let signer = package
                .signer
                .as_deref()
                .map_or("no; use `--sign` to sign it".into(), |key| format!("{}…", &key[..16]));
            writeln!(out, "  Signed:  {signer}")?;
            if let Some(file) = &item.file {
                writeln!(out, "  File:    {}", context.display_path(file))?;
            }
            if !stored.status.applied {
                continue;
            }
            let named = format!("{}@{}", package.name, package.version);
            writeln!(
                out,
                "{DIM}run `sp pkg export {named}` to write it to a file, or `sp pkg install \
                 {named}` to install it{DIM:#}"
            )?;
        }
        write_plan(stored, terminal, out)
    })
}

pub(super) fn print_imported(stored: &StoredPackageList, terminal: &Terminal) -> Result<()> {
    terminal.print(stored, |out| {
        for item in &stored.packages {
            let package = &item.package;
            if terminal.format == OutputFormat::Plain {
                write_plain_package(out, package)?;
                continue;
            }
            let (style, sign) = if item.new { (ADDED, '+') } else { (DIM, ' ') };
            let known = if item.new { "" } else { " (already in the store)" };
            writeln!(
                out,
                "{style}{sign}{style:#} {} {}{known}  {DIM}{}{DIM:#}",
                printable(&package.name),
                printable(&package.version),
                ByteSize(package.size)
            )?;
        }
        write_plan(stored, terminal, out)
    })
}

/// Writes how to apply the plan of a dry run.
fn write_plan(
    stored: &StoredPackageList,
    terminal: &Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    if terminal.format == OutputFormat::Plain {
        return Ok(());
    }
    write_apply_command(&stored.status, out)
}

fn write_plain_package(out: &mut dyn Write, package: &PackageItem) -> io::Result<()> {
    writeln!(
        out,
        "{}\t{}\t{}",
        printable(&package.name),
        printable(&package.version),
        package.digest
    )
}

pub(super) fn print_list(
    context: &Context<'_>,
    list: &PackageList,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(list, |out| {
        if terminal.format == OutputFormat::Plain {
            return list.packages.iter().try_for_each(|package| write_plain_package(out, package));
        }
        if list.packages.is_empty() {
            writeln!(
                out,
                "the store is empty; run `sp pkg create` or `sp pkg import` to add a package"
            )?;
        } else {
            write!(out, "{}", package_table(&list.packages, terminal))?;
        }
        if !list.waiting.is_empty() {
            writeln!(out)?;
            write_waiting(context, list, out, terminal)?;
        }
        Ok(())
    })
}

fn package_table(packages: &[PackageItem], terminal: &Terminal) -> String {
    let rows = packages.iter().map(|package| {
        let state = [(package.installed, "installed"), (package.withdrawn, "rolled back")];
        let state: Vec<&str> = state.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
        let graph = if package.nodes > 0 {
            format!("{} / {}", package.nodes, package.edges)
        } else {
            String::new()
        };
        vec![
            package.name.clone(),
            package.version.clone(),
            package.kind.as_str().into(),
            graph,
            ByteSize(package.size).to_string(),
            package
                .signer
                .as_deref()
                .map_or("unsigned".into(), |key| key.chars().take(12).collect()),
            state.join(", "),
            package.description.clone(),
        ]
    });
    let heading =
        ["package", "version", "kind", "nodes / edges", "size", "signed by", "", "description"];
    table(&heading, rows.collect(), terminal.width())
}

pub(super) fn write_waiting(
    context: &Context<'_>,
    list: &PackageList,
    out: &mut dyn Write,
    terminal: &Terminal,
) -> io::Result<()> {
    let rows = list.waiting.iter().map(|package| {
        vec![
            package.id.clone(),
            package.name.clone(),
            package.version.clone(),
            package.sender.clone(),
            relative_text(&package.received_at, context.now),
        ]
    });
    write!(
        out,
        "{}",
        table(
            &["inbox id", "package", "version", "sender", "received"],
            rows.collect(),
            terminal.width()
        )
    )?;
    writeln!(
        out,
        "{DIM}run `sp pkg inbox --accept <ID>` to accept a package, or `--reject <ID>` to reject \
         it{DIM:#}"
    )
}

pub(in crate::commands) fn print_info(
    context: &Context<'_>,
    info: &PackageInfo,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(info, |out| {
        let package = &info.package;
        let mut line = |label: &str, text: &str| {
            if text.is_empty() {
                return Ok(());
            }
            writeln!(out, "{}  {}", pad(label, 12), printable(text))
        };
        let level =
            info.conformance_level.map(|level| format!(", level {level}")).unwrap_or_default();
        line("package", &format!("{} {}", package.name, package.version))?;
        line("description", &package.description)?;
        line("kind", &format!("{}, schema {}{level}", package.kind.as_str(), info.schema_version))?;
        line("author", info.author.as_deref().unwrap_or_default())?;
        let created = package.created_at.as_deref().map(|at| relative_text(at, context.now));
        line(
            "created",
            &[info.made_by.as_deref().map(|by| format!("by {by}")), created]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(", "),
        )?;
        line("layers", &info.layers.join(", "))?;
        line("nodes", &type_counts(package.nodes, &info.node_types))?;
        line("edges", &type_counts(package.edges, &info.edge_types))?;
        line("tags", &info.tags.join(", "))?;
        for (index, dependency) in info.dependencies.iter().enumerate() {
            let optional = if dependency.optional { ", optional" } else { "" };
            let text = format!("{} {}{optional}", dependency.name, dependency.range);
            line(if index == 0 { "depends on" } else { "" }, &text)?;
        }
        line("conflicts", &info.conflicts.join(", "))?;
        for (index, file) in info.files.iter().enumerate() {
            let text = format!("{}  {}", file.path, ByteSize(file.size));
            line(if index == 0 { "files" } else { "" }, &text)?;
        }
        line("size", &ByteSize(package.size).to_string())?;
        line("signed by", package.signer.as_deref().unwrap_or("unsigned"))?;
        line("sha256", &package.sha256)?;
        line("digest", &package.digest)?;
        let from = package.from.as_ref().map(|from| {
            let at = package.stored_at.as_deref().unwrap_or_default();
            format!("from {from}, {}", relative_text(at, context.now))
        });
        line("stored", &from.unwrap_or_default())?;
        Ok(())
    })
}

/// Formats a total with its parts, such as `3: 2 fact, 1 decision`; empty if it is zero.
fn type_counts(total: u64, counts: &[TypeCount]) -> String {
    if total == 0 {
        return String::new();
    }
    let parts: Vec<String> =
        counts.iter().map(|part| format!("{} {}", part.count, part.kind)).collect();
    format!("{total}: {}", parts.join(", "))
}

pub(super) fn print_removed(removed: &PackageRemoveReport, terminal: &Terminal) -> Result<()> {
    terminal.print(removed, |out| {
        if terminal.format == OutputFormat::Plain {
            return removed.removed.iter().try_for_each(|it| write_plain_package(out, it));
        }
        for package in &removed.removed {
            let (name, version) = (printable(&package.name), printable(&package.version));
            writeln!(out, "{REMOVED}-{REMOVED:#} {name} {version}")?;
        }
        let verb = if removed.status.applied { "removed" } else { "would remove" };
        let count = pluralize(removed.removed.len(), "package");
        writeln!(out, "\n{STRONG}{verb}{STRONG:#} from the store · {count}")?;
        write_apply_command(&removed.status, out)
    })
}

pub(super) fn print_log(
    context: &Context<'_>,
    log: &PackageLog,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(log, |out| {
        if terminal.format == OutputFormat::Plain {
            return log.versions.iter().try_for_each(|package| write_plain_package(out, package));
        }
        let rows = log.versions.iter().map(|package| {
            let state = [(package.installed, "installed"), (package.withdrawn, "rolled back")];
            let state: Vec<&str> =
                state.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
            vec![
                package.version.clone(),
                relative_text(package.stored_at.as_deref().unwrap_or_default(), context.now),
                format!("{} / {}", package.nodes, package.edges),
                package
                    .signer
                    .as_deref()
                    .map_or("unsigned".into(), |key| key.chars().take(12).collect()),
                package.from.clone().unwrap_or_default(),
                state.join(", "),
            ]
        });
        let heading = ["version", "stored", "nodes / edges", "signed by", "from", ""];
        write!(out, "{}", table(&heading, rows.collect(), terminal.width()))?;
        if !log.removed.is_empty() {
            writeln!(
                out,
                "{DIM}removed versions, which cannot be reused: {}{DIM:#}",
                printable(&log.removed.join(", "))
            )?;
        }
        Ok(())
    })
}

pub(super) fn print_exported(
    context: &Context<'_>,
    report: &PackageExportReport,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(report, |out| {
        let file = context.display_path(&report.file);
        if terminal.format == OutputFormat::Plain {
            return writeln!(out, "{file}");
        }
        let (name, version) = (printable(&report.name), printable(&report.version));
        writeln!(
            out,
            "{STRONG}exported{STRONG:#} {name} {version} to {file} · {}",
            ByteSize(report.size)
        )
    })
}
