//! `sp pkg stale`

use sp_engine::pkg::{self, StaleRequest};
use sp_engine::{Context, Result};
use sp_formats::output::{PackageStale, StaleNode, StaleState};
use sp_formats::printable::printable;

use super::super::count;
use crate::cli::Format;
use crate::terminal::{DIM, Terminal, table};

/// Says what was outgrown, and whether anything was.
pub(super) fn stale(context: &Context<'_>, request: &StaleRequest, terminal: &Terminal) -> Result<bool> {
    let found = pkg::stale(context, request)?;
    terminal.print(&found, |out| match terminal.format {
        Format::Plain => found.stale.iter().try_for_each(|node| {
            let file = printable(&node.file);
            writeln!(out, "{}\t{}\t{file}\t{}", node.state.word(), printable(&node.id), line_of(node))
        }),
        _ => {
            if !found.stale.is_empty() {
                let rows = found.stale.iter().map(row).collect();
                write!(out, "{}", table(&["state", "node", "file", "says"], rows, terminal.width()))?;
            }
            writeln!(out, "{}", summary(&found))
        }
    })?;
    Ok(outgrown(&found) > 0)
}

fn row(node: &StaleNode) -> Vec<String> {
    let first = node.content.lines().next().unwrap_or_default().to_owned();
    vec![node.state.word().into(), node.id.clone(), format!("{}{}", node.file, place(node)), first]
}

fn place(node: &StaleNode) -> String {
    match (node.line, node.line_now) {
        (Some(line), Some(now)) => format!(":{line}→{now}"),
        (Some(line), None) => format!(":{line}"),
        _ => String::new(),
    }
}

fn line_of(node: &StaleNode) -> String {
    node.line_now.or(node.line).map(|line| line.to_string()).unwrap_or_default()
}

/// What moved says what it said.
fn outgrown(found: &PackageStale) -> usize {
    found.stale.iter().filter(|node| node.state != StaleState::Moved).count()
}

fn summary(found: &PackageStale) -> String {
    let of = |state: StaleState| found.stale.iter().filter(|node| node.state == state).count();
    let [changed, gone, moved] = [StaleState::Changed, StaleState::Gone, StaleState::Moved].map(of);
    let compared = found.fresh + found.stale.len();
    let mut text = match outgrown(found) {
        0 => format!("all of {} are as their files are", count(compared, "node")),
        some => format!("{some} of {} are outgrown: {changed} changed, {gone} gone", count(compared, "node")),
    };
    if moved > 0 {
        text += &format!(" · {moved} moved");
    }
    if found.unknown > 0 {
        text += &format!(" · {DIM}{} have nothing to compare{DIM:#}", found.unknown);
    }
    text
}
