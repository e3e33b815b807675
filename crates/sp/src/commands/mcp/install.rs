//! `sp mcp install` and `sp mcp uninstall`.

use std::io::{self, Write};

use sp_engine::{
    Context, McpConfigTarget, McpServer, ReplacePolicy, Result, install_mcp, uninstall_mcp,
};
use sp_formats::output::{McpAgentChange, McpChangeReport, McpServerAction};
use sp_formats::printable::{printable, printable_tabs};

use super::super::plan::{apply_options, write_apply_command};
use super::super::to_sink_scope;
use crate::cli::{self, OutputFormat};
use crate::environment;
use crate::terminal::{ADDED, DIM, HINT, STRONG, Terminal};

pub(super) fn install(
    context: &Context<'_>,
    request: &cli::McpInstallArgs,
    terminal: &Terminal,
) -> Result<()> {
    let server = match &request.url {
        Some(url) => McpServer::Http { url: url.clone() },
        None => McpServer::Stdio {
            program: environment::current_program()?,
            args: request.args.clone(),
        },
    };
    let replace = if request.force { ReplacePolicy::Allow } else { ReplacePolicy::Refuse };
    print_change(
        context,
        &install_mcp(context, &to_target(&request.target), &server, replace)?,
        terminal,
    )
}

pub(super) fn uninstall(
    context: &Context<'_>,
    request: &cli::McpTargetArgs,
    terminal: &Terminal,
) -> Result<()> {
    print_change(context, &uninstall_mcp(context, &to_target(request))?, terminal)
}

fn to_target(given: &cli::McpTargetArgs) -> McpConfigTarget {
    McpConfigTarget {
        agents: given.agent.clone(),
        scope: to_sink_scope(given.scope),
        name: given.name.clone(),
        apply: apply_options(&given.plan),
    }
}

fn print_change(
    context: &Context<'_>,
    change: &McpChangeReport,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(change, |out| {
        change.agents.iter().enumerate().try_for_each(|(number, agent)| match terminal.format {
            OutputFormat::Plain => write_plain(out, change, agent),
            _ => {
                if number > 0 {
                    writeln!(out)?;
                }
                write_human(out, context, change, agent)
            }
        })?;
        let is_kept = |agent: &McpAgentChange| agent.action == McpServerAction::Keep;
        if terminal.format == OutputFormat::Plain || change.agents.iter().all(is_kept) {
            return Ok(());
        }
        write_apply_command(&change.status, out)
    })
}

/// Writes action, agent, server and file, separated by tabs.
fn write_plain(
    out: &mut dyn Write,
    change: &McpChangeReport,
    agent: &McpAgentChange,
) -> io::Result<()> {
    let word = match agent.action {
        McpServerAction::Add => "add",
        McpServerAction::Replace => "replace",
        McpServerAction::Remove => "remove",
        McpServerAction::Keep => "keep",
    };
    let file = agent.file.display().to_string();
    writeln!(out, "{word}\t{}\t{}\t{}", agent.agent, change.server, printable(&file))
}

fn write_human(
    out: &mut dyn Write,
    context: &Context<'_>,
    change: &McpChangeReport,
    agent: &McpAgentChange,
) -> io::Result<()> {
    let (server, name) = (&change.server, &agent.name);
    let behind = agent
        .real_file
        .as_ref()
        .map(|real| format!(" → {}", context.display_path(real)))
        .unwrap_or_default();
    let new = if agent.new_file { " (new)" } else { "" };
    let file = format!("{}{behind}{new}", context.display_path(&agent.file));
    let verb = match (agent.action, change.status.applied) {
        (McpServerAction::Add, true) => "added",
        (McpServerAction::Add, false) => "would add",
        (McpServerAction::Replace, true) => "replaced",
        (McpServerAction::Replace, false) => "would replace",
        (McpServerAction::Remove, true) => "removed",
        (McpServerAction::Remove, false) => "would remove",
        (McpServerAction::Keep, _) => {
            let state =
                if agent.entry.is_some() { "is already configured" } else { "is not configured" };
            return writeln!(
                out,
                "{STRONG}unchanged: {server}{STRONG:#} {state} · {name} · {file}"
            );
        }
    };
    writeln!(out, "{STRONG}{verb} {server}{STRONG:#} · {name} · {file}")?;
    let next = agent.next.as_ref().filter(|_| change.status.applied);
    if let Some(entry) = &agent.entry {
        writeln!(out)?;
        entry
            .lines()
            .try_for_each(|line| writeln!(out, "{ADDED}{}{ADDED:#}", printable_tabs(line)))?;
        if next.is_some() || !agent.new_file {
            writeln!(out)?;
        }
        if !agent.new_file {
            writeln!(out, "{DIM}the rest of the file is unchanged{DIM:#}")?;
        }
    }
    next.into_iter().try_for_each(|next| writeln!(out, "{HINT}next:{HINT:#} {next}"))
}
