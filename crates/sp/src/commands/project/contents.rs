//! What a source contains: names, descriptions, tokens and findings.

use std::io::{self, Write};

use sp_engine::Result;
use sp_formats::output::{
    ContextPackFileItem, FindingItem, OfferedContextPack, OfferedSkillItem, SourceContent,
    SourceContentList,
};
use sp_formats::printable::printable;
use sp_formats::text::{group_digits, pluralize, truncate_printable};

use crate::cli::OutputFormat;
use crate::terminal::{DIM, ERROR, STRONG, Terminal, Verbosity, WARNING};

/// Longer descriptions are truncated, unless `--verbose` is given.
const MAX_DESCRIPTION_LEN: usize = 100;

pub(super) fn print_list(list: &SourceContentList, terminal: &Terminal) -> Result<()> {
    terminal.print(list, |out| match terminal.format {
        OutputFormat::Plain => list.sources.iter().try_for_each(|it| write_plain(it, out)),
        _ => list
            .sources
            .iter()
            .try_for_each(|source| write_contents(source, terminal.verbosity, out)),
    })
}

/// Writes source, ID, name, the tokens of each tier and the number of findings, separated by tabs.
/// A context pack has one line.
fn write_plain(content: &SourceContent, out: &mut dyn Write) -> io::Result<()> {
    if let Some(pack) = &content.context_pack {
        let (source, id) = (printable(&content.source), printable(&pack.pack_id));
        let name = printable(&pack.name);
        let tokens: usize = pack.files.iter().map(|file| file.tokens).sum();
        return writeln!(out, "{source}\t{id}\t{name}\t{tokens}\t0\t0\t{}", pack.findings.len());
    }
    content.skills.iter().try_for_each(|skill| {
        let (source, id) = (printable(&content.source), printable(&skill.id));
        let cost = &skill.cost;
        writeln!(
            out,
            "{source}\t{id}\t{}\t{}\t{}\t{}\t{}",
            printable(&skill.name),
            cost.always,
            cost.body,
            cost.files,
            skill.findings.len()
        )
    })
}

pub(super) fn write_contents(
    content: &SourceContent,
    verbosity: Verbosity,
    out: &mut dyn Write,
) -> io::Result<()> {
    let commit = content.commit.as_deref().map(|commit| &commit[..commit.len().min(12)]);
    let version = commit.or(content.version.as_deref());
    let version = version.map(|it| format!("  {DIM}{}{DIM:#}", printable(it))).unwrap_or_default();
    writeln!(out, "{STRONG}{}{STRONG:#}{version}\n", printable(&content.source))?;
    for skill in &content.skills {
        write_skill(skill, verbosity, out)?;
    }
    if let Some(pack) = &content.context_pack {
        write_context_pack(pack, verbosity, out)?;
    }
    writeln!(out)
}

fn write_context_pack(
    pack: &OfferedContextPack,
    verbosity: Verbosity,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (name, id) = (printable(&pack.name), printable(&pack.pack_id));
    writeln!(out, "  {STRONG}{name}{STRONG:#}  {DIM}context pack {id}{DIM:#}")?;
    writeln!(out, "    {}", shown_description(&pack.description, verbosity))?;
    let tokens = |file: &ContextPackFileItem| {
        format!("{} {}", group_digits(file.tokens), printable(&file.path))
    };
    let files: Vec<String> = pack.files.iter().map(tokens).collect();
    if !files.is_empty() {
        writeln!(out, "    {DIM}tokens: {}{DIM:#}", files.join(", "))?;
    }
    pack.findings.iter().try_for_each(|finding| write_finding(finding, out))
}

fn shown_description(description: &str, verbosity: Verbosity) -> String {
    match verbosity {
        Verbosity::Verbose => printable(description).into_owned(),
        Verbosity::Normal => truncate_printable(description, MAX_DESCRIPTION_LEN),
    }
}

fn write_finding(finding: &FindingItem, out: &mut dyn Write) -> io::Result<()> {
    let style = if finding.severity == "error" { ERROR } else { WARNING };
    writeln!(
        out,
        "    {style}{}{style:#}[{}] {}:{}:{} {}",
        finding.severity,
        finding.rule,
        printable(&finding.file),
        finding.line,
        finding.column,
        printable(&finding.message)
    )
}

fn write_skill(
    skill: &OfferedSkillItem,
    verbosity: Verbosity,
    out: &mut dyn Write,
) -> io::Result<()> {
    let id = if skill.id.rsplit('/').next() == Some(&skill.name) {
        String::new()
    } else {
        format!("  {DIM}{}{DIM:#}", printable(&skill.id))
    };
    writeln!(out, "  {STRONG}{}{STRONG:#}{id}", printable(&skill.name))?;
    if !skill.description.is_empty() {
        writeln!(out, "    {}", shown_description(&skill.description, verbosity))?;
    }
    let cost = &skill.cost;
    let [always, body, files] = [cost.always, cost.body, cost.files].map(group_digits);
    writeln!(out, "    {DIM}tokens: {always} always, {body} body, {files} files{DIM:#}")?;
    write_facts(skill, out)?;
    skill.findings.iter().try_for_each(|finding| write_finding(finding, out))
}

/// Writes what to review before a skill is trusted.
fn write_facts(skill: &OfferedSkillItem, out: &mut dyn Write) -> io::Result<()> {
    let facts = &skill.facts;
    let of_kind = |kind: &str| -> Vec<&str> {
        let capabilities = facts.capabilities.iter().filter(|it| it.kind == kind);
        capabilities.map(|capability| capability.value.as_str()).collect()
    };
    let scripts = facts.scripts.listed.iter().map(String::as_str).collect();
    let parts: Vec<String> = [
        (scripts, "script"),
        (of_kind("host"), "host"),
        (of_kind("program"), "program"),
        (of_kind("tool"), "pre-approved tool"),
        (of_kind("secret"), "credential"),
    ]
    .into_iter()
    .filter(|(values, _)| !values.is_empty())
    .map(|(values, noun)| {
        format!("{}: {}", pluralize(values.len(), noun), printable(&values.join(", ")))
    })
    .collect();
    if parts.is_empty() {
        return Ok(());
    }
    writeln!(out, "    {DIM}{}{DIM:#}", parts.join("; "))
}
