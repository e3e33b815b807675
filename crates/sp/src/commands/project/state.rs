//! What the commands print that show the state of a project.

use std::io::{self, Write};

use anstyle::Style;
use sp_engine::{Context, Result};
use sp_formats::output::{
    ContextPackReason, ContextPackStatusItem, EditedFolder, ManifestEntryItem, PackageReason,
    PackageStatusItem, ProjectStatusReport, SinkStatus, SkillEditReport, SkillReason,
    SkillReasonList, SkillStatus, SkillStatusItem, TrashedSkillList,
};
use sp_formats::printable::printable;
use sp_formats::text::pluralize;

use super::report::write_file_change;
use crate::cli::OutputFormat;
use crate::terminal::{ADDED, CHANGED, DIM, REMOVED, STRONG, Terminal, WARNING, plain_diff};

pub(super) fn print_status(
    context: &Context<'_>,
    report: &ProjectStatusReport,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(report, |out| match terminal.format {
        OutputFormat::Plain => {
            report.sinks.iter().try_for_each(|it| write_plain_status(it, out))?;
            report.packages.iter().try_for_each(|package| {
                let (name, version) = (printable(&package.name), printable(&package.version));
                let word = status_word(package.status).replace(' ', "-");
                writeln!(out, "{word}\t{name}\t{version}")
            })?;
            report.context_packs.iter().try_for_each(|pack| {
                let (location, id) = (printable(&pack.location), printable(&pack.pack_id));
                let word = status_word(pack.status).replace(' ', "-");
                writeln!(out, "{word}\t{location}\t{id}")
            })
        }
        _ => write_status(context, report, out),
    })
}

/// Writes status, agents, name and path, separated by tabs.
fn write_plain_status(sink: &SinkStatus, out: &mut dyn Write) -> io::Result<()> {
    let agents = sink.agents.join(",");
    for skill in &sink.skills {
        let path = sink.path.join(&skill.name).display().to_string();
        let (agents, path) = (printable(&agents), printable(&path));
        writeln!(out, "{}\t{agents}\t{path}", status_word(skill.status).replace(' ', "-"))?;
    }
    Ok(())
}

fn write_status(
    context: &Context<'_>,
    report: &ProjectStatusReport,
    out: &mut dyn Write,
) -> io::Result<()> {
    for sink in &report.sinks {
        let place = context.display_relative_path(&sink.path);
        writeln!(out, "{STRONG}{}{STRONG:#} · {place}", printable(&sink.agents.join(", ")))?;
        let width = sink.skills.iter().map(|skill| skill.name.chars().count()).max().unwrap_or(0);
        sink.skills.iter().try_for_each(|skill| write_skill_status(skill, width, out))?;
    }
    let is_empty = report.packages.is_empty() && report.context_packs.is_empty();
    if report.sinks.is_empty() && is_empty {
        writeln!(out, "no skills are locked")?;
    }
    write_packages(&report.packages, out)?;
    write_context_packs(&report.context_packs, out)?;
    for source in &report.unlocked {
        let source = printable(source);
        writeln!(out, "{WARNING}warning{WARNING:#}: `{source}` is not locked; run `sp sync`")?;
    }
    if report.in_sync { writeln!(out, "\neverything is in sync") } else { Ok(()) }
}

fn write_packages(packages: &[PackageStatusItem], out: &mut dyn Write) -> io::Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    writeln!(out, "{STRONG}packages{STRONG:#}")?;
    let label = |package: &PackageStatusItem| {
        format!("{} {}", printable(&package.name), printable(&package.version))
    };
    let width = packages.iter().map(|package| label(package).chars().count()).max().unwrap_or(0);
    packages.iter().try_for_each(|package| {
        let item = StatusLine { status: package.status, note: package.note.as_deref() };
        item.write((&label(package), width), out)
    })
}

fn write_context_packs(packs: &[ContextPackStatusItem], out: &mut dyn Write) -> io::Result<()> {
    if packs.is_empty() {
        return Ok(());
    }
    writeln!(out, "{STRONG}context packs{STRONG:#}")?;
    let label = |pack: &ContextPackStatusItem| printable(&pack.location).into_owned();
    let width = packs.iter().map(|pack| label(pack).chars().count()).max().unwrap_or(0);
    packs.iter().try_for_each(|pack| {
        let item = StatusLine { status: pack.status, note: pack.note.as_deref() };
        item.write((&label(pack), width), out)
    })
}

/// A line about the status of something.
struct StatusLine<'a> {
    status: SkillStatus,
    note: Option<&'a str>,
}

impl StatusLine<'_> {
    /// Writes the line, after a label that is padded to a width.
    fn write(&self, (label, width): (&str, usize), out: &mut dyn Write) -> io::Result<()> {
        let style = status_style(self.status);
        write!(out, "  {label:width$}  {style}{}{style:#}", status_word(self.status))?;
        if let Some(note) = self.note {
            write!(out, "  {DIM}{}{DIM:#}", printable(note))?;
        }
        writeln!(out)
    }
}

fn write_skill_status(
    skill: &SkillStatusItem,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let item = StatusLine { status: skill.status, note: skill.note.as_deref() };
    item.write((&printable(&skill.name), width), out)
}

fn status_word(status: SkillStatus) -> &'static str {
    match status {
        SkillStatus::UpToDate => "up to date",
        SkillStatus::Edited => "edited",
        SkillStatus::Missing => "missing",
        SkillStatus::Unsynced => "unsynced",
        SkillStatus::Blocked => "blocked",
        SkillStatus::Outdated => "outdated",
        SkillStatus::Disabled => "disabled",
        SkillStatus::Foreign => "foreign",
    }
}

fn status_style(status: SkillStatus) -> Style {
    match status {
        SkillStatus::UpToDate => ADDED,
        SkillStatus::Edited | SkillStatus::Outdated | SkillStatus::Unsynced => CHANGED,
        SkillStatus::Missing | SkillStatus::Blocked => REMOVED,

        SkillStatus::Disabled | SkillStatus::Foreign => DIM,
    }
}

pub(super) fn print_reasons(list: &SkillReasonList, terminal: &Terminal) -> Result<()> {
    terminal.print(list, |out| match terminal.format {
        OutputFormat::Plain => {
            list.skills.iter().try_for_each(|it| write_plain_reason(it, out))?;
            list.packages.iter().try_for_each(|it| write_plain_package_reason(it, out))?;
            list.context_packs.iter().try_for_each(|pack| {
                let Some(entry) = &pack.entry else { return Ok(()) };
                let name = printable(&pack.location);
                writeln!(out, "{name}\tentry\t{}", printable(&entry.location))
            })
        }
        _ => {
            list.skills.iter().try_for_each(|it| write_reason(it, out))?;
            list.packages.iter().try_for_each(|it| write_package_reason(it, out))?;
            list.context_packs.iter().try_for_each(|it| write_context_pack_reason(it, out))
        }
    })
}

/// Writes the name of the skill and what brings it in, separated by tabs.
fn write_plain_reason(skill: &SkillReason, out: &mut dyn Write) -> io::Result<()> {
    let name = printable(&skill.name);
    for entry in &skill.entries {
        writeln!(out, "{name}\tentry\t{}", printable(&entry.location))?;
    }
    skill.required_by.iter().try_for_each(|by| writeln!(out, "{name}\tskill\t{}", printable(by)))
}

fn write_reason(skill: &SkillReason, out: &mut dyn Write) -> io::Result<()> {
    let (id, source) = (printable(&skill.id), printable(&skill.source));
    writeln!(out, "{STRONG}{}{STRONG:#}  `{id}` of {source}", printable(&skill.name))?;
    if let Some(version) = &skill.version {
        writeln!(out, "  version: {}", printable(version))?;
    }
    writeln!(out, "  agents: {}", printable(&skill.agents.join(", ")))?;
    for entry in &skill.entries {
        let (source, location) = (printable(&entry.source), printable(&entry.location));
        writeln!(out, "  selected by `{source}` in {location}")?;
    }
    skill.required_by.iter().try_for_each(|by| writeln!(out, "  needed by `{}`", printable(by)))
}

/// Writes the name of the package and what brings it in, separated by tabs.
fn write_plain_package_reason(package: &PackageReason, out: &mut dyn Write) -> io::Result<()> {
    let name = printable(&package.name);
    if let Some(entry) = &package.entry {
        writeln!(out, "{name}\tentry\t{}", printable(&entry.location))?;
    }
    let mut required_by = package.required_by.iter();
    required_by.try_for_each(|by| writeln!(out, "{name}\tpackage\t{}", printable(by)))
}

fn write_package_reason(package: &PackageReason, out: &mut dyn Write) -> io::Result<()> {
    let (version, from) = (printable(&package.version), printable(&package.from));
    writeln!(out, "{STRONG}{}{STRONG:#}  {version} from {from}", printable(&package.name))?;
    if let Some(ManifestEntryItem { source, location }) = &package.entry {
        writeln!(out, "  selected by `{}` in {}", printable(source), printable(location))?;
    }
    let mut required_by = package.required_by.iter();
    required_by.try_for_each(|by| writeln!(out, "  needed by `{}`", printable(by)))
}

fn write_context_pack_reason(pack: &ContextPackReason, out: &mut dyn Write) -> io::Result<()> {
    let (location, id) = (printable(&pack.location), printable(&pack.pack_id));
    writeln!(out, "{STRONG}{location}{STRONG:#}  context pack {id}")?;
    writeln!(out, "  files: {}", pack.files.join(", "))?;
    if let Some(ManifestEntryItem { source, location }) = &pack.entry {
        writeln!(out, "  selected by `{}` in {}", printable(source), printable(location))?;
    }
    Ok(())
}

pub(super) fn print_edits(
    context: &Context<'_>,
    report: &SkillEditReport,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(report, |out| match terminal.format {
        OutputFormat::Plain => report.folders.iter().try_for_each(|it| write_plain_edits(it, out)),
        _ if report.folders.is_empty() => writeln!(out, "no skill was edited"),
        _ => report.folders.iter().try_for_each(|it| write_edits(context, it, out)),
    })
}

fn write_plain_edits(folder: &EditedFolder, out: &mut dyn Write) -> io::Result<()> {
    for file in &folder.files {
        let path = folder.path.join(&file.path).display().to_string();
        let (before, after) = (file.before.as_deref(), file.after.as_deref());
        write!(out, "{}", plain_diff(&path, before.unwrap_or(""), after.unwrap_or("")))?;
    }
    Ok(())
}

fn write_edits(
    context: &Context<'_>,
    folder: &EditedFolder,
    out: &mut dyn Write,
) -> io::Result<()> {
    let path = context.display_relative_path(&folder.path);
    let files = pluralize(folder.files.len(), "file");
    writeln!(out, "{STRONG}{path}{STRONG:#} · {files} edited")?;
    folder.files.iter().try_for_each(|file| write_file_change(&path, file, out))
}

pub(super) fn print_trashed(
    context: &Context<'_>,
    list: &TrashedSkillList,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(list, |out| {
        if terminal.format != OutputFormat::Plain && list.folders.is_empty() {
            return writeln!(out, "the trash is empty");
        }
        list.folders.iter().try_for_each(|folder| {
            let (name, run) = (printable(&folder.name), printable(&folder.run));
            let path = context.display_path(&folder.path);
            if terminal.format == OutputFormat::Plain {
                writeln!(out, "{name}\t{run}\t{path}")
            } else {
                writeln!(out, "{STRONG}{name}{STRONG:#}  {run}  {DIM}{path}{DIM:#}")
            }
        })
    })
}
