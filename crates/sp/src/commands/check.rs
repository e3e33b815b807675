//! `sp check`

use std::io::Write;
use std::process::ExitCode;

use sp_engine::TOKENIZER;
use sp_engine::{CheckRequest, Checked, Context, Fixed, Imports, Mode, Result, Strictness};
use sp_formats::FileFindings;
use sp_formats::output::{CheckReport, FindingItem, FixedItem};
use sp_formats::printable::printable;
use sp_formats::report::{Severity, annotation, sarif};

use super::{count, mode};
use crate::cli::{self, Format};
use crate::terminal::{self, ADDED, DIM, ERROR, HINT, STRONG, Terminal, WARNING};

/// What came of a check.
struct Outcome {
    checked: Checked,
    fixed: Option<Fixing>,
}

/// What was mended.
struct Fixing {
    files: Vec<FixedItem>,
    problems: usize,
    applied: bool,
}

pub(super) fn run(
    context: &Context<'_>,
    options: &cli::Options,
    check: &cli::Check,
    terminal: &Terminal,
) -> Result<ExitCode> {
    run_after(context, options, check, (0, terminal))
}

/// What a command line asks of a check.
pub(super) fn request(options: &cli::Options, check: &cli::Check) -> CheckRequest {
    CheckRequest {
        paths: check.paths.clone(),
        root: options.root.clone(),
        strictness: if check.strict { Strictness::Strict } else { Strictness::Lenient },
        imports: if check.imports { Imports::Fetch } else { Imports::Leave },
    }
}

/// Checks, after so many problems were mended in another way already.
pub(super) fn run_after(
    context: &Context<'_>,
    options: &cli::Options,
    check: &cli::Check,
    (mended, terminal): (usize, &Terminal),
) -> Result<ExitCode> {
    let request = request(options, check);
    if check.watch {
        return super::watch::run(context, &request, terminal);
    }
    let outcome = match check.fix {
        false => Outcome { checked: sp_engine::check(context, &request)?, fixed: None },
        true => {
            let Fixed { files, problems, applied, left } = sp_engine::fix(context, &request, mode(check.dry_run))?;
            let files = files.iter().map(|file| {
                if mode(check.dry_run) == Mode::DryRun && terminal.format == Format::Human {
                    terminal.aside(&terminal::coloured(&file.file, &file.before, &file.after));
                }
                let diff = terminal::plain(&file.file, &file.before, &file.after);
                FixedItem { file: file.file.clone(), applied, diff }
            });
            Outcome {
                fixed: Some(Fixing { files: files.collect(), problems: problems + mended, applied }),
                checked: left,
            }
        }
    };
    print(context, &outcome, terminal)?;
    let pending = outcome.fixed.as_ref().is_some_and(|fixing| !fixing.applied && fixing.problems > 0);
    // What would be mended is still wrong.
    Ok(if pending && outcome.checked.unreadable.is_empty() { ExitCode::from(1) } else { exit_code(&outcome.checked) })
}

/// Checks once and prints.
pub(super) fn once(context: &Context<'_>, request: &CheckRequest, terminal: &Terminal) -> Result<()> {
    print(context, &Outcome { checked: sp_engine::check(context, request)?, fixed: None }, terminal)
}

fn exit_code(checked: &Checked) -> ExitCode {
    exit_code_for(checked, 1)
}

/// The exit code, of which errors have one of their own. What cannot be read is worse than what is wrong.
pub(super) fn exit_code_for(checked: &Checked, errors: u8) -> ExitCode {
    let unreadable = checked.unreadable.iter().map(|error| error.kind.exit_code()).max();
    match unreadable {
        Some(worst) => ExitCode::from(worst),
        None if checked.count(Severity::Error) > 0 => ExitCode::from(errors),
        None => ExitCode::SUCCESS,
    }
}

fn print(context: &Context<'_>, outcome: &Outcome, terminal: &Terminal) -> Result<()> {
    let checked = &outcome.checked;
    match terminal.format {
        Format::Json => terminal.print_json(&report(outcome))?,
        Format::Human | Format::Md | Format::Xml => terminal.print_text(|out| {
            snippets(checked, out)?;
            summary(outcome, out)
        })?,
        _ => print_findings(context, checked, terminal)?,
    }
    checked.unreadable.iter().for_each(|error| terminal.error(error));
    Ok(())
}

/// Prints the findings alone, in a form that has nothing else.
pub(super) fn print_findings(context: &Context<'_>, checked: &Checked, terminal: &Terminal) -> Result<()> {
    match terminal.format {
        Format::Sarif => terminal.print_json(&sarif(&checked.files, &context.current_dir)),
        Format::Github => terminal.print_text(|out| {
            each(checked, |file, placed| writeln!(out, "{}", annotation(file, placed, &context.current_dir)))
        }),
        _ => terminal.print_text(|out| each(checked, |file, placed| plain(out, file, placed))),
    }
}

/// The findings with the lines that they are about.
pub(super) fn snippets(checked: &Checked, out: &mut dyn Write) -> std::io::Result<()> {
    each(checked, |file, placed| write!(out, "{}", terminal::snippet(&file.file, placed)))
}

fn each(
    checked: &Checked,
    mut show: impl FnMut(&FileFindings, &sp_formats::report::Placed) -> std::io::Result<()>,
) -> std::io::Result<()> {
    checked.files.iter().try_for_each(|file| file.findings.iter().try_for_each(|placed| show(file, placed)))
}

/// One line, as editors and `grep` read it.
fn plain(out: &mut dyn Write, file: &FileFindings, placed: &sp_formats::report::Placed) -> std::io::Result<()> {
    let item = FindingItem::new(&file.file, placed);
    let (file, message) = (printable(&item.file), printable(&item.message));
    writeln!(out, "{file}:{}:{}: {}[{}] {message}", item.line, item.column, item.severity, item.rule)
}

fn report(outcome: &Outcome) -> CheckReport {
    let fixed = outcome.fixed.as_ref().map(|fixing| fixing.files.clone());
    outcome.checked.report(fixed.unwrap_or_default())
}

/// The last lines: what was looked at, what was found, what to do next.
fn summary(outcome: &Outcome, out: &mut dyn Write) -> std::io::Result<()> {
    let checked = &outcome.checked;
    if let Some(fixing) = &outcome.fixed {
        let (verb, problems) =
            (if fixing.applied { "mended" } else { "would mend" }, count(fixing.problems, "problem"));
        // What `sp bag check --fix` puts in its place is no edit of a file.
        let files = match fixing.files.len() {
            0 if fixing.problems > 0 => String::new(),
            files => format!(" in {}", count(files, "file")),
        };
        writeln!(out, "{ADDED}{verb}{ADDED:#} {problems}{files}")?;
    }
    if checked.files.is_empty() && !checked.unreadable.is_empty() {
        return Ok(());
    }
    let looked = looked_at(checked);
    let pending = outcome.fixed.as_ref().is_some_and(|fixing| !fixing.applied && fixing.problems > 0);
    let looked = if pending { format!("{looked}then ") } else { looked };
    writeln!(out, "{looked}{}", found(checked, "no problems"))?;
    cost_line(checked, out)?;
    if checked.imports_left > 0 {
        let imports = count(checked.imports_left, "import");
        writeln!(out, "{DIM}{imports} not looked at; `--imports` fetches and checks them too{DIM:#}")?;
    }
    if checked.fixable() > 0 && outcome.fixed.is_none() {
        let fixable = count(checked.fixable(), "problem");
        writeln!(out, "{DIM}`sp check --fix` mends {fixable}, `sp explain <RULE>` tells more of a rule{DIM:#}")?;
    } else if !checked.files.is_empty() {
        writeln!(out, "{DIM}`sp explain <RULE>` tells more of a rule{DIM:#}")?;
    }
    Ok(())
}

/// `2 skills and 1 pack: `, what there is of it.
pub(super) fn looked_at(checked: &Checked) -> String {
    let looked = [
        (checked.skills, "skill"),
        (checked.packs, "pack"),
        (checked.packages, "package"),
        (checked.context_packs, "context pack"),
    ];
    let looked: Vec<String> = looked.iter().filter(|(n, _)| *n > 0).map(|(n, what)| count(*n, what)).collect();
    if looked.is_empty() { String::new() } else { format!("{}: ", looked.join(" and ")) }
}

/// `1 error, 2 warnings in 1 file`, or that there is nothing.
pub(super) fn found(checked: &Checked, nothing: &str) -> String {
    let found: Vec<String> = [(Severity::Error, ERROR), (Severity::Warning, WARNING), (Severity::Note, HINT)]
        .into_iter()
        .map(|(severity, style)| (checked.count(severity), severity.word(), style))
        .filter(|(n, ..)| *n > 0)
        .map(|(n, word, style)| format!("{style}{}{style:#}", count(n, word)))
        .collect();
    match found.is_empty() {
        true => format!("{ADDED}{nothing}{ADDED:#}"),
        false => format!("{} in {}", found.join(", "), count(checked.files.len(), "file")),
    }
}

/// What the skills cost, tier by tier.
fn cost_line(checked: &Checked, out: &mut dyn Write) -> std::io::Result<()> {
    if checked.costs.is_empty() {
        return Ok(());
    }
    let sum = |tier: fn(&sp_formats::output::SkillCost) -> usize| checked.costs.iter().map(tier).sum::<usize>();
    let [always, body, files] = [sum(|c| c.always), sum(|c| c.body), sum(|c| c.files)].map(super::thousands);
    writeln!(
        out,
        "{STRONG}tokens{STRONG:#}: {always} always, {body} when used, {files} in other files {DIM}({TOKENIZER}){DIM:#}"
    )
}
