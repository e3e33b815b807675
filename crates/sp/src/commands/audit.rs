//! `sp audit`.

use std::io::Write;
use std::process::ExitCode;

use sp_engine::{AuditRequest, CheckResults, Context, Result};
use sp_formats::output::{AuditedPackage, AuditedSkill, FactList};
use sp_formats::printable::printable;

use super::check::exit_code_for;
use super::findings::{
    checked_summary, finding_summary, print_findings, write_accepted, write_snippets,
};
use crate::cli::OutputFormat;
use crate::terminal::{DIM, STRONG, Terminal};

/// Longer lists of facts are truncated in the human format.
const MAX_SHOWN_FACTS: usize = 8;

pub(super) fn run(
    context: &Context<'_>,
    request: &AuditRequest,
    terminal: &Terminal,
) -> Result<ExitCode> {
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

/// Returns the lists of facts of a skill, each with its label.
fn facts(skill: &AuditedSkill) -> [(&'static str, FactList); 4] {
    let secrets = FactList {
        count: skill.secrets.count,
        listed: skill.secrets.listed.iter().map(ToString::to_string).collect(),
    };
    [
        ("tools", skill.allowed_tools.clone()),
        ("scripts", skill.scripts.clone()),
        ("hosts", skill.hosts.clone()),
        ("secrets", secrets),
    ]
}

/// Writes path, label and fact, separated by tabs.
fn write_plain(
    context: &Context<'_>,
    audited: &CheckResults,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    for skill in &audited.facts.skills {
        for (what, list) in facts(skill) {
            for fact in &list.listed {
                writeln!(
                    out,
                    "{}\t{what}\t{}",
                    context.display_relative_path(&skill.path),
                    printable(fact)
                )?;
            }
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

fn write_human(
    context: &Context<'_>,
    audited: &CheckResults,
    width: Option<u16>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    write_snippets(audited, width, out)?;
    audited.facts.skills.iter().try_for_each(|skill| write_skill(context, skill, out))?;
    audited.facts.packages.iter().try_for_each(|package| write_package(context, package, out))?;
    if audited.files.is_empty() && !audited.unreadable.is_empty() {
        return Ok(());
    }
    let checked = checked_summary(audited);
    if checked.is_empty() && audited.files.is_empty() {
        return writeln!(out, "nothing to audit");
    }
    writeln!(out, "{checked}{}", finding_summary(audited, "no security findings"))?;
    write_accepted(audited, out)?;
    if !audited.files.is_empty() {
        writeln!(out, "{DIM}run `sp explain <RULE>` for details about a rule{DIM:#}")?;
    }
    Ok(())
}

/// Writes a skill and its facts, or nothing if it has none.
fn write_skill(
    context: &Context<'_>,
    skill: &AuditedSkill,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    if facts(skill).iter().all(|(_, list)| list.count == 0) {
        return Ok(());
    }
    writeln!(out, "{STRONG}{}{STRONG:#}", context.display_relative_path(&skill.path))?;
    let words = ["allowed tools", "scripts", "hosts", "possible secrets"];
    for (word, (_, list)) in
        words.into_iter().zip(facts(skill)).filter(|(_, (_, list))| list.count > 0)
    {
        let first: Vec<_> =
            list.listed.iter().take(MAX_SHOWN_FACTS).map(|fact| printable(fact)).collect();
        let more = match list.count.saturating_sub(first.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        writeln!(out, "  {word}: {}{more}", first.join(", "))?;
    }
    writeln!(out)
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
