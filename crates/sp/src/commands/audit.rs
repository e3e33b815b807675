//! `sp audit`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sp_engine::{AuditRequest, CheckResults, Context, Result, audit_diff};
use sp_formats::FileFindings;
use sp_formats::output::{
    AuditChanges, AuditSummary, AuditedPackage, AuditedSkill, CapabilityItem, ChangedFinding,
};
use sp_formats::printable::printable;
use sp_formats::report::Severity;
use sp_formats::text::{ByteSize, pluralize};

use super::check::exit_code_for;
use super::findings::{checked_summary, print_findings, write_accepted};
use crate::cli::OutputFormat;
use crate::terminal::{self, ADDED, DIM, ERROR, HINT, STRONG, Terminal, WARNING};

/// Longer lists of capabilities are truncated in the human format.
const MAX_SHOWN_VALUES: usize = 8;

/// The kinds of capabilities, and how people read them.
const LABELS: &[(&str, &str)] = &[
    ("host", "hosts"),
    ("program", "programs"),
    ("read", "reads"),
    ("write", "writes"),
    ("environment", "environment"),
    ("secret", "secrets"),
    ("package-install", "installs"),
    ("persistence", "persistence"),
    ("tool", "allowed tools"),
    ("mcp-server", "MCP servers"),
    ("remote-instructions", "remote instructions"),
];

pub(super) fn run(
    context: &Context<'_>,
    request: &AuditRequest,
    diff: &[PathBuf],
    terminal: &Terminal,
) -> Result<ExitCode> {
    if let [old, new] = diff {
        return run_diff(context, old, new, terminal);
    }
    let audited = sp_engine::audit(context, request)?;
    match terminal.format {
        OutputFormat::Json => terminal.print_json(&audited.to_audit_report())?,
        OutputFormat::Human | OutputFormat::Md | OutputFormat::Xml => {
            let width = terminal.width();
            terminal.print_text(|out| write_human(context, &audited, width, out))?;
        }
        OutputFormat::Plain => {
            print_findings(context, &audited, terminal)?;
            terminal.print_text(|out| write_plain(context, &audited, out))?;
        }
        OutputFormat::Sarif | OutputFormat::Github => print_findings(context, &audited, terminal)?,
    }
    audited.unreadable.iter().for_each(|target| terminal.print_error(&target.error));
    // Security findings are bad data, which exits with 3.
    Ok(exit_code_for(&audited, 3))
}

/// Prints what an update adds.
fn run_diff(
    context: &Context<'_>,
    old: &Path,
    new: &Path,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let changes = audit_diff(context, old, new)?;
    match terminal.format {
        OutputFormat::Json => terminal.print_json(&changes)?,
        OutputFormat::Plain => terminal.print_text(|out| write_plain_changes(&changes, out))?,
        _ => terminal.print_text(|out| write_changes(&changes, out))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes path, kind, value and first position, separated by tabs.
fn write_plain(
    context: &Context<'_>,
    audited: &CheckResults,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    for skill in &audited.facts.skills {
        let path = context.display_relative_path(&skill.path);
        for capability in &skill.capabilities {
            let value = printable(&capability.value);
            writeln!(out, "{path}\t{}\t{value}\t{}", capability.kind, position(capability))?;
        }
        for script in &skill.scripts.listed {
            writeln!(out, "{path}\tscript\t{}", printable(script))?;
        }
        for file in &skill.opaque {
            writeln!(out, "{path}\tnot-read\t{}\t{}", printable(&file.file), file.reason)?;
        }
    }
    for package in &audited.facts.packages {
        writeln!(
            out,
            "{}\tsigner\t{}",
            context.display_relative_path(&package.path),
            printable(&package.detail)
        )?;
    }
    Ok(())
}

/// Formats the first position of a capability.
fn position(capability: &CapabilityItem) -> String {
    let first = capability.positions.first();
    first
        .map_or_else(String::new, |at| format!("{}:{}:{}", printable(&at.file), at.line, at.column))
}

fn write_human(
    context: &Context<'_>,
    audited: &CheckResults,
    width: Option<u16>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    write_important(audited, width, out)?;
    audited.facts.skills.iter().try_for_each(|skill| write_skill(context, skill, out))?;
    audited.facts.packages.iter().try_for_each(|package| write_package(context, package, out))?;
    if audited.files.is_empty() && audited.facts.skills.is_empty() && !audited.unreadable.is_empty()
    {
        return Ok(());
    }
    let checked = checked_summary(audited);
    if checked.is_empty() && audited.files.is_empty() {
        return writeln!(out, "nothing to audit");
    }
    let summary = audited.audit_summary();
    writeln!(out, "{checked}{}", found(&summary))?;
    write_coverage(&summary, out)?;
    write_accepted(audited, out)?;
    if summary.found.notes > 0 {
        let notes = pluralize(summary.found.notes, "hint");
        writeln!(out, "{DIM}{notes} not shown; use `--format plain` to list all findings{DIM:#}")?;
    }
    if !audited.files.is_empty() {
        writeln!(out, "{DIM}run `sp explain <RULE>` for details about a rule{DIM:#}")?;
    }
    Ok(())
}

/// Writes the findings that are not hints, with the source lines they refer to.
fn write_important(
    audited: &CheckResults,
    width: Option<u16>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let write_file = |file: &FileFindings, out: &mut dyn Write| {
        let important =
            file.findings.iter().filter(|placed| placed.finding.severity > Severity::Note);
        important
            .map(|placed| terminal::render_snippet(&file.file, placed, width))
            .try_for_each(|snippet| write!(out, "{snippet}"))
    };
    audited.files.iter().try_for_each(|file| write_file(file, out))
}

/// Formats the number of findings. Without any, that does not mean that content is safe.
fn found(summary: &AuditSummary) -> String {
    let counts = [
        (summary.found.errors, "certain finding", ERROR),
        (summary.found.warnings, "likely finding", WARNING),
        (summary.found.notes, "hint", HINT),
    ];
    let found: Vec<String> = counts
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, noun, style)| format!("{style}{}{style:#}", pluralize(count, noun)))
        .collect();
    if found.is_empty() { "no findings".into() } else { found.join(", ") }
}

/// Writes what was read, and what was not.
fn write_coverage(summary: &AuditSummary, out: &mut dyn Write) -> std::io::Result<()> {
    let mut line = format!(
        "read {} ({})",
        pluralize(summary.read_files, "file"),
        ByteSize(summary.read_bytes)
    );
    if summary.opaque_files > 0 {
        let opaque = pluralize(summary.opaque_files, "file");
        line += &format!("; not read, or only in part: {opaque}");
    }
    if summary.imports_left > 0 {
        line += &format!("; not fetched: {}", pluralize(summary.imports_left, "import"));
    }
    writeln!(out, "{line}")
}

/// Writes a skill with its capabilities, or nothing if it has none.
fn write_skill(
    context: &Context<'_>,
    skill: &AuditedSkill,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    if skill.capabilities.is_empty() && skill.scripts.count == 0 && skill.opaque.is_empty() {
        return Ok(());
    }
    writeln!(out, "{STRONG}{}{STRONG:#}", context.display_relative_path(&skill.path))?;
    for (kind, label) in LABELS {
        let values = skill.capabilities.iter().filter(|capability| capability.kind == *kind);
        write_values(label, values.map(|capability| capability.value.as_str()), out)?;
    }
    write_values("scripts", skill.scripts.listed.iter().map(String::as_str), out)?;
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for file in &skill.opaque {
        *reasons.entry(&file.reason).or_default() += 1;
    }
    let reasons: Vec<String> =
        reasons.into_iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    write_values("not read", reasons.iter().map(String::as_str), out)?;
    writeln!(out)
}

fn write_values<'v>(
    label: &str,
    values: impl Iterator<Item = &'v str>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let values: Vec<&str> = values.collect();
    if values.is_empty() {
        return Ok(());
    }
    let first: Vec<_> =
        values.iter().take(MAX_SHOWN_VALUES).map(|value| printable(value)).collect();
    let more = match values.len().saturating_sub(first.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    writeln!(out, "  {label}: {}{more}", first.join(", "))
}

fn write_package(
    context: &Context<'_>,
    package: &AuditedPackage,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let (name, version) = (printable(&package.name), printable(&package.version));
    writeln!(
        out,
        "{STRONG}{name} {version}{STRONG:#}  {DIM}{}{DIM:#}",
        context.display_relative_path(&package.path)
    )?;
    writeln!(out, "  signed by: {}\n", printable(&package.detail))
}

fn write_plain_changes(changes: &AuditChanges, out: &mut dyn Write) -> std::io::Result<()> {
    for (sign, capabilities) in [("added", &changes.added), ("removed", &changes.removed)] {
        for capability in capabilities {
            let value = printable(&capability.value);
            writeln!(out, "{sign}\t{}\t{value}\t{}", capability.kind, position(capability))?;
        }
    }
    changes.findings.iter().try_for_each(|finding| {
        writeln!(out, "finding\t{}\t{}", finding.rule, describe_finding(finding))
    })
}

fn write_changes(changes: &AuditChanges, out: &mut dyn Write) -> std::io::Result<()> {
    let signs = [("+", ADDED, &changes.added), ("-", ERROR, &changes.removed)];
    for (sign, style, capabilities) in signs {
        for capability in capabilities {
            let (value, at) = (printable(&capability.value), position(capability));
            writeln!(out, "{style}{sign} {}{style:#} {value}  {DIM}{at}{DIM:#}", capability.kind)?;
        }
    }
    for finding in &changes.findings {
        writeln!(out, "{WARNING}! {}{WARNING:#} {}", finding.rule, describe_finding(finding))?;
    }
    if changes.added.is_empty() && changes.removed.is_empty() && changes.findings.is_empty() {
        writeln!(out, "no capabilities or findings added or removed")?;
    }
    Ok(())
}

fn describe_finding(finding: &ChangedFinding) -> String {
    let ChangedFinding { confidence, risk, message, file, line, column, .. } = finding;
    let (message, file) = (printable(message), printable(file));
    format!("{confidence}, {risk} risk: {message}  {file}:{line}:{column}")
}
