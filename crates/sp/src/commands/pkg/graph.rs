//! What is known: put together, and chosen for an agent.

use sp_engine::graph::{Evolution, Filter, Shape};
use sp_engine::pkg::{self, Drawing, LoadRequest, MergeRequest, Query, QueryRequest};
use sp_engine::{Context, Result};
use sp_formats::output::{ContradictionItem, GraphView, PackageLoaded, PackageMerged, PackagesStored};
use sp_formats::printable::printable;

use super::super::{count, size, thousands};
use super::{overwrite, show, signing};
use crate::cli::{self, Format, Options, Pkg};
use crate::terminal::{DIM, STRONG, Terminal, WARNING, as_json, table};

/// More contradictions than this are counted, and not shown.
const SHOWN: usize = 20;

pub(super) fn merge(context: &Context<'_>, command: &Pkg, terminal: &Terminal) -> Result<()> {
    let Pkg::Merge { packages, name, version, sign, out, force, .. } = command else { return Ok(()) };
    let request = MergeRequest {
        packages: packages.clone(),
        name: name.clone(),
        version: version.clone(),
        sign: signing(sign),
        output: out.clone(),
        overwrite: overwrite(*force),
    };
    let merged = pkg::merge(context, &request)?;
    if terminal.format == Format::Json {
        return terminal.print_json(&merged);
    }
    show::created(context, &PackagesStored { packages: vec![merged.stored.clone()] }, terminal)?;
    if terminal.format == Format::Plain {
        return Ok(());
    }
    terminal.print_text(|out| differences(&merged, out))
}

fn differences(merged: &PackageMerged, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    let [shared, old] = [merged.shared.len(), merged.superseded.len()];
    writeln!(
        out,
        "\n{STRONG}merged{STRONG:#} {} · {} shared · {old} superseded · {}",
        count(merged.sources.len(), "package"),
        count(shared, "node"),
        count(merged.contradictions.len(), "contradiction")
    )?;
    contradictions(&merged.contradictions, out)
}

/// Contradictions, each with both sides.
pub(super) fn contradictions(all: &[ContradictionItem], out: &mut dyn std::io::Write) -> std::io::Result<()> {
    for one in all.iter().take(SHOWN) {
        let why = if one.same_id { "one id, two contents" } else { "said by an edge" };
        writeln!(out, "{WARNING}✗{WARNING:#} {} and {}  {DIM}{why}{DIM:#}", printable(&one.from), printable(&one.to))?;
        writeln!(out, "    {}\n    {}", printable(&one.from_content), printable(&one.to_content))?;
    }
    match all.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => writeln!(out, "{DIM}… and {more} more; `--format json` lists all{DIM:#}"),
        _ => Ok(()),
    }
}

pub(super) fn load(context: &Context<'_>, options: &Options, command: &Pkg, terminal: &Terminal) -> Result<()> {
    let Pkg::Load { packages, budget, focus, at, .. } = command else { return Ok(()) };
    let request = LoadRequest {
        packages: packages.clone(),
        budget: *budget,
        focus: focus.clone(),
        at: at.clone(),
        shape: if terminal.format == Format::Xml { Shape::Xml } else { Shape::Markdown },
        root: options.root.clone(),
    };
    let loaded = pkg::load(context, &request)?;
    if terminal.format == Format::Json {
        return terminal.print_json(&loaded);
    }
    terminal.print_text(|out| write!(out, "{}", loaded.context))?;
    if terminal.format == Format::Human {
        terminal.aside(&ledger(&loaded));
    }
    Ok(())
}

pub(super) fn evolve(
    context: &Context<'_>,
    (package, evolution): (&str, &Evolution),
    sign: &cli::Sign,
    terminal: &Terminal,
) -> Result<()> {
    let (stored, about) = pkg::evolve(context, package, evolution, signing(sign))?;
    show::created(context, &stored, terminal)?;
    if terminal.format != Format::Human {
        return Ok(());
    }
    let what = match evolution {
        Evolution::Touch(_) => "touched",
        Evolution::Reinforce(_) => "reinforced",
        Evolution::Prune(_) => "left out",
    };
    terminal.print_text(|out| writeln!(out, "{STRONG}{what}{STRONG:#} {}", count(about, "node")))
}

pub(super) fn query(context: &Context<'_>, options: &Options, command: &Pkg, terminal: &Terminal) -> Result<()> {
    let Pkg::Query { packages, kind, file, says, near, steps, path } = command else { return Ok(()) };
    let query = match (near, path.as_slice()) {
        (Some(id), _) => Query::Near(id.clone(), *steps),
        (None, [from, to]) => Query::Path(from.clone(), to.clone()),
        _ => Query::Find(Filter { kind: kind.clone(), file: file.clone(), says: says.clone() }),
    };
    let view = pkg::query(context, &QueryRequest { packages: packages.clone(), query, root: options.root.clone() })?;
    terminal.print(&view, |out| match terminal.format {
        Format::Plain => view.nodes.iter().try_for_each(|node| {
            writeln!(out, "{}\t{}\t{}", printable(&node.id), printable(&node.kind), printable(&node.content))
        }),
        _ if view.nodes.is_empty() => writeln!(out, "no node fits"),
        _ => {
            let rows = view.nodes.iter().map(|node| {
                let line = node.line.map(|line| format!(":{line}")).unwrap_or_default();
                let file = node.file.as_ref().map(|file| format!("{file}{line}")).unwrap_or_default();
                let first = node.content.lines().next().unwrap_or_default().to_owned();
                vec![node.id.clone(), node.kind.clone(), format!("{:.2}", node.activation), file, first]
            });
            write!(out, "{}", table(&["node", "type", "active", "file", "says"], rows.collect(), terminal.width()))?;
            for edge in &view.edges {
                let [from, kind, to] = [&edge.from, &edge.kind, &edge.to].map(|text| printable(text));
                writeln!(out, "{DIM}{from} ─{kind}→ {to}{DIM:#}")?;
            }
            Ok(())
        }
    })
}

pub(super) fn draw(context: &Context<'_>, options: &Options, command: &Pkg, terminal: &Terminal) -> Result<()> {
    let Pkg::Graph { packages, to, out, force } = command else { return Ok(()) };
    let root = options.root.as_deref();
    let text = || match to {
        cli::Drawing::Json => as_json(&whole(context, options, packages)?),
        cli::Drawing::Dot => pkg::draw(context, packages, root, Drawing::Dot),
        cli::Drawing::Mermaid => pkg::draw(context, packages, root, Drawing::Mermaid),
        cli::Drawing::Html => pkg::draw(context, packages, root, Drawing::Html),
    };
    let kept = match out {
        Some(file) => {
            let text = text()?;
            let file = pkg::keep_drawing(context, &text, file, overwrite(*force))?;
            Some((context.show(&file), size(text.len() as u64)))
        }
        None => None,
    };
    match (kept, terminal.format) {
        (_, Format::Json) => terminal.print_json(&whole(context, options, packages)?),
        (None, _) => {
            let text = text()?;
            terminal.print_text(|out| write!(out, "{text}"))
        }
        (Some((file, _)), Format::Plain) => terminal.print_text(|out| writeln!(out, "{file}")),
        (Some((file, size)), _) => {
            terminal.print_text(|out| writeln!(out, "{STRONG}drawn{STRONG:#} to {file} · {size}"))
        }
    }
}

/// All that is known.
fn whole(context: &Context<'_>, options: &Options, packages: &[String]) -> Result<GraphView> {
    let query = Query::Find(Filter::default());
    pkg::query(context, &QueryRequest { packages: packages.to_vec(), query, root: options.root.clone() })
}

/// What was left out goes to stderr: it is not for the agent.
fn ledger(loaded: &PackageLoaded) -> String {
    let tokens = |number| thousands(number);
    let mut text = format!(
        "{DIM}{} of {} tokens ({}), {} from {}{DIM:#}\n",
        tokens(loaded.tokens),
        tokens(loaded.budget),
        loaded.tokenizer,
        count(loaded.nodes.len(), "node"),
        printable(&loaded.sources.join(", "))
    );
    for left in &loaded.left_out {
        let dots = if left.count > left.best.len() { ", …" } else { "" };
        let best = printable(&left.best.join(", ")).into_owned();
        text += &format!("{DIM}left out, {}: {} ({best}{dots}){DIM:#}\n", left.reason, left.count);
    }
    text
}
