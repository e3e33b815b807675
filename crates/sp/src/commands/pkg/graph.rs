//! `sp pkg merge`, `touch`, `reinforce`, `prune`, `query`, `graph` and `load`.

use std::io::{self, Write};

use sp_engine::graph::{ContextFormat, GraphEvolution, NodeFilter};
use sp_engine::pkg::{self, GraphFormat, GraphQuery, LoadRequest, MergeRequest, QueryRequest};
use sp_engine::{Context, Result};
use sp_formats::output::{
    ContradictionItem, GraphView, PackageLoadReport, PackageMergeReport, StoredPackageList,
};
use sp_formats::printable::printable;
use sp_formats::text::{ByteSize, group_digits, pluralize};

use super::{overwrite, package_signing, show};
use crate::cli::{self, GlobalOptions, OutputFormat, PackageCommand};
use crate::commands::plan::apply_options;
use crate::terminal::{DIM, STRONG, Terminal, WARNING, table, to_json};

/// Longer lists of contradictions are truncated.
const MAX_SHOWN_CONTRADICTIONS: usize = 20;

pub(super) fn merge(
    context: &Context<'_>,
    command: &PackageCommand,
    terminal: &Terminal,
) -> Result<()> {
    let PackageCommand::Merge { packages, name, version, sign, output, force, plan, .. } = command
    else {
        return Ok(());
    };
    let request = MergeRequest {
        packages: packages.clone(),
        name: name.clone(),
        version: version.clone(),
        signing: package_signing(sign),
        output: output.clone(),
        overwrite: overwrite(*force),
        apply: apply_options(plan),
    };
    let merged = pkg::merge(context, &request)?;
    if terminal.format == OutputFormat::Json {
        return terminal.print_json(&merged);
    }
    show::print_created(
        context,
        &StoredPackageList { status: merged.status.clone(), packages: vec![merged.stored.clone()] },
        terminal,
    )?;
    if terminal.format == OutputFormat::Plain {
        return Ok(());
    }
    terminal.print_text(|out| write_merge_summary(&merged, out))
}

fn write_merge_summary(merged: &PackageMergeReport, out: &mut dyn Write) -> io::Result<()> {
    let [shared, old] = [merged.shared.len(), merged.superseded.len()];
    writeln!(
        out,
        "\n{STRONG}merged{STRONG:#} {} · {} shared · {old} superseded · {}",
        pluralize(merged.sources.len(), "package"),
        pluralize(shared, "node"),
        pluralize(merged.contradictions.len(), "contradiction")
    )?;
    write_contradictions(&merged.contradictions, out)
}

/// Writes each contradiction with the content of both nodes.
pub(super) fn write_contradictions(
    contradictions: &[ContradictionItem],
    out: &mut dyn Write,
) -> io::Result<()> {
    for item in contradictions.iter().take(MAX_SHOWN_CONTRADICTIONS) {
        let why = if item.same_id { "same ID, different content" } else { "declared by an edge" };
        writeln!(
            out,
            "{WARNING}✗{WARNING:#} {} and {}  {DIM}{why}{DIM:#}",
            printable(&item.from),
            printable(&item.to)
        )?;
        writeln!(
            out,
            "    {}\n    {}",
            printable(&item.from_content),
            printable(&item.to_content)
        )?;
    }
    match contradictions.len().checked_sub(MAX_SHOWN_CONTRADICTIONS) {
        Some(more) if more > 0 => {
            let more = pluralize(more, "more contradiction");
            writeln!(out, "{DIM}… and {more}; use `--json` to list all{DIM:#}")
        }
        _ => Ok(()),
    }
}

pub(super) fn load(
    context: &Context<'_>,
    options: &GlobalOptions,
    command: &PackageCommand,
    terminal: &Terminal,
) -> Result<()> {
    let PackageCommand::Load { packages, budget, focus, at, .. } = command else { return Ok(()) };
    let request = LoadRequest {
        packages: packages.clone(),
        budget: *budget,
        focus: focus.clone(),
        at: at.clone(),
        shape: if terminal.format == OutputFormat::Xml {
            ContextFormat::Xml
        } else {
            ContextFormat::Markdown
        },
        root: options.root.clone(),
    };
    let loaded = pkg::load(context, &request)?;
    if terminal.format == OutputFormat::Json {
        return terminal.print_json(&loaded);
    }
    terminal.print_exactly(|out| write!(out, "{}", loaded.context))?;
    if terminal.format == OutputFormat::Human {
        terminal.print_stderr(&load_summary(&loaded));
    }
    Ok(())
}

pub(super) fn evolve(
    context: &Context<'_>,
    command: &PackageCommand,
    terminal: &Terminal,
) -> Result<()> {
    let (package, evolution, sign, plan) = match command {
        PackageCommand::Touch { package, nodes, sign, plan } => {
            (package, GraphEvolution::Touch(nodes.clone()), sign, plan)
        }
        PackageCommand::Reinforce { package, nodes, sign, plan } => {
            (package, GraphEvolution::Reinforce(nodes.clone()), sign, plan)
        }
        PackageCommand::Prune { package, below, sign, plan } => {
            (package, GraphEvolution::Prune(*below), sign, plan)
        }
        _ => return Ok(()),
    };
    let (signing, apply) = (package_signing(sign), apply_options(plan));
    let (stored, count) = pkg::evolve(context, package, &evolution, signing, apply)?;
    show::print_created(context, &stored, terminal)?;
    if terminal.format != OutputFormat::Human || !stored.status.applied {
        return Ok(());
    }
    let verb = match evolution {
        GraphEvolution::Touch(_) => "touched",
        GraphEvolution::Reinforce(_) => "reinforced",
        GraphEvolution::Prune(_) => "pruned",
    };
    terminal
        .print_text(|out| writeln!(out, "{STRONG}{verb}{STRONG:#} {}", pluralize(count, "node")))
}

pub(super) fn query(
    context: &Context<'_>,
    options: &GlobalOptions,
    command: &PackageCommand,
    terminal: &Terminal,
) -> Result<()> {
    let PackageCommand::Query { packages, kind, file, text, near, steps, path } = command else {
        return Ok(());
    };
    let query = match (near, path.as_slice()) {
        (Some(id), _) => GraphQuery::Near(id.clone(), *steps),
        (None, [from, to]) => GraphQuery::Path(from.clone(), to.clone()),
        _ => GraphQuery::Find(NodeFilter {
            kind: kind.clone(),
            file: file.clone(),
            contains: text.clone(),
        }),
    };
    let view = pkg::query(
        context,
        &QueryRequest { packages: packages.clone(), query, root: options.root.clone() },
    )?;
    terminal.print(&view, |out| match terminal.format {
        OutputFormat::Plain => view.nodes.iter().try_for_each(|node| {
            writeln!(
                out,
                "{}\t{}\t{}",
                printable(&node.id),
                printable(&node.kind),
                printable(&node.content)
            )
        }),
        _ if view.nodes.is_empty() => writeln!(out, "no matching nodes"),
        _ => write_graph(&view, terminal, out),
    })
}

/// Writes the nodes as a table, then one line per edge.
fn write_graph(view: &GraphView, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let rows = view.nodes.iter().map(|node| {
        let line = node.line.map(|line| format!(":{line}")).unwrap_or_default();
        let file = node.file.as_ref().map(|file| format!("{file}{line}")).unwrap_or_default();
        let first = node.content.lines().next().unwrap_or_default().to_owned();
        vec![node.id.clone(), node.kind.clone(), format!("{:.2}", node.activation), file, first]
    });
    let heading = ["node", "type", "activation", "file", "content"];
    write!(out, "{}", table(&heading, rows.collect(), terminal.width()))?;
    for edge in &view.edges {
        let [from, kind, to] = [&edge.from, &edge.kind, &edge.to].map(|text| printable(text));
        writeln!(out, "{DIM}{from} ─{kind}→ {to}{DIM:#}")?;
    }
    Ok(())
}

pub(super) fn draw(
    context: &Context<'_>,
    options: &GlobalOptions,
    command: &PackageCommand,
    terminal: &Terminal,
) -> Result<()> {
    let PackageCommand::Graph { packages, to, output, force } = command else { return Ok(()) };
    let root = options.root.as_deref();
    let text = || match to {
        cli::GraphFormatArg::Json => to_json(&query_all(context, options, packages)?),
        cli::GraphFormatArg::Dot => pkg::render_graph(context, packages, root, GraphFormat::Dot),
        cli::GraphFormatArg::Mermaid => {
            pkg::render_graph(context, packages, root, GraphFormat::Mermaid)
        }
        cli::GraphFormatArg::Html => pkg::render_graph(context, packages, root, GraphFormat::Html),
    };
    let written = match output {
        Some(file) => {
            let text = text()?;
            let file = pkg::write_graph(context, &text, file, overwrite(*force))?;
            Some((context.display_path(&file), ByteSize(text.len() as u64)))
        }
        None => None,
    };
    match (written, terminal.format) {
        (_, OutputFormat::Json) => terminal.print_json(&query_all(context, options, packages)?),
        (None, _) => {
            let text = text()?;
            terminal.print_exactly(|out| write!(out, "{text}"))
        }
        (Some((file, _)), OutputFormat::Plain) => {
            terminal.print_text(|out| writeln!(out, "{file}"))
        }
        (Some((file, size)), _) => {
            terminal.print_text(|out| writeln!(out, "{STRONG}wrote{STRONG:#} {file} · {size}"))
        }
    }
}

fn query_all(
    context: &Context<'_>,
    options: &GlobalOptions,
    packages: &[String],
) -> Result<GraphView> {
    let query = GraphQuery::Find(NodeFilter::default());
    pkg::query(
        context,
        &QueryRequest { packages: packages.to_vec(), query, root: options.root.clone() },
    )
}

/// Formats what was loaded and left out. It goes to stderr, because it is not for the agent.
fn load_summary(loaded: &PackageLoadReport) -> String {
    let tokens = |number| group_digits(number);
    let mut text = format!(
        "{DIM}{} of {} tokens ({}), {} from {}{DIM:#}\n",
        tokens(loaded.tokens),
        tokens(loaded.budget),
        loaded.tokenizer,
        pluralize(loaded.nodes.len(), "node"),
        printable(&loaded.sources.join(", "))
    );
    for left in &loaded.left_out {
        let dots = if left.count > left.best.len() { ", …" } else { "" };
        let best = printable(&left.best.join(", ")).into_owned();
        text += &format!("{DIM}omitted, {}: {} ({best}{dots}){DIM:#}\n", left.reason, left.count);
    }
    text
}
