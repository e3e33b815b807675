//! `sp context kb`

use std::io::Write;

use sp_engine::kb::{self, SearchRequest};
use sp_engine::{Context, Result};
use sp_formats::output::{KbAdded, KbBase, KbHit, KbList, KbSearch, KbSkipped, KbState, KbStats};
use sp_formats::printable::printable;

use crate::cli::{Format, Kb};
use crate::commands::{count, thousands};
use crate::terminal::{DIM, STRONG, Terminal, WARNING, table, wrapped};

/// So many files that were skipped are named.
const NAMED: usize = 10;

pub(super) fn run(context: &Context<'_>, command: &Kb, terminal: &Terminal) -> Result<()> {
    match command {
        Kb::Add { dir } => add(context, &kb::add(context, dir)?, terminal),
        Kb::List { dir } => list(context, &kb::list(context, dir.as_deref())?, terminal),
        Kb::Search { query, kb, most } => {
            let request = SearchRequest { query: query.join(" "), folder: kb.clone(), most: *most };
            search(context, &kb::search(context, &request)?, terminal)
        }
        Kb::Stats { kb } => stats(context, &kb::stats(context, kb.as_deref())?, terminal),
        Kb::Remove { dir } => {
            let removed = kb::remove(context, dir)?;
            terminal.print(&removed, |out| {
                writeln!(out, "forgot {}; its files are as they were", context.show(&removed.dir))
            })
        }
    }
}

fn add(context: &Context<'_>, added: &KbAdded, terminal: &Terminal) -> Result<()> {
    terminal.print(added, |out| {
        let gone = if added.removed > 0 { format!(", {} gone", count(added.removed, "file")) } else { String::new() };
        let read = format!("{} read{gone}", count(added.read, "file"));
        writeln!(
            out,
            "{} in {} · {read} · {}",
            count(added.documents, "document"),
            count(added.files, "file"),
            context.show(&added.dir)
        )
    })?;
    skipped(&added.skipped, terminal);
    Ok(())
}

/// Names what was skipped, and the way out.
pub(super) fn skipped(skipped: &[KbSkipped], terminal: &Terminal) {
    if skipped.is_empty() {
        return;
    }
    let mut told = format!("{WARNING}skipped{WARNING:#} {}:\n", count(skipped.len(), "document"));
    for one in skipped.iter().take(NAMED) {
        let line = one.line.map(|line| format!(":{line}")).unwrap_or_default();
        told += &format!("  {}{line}: {}\n", printable(&one.file), printable(&one.why));
    }
    if skipped.len() > NAMED {
        told += &format!("  and {} more; `--format json` names them all\n", skipped.len() - NAMED);
    }
    let lacks = |what: &str| skipped.iter().any(|one| one.why.contains(what));
    if lacks("`url`") || lacks("date") {
        told += "hint: write `url:` and `captured_at:` into the frontmatter, or `base_url:` and `captured_at:` into a `kb.yaml` for the folder\n";
    }
    terminal.aside(&told);
}

fn list(context: &Context<'_>, view: &KbList, terminal: &Terminal) -> Result<()> {
    terminal.print(view, |out| match &view.documents {
        None => bases(context, &view.bases, terminal, out),
        Some(documents) if terminal.format == Format::Plain => documents.iter().try_for_each(|one| {
            writeln!(out, "{}\t{}\t{}\t{}", one.captured_at, one.kind, printable(&one.title), printable(&one.url))
        }),
        Some(documents) => {
            let rows = documents
                .iter()
                .map(|one| vec![day(&one.captured_at), one.kind.clone(), one.title.clone(), one.url.clone()]);
            write!(out, "{}", table(&["captured", "kind", "title", "url"], rows.collect(), terminal.width()))?;
            writeln!(out, "{DIM}{}{DIM:#}", count(documents.len(), "document"))
        }
    })
}

fn bases(context: &Context<'_>, bases: &[KbBase], terminal: &Terminal, out: &mut dyn Write) -> std::io::Result<()> {
    if terminal.format == Format::Plain {
        return bases.iter().try_for_each(|base| {
            writeln!(out, "{}\t{}\t{}", context.show(&base.dir), base.documents, base.indexed_at)
        });
    }
    let row = |base: &KbBase| {
        vec![context.show(&base.dir), thousands(base.documents), thousands(base.files), day(&base.indexed_at)]
    };
    write!(
        out,
        "{}",
        table(&["folder", "documents", "files", "read"], bases.iter().map(row).collect(), terminal.width())
    )
}

fn day(moment: &str) -> String {
    moment.get(..10).unwrap_or(moment).to_owned()
}

fn search(context: &Context<'_>, found: &KbSearch, terminal: &Terminal) -> Result<()> {
    terminal.print(found, |out| {
        if terminal.format == Format::Plain {
            return found.hits.iter().try_for_each(|hit| {
                writeln!(out, "{}\t{}\t{}", hit.score, printable(&hit.title), printable(&hit.url))
            });
        }
        for hit in &found.hits {
            human_hit(context, hit, terminal, out)?;
        }
        let shown =
            if found.hits.len() < found.found { format!(", {} shown", found.hits.len()) } else { String::new() };
        writeln!(out, "{DIM}{} of {}{shown}{DIM:#}", found.found, count(found.documents, "document"))
    })
}

fn human_hit(context: &Context<'_>, hit: &KbHit, terminal: &Terminal, out: &mut dyn Write) -> std::io::Result<()> {
    let published = hit.published_at.as_deref().map(|at| format!("published {}, ", day(at))).unwrap_or_default();
    writeln!(
        out,
        "{STRONG}{}{STRONG:#}  {DIM}{} · {published}captured {}{DIM:#}",
        printable(&hit.title),
        hit.kind,
        day(&hit.captured_at)
    )?;
    let width = terminal.width().map(|width| width.saturating_sub(2));
    for line in wrapped(&printable(&hit.snippet), width).lines() {
        writeln!(out, "  {line}")?;
    }
    writeln!(out, "  {DIM}{}{DIM:#}", printable(&hit.url))?;
    let file = context.show(&hit.file);
    match hit.state {
        KbState::Fresh => {}
        KbState::Changed => writeln!(
            out,
            "  {WARNING}stale{WARNING:#}: {file} was changed since it was read; `sp context kb add` reads it again"
        )?,
        KbState::Gone => writeln!(out, "  {WARNING}stale{WARNING:#}: {file} is gone")?,
    }
    writeln!(out)
}

fn stats(context: &Context<'_>, stats: &KbStats, terminal: &Terminal) -> Result<()> {
    terminal.print(stats, |out| {
        bases(context, &stats.bases, terminal, out)?;
        if terminal.format == Format::Plain {
            return Ok(());
        }
        let rows = stats.kinds.iter().map(|kind| vec![kind.kind.clone(), thousands(kind.documents)]);
        writeln!(out)?;
        write!(out, "{}", table(&["kind", "documents"], rows.collect(), terminal.width()))?;
        writeln!(out, "{DIM}captured from {} to {}{DIM:#}", day(&stats.oldest), day(&stats.newest))?;
        if stats.skipped > 0 {
            let hold = if stats.skipped == 1 { "holds" } else { "hold" };
            writeln!(out, "{} {hold} no document", count(stats.skipped, "place"))?;
        }
        if stats.old > 0 {
            writeln!(out, "{} captured more than a year before the latest", count(stats.old, "document"))?;
        }
        let stale = stats.new + stats.changed + stats.gone;
        match stale {
            0 => writeln!(out, "nothing is stale"),
            _ => writeln!(
                out,
                "{WARNING}stale{WARNING:#}: {} new, {} changed, {} gone; `sp context kb add` reads them",
                stats.new, stats.changed, stats.gone
            ),
        }
    })
}
