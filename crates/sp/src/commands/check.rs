//! `sp check`

use std::io::Write;
use std::process::ExitCode;

use sp_engine::TOKENIZER;
use sp_engine::{
    ApplyMode, CheckRequest, CheckResults, CheckStrictness, Context, FixResults, ImportPolicy,
    Result,
};
use sp_formats::FileFindings;
use sp_formats::output::{CheckReport, FindingItem, FixedFileItem};
use sp_formats::printable::printable;
use sp_formats::report::{Severity, github_annotation, sarif_log};

use super::{mode, pluralize};
use crate::cli::{self, OutputFormat};
use crate::terminal::{self, ADDED, DIM, ERROR, HINT, STRONG, Terminal, WARNING};

/// What came of a check.
struct CheckOutcome {
    checked: CheckResults,
    fix: Option<FixOutcome>,
}

/// What was mended.
struct FixOutcome {
    files: Vec<FixedFileItem>,
    problems: usize,
    applied: bool,
}

pub(super) fn run(
    context: &Context<'_>,
    options: &cli::GlobalOptions,
    check: &cli::CheckArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    run_after_fixing(context, options, check, (0, terminal))
}

/// What a command line asks of a check.
pub(super) fn check_request(options: &cli::GlobalOptions, check: &cli::CheckArgs) -> CheckRequest {
    CheckRequest {
        paths: check.paths.clone(),
        root: options.root.clone(),
        strictness: if check.strict { CheckStrictness::Strict } else { CheckStrictness::Lenient },
        imports: if check.imports { ImportPolicy::Fetch } else { ImportPolicy::Skip },
    }
}

/// Checks, after so many problems were mended in another way already.
pub(super) fn run_after_fixing(
    context: &Context<'_>,
    options: &cli::GlobalOptions,
    check: &cli::CheckArgs,
    (mended, terminal): (usize, &Terminal),
) -> Result<ExitCode> {
    let request = check_request(options, check);
    if check.watch {
        return super::watch::run(context, &request, terminal);
    }
    let outcome = match check.fix {
        false => CheckOutcome { checked: sp_engine::check(context, &request)?, fix: None },
        true => {
            let FixResults { files, problems, applied, remaining: left } =
                sp_engine::fix(context, &request, mode(check.dry_run))?;
            let files = files.iter().map(|file| {
                if mode(check.dry_run) == ApplyMode::DryRun
                    && terminal.format == OutputFormat::Human
                {
                    terminal.print_stderr(&terminal::colored_diff(
                        &file.file,
                        &file.before,
                        &file.after,
                    ));
                }
                let diff = terminal::plain_diff(&file.file, &file.before, &file.after);
                FixedFileItem { file: file.file.clone(), applied, diff }
            });
            CheckOutcome {
                fix: Some(FixOutcome {
                    files: files.collect(),
                    problems: problems + mended,
                    applied,
                }),
                checked: left,
            }
        }
    };
    print_outcome(context, &outcome, terminal)?;
    let pending = outcome.fix.as_ref().is_some_and(|fixing| !fixing.applied && fixing.problems > 0);
    // What would be mended is still wrong.
    Ok(if pending && outcome.checked.unreadable.is_empty() {
        ExitCode::from(1)
    } else {
        exit_code(&outcome.checked)
    })
}

/// Checks once and prints.
pub(super) fn check_once(
    context: &Context<'_>,
    request: &CheckRequest,
    terminal: &Terminal,
) -> Result<()> {
    print_outcome(
        context,
        &CheckOutcome { checked: sp_engine::check(context, request)?, fix: None },
        terminal,
    )
}

fn exit_code(checked: &CheckResults) -> ExitCode {
    exit_code_for(checked, 1)
}

/// The exit code, of which errors have one of their own. What cannot be read is worse than what is wrong.
pub(super) fn exit_code_for(checked: &CheckResults, errors: u8) -> ExitCode {
    let unreadable = checked.unreadable.iter().map(|error| error.kind.exit_code()).max();
    match unreadable {
        Some(worst) => ExitCode::from(worst),
        None if checked.count(Severity::Error) > 0 => ExitCode::from(errors),
        None => ExitCode::SUCCESS,
    }
}

fn print_outcome(context: &Context<'_>, outcome: &CheckOutcome, terminal: &Terminal) -> Result<()> {
    let checked = &outcome.checked;
    match terminal.format {
        OutputFormat::Json => terminal.print_json(&report(outcome))?,
        OutputFormat::Human | OutputFormat::Md | OutputFormat::Xml => {
            terminal.print_text(|out| {
                write_snippets(checked, out)?;
                write_summary(outcome, out)
            })?
        }
        _ => print_findings(context, checked, terminal)?,
    }
    checked.unreadable.iter().for_each(|error| terminal.print_error(error));
    Ok(())
}

/// Prints the findings alone, in a form that has nothing else.
pub(super) fn print_findings(
    context: &Context<'_>,
    checked: &CheckResults,
    terminal: &Terminal,
) -> Result<()> {
    match terminal.format {
        OutputFormat::Sarif => {
            terminal.print_json(&sarif_log(&checked.files, &context.current_dir))
        }
        OutputFormat::Github => terminal.print_text(|out| {
            for_each_finding(checked, |file, placed| {
                writeln!(out, "{}", github_annotation(file, placed, &context.current_dir))
            })
        }),
        _ => terminal.print_text(|out| {
            for_each_finding(checked, |file, placed| write_plain(out, file, placed))
        }),
    }
}

/// The findings with the lines that they are about.
pub(super) fn write_snippets(checked: &CheckResults, out: &mut dyn Write) -> std::io::Result<()> {
    for_each_finding(checked, |file, placed| {
        write!(out, "{}", terminal::render_snippet(&file.file, placed))
    })
}

fn for_each_finding(
    checked: &CheckResults,
    mut show: impl FnMut(&FileFindings, &sp_formats::report::LocatedFinding) -> std::io::Result<()>,
) -> std::io::Result<()> {
    checked
        .files
        .iter()
        .try_for_each(|file| file.findings.iter().try_for_each(|placed| show(file, placed)))
}

/// One line, as editors and `grep` read it.
fn write_plain(
    out: &mut dyn Write,
    file: &FileFindings,
    placed: &sp_formats::report::LocatedFinding,
) -> std::io::Result<()> {
    let item = FindingItem::new(&file.file, placed);
    let (file, message) = (printable(&item.file), printable(&item.message));
    writeln!(
        out,
        "{file}:{}:{}: {}[{}] {message}",
        item.line, item.column, item.severity, item.rule
    )
}

fn report(outcome: &CheckOutcome) -> CheckReport {
    let fixed = outcome.fix.as_ref().map(|fixing| fixing.files.clone());
    outcome.checked.to_report(fixed.unwrap_or_default())
}

/// The last lines: what was looked at, what was found, what to do next.
fn write_summary(outcome: &CheckOutcome, out: &mut dyn Write) -> std::io::Result<()> {
    let checked = &outcome.checked;
    if let Some(fixing) = &outcome.fix {
        let (verb, problems) = (
            if fixing.applied { "mended" } else { "would mend" },
            pluralize(fixing.problems, "problem"),
        );
        // What `sp bag check --fix` puts in its place is no edit of a file.
        let files = match fixing.files.len() {
            0 if fixing.problems > 0 => String::new(),
            files => format!(" in {}", pluralize(files, "file")),
        };
        writeln!(out, "{ADDED}{verb}{ADDED:#} {problems}{files}")?;
    }
    if checked.files.is_empty() && !checked.unreadable.is_empty() {
        return Ok(());
    }
    let looked = checked_summary(checked);
    let pending = outcome.fix.as_ref().is_some_and(|fixing| !fixing.applied && fixing.problems > 0);
    let looked = if pending { format!("{looked}then ") } else { looked };
    writeln!(out, "{looked}{}", finding_summary(checked, "no problems"))?;
    write_cost_line(checked, out)?;
    if checked.imports_left > 0 {
        let imports = pluralize(checked.imports_left, "import");
        writeln!(
            out,
            "{DIM}{imports} not looked at; `--imports` fetches and checks them too{DIM:#}"
        )?;
    }
    if checked.fixable_count() > 0 && outcome.fix.is_none() {
        let fixable = pluralize(checked.fixable_count(), "problem");
        writeln!(
            out,
            "{DIM}`sp check --fix` mends {fixable}, `sp explain <RULE>` tells more of a rule{DIM:#}"
        )?;
    } else if !checked.files.is_empty() {
        writeln!(out, "{DIM}`sp explain <RULE>` tells more of a rule{DIM:#}")?;
    }
    Ok(())
}

/// `2 skills and 1 pack: `, what there is of it.
pub(super) fn checked_summary(checked: &CheckResults) -> String {
    let looked = [
        (checked.skills, "skill"),
        (checked.packs, "pack"),
        (checked.packages, "package"),
        (checked.context_packs, "context pack"),
    ];
    let looked: Vec<String> =
        looked.iter().filter(|(n, _)| *n > 0).map(|(n, what)| pluralize(*n, what)).collect();
    if looked.is_empty() { String::new() } else { format!("{}: ", looked.join(" and ")) }
}

/// `1 error, 2 warnings in 1 file`, or that there is nothing.
pub(super) fn finding_summary(checked: &CheckResults, nothing: &str) -> String {
    let found: Vec<String> =
        [(Severity::Error, ERROR), (Severity::Warning, WARNING), (Severity::Note, HINT)]
            .into_iter()
            .map(|(severity, style)| (checked.count(severity), severity.as_str(), style))
            .filter(|(n, ..)| *n > 0)
            .map(|(n, word, style)| format!("{style}{}{style:#}", pluralize(n, word)))
            .collect();
    match found.is_empty() {
        true => format!("{ADDED}{nothing}{ADDED:#}"),
        false => format!("{} in {}", found.join(", "), pluralize(checked.files.len(), "file")),
    }
}

/// What the skills cost, tier by tier.
fn write_cost_line(checked: &CheckResults, out: &mut dyn Write) -> std::io::Result<()> {
    if checked.costs.is_empty() {
        return Ok(());
    }
    let sum = |tier: fn(&sp_formats::output::SkillCost) -> usize| {
        checked.costs.iter().map(tier).sum::<usize>()
    };
    let [always, body, files] =
        [sum(|c| c.always), sum(|c| c.body), sum(|c| c.files)].map(super::format_thousands);
    writeln!(
        out,
        "{STRONG}tokens{STRONG:#}: {always} always, {body} when used, {files} in other files {DIM}({TOKENIZER}){DIM:#}"
    )
}
