//! `sp context kb`.

use std::io::Write;

use sp_engine::kb::{self, KnowledgeSearchRequest};
use sp_engine::{Context, Result};
use sp_formats::output::{
    KbAddReport, KbFileState, KbHit, KbList, KbSearchReport, KbSkippedItem, KbStats,
    KnowledgeBaseItem,
};
use sp_formats::printable::printable;
use sp_formats::text::{group_digits, plural, pluralize};
use sp_formats::time::relative_text;

use crate::cli::{KbCommand, OutputFormat};
use crate::commands::plan::{apply_options, write_apply_command};
use crate::terminal::{DIM, STRONG, Terminal, WARNING, table, wrap};

/// Longer lists of skipped documents are truncated.
const MAX_SHOWN_SKIPPED: usize = 10;

pub(super) fn run(context: &Context<'_>, command: &KbCommand, terminal: &Terminal) -> Result<()> {
    match command {
        KbCommand::Add { dir, plan } => {
            print_added(context, &kb::add(context, dir, apply_options(plan))?, terminal)
        }
        KbCommand::List { dir } => {
            print_list(context, &kb::list(context, dir.as_deref())?, terminal)
        }
        KbCommand::Search { query, kb, max_results } => {
            let request = KnowledgeSearchRequest {
                query: query.join(" "),
                folder: kb.clone(),
                limit: *max_results,
            };
            print_search(context, &kb::search(context, &request)?, terminal)
        }
        KbCommand::Stats { kb } => {
            print_stats(context, &kb::stats(context, kb.as_deref())?, terminal)
        }
        KbCommand::Remove { dir, plan } => {
            let removed = kb::remove(context, dir, apply_options(plan))?;
            terminal.print(&removed, |out| {
                let dir = context.display_path(&removed.dir);
                if removed.status.applied {
                    return writeln!(out, "removed the index of {dir}; its files are unchanged");
                }
                writeln!(out, "would remove the index of {dir}; its files stay unchanged")?;
                write_apply_command(&removed.status, out)
            })
        }
    }
}

fn print_added(context: &Context<'_>, added: &KbAddReport, terminal: &Terminal) -> Result<()> {
    terminal.print(added, |out| {
        let gone = if added.removed > 0 {
            format!(", {} removed", pluralize(added.removed, "file"))
        } else {
            String::new()
        };
        let read = if added.status.applied { "read" } else { "to read" };
        let read = format!("{} {read}{gone}", pluralize(added.read, "file"));
        writeln!(
            out,
            "{} in {} · {read} · {}",
            pluralize(added.documents, "document"),
            pluralize(added.files, "file"),
            context.display_path(&added.dir)
        )?;
        write_apply_command(&added.status, out)
    })?;
    print_skipped(&added.skipped, terminal);
    Ok(())
}

/// Prints the skipped documents, and how to fix the most common causes.
pub(super) fn print_skipped(skipped: &[KbSkippedItem], terminal: &Terminal) {
    if skipped.is_empty() {
        return;
    }
    let mut text =
        format!("{WARNING}skipped{WARNING:#} {}:\n", pluralize(skipped.len(), "document"));
    for item in skipped.iter().take(MAX_SHOWN_SKIPPED) {
        let line = item.line.map(|line| format!(":{line}")).unwrap_or_default();
        text += &format!("  {}{line}: {}\n", printable(&item.file), printable(&item.why));
    }
    if skipped.len() > MAX_SHOWN_SKIPPED {
        text += &format!(
            "  … and {}; use `--json` to list all\n",
            pluralize(skipped.len() - MAX_SHOWN_SKIPPED, "more document")
        );
    }
    let lacks = |what: &str| skipped.iter().any(|item| item.why.contains(what));
    if lacks("`url`") || lacks("date") {
        text += "hint: add `url:` and `captured_at:` to the frontmatter, or `base_url:` and \
             `captured_at:` to a `kb.yaml` in the directory\n";
    }
    terminal.print_stderr(&text);
}

fn print_list(context: &Context<'_>, view: &KbList, terminal: &Terminal) -> Result<()> {
    terminal.print(view, |out| match &view.documents {
        None => write_bases(context, &view.bases, terminal, out),
        Some(documents) if terminal.format == OutputFormat::Plain => {
            documents.iter().try_for_each(|document| {
                writeln!(
                    out,
                    "{}\t{}\t{}\t{}",
                    document.captured_at,
                    document.kind,
                    printable(&document.title),
                    printable(&document.url)
                )
            })
        }
        Some(documents) => {
            let rows = documents.iter().map(|document| {
                vec![
                    date(&document.captured_at),
                    document.kind.clone(),
                    document.title.clone(),
                    document.url.clone(),
                ]
            });
            write!(
                out,
                "{}",
                table(&["captured", "kind", "title", "url"], rows.collect(), terminal.width())
            )?;
            writeln!(out, "{DIM}{}{DIM:#}", pluralize(documents.len(), "document"))
        }
    })
}

fn write_bases(
    context: &Context<'_>,
    bases: &[KnowledgeBaseItem],
    terminal: &Terminal,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    if terminal.format == OutputFormat::Plain {
        return bases.iter().try_for_each(|base| {
            writeln!(
                out,
                "{}\t{}\t{}",
                context.display_path(&base.dir),
                base.documents,
                base.indexed_at
            )
        });
    }
    let row = |base: &KnowledgeBaseItem| {
        vec![
            context.display_path(&base.dir),
            group_digits(base.documents),
            group_digits(base.files),
            relative_text(&base.indexed_at, context.now),
        ]
    };
    write!(
        out,
        "{}",
        table(
            &["directory", "documents", "files", "indexed"],
            bases.iter().map(row).collect(),
            terminal.width()
        )
    )
}

fn date(moment: &str) -> String {
    moment.get(..10).unwrap_or(moment).to_owned()
}

fn print_search(context: &Context<'_>, found: &KbSearchReport, terminal: &Terminal) -> Result<()> {
    terminal.print(found, |out| {
        if terminal.format == OutputFormat::Plain {
            return found.hits.iter().try_for_each(|hit| {
                writeln!(out, "{}\t{}\t{}", hit.score, printable(&hit.title), printable(&hit.url))
            });
        }
        for hit in &found.hits {
            write_hit(context, hit, terminal, out)?;
        }
        let shown = if found.hits.len() < found.found {
            format!(", {} shown", found.hits.len())
        } else {
            String::new()
        };
        writeln!(
            out,
            "{DIM}{} of {} matched{shown}{DIM:#}",
            found.found,
            pluralize(found.documents, "document")
        )
    })
}

fn write_hit(
    context: &Context<'_>,
    hit: &KbHit,
    terminal: &Terminal,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let published = hit
        .published_at
        .as_deref()
        .map(|at| format!("published {}, ", date(at)))
        .unwrap_or_default();
    writeln!(
        out,
        "{STRONG}{}{STRONG:#}  {DIM}{} · {published}captured {}{DIM:#}",
        printable(&hit.title),
        hit.kind,
        date(&hit.captured_at)
    )?;
    let width = terminal.width().map(|width| width.saturating_sub(2));
    for line in wrap(&printable(&hit.snippet), width).lines() {
        writeln!(out, "  {line}")?;
    }
    writeln!(out, "  {DIM}{}{DIM:#}", printable(&hit.url))?;
    let file = context.display_path(&hit.file);
    match hit.state {
        KbFileState::Fresh => {}
        KbFileState::Changed => writeln!(
            out,
            "  {WARNING}stale{WARNING:#}: {file} changed after it was indexed; run `sp context kb \
             add` to update the index"
        )?,
        KbFileState::Gone => writeln!(out, "  {WARNING}stale{WARNING:#}: {file} no longer exists")?,
    }
    writeln!(out)
}

fn print_stats(context: &Context<'_>, stats: &KbStats, terminal: &Terminal) -> Result<()> {
    terminal.print(stats, |out| {
        write_bases(context, &stats.bases, terminal, out)?;
        if terminal.format == OutputFormat::Plain {
            return Ok(());
        }
        let rows =
            stats.kinds.iter().map(|kind| vec![kind.kind.clone(), group_digits(kind.documents)]);
        writeln!(out)?;
        write!(out, "{}", table(&["kind", "documents"], rows.collect(), terminal.width()))?;
        writeln!(
            out,
            "{DIM}captured from {} to {}{DIM:#}",
            date(&stats.oldest),
            date(&stats.newest)
        )?;
        if stats.skipped > 0 {
            let hold = plural(stats.skipped, "was", "were");
            writeln!(out, "{} {hold} skipped", pluralize(stats.skipped, "document"))?;
        }
        if stats.old > 0 {
            writeln!(
                out,
                "{} captured more than a year before the newest",
                pluralize(stats.old, "document")
            )?;
        }
        let stale = stats.new + stats.changed + stats.gone;
        match stale {
            0 => writeln!(out, "the index is up to date"),
            _ => writeln!(
                out,
                "{WARNING}stale{WARNING:#}: {} new, {} changed, {} removed; run `sp context kb \
                 add` to update the index",
                stats.new, stats.changed, stats.gone
            ),
        }
    })
}
