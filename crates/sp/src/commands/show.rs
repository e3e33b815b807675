//! `sp show`.

use std::io::{self, Write};
use std::path::Path;

use sp_engine::{Context, Result};
use sp_formats::output::{ImportItem, PackView, SelectedSkillItem};
use sp_formats::printable::printable;
use sp_formats::text::pluralize;

use crate::cli::OutputFormat;
use crate::terminal::{DIM, STRONG, Terminal, columns};

pub(super) fn run(
    context: &Context<'_>,
    root: Option<&Path>,
    pack: &str,
    terminal: &Terminal,
) -> Result<()> {
    let view = sp_engine::show(context, root, pack)?;
    terminal.print(&view, |out| match terminal.format {
        OutputFormat::Plain => write_plain(out, &view),
        _ => write_human(out, context, &view),
    })
}

/// Writes source, ID and folder, separated by tabs.
fn write_plain(out: &mut dyn Write, view: &PackView) -> io::Result<()> {
    view.skills.iter().try_for_each(|skill| {
        let source =
            skill.import.map_or("local".into(), |number| import_name(&view.imports[number]));
        writeln!(
            out,
            "{}\t{}\t{}",
            printable(&source),
            printable(&skill.id),
            printable(&skill.folder)
        )
    })
}

fn write_human(out: &mut dyn Write, context: &Context<'_>, view: &PackView) -> io::Result<()> {
    writeln!(
        out,
        "{STRONG}{}{STRONG:#}  {DIM}{}{DIM:#}",
        printable(&view.pack),
        context.display_path(&view.pack_file)
    )?;
    let width = view.skills.iter().map(|skill| columns(&skill.id)).max().unwrap_or(0).min(60);
    let group = |out: &mut dyn Write, title: &str, import: Option<usize>| -> io::Result<()> {
        let skills: Vec<&SelectedSkillItem> =
            view.skills.iter().filter(|skill| skill.import == import).collect();
        if skills.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{title}")?;
        skills.iter().try_for_each(|skill| {
            writeln!(
                out,
                "  {}{}  {DIM}→{DIM:#} {}",
                printable(&skill.id),
                " ".repeat(width.saturating_sub(columns(&skill.id))),
                printable(&skill.folder)
            )
        })
    };
    group(out, "local", None)?;
    for (number, import) in view.imports.iter().enumerate() {
        let title = format!(
            "{} {DIM}({}){DIM:#}",
            printable(&import_name(import)),
            &import.commit[..import.commit.len().min(12)]
        );
        group(out, &title, Some(number))?;
    }
    writeln!(out, "\n{}", pluralize(view.skills.len(), "skill"))
}

fn import_name(import: &ImportItem) -> String {
    match &import.git_ref {
        Some(git_ref) => format!("{}@{git_ref}", import.repo),
        None => import.repo.clone(),
    }
}
