//! `sp cost`: a table, with a bar for each skill.

use std::io::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use sp_engine::{Context, CostRequest, Result};
use sp_formats::output::{CostGroup, CostReport, SkillCost};
use sp_formats::printable::printable;
use sp_formats::text::{group_digits, pluralize};

use crate::cli::OutputFormat;
use crate::terminal::{DIM, STRONG, Terminal, columns, pad, wrap};

/// The name of each tier, and the character and style of its part of a bar.
const TIERS: [(&str, char, Style); 3] = [
    ("always", '█', AnsiColor::Red.on_default()),
    ("body", '▓', AnsiColor::Yellow.on_default()),
    ("files", '░', AnsiColor::Blue.on_default()),
];
const MIN_BAR_WIDTH: usize = 10;
const MAX_BAR_WIDTH: usize = 40;
const MAX_NAME_WIDTH: usize = 48;

pub(super) fn run(context: &Context<'_>, request: &CostRequest, terminal: &Terminal) -> Result<()> {
    let report = sp_engine::cost(context, request)?;
    terminal.print(&report, |out| match terminal.format {
        OutputFormat::Plain => write_plain(context, &report, out),
        _ => write_human(context, &report, terminal, out),
    })
}

fn write_plain(
    context: &Context<'_>,
    report: &CostReport,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    for group in &report.groups {
        for skill in &group.skills {
            let name = skill_label(context, group, skill);
            writeln!(
                out,
                "{}\t{name}\t{}\t{}\t{}",
                group_label(context, group),
                skill.always,
                skill.body,
                skill.files
            )?;
        }
    }
    Ok(())
}

fn write_human(
    context: &Context<'_>,
    report: &CostReport,
    terminal: &Terminal,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    for (number, group) in report.groups.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        let owner = owner(group)
            .map(|owner| format!("{STRONG}{}{STRONG:#}  ", printable(&owner)))
            .unwrap_or_default();
        writeln!(out, "{owner}{DIM}{}{DIM:#}\n", context.display_path(&group.path))?;
        if group.skills.is_empty() {
            writeln!(out, "no skills")?;
            continue;
        }
        write_rows(context, group, terminal, out)?;
        let [always, body, files] = [group.always, group.body, group.files].map(group_digits);
        let skills = pluralize(group.skills.len(), "skill");
        let sum = format!(
            "{skills}: {always} tokens in every session, {body} more if all bodies are read, \
             {files} more if all other files are read"
        );
        writeln!(out, "\n{}", wrap(&sum, terminal.width()))?;
    }
    if report.groups.iter().all(|group| group.skills.is_empty()) {
        return Ok(());
    }
    let legend: Vec<String> =
        TIERS.iter().map(|(name, c, style)| format!("{style}{c}{style:#} {name}")).collect();
    let note =
        format!("tokens counted with {}; counts differ slightly between models", report.tokenizer);
    writeln!(out, "\n{}\n{DIM}{}{DIM:#}", legend.join("  "), wrap(&note, terminal.width()))
}

/// Writes one row per skill. Numbers are right-aligned; bars fill the width of the terminal.
fn write_rows(
    context: &Context<'_>,
    group: &CostGroup,
    terminal: &Terminal,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let names: Vec<String> =
        group.skills.iter().map(|skill| skill_label(context, group, skill)).collect();
    let numbers: Vec<[String; 3]> =
        group.skills.iter().map(|skill| tiers(skill).map(group_digits)).collect();
    let widths: [usize; 3] = std::array::from_fn(|tier| {
        numbers.iter().map(|row| row[tier].len()).max().unwrap_or(0).max(TIERS[tier].0.len())
    });
    // Two spaces precede each number and the bar.
    let room = usize::from(terminal.width().unwrap_or(100))
        .saturating_sub(widths.iter().sum::<usize>() + 8);
    let longest = names.iter().map(|name| columns(name)).max().unwrap_or(0);
    let name_width = longest.min(room.saturating_sub(MIN_BAR_WIDTH)).clamp(5, MAX_NAME_WIDTH);
    let bar_width = room.saturating_sub(name_width).min(MAX_BAR_WIDTH);
    let dearest = group
        .skills
        .iter()
        .map(|skill| tiers(skill).iter().sum::<usize>())
        .max()
        .unwrap_or(1)
        .max(1);
    write!(out, "{STRONG}{}", pad("SKILL", name_width))?;
    for (tier, width) in widths.iter().enumerate() {
        write!(out, "  {:>width$}", TIERS[tier].0.to_uppercase())?;
    }
    writeln!(out, "{STRONG:#}")?;
    for ((skill, name), row) in group.skills.iter().zip(&names).zip(&numbers) {
        write!(out, "{}", pad(name, name_width))?;
        for (tier, width) in widths.iter().enumerate() {
            write!(out, "  {:>width$}", row[tier])?;
        }
        writeln!(out, "  {}", bar(skill, dearest, bar_width))?;
    }
    Ok(())
}

/// Draws a bar with one part per tier. Each part ends at the rounded running total, so rounding
/// errors do not add up.
fn bar(skill: &SkillCost, dearest: usize, width: usize) -> String {
    let mut bar = String::new();
    let (mut sum, mut drawn) = (0, 0);
    for (tokens, (_, c, style)) in tiers(skill).into_iter().zip(TIERS) {
        sum += tokens;
        let end = (sum * width).div_ceil(dearest);
        if end > drawn {
            bar += &format!("{style}{}{style:#}", c.to_string().repeat(end - drawn));
        }
        drawn = end;
    }
    bar
}

fn tiers(skill: &SkillCost) -> [usize; 3] {
    [skill.always, skill.body, skill.files]
}

fn group_label(context: &Context<'_>, group: &CostGroup) -> String {
    owner(group).unwrap_or_else(|| context.display_path(&group.path))
}

/// Returns the pack or the agents that skills belong to.
fn owner(group: &CostGroup) -> Option<String> {
    let agents = (!group.agents.is_empty()).then(|| group.agents.join(", "));
    group.pack.clone().or(agents)
}

/// Returns the skill's folder, relative to the group's `skills` folder where possible.
fn skill_label(context: &Context<'_>, group: &CostGroup, skill: &SkillCost) -> String {
    // A pack file is in the directory `packs/` of its repository.
    let root = match &group.pack {
        Some(_) => group.path.ancestors().nth(2).unwrap_or(&group.path),
        None => &group.path,
    };
    let skills = root.join("skills");
    let below =
        |top: &Path| skill.path.strip_prefix(top).ok().filter(|rest| !rest.as_os_str().is_empty());
    match below(&skills).or_else(|| below(&group.path)) {
        Some(rest) => printable(&rest.to_string_lossy()).into_owned(),
        None => context.display_path(&skill.path).rsplit('/').next().unwrap_or_default().into(),
    }
}
