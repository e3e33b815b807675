//! `sp context`.

mod build;
mod diff;
mod hosted;
mod kb;

use std::io::Write;
use std::process::ExitCode;

use sp_engine::context_pack::{
    self, ContextPackAgent, ContextPackInstallRequest, ContextPackNewRequest, ContextPackZipRequest,
};
use sp_engine::pkg::Overwrite;
use sp_engine::{Context, Result};
use sp_formats::output::{ContextPackView, ContextPackWriteReport, FileChangeKind};
use sp_formats::printable::printable;
use sp_formats::text::{ByteSize, group_digits, pluralize};
use sp_formats::time::relative_text;

use super::check;
use super::plan::{apply_options, write_apply_command};
use crate::cli::{ContextPackAgentArg, ContextPackCommand, GlobalOptions, OutputFormat};
use crate::terminal::{ADDED, CHANGED, DIM, REMOVED, STRONG, Terminal, WARNING, table};

pub(super) fn run(
    context: &Context<'_>,
    options: &GlobalOptions,
    command: &ContextPackCommand,
    terminal: &Terminal,
) -> Result<ExitCode> {
    match command {
        ContextPackCommand::Check(args) => return check::run(context, options, args, terminal),
        ContextPackCommand::Show { pack } => {
            print_view(context, &context_pack::show(context, pack)?, terminal)?;
        }
        ContextPackCommand::Build(given) => build::run(context, given, terminal)?,
        ContextPackCommand::Kb(command) => kb::run(context, command, terminal)?,
        ContextPackCommand::Diff { before, after } => {
            diff::print_diff(context_pack::diff(context, before, after)?, terminal)?;
        }
        ContextPackCommand::New { dir, name, description, stack, plan } => {
            let request = ContextPackNewRequest {
                dir: dir.clone(),
                name: name.clone(),
                description: description.clone(),
                stack: stack.clone(),
                apply: apply_options(plan),
            };
            let hint = "edit the files, then run `sp context seal`";
            let hint = if plan.dry_run { "" } else { hint };
            print_written(context, &context_pack::new(context, &request)?, hint, terminal)?;
        }
        ContextPackCommand::Seal { pack, plan } => {
            let report = context_pack::seal(context, pack, apply_options(plan))?;
            print_written(context, &report, "", terminal)?;
        }
        ContextPackCommand::Zip { pack, output, force } => {
            let request = ContextPackZipRequest {
                pack: pack.clone(),
                output: output.clone(),
                overwrite: if *force { Overwrite::Allow } else { Overwrite::Refuse },
            };
            zip(context, &request, terminal)?;
        }
        ContextPackCommand::Push { .. }
        | ContextPackCommand::Url { .. }
        | ContextPackCommand::Revoke { .. } => {
            hosted::run(context, command, terminal)?;
        }
        ContextPackCommand::Install { pack, agents, plan, consent } => {
            let context = &consent.apply_to(context);
            let request = ContextPackInstallRequest {
                pack: pack.clone(),
                root: options.root.clone(),
                agents: to_agents(agents),
                apply: apply_options(plan),
            };
            let report = context_pack::install(context, &request)?;
            print_written(context, &report, "", terminal)?;
        }
        ContextPackCommand::Uninstall { plan } => {
            let report =
                context_pack::uninstall(context, options.root.as_deref(), apply_options(plan))?;
            print_written(context, &report, "", terminal)?;
        }
        ContextPackCommand::Unzip { zip, dir } => {
            print_written(context, &context_pack::unzip(context, zip, dir)?, "", terminal)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn zip(context: &Context<'_>, request: &ContextPackZipRequest, terminal: &Terminal) -> Result<()> {
    let report = context_pack::zip(context, request)?;
    terminal.print(&report, |out| {
        writeln!(
            out,
            "packed {} into {} · {}",
            pluralize(report.files, "file"),
            context.display_path(&report.file),
            ByteSize(report.bytes as u64)
        )
    })
}

/// Returns the agents to install for; without `--agent` these are Cursor and `AGENTS.md`.
fn to_agents(agents: &[ContextPackAgentArg]) -> Vec<ContextPackAgent> {
    if agents.is_empty() {
        return vec![ContextPackAgent::Cursor, ContextPackAgent::Agents];
    }
    let agent = |agent: &ContextPackAgentArg| match agent {
        ContextPackAgentArg::Cursor => ContextPackAgent::Cursor,
        ContextPackAgentArg::Agents => ContextPackAgent::Agents,
        ContextPackAgentArg::Claude => ContextPackAgent::Claude,
    };
    agents.iter().map(agent).collect()
}

fn print_written(
    context: &Context<'_>,
    report: &ContextPackWriteReport,
    hint: &str,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(report, |out| {
        let changed = report.files.iter().filter(|file| file.change != FileChangeKind::Same);
        for file in changed.clone() {
            let (style, sign) = match file.change {
                FileChangeKind::New => (ADDED, '+'),
                FileChangeKind::Gone => (REMOVED, '-'),
                FileChangeKind::Changed | FileChangeKind::Same => (CHANGED, '~'),
            };
            writeln!(out, "{style}{sign}{style:#} {}", printable(&file.path))?;
        }
        let more = if hint.is_empty() { String::new() } else { format!(" · {hint}") };
        let what = match changed.count() {
            0 => "no changes".to_owned(),
            some if report.status.applied => format!("{} changed", pluralize(some, "file")),
            some => format!("would change {}", pluralize(some, "file")),
        };
        writeln!(out, "{what} · {}{more}", context.display_path(&report.dir))?;
        if report.files.iter().all(|file| file.change == FileChangeKind::Same) {
            return Ok(());
        }
        write_apply_command(&report.status, out)
    })
}

fn print_view(context: &Context<'_>, view: &ContextPackView, terminal: &Terminal) -> Result<()> {
    terminal.print(view, |out| match terminal.format {
        OutputFormat::Plain => view.files.iter().try_for_each(|file| {
            writeln!(out, "{}\t{}\t{}", printable(&file.path), file.bytes, file.tokens)
        }),
        _ => write_human(context, view, terminal, out),
    })
}

fn write_human(
    context: &Context<'_>,
    view: &ContextPackView,
    terminal: &Terminal,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    writeln!(
        out,
        "{STRONG}{}{STRONG:#}  {DIM}{}{DIM:#}",
        printable(&view.name),
        printable(&view.pack_id)
    )?;
    writeln!(out, "{}", printable(&view.description))?;
    writeln!(
        out,
        "{DIM}generated {} by {}{DIM:#}",
        printable(&relative_text(&view.generated_at, context.now)),
        printable(&view.generator)
    )?;
    if !view.stack.is_empty() {
        writeln!(out, "{DIM}stack: {}{DIM:#}", printable(&view.stack.join(", ")))?;
    }
    let rows = view.files.iter().map(|file| {
        vec![file.path.clone(), group_digits(file.tokens), ByteSize(file.bytes as u64).to_string()]
    });
    writeln!(out)?;
    if !view.files.is_empty() {
        write!(out, "{}", table(&["file", "tokens", "size"], rows.collect(), terminal.width()))?;
        let total: usize = view.files.iter().map(|file| file.tokens).sum();
        writeln!(
            out,
            "{DIM}{} tokens in total ({}){DIM:#}\n",
            group_digits(total),
            view.tokenizer
        )?;
    }
    let rows = view.sources.iter().map(|source| {
        vec![source.id.clone(), source.kind.clone(), source.title.clone(), source.url.clone()]
    });
    if !view.sources.is_empty() {
        writeln!(
            out,
            "{}",
            table(&["source", "kind", "title", "url"], rows.collect(), terminal.width()).trim_end()
        )?;
    }
    match (view.errors, view.warnings) {
        (0, 0) => writeln!(out, "valid"),
        (errors, warnings) => {
            let counts =
                format!("{}, {}", pluralize(errors, "error"), pluralize(warnings, "warning"));
            writeln!(out, "{WARNING}{counts}{WARNING:#}; run `sp context check` for details")
        }
    }
}
