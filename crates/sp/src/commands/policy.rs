//! `sp policy`.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use sp_engine::{Context, PolicyCheckRequest, Result, check_policy, show_policy};
use sp_formats::output::{
    PolicyCheckReport, PolicyDecisionItem, PolicyEffect, PolicyFileItem, PolicyRuleItem,
    PolicyTargetItem, PolicyView,
};
use sp_formats::policy::explain_decision;
use sp_formats::printable::printable;
use sp_formats::text::pluralize;

use crate::cli::{OutputFormat, PolicyCommand};
use crate::terminal::{ADDED, DIM, ERROR, STRONG, Terminal};

/// The exit code if a policy denies something, as for an installation.
const DENIED: u8 = 4;

pub(super) fn run(
    context: &Context<'_>,
    root: Option<&Path>,
    command: &PolicyCommand,
    terminal: &Terminal,
) -> Result<ExitCode> {
    match command {
        PolicyCommand::Show => {
            let view = show_policy(context, root)?;
            terminal.print(&view, |out| match terminal.format {
                OutputFormat::Plain => write_plain_rules(&view.files, out),
                _ => write_files(context, &view, out),
            })?;
            Ok(ExitCode::SUCCESS)
        }
        PolicyCommand::Check { targets } => {
            let request =
                PolicyCheckRequest { targets: targets.clone(), root: root.map(Into::into) };
            let report = check_policy(context, &request)?;
            terminal.print(&report, |out| match terminal.format {
                OutputFormat::Plain => write_plain_decisions(&report, out),
                _ => write_report(context, &report, out),
            })?;
            Ok(if report.permitted { ExitCode::SUCCESS } else { ExitCode::from(DENIED) })
        }
    }
}

/// Writes position, section, effect and rule, separated by tabs.
fn write_plain_rules(files: &[PolicyFileItem], out: &mut dyn Write) -> io::Result<()> {
    let mut rules = files.iter().flat_map(|file| &file.rules);
    rules.try_for_each(|rule| {
        let text = rule.rule.as_deref().map(printable).unwrap_or_default();
        writeln!(out, "{}\t{}\t{}\t{text}", position(rule), rule.section, rule.effect.as_str())
    })
}

fn position(rule: &PolicyRuleItem) -> String {
    format!("{}:{}:{}", rule.file.display(), rule.line, rule.column)
}

fn write_files(context: &Context<'_>, view: &PolicyView, out: &mut dyn Write) -> io::Result<()> {
    for file in &view.files {
        let path = context.display_path(&file.path);
        let level = file.level.as_str();
        if !file.exists {
            writeln!(out, "{level}: {DIM}no `{path}`{DIM:#}")?;
            continue;
        }
        let contact = file.contact.as_deref().map(printable);
        let contact = contact.map(|text| format!(", contact: {text}")).unwrap_or_default();
        writeln!(out, "{level}: {STRONG}{path}{STRONG:#}{contact}")?;
        for rule in &file.rules {
            writeln!(out, "  {}  {DIM}{}:{}{DIM:#}", describe(rule), rule.line, rule.column)?;
        }
    }
    Ok(())
}

fn describe(rule: &PolicyRuleItem) -> String {
    let text = rule.rule.as_deref().map(printable).unwrap_or_default();
    match rule.effect {
        PolicyEffect::NotAllowed => format!("{}: allow nothing", rule.section),
        PolicyEffect::Require => format!("require: {text}"),
        effect => format!("{}: {} {text}", rule.section, effect.as_str()),
    }
}

/// Writes target, result, content, subject, value and position, separated by tabs.
fn write_plain_decisions(report: &PolicyCheckReport, out: &mut dyn Write) -> io::Result<()> {
    for target in &report.targets {
        for decision in &target.decisions {
            let PolicyDecisionItem { content, subject, value, permitted, rules } = decision;
            let (content, value) = (content.as_deref().unwrap_or_default(), printable(value));
            let at = rules.first().map(position).unwrap_or_default();
            let (target, content) = (printable(&target.target), printable(content));
            let result = verdict(*permitted);
            writeln!(out, "{target}\t{result}\t{content}\t{subject}\t{value}\t{at}")?;
        }
    }
    Ok(())
}

fn verdict(permitted: bool) -> &'static str {
    if permitted { "allowed" } else { "denied" }
}

fn write_report(
    context: &Context<'_>,
    report: &PolicyCheckReport,
    out: &mut dyn Write,
) -> io::Result<()> {
    if report.files.iter().all(|file| !file.exists) {
        return writeln!(out, "no policy applies; everything is allowed");
    }
    report.targets.iter().try_for_each(|target| write_target(context, target, out))?;
    let files = report.files.iter().filter(|file| file.exists).count();
    let rules: usize = report.files.iter().map(|file| file.rules.len()).sum();
    let denied = report.targets.iter().filter(|target| !target.permitted).count();
    let result = match (report.targets.len(), denied) {
        (0, _) => "nothing to check".to_owned(),
        (all, 0) => format!("{} allowed", pluralize(all, "source")),
        (all, denied) => format!("{denied} of {} denied", pluralize(all, "source")),
    };
    let (policies, rules) = (count_of(files, "policy", "policies"), pluralize(rules, "rule"));
    writeln!(out, "{policies} with {rules}: {result}")
}

fn count_of(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", sp_formats::text::plural(count, one, many))
}

fn write_target(
    context: &Context<'_>,
    target: &PolicyTargetItem,
    out: &mut dyn Write,
) -> io::Result<()> {
    let style = if target.permitted { ADDED } else { ERROR };
    let (name, result) = (printable(&target.target), verdict(target.permitted));
    writeln!(out, "{STRONG}{name}{STRONG:#}: {style}{result}{style:#}")?;
    let label = |path: &Path| context.display_path(path);
    // What is denied decides, so it comes first.
    let (denied, allowed): (Vec<_>, Vec<_>) =
        target.decisions.iter().partition(|decision| !decision.permitted);
    for decision in denied.into_iter().chain(allowed) {
        let content = decision.content.as_deref().map(printable);
        let content = content.map(|content| format!("{content}: ")).unwrap_or_default();
        writeln!(out, "  {content}{}", explain_decision(decision, &label))?;
    }
    if target.decisions.is_empty() {
        writeln!(out, "  {DIM}no rule is about it{DIM:#}")?;
    }
    Ok(())
}
