//! `sp audit`

use std::io::Write;
use std::process::ExitCode;

use sp_engine::{AuditRequest, Checked, Context, Result};
use sp_formats::output::{AuditedPackage, AuditedSkill, FactList};
use sp_formats::printable::printable;

use super::check::{exit_code_for, found, looked_at, print_findings, snippets};
use crate::cli::Format;
use crate::terminal::{DIM, STRONG, Terminal};

/// More of a list is not shown to people.
const MOST_SHOWN: usize = 8;

pub(super) fn run(context: &Context<'_>, request: &AuditRequest, terminal: &Terminal) -> Result<ExitCode> {
    let audited = sp_engine::audit(context, request)?;
    match terminal.format {
        Format::Json => terminal.print_json(&audited.audit_report())?,
        Format::Human | Format::Md | Format::Xml => terminal.print_text(|out| human(context, &audited, out))?,
        Format::Plain => {
            print_findings(context, &audited, terminal)?;
            terminal.print_text(|out| plain(context, &audited, out))?;
        }
        Format::Sarif | Format::Github => print_findings(context, &audited, terminal)?,
    }
    audited.unreadable.iter().for_each(|error| terminal.error(error));
    // What is not safe is bad data.
    Ok(exit_code_for(&audited, 3))
}

/// The facts of a skill, each with what it is called.
fn facts(skill: &AuditedSkill) -> [(&'static str, &FactList); 4] {
    [("tools", &skill.allowed_tools), ("scripts", &skill.scripts), ("hosts", &skill.hosts), ("secrets", &skill.secrets)]
}

/// A fact a line: where, what, which.
fn plain(context: &Context<'_>, audited: &Checked, out: &mut dyn Write) -> std::io::Result<()> {
    for skill in &audited.facts.skills {
        for (what, list) in facts(skill) {
            for one in &list.listed {
                writeln!(out, "{}\t{what}\t{}", context.show_near(&skill.path), printable(one))?;
            }
        }
    }
    for package in &audited.facts.packages {
        writeln!(out, "{}\tsigner\t{}", context.show_near(&package.path), printable(&package.detail))?;
    }
    Ok(())
}

fn human(context: &Context<'_>, audited: &Checked, out: &mut dyn Write) -> std::io::Result<()> {
    snippets(audited, out)?;
    audited.facts.skills.iter().try_for_each(|skill| show_skill(context, skill, out))?;
    audited.facts.packages.iter().try_for_each(|package| show_package(context, package, out))?;
    if audited.files.is_empty() && !audited.unreadable.is_empty() {
        return Ok(());
    }
    let looked = looked_at(audited);
    if looked.is_empty() && audited.files.is_empty() {
        return writeln!(out, "there is nothing to audit");
    }
    writeln!(out, "{looked}{}", found(audited, "nothing against the rules of safety"))?;
    if !audited.files.is_empty() {
        writeln!(out, "{DIM}`sp explain <RULE>` tells more of a rule{DIM:#}")?;
    }
    Ok(())
}

/// A skill and its facts; nothing of one that is only text.
fn show_skill(context: &Context<'_>, skill: &AuditedSkill, out: &mut dyn Write) -> std::io::Result<()> {
    if facts(skill).iter().all(|(_, list)| list.count == 0) {
        return Ok(());
    }
    writeln!(out, "{STRONG}{}{STRONG:#}", context.show_near(&skill.path))?;
    let words = ["asks for", "can be run", "names hosts", "perhaps secrets in"];
    for (word, (_, list)) in words.into_iter().zip(facts(skill)).filter(|(_, (_, list))| list.count > 0) {
        let first: Vec<_> = list.listed.iter().take(MOST_SHOWN).map(|one| printable(one)).collect();
        let more = match list.count.saturating_sub(first.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        writeln!(out, "  {word}: {}{more}", first.join(", "))?;
    }
    writeln!(out)
}

fn show_package(context: &Context<'_>, package: &AuditedPackage, out: &mut dyn Write) -> std::io::Result<()> {
    let (name, version) = (printable(&package.name), printable(&package.version));
    writeln!(out, "{STRONG}{name} {version}{STRONG:#}  {DIM}{}{DIM:#}", context.show_near(&package.path))?;
    writeln!(out, "  signed by: {}\n", printable(&package.detail))
}
