//! Printing of check results, for `sp check`, `sp check --watch` and `sp audit`.
//!
//! [`print_outcome`] prints everything in the format that `--format` asks for. The functions below
//! it print the parts that `sp audit` shares. Nothing here decides whether a run has failed.

use std::io::Write;

use sp_engine::TOKENIZER;
use sp_engine::{CheckResults, Context, Result, check_rules};
use sp_formats::FileFindings;
use sp_formats::output::{CheckReport, FindingItem, FixedFileItem, PlanStatus, SkillCost};
use sp_formats::printable::printable;
use sp_formats::report::{LocatedFinding, Severity, github_annotation, sarif_log};
use sp_formats::text::{group_digits, plural, pluralize};

use super::plan::write_apply_command;
use crate::cli::OutputFormat;
use crate::terminal::{self, ADDED, DIM, ERROR, HINT, STRONG, Terminal, WARNING};

/// The results of a check, and the fixes that preceded it.
pub(super) struct CheckOutcome {
    pub(super) results: CheckResults,
    pub(super) fixes: Option<FixOutcome>,
}

pub(super) struct FixOutcome {
    pub(super) files: Vec<FixedFileItem>,
    /// Includes problems that are fixed without editing a file, so `files` can be empty.
    pub(super) problems: usize,
    pub(super) applied: bool,
    /// The plan, for a dry run and with `--plan`.
    pub(super) plan: Option<PlanStatus>,
}

impl CheckOutcome {
    pub(super) fn without_fixes(results: CheckResults) -> Self {
        Self { results, fixes: None }
    }

    /// Whether this was a dry run that found something to fix.
    pub(super) fn has_pending_fixes(&self) -> bool {
        self.fixes.as_ref().is_some_and(|fixes| !fixes.applied && fixes.problems > 0)
    }
}

pub(super) fn print_outcome(
    context: &Context<'_>,
    outcome: &CheckOutcome,
    terminal: &Terminal,
) -> Result<()> {
    let results = &outcome.results;
    match terminal.format {
        OutputFormat::Json => terminal.print_json(&report(outcome))?,
        OutputFormat::Human | OutputFormat::Md | OutputFormat::Xml => {
            terminal.print_text(|out| {
                write_snippets(results, terminal.width(), out)?;
                write_summary(context, outcome, out)
            })?;
        }
        _ => print_findings(context, results, terminal)?,
    }
    results.unreadable.iter().for_each(|target| terminal.print_error(&target.error));
    Ok(())
}

/// Prints only the findings, in SARIF, as GitHub annotations, or one per line.
pub(super) fn print_findings(
    context: &Context<'_>,
    results: &CheckResults,
    terminal: &Terminal,
) -> Result<()> {
    match terminal.format {
        OutputFormat::Sarif => {
            terminal.print_json(&sarif_log(&results.files, check_rules(), &context.current_dir))
        }
        OutputFormat::Github => terminal.print_text(|out| {
            for_each_finding(results, |file, finding| {
                writeln!(out, "{}", github_annotation(file, finding, &context.current_dir))
            })
        }),
        _ => terminal.print_text(|out| {
            for_each_finding(results, |file, finding| write_plain(out, file, finding))
        }),
    }
}

/// Writes each finding with the source lines it refers to.
pub(super) fn write_snippets(
    results: &CheckResults,
    width: Option<u16>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    for_each_finding(results, |file, finding| {
        write!(out, "{}", terminal::render_snippet(&file.file, finding, width))
    })
}

fn for_each_finding(
    results: &CheckResults,
    mut show: impl FnMut(&FileFindings, &LocatedFinding) -> std::io::Result<()>,
) -> std::io::Result<()> {
    results
        .files
        .iter()
        .try_for_each(|file| file.findings.iter().try_for_each(|finding| show(file, finding)))
}

/// Writes `file:line:column: severity[rule] message`, the form that editors and `grep` parse.
fn write_plain(
    out: &mut dyn Write,
    file: &FileFindings,
    finding: &LocatedFinding,
) -> std::io::Result<()> {
    let item = FindingItem::new(&file.file, finding);
    let (file, message) = (printable(&item.file), printable(&item.message));
    writeln!(
        out,
        "{file}:{}:{}: {}[{}] {message}",
        item.line, item.column, item.severity, item.rule
    )
}

fn report(outcome: &CheckOutcome) -> CheckReport {
    let fixed = outcome.fixes.as_ref().map(|fixes| fixes.files.clone());
    let plan = outcome.fixes.as_ref().and_then(|fixes| fixes.plan.as_ref());
    let report = outcome.results.to_report(fixed.unwrap_or_default());
    CheckReport { plan: plan.map(|status| status.plan.clone()), ..report }
}

/// Writes the last lines: what was checked, what was found, and what to do next.
fn write_summary(
    context: &Context<'_>,
    outcome: &CheckOutcome,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let results = &outcome.results;
    if let Some(fixes) = &outcome.fixes {
        let verb = if fixes.applied { "fixed" } else { "would fix" };
        let problems = pluralize(fixes.problems, "problem");
        // `sp bag check --fix` also creates missing files, which is not an edit.
        let files = match fixes.files.len() {
            0 if fixes.problems > 0 => String::new(),
            files => format!(" in {}", pluralize(files, "file")),
        };
        writeln!(out, "{ADDED}{verb}{ADDED:#} {problems}{files}")?;
    }
    if results.files.is_empty() && !results.unreadable.is_empty() {
        return Ok(());
    }
    let checked = checked_summary(results);
    let then = if outcome.has_pending_fixes() { "after fixing, " } else { "" };
    writeln!(out, "{checked}{then}{}", finding_summary(results, "no problems"))?;
    write_cost_line(results, out)?;
    if results.imports_left > 0 {
        let imports = pluralize(results.imports_left, "import");
        writeln!(
            out,
            "{DIM}{imports} not checked; use `--imports` to fetch and check them{DIM:#}"
        )?;
    }
    write_accepted(results, out)?;
    write_skipped_skills(context, results, out)?;
    if results.fixable_count() > 0 && outcome.fixes.is_none() {
        let fixable = pluralize(results.fixable_count(), "problem");
        writeln!(
            out,
            "{DIM}run `sp check --fix` to fix {fixable}, or `sp explain <RULE>` for details about \
             a rule{DIM:#}"
        )?;
    } else if !results.files.is_empty() {
        writeln!(out, "{DIM}run `sp explain <RULE>` for details about a rule{DIM:#}")?;
    }
    match outcome.fixes.as_ref().and_then(|fixes| fixes.plan.as_ref()) {
        Some(plan) if outcome.has_pending_fixes() => write_apply_command(plan, out),
        _ => Ok(()),
    }
}

/// Writes how many findings the project accepts, and where.
pub(super) fn write_accepted(results: &CheckResults, out: &mut dyn Write) -> std::io::Result<()> {
    let accepted = results.accepted;
    if accepted.total() == 0 {
        return Ok(());
    }
    let sources: Vec<String> = [
        (accepted.by_file, "in `skillpack-accept.yaml`"),
        (accepted.by_comments, "in comments"),
        (accepted.by_baseline, "in the baseline"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, source)| format!("{} {source}", group_digits(count)))
    .collect();
    let findings = pluralize(accepted.total(), "finding");
    writeln!(out, "{DIM}{findings} accepted: {}{DIM:#}", sources.join(", "))
}

/// Writes how many skills of a repository were not checked, and how to check them.
fn write_skipped_skills(
    context: &Context<'_>,
    results: &CheckResults,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    const MAX_SHOWN: usize = 3;
    for (dir, count) in results.skills_left.iter().take(MAX_SHOWN) {
        let (skills, dir) = (pluralize(*count, "skill"), context.display_relative_path(dir));
        writeln!(
            out,
            "{DIM}{skills} in `{dir}` not checked; use `sp check {dir}` to check them{DIM:#}"
        )?;
    }
    match results.skills_left.len().saturating_sub(MAX_SHOWN) {
        0 => Ok(()),
        more => writeln!(
            out,
            "{DIM}skills in {more} more {} not checked{DIM:#}",
            plural(more, "directory", "directories")
        ),
    }
}

/// Formats what was checked, such as `2 skills and 1 pack: `; empty if nothing was.
pub(super) fn checked_summary(results: &CheckResults) -> String {
    let counts = results.checked_counts().0.into_iter();
    let checked: Vec<String> =
        counts.filter(|(_, n)| *n > 0).map(|(kind, n)| pluralize(n, kind.noun)).collect();
    if checked.is_empty() { String::new() } else { format!("{}: ", checked.join(" and ")) }
}

/// Formats the number of findings, such as `1 error, 2 warnings in 1 file`, or returns `nothing`.
pub(super) fn finding_summary(results: &CheckResults, nothing: &str) -> String {
    let found: Vec<String> =
        [(Severity::Error, ERROR), (Severity::Warning, WARNING), (Severity::Note, HINT)]
            .into_iter()
            .map(|(severity, style)| (results.count(severity), severity.as_str(), style))
            .filter(|(n, ..)| *n > 0)
            .map(|(n, word, style)| format!("{style}{}{style:#}", pluralize(n, word)))
            .collect();
    if found.is_empty() {
        return format!("{ADDED}{nothing}{ADDED:#}");
    }
    format!("{} in {}", found.join(", "), pluralize(results.files.len(), "file"))
}

/// Writes the token cost of the checked skills, one number per tier.
fn write_cost_line(results: &CheckResults, out: &mut dyn Write) -> std::io::Result<()> {
    if results.costs.is_empty() {
        return Ok(());
    }
    let sum = |tier: fn(&SkillCost) -> usize| results.costs.iter().map(tier).sum::<usize>();
    let [always, body, files] =
        [sum(|c| c.always), sum(|c| c.body), sum(|c| c.files)].map(group_digits);
    writeln!(
        out,
        "{STRONG}tokens{STRONG:#}: {always} always, {body} when used, {files} in other files {DIM}({TOKENIZER}){DIM:#}"
    )
}
