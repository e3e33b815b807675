//! `sp install`, `sp switch` and `sp uninstall`.

use std::io::{self, Write};
use std::path::Path;

use anstyle::Style;
use sp_engine::{
    Context, InstallRequest, OtherPacks, ReplacePolicy, Result, SinkRequest, UninstallRequest,
};
use sp_formats::output::{FolderAction, PackChangeReport, PlanStatus, SinkChange};
use sp_formats::printable::printable;
use sp_formats::text::pluralize;

use super::kept::write_kept;
use super::plan::write_apply_command;
use super::{mode, sink_requests};
use crate::cli::{self, OutputFormat};
use crate::terminal::{ADDED, CHANGED, DIM, REMOVED, STRONG, Terminal, Verbosity, WARNING};

/// Longer lists of folders are truncated, unless `--verbose` is given.
const MAX_SHOWN_FOLDERS: usize = 20;

pub(super) fn install(
    context: &Context<'_>,
    root: Option<&Path>,
    install: &cli::InstallArgs,
    others: OtherPacks,
    terminal: &Terminal,
) -> Result<()> {
    let request = InstallRequest {
        packs: install.packs.clone(),
        sinks: sinks_of(context, &install.agents)?,
        root: root.map(Into::into),
        other_packs: others,
        replace: if install.replace { ReplacePolicy::Allow } else { ReplacePolicy::Refuse },
        mode: mode(install.plan.dry_run),
        expected_plan: install.plan.plan,
    };
    let report = sp_engine::install(context, &request)?;
    print_report(context, &report, terminal)
}

pub(super) fn uninstall(
    context: &Context<'_>,
    uninstall: &cli::UninstallArgs,
    terminal: &Terminal,
) -> Result<()> {
    let request = UninstallRequest {
        packs: uninstall.packs.clone(),
        sinks: sinks_of(context, &uninstall.agents)?,
        mode: mode(uninstall.plan.dry_run),
        expected_plan: uninstall.plan.plan,
    };
    let report = sp_engine::uninstall(context, &request)?;
    print_report(context, &report, terminal)
}

fn sinks_of(context: &Context<'_>, agents: &cli::AgentArgs) -> Result<Vec<SinkRequest>> {
    sink_requests(context, &agents.agent, agents.path.as_deref(), agents.scope)
}

fn print_report(
    context: &Context<'_>,
    report: &PackChangeReport,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(report, |out| match terminal.format {
        OutputFormat::Plain => report.sinks.iter().try_for_each(|sink| write_plain(out, sink)),
        _ => {
            for (number, sink) in report.sinks.iter().enumerate() {
                if number > 0 {
                    writeln!(out)?;
                }
                write_human(out, context, report, sink, terminal.verbosity)?;
            }
            if report.sinks.iter().all(is_unchanged) {
                return Ok(());
            }
            let status = PlanStatus { applied: report.applied, plan: report.plan.clone() };
            write_apply_command(&status, out)
        }
    })
}

fn is_unchanged(sink: &SinkChange) -> bool {
    sink.removed_packs.is_empty()
        && sink.folders.iter().all(|folder| folder.action == FolderAction::Keep)
}

/// Writes action, sink, pack and folder path, separated by tabs.
fn write_plain(out: &mut dyn Write, sink: &SinkChange) -> io::Result<()> {
    sink.folders.iter().try_for_each(|folder| {
        let path = sink.path.join(&folder.folder);
        let path = path.display().to_string();
        let (sink, pack) = (printable(&sink.sink), printable(&folder.pack));
        writeln!(out, "{}\t{sink}\t{pack}\t{}", action_word(folder.action), printable(&path))
    })
}

fn write_human(
    out: &mut dyn Write,
    context: &Context<'_>,
    report: &PackChangeReport,
    sink: &SinkChange,
    words: Verbosity,
) -> io::Result<()> {
    let changed: Vec<_> = sink
        .folders
        .iter()
        .filter(|folder| folder.action != FolderAction::Keep || words == Verbosity::Verbose)
        .collect();
    let shown = if words == Verbosity::Verbose { changed.len() } else { MAX_SHOWN_FOLDERS };
    for folder in changed.iter().take(shown) {
        let (sign, style) = action_sign(folder.action);
        let note = if folder.edited {
            format!("  {WARNING}edited since it was installed{WARNING:#}")
        } else {
            String::new()
        };
        writeln!(out, "{style}{sign}{style:#} {}{note}", printable(&folder.folder))?;
    }
    if changed.len() > shown {
        writeln!(
            out,
            "{DIM}… and {} more (use `--verbose` to list all){DIM:#}",
            changed.len() - shown
        )?;
    }
    if !changed.is_empty() {
        writeln!(out)?;
    }
    write_kept(context, &sink.kept, out)?;
    if !sink.kept.is_empty() {
        writeln!(out, "{DIM}run `sp clean` to delete what was kept{DIM:#}\n")?;
    }
    writeln!(out, "{}", summary(context, report, sink))
}

fn summary(context: &Context<'_>, report: &PackChangeReport, sink: &SinkChange) -> String {
    let number = |action| sink.folders.iter().filter(|folder| folder.action == action).count();
    let counts = [
        (number(FolderAction::Add), "added"),
        (number(FolderAction::Update), "updated"),
        (number(FolderAction::Remove), "removed"),
        (number(FolderAction::Keep), "unchanged"),
    ];
    let parts: Vec<String> = counts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    let parts = if parts.is_empty() { pluralize(0, "skill") } else { parts.join(", ") };
    let verb = match (report.applied, sink.packs.is_empty()) {
        (_, false) if is_unchanged(sink) => "up to date:",
        (true, false) => "installed",
        (true, true) => "uninstalled",
        (false, false) => "would install",
        (false, true) => "would uninstall",
    };
    let packs = if sink.packs.is_empty() { &sink.removed_packs } else { &sink.packs };
    let also = if sink.packs.is_empty() || sink.removed_packs.is_empty() {
        String::new()
    } else {
        format!(", replacing {}", join_names(&sink.removed_packs))
    };
    format!(
        "{STRONG}{verb} {}{STRONG:#}{also} · {} · {} · {parts}",
        join_names(packs),
        printable(&sink.sink),
        context.display_path(&sink.path)
    )
}

fn join_names(packs: &[String]) -> String {
    printable(&packs.join(", ")).into_owned()
}

fn action_sign(action: FolderAction) -> (char, Style) {
    match action {
        FolderAction::Add => ('+', ADDED),
        FolderAction::Update => ('~', CHANGED),
        FolderAction::Remove => ('-', REMOVED),
        FolderAction::Keep => ('=', DIM),
    }
}

fn action_word(action: FolderAction) -> &'static str {
    match action {
        FolderAction::Add => "add",
        FolderAction::Update => "update",
        FolderAction::Remove => "remove",
        FolderAction::Keep => "keep",
    }
}
