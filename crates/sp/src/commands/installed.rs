//! `sp installed`.

use std::io::{self, Write};
use std::path::Path;

use sp_engine::{Context, Result, SinkRequest};
use sp_formats::output::InstalledItem;
use sp_formats::printable::printable;

use crate::cli::{InstalledArgs, OutputFormat};
use crate::terminal::{Terminal, Verbosity, table};

pub(super) fn run(
    context: &Context<'_>,
    filter: &InstalledArgs,
    terminal: &Terminal,
) -> Result<()> {
    let sink = filter.agent.first().map(|name| SinkRequest {
        name: name.clone(),
        path: filter.path.clone(),
        scope: super::to_sink_scope(filter.scope.unwrap_or_default()),
    });
    let list = sp_engine::installed(context, sink.as_ref())?;
    terminal.print(&list, |out| {
        let rows = list.installs.iter().map(|item| {
            let path = match terminal.format {
                OutputFormat::Plain => item.path.display().to_string(),
                _ => context.display_path(Path::new(&item.path)),
            };
            vec![
                item.sink.clone(),
                item.pack.clone(),
                item.folders.len().to_string(),
                item.installed_at.clone(),
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
            let in_sink = if sink.is_some() { " for this agent" } else { "" };
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
