//! What is known: put together, and chosen for an agent.

use sp_engine::pkg::{self, CreateRequest, LoadRequest};
use sp_engine::{Context, Result};
use sp_formats::output::{PackageLoaded, PackageMerged, PackagesStored};
use sp_formats::package::Shape;
use sp_formats::printable::printable;

use super::super::{count, thousands};
use super::{show, signing};
use crate::cli::{Format, Options, Pkg};
use crate::terminal::{DIM, STRONG, Terminal, WARNING};

/// More contradictions than this are counted, and not shown.
const SHOWN: usize = 20;

pub(super) fn merge(context: &Context<'_>, options: &Options, command: &Pkg, terminal: &Terminal) -> Result<()> {
    let Pkg::Merge { packages, name, version, sign, out, .. } = command else { return Ok(()) };
    let request = CreateRequest {
        sign: signing(sign.as_ref()),
        root: options.root.clone(),
        ..pkg::merge_request(Some(name.clone()), version.clone(), out.clone())
    };
    let merged = pkg::merge(context, packages, request)?;
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
    for one in merged.contradictions.iter().take(SHOWN) {
        let why = if one.same_id { "one id, two contents" } else { "said by an edge" };
        writeln!(out, "{WARNING}✗{WARNING:#} {} and {}  {DIM}{why}{DIM:#}", printable(&one.from), printable(&one.to))?;
        writeln!(out, "    {}\n    {}", printable(&one.from_content), printable(&one.to_content))?;
    }
    match merged.contradictions.len().checked_sub(SHOWN) {
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
