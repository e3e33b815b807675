//! `sp pkg stale`.

use sp_engine::pkg::{self, StaleRequest};
use sp_engine::{Context, Result};
use sp_formats::output::{StaleNode, StaleReport, StaleState};
use sp_formats::printable::printable;
use sp_formats::text::pluralize;

use crate::cli::OutputFormat;
use crate::terminal::{DIM, Terminal, table};

/// Prints the stale nodes. Returns whether any node is outdated.
pub(super) fn print_stale(
    context: &Context<'_>,
    request: &StaleRequest,
    terminal: &Terminal,
) -> Result<bool> {
    let found = pkg::stale(context, request)?;
    terminal.print(&found, |out| match terminal.format {
        OutputFormat::Plain => found.stale.iter().try_for_each(|node| {
            let file = printable(&node.file);
            writeln!(
                out,
                "{}\t{}\t{file}\t{}",
                node.state.as_str(),
                printable(&node.id),
                current_line(node)
            )
        }),
        _ => {
            if !found.stale.is_empty() {
                let rows = found.stale.iter().map(row).collect();
                write!(
                    out,
                    "{}",
                    table(&["state", "node", "file", "content"], rows, terminal.width())
                )?;
            }
            writeln!(out, "{}", summary(&found))
        }
    })?;
    Ok(outdated_count(&found) > 0)
}

fn row(node: &StaleNode) -> Vec<String> {
    let first = node.content.lines().next().unwrap_or_default().to_owned();
    vec![
        node.state.as_str().into(),
        node.id.clone(),
        format!("{}{}", node.file, line_suffix(node)),
        first,
    ]
}

fn line_suffix(node: &StaleNode) -> String {
    match (node.line, node.line_now) {
        (Some(line), Some(now)) => format!(":{line}→{now}"),
        (Some(line), None) => format!(":{line}"),
        _ => String::new(),
    }
}

fn current_line(node: &StaleNode) -> String {
    node.line_now.or(node.line).map(|line| line.to_string()).unwrap_or_default()
}

/// Counts the nodes whose content is outdated. Nodes that only moved are not.
fn outdated_count(found: &StaleReport) -> usize {
    found.stale.iter().filter(|node| node.state != StaleState::Moved).count()
}

fn summary(found: &StaleReport) -> String {
    let of = |state: StaleState| found.stale.iter().filter(|node| node.state == state).count();
    let [changed, gone, moved] = [StaleState::Changed, StaleState::Gone, StaleState::Moved].map(of);
    let compared = found.fresh + found.stale.len();
    let mut text = match outdated_count(found) {
        0 => format!("{} checked, all up to date", pluralize(compared, "node")),
        some => format!(
            "{some} of {} outdated: {changed} changed, {gone} gone",
            pluralize(compared, "node")
        ),
    };
    if moved > 0 {
        text += &format!(" · {moved} moved");
    }
    if found.unknown > 0 {
        text += &format!(" · {DIM}{} cannot be compared{DIM:#}", found.unknown);
    }
    text
}
