//! What a change of a project prints.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use sp_engine::{Context, Result};
use sp_formats::output::{
    ContextPackChangeItem, EditOutcome, EditedSkillItem, FileChangeKind, FolderAction,
    ProjectChangeReport, ProjectSkillChange, SinkChange, SkillFileChange, WorkspaceChangeReport,
    WorkspaceSkillChange,
};
use sp_formats::printable::printable;
use sp_formats::project::{LOCK_FILE, MANIFEST_FILE};
use sp_formats::text::pluralize;

use crate::cli::OutputFormat;
use crate::commands::differences::{change_sign, change_word};
use crate::commands::kept::write_kept;
use crate::commands::pkg::change::{write_context_change, write_package_line};
use crate::commands::plan::write_apply_command;
use crate::terminal::{DIM, STRONG, Terminal, Verbosity, WARNING, colored_diff, plain_diff};

pub(super) fn print(
    context: &Context<'_>,
    report: &ProjectChangeReport,
    terminal: &Terminal,
) -> Result<ExitCode> {
    terminal.print(report, |out| match terminal.format {
        OutputFormat::Plain => write_plain(report, out),
        _ => write_human(context, report, terminal, out),
    })?;
    Ok(exit_code(report))
}

/// A conflict has to be resolved by the user.
pub(super) fn exit_code(report: &ProjectChangeReport) -> ExitCode {
    let is_conflict = |edit: &EditedSkillItem| edit.outcome == EditOutcome::Conflict;
    if report.edits.iter().any(is_conflict) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Writes action, agent and folder path, separated by tabs.
pub(super) fn write_plain(report: &ProjectChangeReport, out: &mut dyn Write) -> io::Result<()> {
    for skill in &report.skills {
        for file in &skill.files {
            let name = format!("{}/{}", skill.name, file.path);
            let (before, after) = (file.before.as_deref(), file.after.as_deref());
            write!(out, "{}", plain_diff(&name, before.unwrap_or(""), after.unwrap_or("")))?;
        }
    }
    for package in &report.packages {
        let (name, version) = (printable(&package.name), printable(&package.version));
        writeln!(out, "{}\t{name}\t{version}", action_word(package.action))?;
    }
    for file in &report.instructions {
        let path = project_path(report, &file.path);
        writeln!(out, "{}\tcontext\t{}", file_action_word(file.change), printable(&path))?;
    }
    if let Some(workspace) = &report.workspace {
        for skill in &workspace.skills {
            let word = action_word(skill.action);
            let path = workspace.root.join(".skills").join(&skill.name).display().to_string();
            writeln!(out, "{word}\tworkspace\t{}", printable(&path))?;
        }
    }
    for sink in &report.sinks {
        for folder in &sink.folders {
            let path = sink.path.join(&folder.folder).display().to_string();
            let word = action_word(folder.action);
            writeln!(out, "{word}\t{}\t{}", printable(&sink.sink), printable(&path))?;
        }
    }
    Ok(())
}

/// Returns the path of a file of the project.
fn project_path(report: &ProjectChangeReport, file: &str) -> String {
    let root = report.manifest.parent().unwrap_or(Path::new("/"));
    root.join(file).display().to_string()
}

fn file_action_word(change: FileChangeKind) -> &'static str {
    match change {
        FileChangeKind::New => "add",
        FileChangeKind::Changed => "update",
        FileChangeKind::Gone => "remove",
        FileChangeKind::Same => "keep",
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

pub(super) fn write_human(
    context: &Context<'_>,
    report: &ProjectChangeReport,
    terminal: &Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    for file in &report.united {
        let verb = if report.status.applied { "united" } else { "would unite" };
        writeln!(out, "{verb} both sides of the conflicts in `{file}`")?;
    }
    for file in &report.converted {
        let verb = if report.status.applied { "converted" } else { "would convert" };
        writeln!(out, "{verb} `{file}` to `{LOCK_FILE}`")?;
    }
    let changed_packages =
        || report.packages.iter().filter(|package| package.action != FolderAction::Keep);
    changed_packages().try_for_each(|package| write_package_line(package, out))?;
    if let Some(workspace) = &report.workspace {
        write_workspace(context, report, workspace, out)?;
    }
    for skill in &report.skills {
        write_skill(skill, out)?;
    }
    report.context_packs.iter().try_for_each(|pack| write_context_pack(pack, out))?;
    for edit in &report.edits {
        write_edit(context, edit, out)?;
    }
    if !report.skills.is_empty()
        || !report.context_packs.is_empty()
        || !report.edits.is_empty()
        || changed_packages().next().is_some()
    {
        writeln!(out)?;
    }
    write_kept(context, &report.kept, out)?;
    for sink in &report.sinks {
        write_kept(context, &sink.kept, out)?;
    }
    for sink in &report.sinks {
        write_sink(context, report, sink, terminal.verbosity, out)?;
    }
    if let Some(change) = &report.context {
        write_context_change(change, out)?;
    }
    write_instructions(report, out)?;
    write_files(report, out)?;
    if is_unchanged(report) {
        return Ok(());
    }
    write_apply_command(&report.status, out)
}

fn write_context_pack(pack: &ContextPackChangeItem, out: &mut dyn Write) -> io::Result<()> {
    let (style, sign) = change_sign(pack.change);
    let (location, id) = (printable(&pack.location), printable(&pack.pack_id));
    writeln!(out, "{style}{sign}{style:#} {location}  {DIM}context pack {id}{DIM:#}")
}

/// Writes the instruction files that change.
fn write_instructions(report: &ProjectChangeReport, out: &mut dyn Write) -> io::Result<()> {
    let changed: Vec<String> = report
        .instructions
        .iter()
        .filter(|file| file.change != FileChangeKind::Same)
        .map(|file| printable(&file.path).into_owned())
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    let verb = if report.status.applied { "updated" } else { "would update" };
    writeln!(out, "{STRONG}{verb} context packs{STRONG:#} · {}", changed.join(", "))
}

fn write_skill(skill: &ProjectSkillChange, out: &mut dyn Write) -> io::Result<()> {
    let (style, sign) = change_sign(skill.change);
    let (name, source) = (printable(&skill.name), printable(&skill.source));
    writeln!(out, "{style}{sign}{style:#} {name}  {DIM}{source}{DIM:#}")?;
    for capability in &skill.added_capabilities {
        writeln!(out, "    {WARNING}adds{WARNING:#} {}", printable(capability))?;
    }
    skill.files.iter().try_for_each(|file| write_file_change(&skill.name, file, out))
}

/// Writes how a file of a skill changes.
pub(super) fn write_file_change(
    folder: &str,
    file: &SkillFileChange,
    out: &mut dyn Write,
) -> io::Result<()> {
    let path = format!("{folder}/{}", file.path);
    match (&file.before, &file.after) {
        (None, None) => writeln!(out, "{} `{}`", change_word(file.change), printable(&path)),
        (before, after) => {
            let (before, after) = (before.as_deref(), after.as_deref());
            let diff = colored_diff(&path, before.unwrap_or(""), after.unwrap_or(""));
            write!(out, "{diff}")
        }
    }
}

fn write_edit(
    context: &Context<'_>,
    edit: &EditedSkillItem,
    out: &mut dyn Write,
) -> io::Result<()> {
    let path = context.display_relative_path(&edit.path);
    match edit.outcome {
        EditOutcome::Merged => writeln!(out, "merged your edits of `{path}`"),
        EditOutcome::Kept => writeln!(out, "kept your version of `{path}`"),
        EditOutcome::Replaced => writeln!(out, "replaced your version of `{path}`"),
        EditOutcome::Conflict => {
            writeln!(out, "{WARNING}conflict{WARNING:#} in `{path}`, which is left as it is")?;
            for conflict in &edit.conflicts {
                match &conflict.file {
                    Some(file) => writeln!(out, "  `{}`: {}", printable(file), conflict.reason)?,
                    None => writeln!(out, "  {}", conflict.reason)?,
                }
            }
            let name = printable(&edit.folder);
            writeln!(out, "  keep your version: `sp update {name} --ours`")?;
            writeln!(out, "  take the newer one: `sp update {name} --theirs`")
        }
    }
}

fn write_sink(
    context: &Context<'_>,
    report: &ProjectChangeReport,
    sink: &SinkChange,
    verbosity: Verbosity,
    out: &mut dyn Write,
) -> io::Result<()> {
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
    let is_changed = sink.folders.iter().any(|folder| folder.action != FolderAction::Keep);
    let is_new = sink.folders.iter().any(|folder| folder.action == FolderAction::Add);
    let verb = match (is_changed, is_new, report.status.applied) {
        (false, _, _) => "up to date:",
        (true, true, true) => "installed for",
        (true, true, false) => "would install for",
        (true, false, true) => "updated for",
        (true, false, false) => "would update for",
    };
    let place = context.display_relative_path(&sink.path);
    let agents = printable(&sink.agents.join(", ")).into_owned();
    writeln!(out, "{STRONG}{verb} {agents}{STRONG:#} · {place} · {parts}")?;
    if verbosity == Verbosity::Verbose {
        for folder in &sink.folders {
            writeln!(out, "  {} {}", action_word(folder.action), printable(&folder.folder))?;
        }
    }
    Ok(())
}

fn write_files(report: &ProjectChangeReport, out: &mut dyn Write) -> io::Result<()> {
    let names = [(report.manifest_changed, MANIFEST_FILE), (report.lock_changed, LOCK_FILE)];
    let written: Vec<&str> =
        names.iter().filter(|(is_written, _)| *is_written).map(|(_, name)| *name).collect();
    if written.is_empty() {
        return Ok(());
    }
    let verb = if report.status.applied { "wrote" } else { "would write" };
    writeln!(out, "{verb} {}", written.join(" and "))
}

fn changes_workspace(workspace: &WorkspaceChangeReport) -> bool {
    let is_changed = |skill: &WorkspaceSkillChange| skill.action != FolderAction::Keep;
    workspace.catalog_changed || workspace.skills.iter().any(is_changed)
}

/// Writes the skills that a workspace gets, and whether its catalog changes.
fn write_workspace(
    context: &Context<'_>,
    report: &ProjectChangeReport,
    workspace: &WorkspaceChangeReport,
    out: &mut dyn Write,
) -> io::Result<()> {
    let added = workspace.skills.iter().filter(|skill| skill.action != FolderAction::Keep);
    for skill in added {
        let source = printable(skill.source.as_deref().unwrap_or_default());
        writeln!(out, "+ {}  {DIM}{source}{DIM:#}", printable(&skill.name))?;
    }
    let verb = match (changes_workspace(workspace), report.status.applied) {
        (false, _) => "up to date:",
        (true, true) => "updated",
        (true, false) => "would update",
    };
    let catalog = if workspace.catalog_changed { " · catalog" } else { "" };
    writeln!(out, "{verb} workspace · {}{catalog}", context.display_relative_path(&workspace.root))
}

fn is_unchanged(report: &ProjectChangeReport) -> bool {
    let folders = report.sinks.iter().flat_map(|sink| &sink.folders);
    report.workspace.iter().all(|workspace| !changes_workspace(workspace))
        && !report.manifest_changed
        && !report.lock_changed
        && report.packages.iter().all(|package| package.action == FolderAction::Keep)
        && report.instructions.iter().all(|file| file.change == FileChangeKind::Same)
        && folders.into_iter().all(|folder| folder.action == FolderAction::Keep)
}
