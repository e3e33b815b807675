//! `sp explain`.

use std::io::Write;

use sp_engine::hidden::mark;
use sp_engine::{Error, ErrorCode, Result, check_rules, find_check_rule};
use sp_formats::output::{ExampleItem, RuleItem, RuleList};
use sp_formats::printable::{printable, printable_lines};
use sp_formats::rules::{CheckRule, ExampleContent, ExampleFile, example_files, truncate_example};
use sp_formats::suggest::did_you_mean;
use sp_formats::text::{pluralize, truncate};

use crate::cli::OutputFormat;
use crate::terminal::{ADDED, DIM, ERROR, STRONG, Terminal, table, wrap};

/// Longer lines are truncated. Only hashes and signatures are that long, and their start is enough.
const MAX_LINE_CHARS: usize = 100;

pub(super) fn run(rule: Option<&str>, terminal: &Terminal) -> Result<()> {
    let chosen: Vec<&CheckRule> = match rule {
        Some(id) => vec![find_check_rule(id).ok_or_else(|| unknown_rule(id))?],
        None => check_rules().to_vec(),
    };
    let list = RuleList { rules: chosen.iter().map(|check| rule_item(check)).collect() };
    terminal.print(&list, |out| match (rule, terminal.format) {
        (_, OutputFormat::Plain) => {
            chosen.iter().try_for_each(|check| writeln!(out, "{}\t{}", check.id, check.title))
        }
        (Some(_), _) => chosen.iter().try_for_each(|check| write_rule(check, terminal, out)),
        (None, _) => {
            let rows =
                chosen.iter().map(|check| vec![check.id.into(), check.title.into()]).collect();
            write!(out, "{}", table(&["rule", "title"], rows, terminal.width()))
        }
    })
}

fn unknown_rule(id: &str) -> Error {
    let error = Error::new(ErrorCode::UnknownRule, format!("unknown rule `{id}`"));
    let upper = id.to_uppercase();
    let question = did_you_mean(&upper, check_rules().iter().map(|check| check.id));
    let error = question.into_iter().fold(error, Error::hint);
    error.hint("run `sp explain` to list all rules")
}

fn write_rule(check: &CheckRule, terminal: &Terminal, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{STRONG}{}{STRONG:#}  {}\n", check.id, check.title)?;
    writeln!(out, "{}\n", wrap(check.what, terminal.width()))?;
    writeln!(out, "{}\n", wrap(check.why, terminal.width()))?;
    writeln!(out, "{ERROR}bad{ERROR:#}\n")?;
    write_example(check.bad, out)?;
    writeln!(out, "{ADDED}good{ADDED:#}\n")?;
    write_example(check.good, out)
}

fn write_example(text: &'static str, out: &mut dyn Write) -> std::io::Result<()> {
    for ExampleFile { path, content } in example_files(text) {
        match content {
            ExampleContent::Link(target) => {
                writeln!(out, "  {DIM}{}{DIM:#} → {}", printable(path), printable(target))?;
            }
            ExampleContent::Text(text) => {
                writeln!(out, "  {DIM}{}{DIM:#}", printable(path))?;
                let (shown, more) = truncate_example(&text);
                printable_lines(&mark(&shown))
                    .lines()
                    .try_for_each(|line| writeln!(out, "    {}", truncate(line, MAX_LINE_CHARS)))?;
                if more > 0 {
                    writeln!(out, "    {DIM}… {}{DIM:#}", pluralize(more, "more line"))?;
                }
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

fn rule_item(check: &CheckRule) -> RuleItem {
    let example = |file: ExampleFile| {
        let (text, link) = match file.content {
            ExampleContent::Text(text) => (Some(text), None),
            ExampleContent::Link(target) => (None, Some(target.into())),
        };
        ExampleItem { path: file.path.into(), text, link }
    };
    RuleItem {
        rule: check.id.into(),
        title: check.title.into(),
        what: check.what.into(),
        why: check.why.into(),
        bad: example_files(check.bad).into_iter().map(example).collect(),
        good: example_files(check.good).into_iter().map(example).collect(),
    }
}
