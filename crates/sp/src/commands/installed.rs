//! `sp installed`.

use std::io::{self, Write};
use std::path::Path;

use sp_engine::{Context, InstalledFilter, Result};
use sp_formats::output::InstalledItem;
use sp_formats::printable::printable;
use sp_formats::time::relative_text;

use crate::cli::{InstalledArgs, OutputFormat};
use crate::terminal::{Terminal, Verbosity, table};

pub(super) fn run(
    context: &Context<'_>,
    filter: &InstalledArgs,
    terminal: &Terminal,
) -> Result<()> {
    let engine_filter = InstalledFilter {
        agents: sp_engine::select_agents(context, &filter.agent)?,
        path: filter.path.clone(),
        scope: filter.scope.map(super::to_sink_scope),
    };
    let list = sp_engine::installed(context, &engine_filter)?;
    terminal.print(&list, |out| {
        let separator = if terminal.format == OutputFormat::Plain { "," } else { ", " };
        let rows = list.installs.iter().map(|item| {
            let path = match terminal.format {
                OutputFormat::Plain => item.path.display().to_string(),
                _ => context.display_path(Path::new(&item.path)),
            };
            vec![
                item.agents.join(separator),
                item.pack.clone(),
                item.folders.len().to_string(),
                match terminal.format {
                    OutputFormat::Plain => item.installed_at.clone(),
                    _ => relative_text(&item.installed_at, context.now),
                },
                path,
            ]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        if terminal.format == OutputFormat::Plain {
            return rows.iter().try_for_each(|row| {
                writeln!(
                    out,
                    "{}",
                    row.iter().map(|cell| printable(cell)).collect::<Vec<_>>().join("\t")
                )
            });
        }
        if rows.is_empty() {
            let is_filtered =
                !filter.agent.is_empty() || filter.path.is_some() || filter.scope.is_some();
            let in_sink = if is_filtered { " there" } else { "" };
            return writeln!(
                out,
                "no packs installed{in_sink}; run `sp install <pack> --agent <agent>` to install \
                 one"
            );
        }
        write!(
            out,
            "{}",
            table(&["agent", "pack", "skills", "installed", "path"], rows, terminal.width())
        )?;
        if terminal.verbosity == Verbosity::Verbose {
            list.installs.iter().try_for_each(|item| write_details(context, item, out))?;
        }
        Ok(())
    })
}

/// Writes an installed pack with its imports and folders.
fn write_details(
    context: &Context<'_>,
    item: &InstalledItem,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(
        out,
        "\n{} in {}  from {}",
        printable(&item.pack),
        context.display_path(&item.path),
        context.display_path(Path::new(&item.pack_file))
    )?;
    for import in &item.imports {
        let git_ref = import.git_ref.as_deref().unwrap_or("HEAD");
        let line = format!("{} @ {git_ref} = {}", import.repo, import.commit);
        writeln!(out, "  {}", printable(&line))?;
    }
    item.folders.iter().try_for_each(|folder| writeln!(out, "  {}", printable(folder)))
}
