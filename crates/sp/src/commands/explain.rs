//! `sp explain`

use std::io::Write;

use sp_engine::hidden::mark;
use sp_engine::{Error, Kind, Result};
use sp_formats::checks::{CHECKS, Check, Content, ExampleFile, files, find, shortened};
use sp_formats::output::{ExampleItem, RuleItem, RuleList};
use sp_formats::printable::{printable, printable_lines};
use sp_formats::suggest::nearest;

use crate::cli::Format;
use crate::terminal::{ADDED, DIM, ERROR, STRONG, Terminal, table, wrapped};

pub(super) fn run(rule: Option<&str>, terminal: &Terminal) -> Result<()> {
    let chosen: Vec<&Check> = match rule {
        Some(id) => vec![find(id).ok_or_else(|| unknown(id))?],
        None => CHECKS.to_vec(),
    };
    let list = RuleList { rules: chosen.iter().map(|check| item(check)).collect() };
    terminal.print(&list, |out| match (rule, terminal.format) {
        (_, Format::Plain) => chosen.iter().try_for_each(|check| writeln!(out, "{}\t{}", check.id, check.title())),
        (Some(_), _) => chosen.iter().try_for_each(|check| explain(check, terminal, out)),
        (None, _) => {
            let rows = chosen.iter().map(|check| vec![check.id.into(), check.title().into()]).collect();
            write!(out, "{}", table(&["rule", "what it asks"], rows, terminal.width()))
        }
    })
}

fn unknown(id: &str) -> Error {
    let error = Error::new(Kind::Usage, format!("`sp check` reports no rule called `{id}`"));
    let upper = id.to_uppercase();
    match nearest(&upper, CHECKS.iter().map(|check| check.id)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")).hint("`sp explain` lists them all"),
        None => error.hint("`sp explain` lists them all"),
    }
}

fn explain(check: &Check, terminal: &Terminal, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{STRONG}{}{STRONG:#}  {}\n", check.id, check.title())?;
    writeln!(out, "{}\n", wrapped(check.what, terminal.width()))?;
    writeln!(out, "{}\n", wrapped(check.why, terminal.width()))?;
    writeln!(out, "{ERROR}bad{ERROR:#}\n")?;
    example(check.bad, out)?;
    writeln!(out, "{ADDED}good{ADDED:#}\n")?;
    example(check.good, out)
}

fn example(text: &'static str, out: &mut dyn Write) -> std::io::Result<()> {
    for ExampleFile { path, content } in files(text) {
        match content {
            Content::Link(target) => writeln!(out, "  {DIM}{}{DIM:#} → {}", printable(path), printable(target))?,
            Content::Text(text) => {
                writeln!(out, "  {DIM}{}{DIM:#}", printable(path))?;
                let (shown, more) = shortened(&text);
                printable_lines(&mark(&shown)).lines().try_for_each(|line| writeln!(out, "    {}", cut(line)))?;
                if more > 0 {
                    writeln!(out, "    {DIM}… {more} more lines{DIM:#}")?;
                }
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// A line that fits: of a hash or a signature the beginning says enough.
fn cut(line: &str) -> String {
    const LONGEST: usize = 100;
    match line.chars().count() {
        length if length > LONGEST => line.chars().take(LONGEST).chain(['…']).collect(),
        _ => line.into(),
    }
}

fn item(check: &Check) -> RuleItem {
    let example = |file: ExampleFile| {
        let (text, link) = match file.content {
            Content::Text(text) => (Some(text), None),
            Content::Link(target) => (None, Some(target.into())),
        };
        ExampleItem { path: file.path.into(), text, link }
    };
    RuleItem {
        rule: check.id.into(),
        title: check.title().into(),
        what: check.what.into(),
        why: check.why.into(),
        bad: files(check.bad).into_iter().map(example).collect(),
        good: files(check.good).into_iter().map(example).collect(),
    }
}
