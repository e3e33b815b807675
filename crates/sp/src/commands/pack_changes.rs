//! What `sp install`, `sp switch` and `sp uninstall` print.
//!
//! Directories with the same changes are one block that names all of their agents.

use std::io::{self, Write};
use std::path::Path;

use anstyle::Style;
use sp_engine::{Context, Result};
use sp_formats::output::{
    FolderAction, FolderChange, PackChangeReport, PlanStatus, SharedPackItem, SinkChange,
};
use sp_formats::printable::printable;
use sp_formats::text::pluralize;

use super::kept::write_kept;
use super::plan::write_apply_command;
use crate::cli::OutputFormat;
use crate::terminal::{
    ADDED, CHANGED, DIM, REMOVED, STRONG, Terminal, Verbosity, WARNING, columns, pad,
};

/// Longer lists of new folders are truncated, unless `--verbose` is given.
const MAX_SHOWN_FOLDERS: usize = 20;

pub(super) fn print_pack_changes(
    context: &Context<'_>,
    report: &PackChangeReport,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(report, |out| match terminal.format {
        OutputFormat::Plain => report.sinks.iter().try_for_each(|sink| write_plain(out, sink)),
        _ => {
            let writer = ChangeWriter { context, report, verbosity: terminal.verbosity };
            for (number, group) in group_equal_changes(&report.sinks).iter().enumerate() {
                if number > 0 {
                    writeln!(out)?;
                }
                writer.write_group(group, out)?;
            }
            if report.sinks.iter().all(|sink| !sink.changed) {
                return Ok(());
            }
            let status = PlanStatus { applied: report.applied, plan: report.plan.clone() };
            write_apply_command(&status, out)
        }
    })
}

/// Writes action, agents, pack and folder path, separated by tabs.
fn write_plain(out: &mut dyn Write, sink: &SinkChange) -> io::Result<()> {
    let agents = sink.agents.join(",");
    sink.folders.iter().try_for_each(|folder| {
        let path = sink.path.join(&folder.folder);
        let path = path.display().to_string();
        let (agents, pack) = (printable(&agents), printable(&folder.pack));
        writeln!(out, "{}\t{agents}\t{pack}\t{}", action_word(folder.action), printable(&path))
    })
}

/// Groups the directories whose changes read the same, in the order of the first of each group.
fn group_equal_changes(sinks: &[SinkChange]) -> Vec<Vec<&SinkChange>> {
    let mut groups: Vec<Vec<&SinkChange>> = Vec::new();
    for sink in sinks {
        match groups.iter_mut().find(|group| is_equal_change(group[0], sink)) {
            Some(group) => group.push(sink),
            None => groups.push(vec![sink]),
        }
    }
    groups
}

fn is_equal_change(first: &SinkChange, second: &SinkChange) -> bool {
    // What was kept is in different directories of the trash.
    let is_alone = |sink: &SinkChange| !sink.kept.is_empty() || sink.moved_to.is_some();
    !is_alone(first)
        && !is_alone(second)
        && first.folders == second.folders
        && first.packs == second.packs
        && first.removed_packs == second.removed_packs
        && first.released_packs == second.released_packs
        && first.shared_packs == second.shared_packs
        && first.changed == second.changed
}

struct ChangeWriter<'a> {
    context: &'a Context<'a>,
    report: &'a PackChangeReport,
    verbosity: Verbosity,
}

impl ChangeWriter<'_> {
    /// Writes directories with equal changes.
    fn write_group(&self, group: &[&SinkChange], out: &mut dyn Write) -> io::Result<()> {
        let Some(sink) = group.first() else { return Ok(()) };
        self.write_folders(sink, out)?;
        write_kept(self.context, &sink.kept, out)?;
        if !sink.kept.is_empty() {
            writeln!(out, "{DIM}run `sp clean` to delete what was kept{DIM:#}\n")?;
        }
        match (&sink.moved_to, group) {
            (Some(moved_to), _) if sink.packs.is_empty() => {
                writeln!(out, "{}", self.move_summary(sink, moved_to))?;
            }
            (_, [_]) => writeln!(out, "{}", self.summary(sink, &self.single_target(sink)))?,
            _ => {
                let agents: usize = group.iter().map(|sink| sink.agents.len()).sum();
                writeln!(out, "{}", self.summary(sink, &pluralize(agents, "agent")))?;
                self.write_targets(group, out)?;
            }
        }
        write_shared(sink, out)?;
        group.iter().try_for_each(|sink| self.write_unread_default(sink, out))
    }

    fn write_folders(&self, sink: &SinkChange, out: &mut dyn Write) -> io::Result<()> {
        let all = self.verbosity == Verbosity::Verbose;
        let is_shown = |folder: &&FolderChange| all || folder.action != FolderAction::Keep;
        let changed: Vec<&FolderChange> = sink.folders.iter().filter(is_shown).collect();
        let mut hidden = 0;
        for (number, folder) in changed.iter().enumerate() {
            // New folders are what the user asked for. Everything else must be seen.
            let is_plain = folder.action == FolderAction::Add && !folder.edited;
            if is_plain && number >= MAX_SHOWN_FOLDERS && !all {
                hidden += 1;
                continue;
            }
            let (sign, style) = action_sign(folder.action);
            let note = if folder.edited {
                format!("  {WARNING}edited since it was installed{WARNING:#}")
            } else {
                String::new()
            };
            writeln!(out, "{style}{sign}{style:#} {}{note}", printable(&folder.folder))?;
        }
        if hidden > 0 {
            let more = pluralize(hidden, "more new skill");
            writeln!(out, "{DIM}… and {more} (use `--verbose` to list all){DIM:#}")?;
        }
        if !changed.is_empty() {
            writeln!(out)?;
        }
        Ok(())
    }

    /// Returns the agents and the directory of a block with one directory.
    fn single_target(&self, sink: &SinkChange) -> String {
        format!("{} · {}", join_names(&sink.agents), self.context.display_path(&sink.path))
    }

    /// Writes agents and directory of each, in two columns.
    fn write_targets(&self, group: &[&SinkChange], out: &mut dyn Write) -> io::Result<()> {
        let names: Vec<String> = group.iter().map(|sink| join_names(&sink.agents)).collect();
        let width = names.iter().map(|names| columns(names)).max().unwrap_or(0);
        group.iter().zip(&names).try_for_each(|(sink, names)| {
            writeln!(out, "  {}  {}", pad(names, width), self.context.display_path(&sink.path))
        })
    }

    fn summary(&self, sink: &SinkChange, target: &str) -> String {
        let released = sink.released_packs.iter().map(|released| released.pack.clone());
        let uninstalled: Vec<String> = sink.removed_packs.iter().cloned().chain(released).collect();
        let verb = match (self.report.applied, sink.packs.is_empty()) {
            (_, false) if !sink.changed => "up to date:",
            (true, false) => "installed",
            (true, true) => "uninstalled",
            (false, false) => "would install",
            (false, true) => "would uninstall",
        };
        let packs = if sink.packs.is_empty() { &uninstalled } else { &sink.packs };
        let also = if sink.packs.is_empty() || uninstalled.is_empty() {
            String::new()
        } else {
            format!(", replacing {}", join_names(&uninstalled))
        };
        let counts = folder_counts(sink).map(|counts| format!(" · {counts}")).unwrap_or_default();
        format!("{STRONG}{verb} {}{STRONG:#}{also} · {target}{counts}", join_names(packs))
    }

    /// Returns the summary of a directory that packs leave, because its agent does not read it.
    fn move_summary(&self, sink: &SinkChange, moved_to: &Path) -> String {
        let target = self.report.sinks.iter().find(|other| other.path == moved_to);
        let is_moved = |pack: &String| target.is_some_and(|target| target.packs.contains(pack));
        let released = sink.released_packs.iter().map(|released| &released.pack);
        let leaving = sink.removed_packs.iter().chain(released).cloned();
        let (moved, removed): (Vec<String>, Vec<String>) = leaving.partition(is_moved);
        let verb = if self.report.applied { "moved" } else { "would move" };
        let also = if removed.is_empty() {
            String::new()
        } else {
            format!(", removing {}", join_names(&removed))
        };
        format!(
            "{STRONG}{verb} {}{STRONG:#}{also} · {} · from {} to {}",
            join_names(&moved),
            join_names(&sink.agents),
            self.context.display_path(&sink.path),
            self.context.display_path(moved_to)
        )
    }

    /// Writes why the directory is not the default one.
    fn write_unread_default(&self, sink: &SinkChange, out: &mut dyn Write) -> io::Result<()> {
        match &sink.instead_of {
            Some(default) if !sink.packs.is_empty() => writeln!(
                out,
                "{} {} this directory instead of {}",
                join_names(&sink.agents),
                reads(&sink.agents),
                self.context.display_path(default)
            ),
            _ => Ok(()),
        }
    }
}

/// Returns the numbers of folders by action. `None` if packs only lose an agent.
fn folder_counts(sink: &SinkChange) -> Option<String> {
    let number = |action| sink.folders.iter().filter(|folder| folder.action == action).count();
    let counts = [
        (number(FolderAction::Add), "added"),
        (number(FolderAction::Update), "updated"),
        (number(FolderAction::Remove), "removed"),
        (number(FolderAction::Keep), "unchanged"),
    ];
    let counts = counts.iter().filter(|(number, _)| *number > 0);
    let counts: Vec<String> = counts.map(|(number, word)| format!("{number} {word}")).collect();
    match counts.is_empty() {
        false => Some(counts.join(", ")),
        true if sink.packs.is_empty() && sink.removed_packs.is_empty() => None,
        true => Some(pluralize(0, "skill")),
    }
}

/// Writes which other agents the packs of a directory are installed for.
fn write_shared(sink: &SinkChange, out: &mut dyn Write) -> io::Result<()> {
    let mut write = |shared: &SharedPackItem, what: &str| {
        writeln!(
            out,
            "`{}` {what} for {}, which {} the same directory",
            printable(&shared.pack),
            join_names(&shared.agents),
            reads(&shared.agents)
        )
    };
    sink.released_packs.iter().try_for_each(|shared| write(shared, "stays"))?;
    sink.shared_packs.iter().try_for_each(|shared| {
        let is_installed = sink.packs.contains(&shared.pack);
        write(shared, if is_installed { "is also installed" } else { "stays" })
    })
}

fn reads(agents: &[String]) -> &'static str {
    if agents.len() == 1 { "reads" } else { "read" }
}

fn join_names(names: &[String]) -> String {
    printable(&names.join(", ")).into_owned()
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
