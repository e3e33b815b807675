//! `sp bag`.

mod deps;
mod run;

use std::io::Write;
use std::process::ExitCode;

use sp_engine::workspace::{
    self, ExtraSteps, GetSkillsRequest, RunSkillRequest, SaveParameters, UpgradePolicy,
};
use sp_engine::{Context, ReplacePolicy, Result};
use sp_formats::output::{
    FolderAction, WorkspaceChangeReport, WorkspaceOverview, WorkspaceSkillList,
};
use sp_formats::printable::printable;
use sp_formats::text::pluralize;

use super::check;
use super::kept::write_kept;
use super::plan::{apply_options, write_apply_command};
use crate::cli::{GlobalOptions, OutputFormat, WorkspaceCommand, WorkspaceSourceCommand};
use crate::terminal::{ADDED, CHANGED, DIM, REMOVED, STRONG, Terminal, table};

pub(super) fn run(
    context: &Context<'_>,
    options: &GlobalOptions,
    command: &WorkspaceCommand,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let root = options.root.as_deref();
    match command {
        WorkspaceCommand::Init { dir, entrypoint, steps_done, plan, consent } => {
            let context = &consent.apply_to(context);
            let dir = dir.as_deref().or(root);
            let steps = steps(*steps_done);
            let report =
                workspace::init(context, dir, entrypoint.as_deref(), steps, apply_options(plan))?;
            print_change(context, &report, "next: sp bag add <skill> --source <source>", terminal)?;
        }
        WorkspaceCommand::Add {
            names,
            source,
            keep_query,
            version,
            upgrade,
            replace,
            steps_done,
            plan,
            consent,
        } => {
            let context = &consent.apply_to(context);
            let request = GetSkillsRequest {
                names: names.clone(),
                source: source.clone(),
                keep_query: keep_query.clone(),
                version: version.clone(),
                upgrade: if *upgrade { UpgradePolicy::Upgrade } else { UpgradePolicy::Keep },
                replace: if *replace { ReplacePolicy::Allow } else { ReplacePolicy::Refuse },
                extra_steps: steps(*steps_done),
                root: options.root.clone(),
                apply: apply_options(plan),
            };
            print_change(context, &workspace::get(context, &request)?, "", terminal)?;
        }
        WorkspaceCommand::Sync { plan } => {
            let report = workspace::sync(context, root, apply_options(plan))?;
            print_change(context, &report, "", terminal)?;
        }
        WorkspaceCommand::Remove { names, plan } => {
            let report = workspace::remove(context, root, names, apply_options(plan))?;
            print_change(context, &report, "", terminal)?;
        }
        WorkspaceCommand::Source(WorkspaceSourceCommand::Init { plan }) => {
            let report = workspace::source_init(context, root, apply_options(plan))?;
            print_change(context, &report, "", terminal)?;
        }
        WorkspaceCommand::Deps => {
            deps::print_dependencies(&workspace::deps(context, root)?, terminal)?;
        }
        WorkspaceCommand::Check(args) => return check::run(context, options, args, terminal),
        WorkspaceCommand::Enter => print_overview(&workspace::enter(context, root)?, terminal)?,
        WorkspaceCommand::Run { identifier, set, save, plan } => {
            let request = RunSkillRequest {
                identifier: identifier.clone(),
                set: set.clone(),
                save: if *save { SaveParameters::Yes } else { SaveParameters::No },
                root: options.root.clone(),
                apply: apply_options(plan),
            };
            run::run_skill(context, &request, terminal)?;
        }
        WorkspaceCommand::Params { skill, explain, set } => {
            let list = workspace::params(context, root, skill, set)?;
            run::print_parameters(&list, skill, *explain, terminal)?;
        }
        WorkspaceCommand::List => print_list(&workspace::list(context, root)?, terminal)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn steps(done: bool) -> ExtraSteps {
    if done { ExtraSteps::Done } else { ExtraSteps::Unconfirmed }
}

fn print_change(
    context: &Context<'_>,
    report: &WorkspaceChangeReport,
    next: &str,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(report, |out| {
        write_changes(report, out)?;
        if terminal.format == OutputFormat::Plain {
            return Ok(());
        }
        for kept in &report.kept {
            writeln!(out)?;
            write_kept(context, [kept], out)?;
        }
        write_summary(context, report, out)?;
        if !next.is_empty() && report.status.applied {
            writeln!(out, "{next}")?;
        }
        Ok(())
    })
}

fn write_summary(
    context: &Context<'_>,
    report: &WorkspaceChangeReport,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let changed = report.skills.iter().filter(|skill| skill.action != FolderAction::Keep).count();
    let root = context.display_path(&report.root);
    let skills = pluralize(changed, "skill");
    if report.status.applied {
        let catalog = if report.catalog_changed { "catalog updated" } else { "catalog unchanged" };
        return writeln!(out, "\n{STRONG}done{STRONG:#} · {root} · {skills} changed · {catalog}");
    }
    if changed == 0 && report.files.is_empty() && !report.catalog_changed {
        return writeln!(out, "\n{STRONG}no changes{STRONG:#} · {root}");
    }
    let catalog = if report.catalog_changed { " · catalog" } else { "" };
    writeln!(out, "\n{STRONG}would change{STRONG:#} · {root} · {skills}{catalog}")?;
    write_apply_command(&report.status, out)
}

fn write_changes(report: &WorkspaceChangeReport, out: &mut dyn Write) -> std::io::Result<()> {
    for skill in &report.skills {
        let (style, sign) = match skill.action {
            FolderAction::Add => (ADDED, '+'),
            FolderAction::Update => (CHANGED, '~'),
            FolderAction::Remove => (REMOVED, '-'),
            FolderAction::Keep => (DIM, ' '),
        };
        let source =
            skill.source.as_ref().map(|source| format!("  {DIM}{}{DIM:#}", printable(source)));
        writeln!(
            out,
            "{style}{sign}{style:#} {}{}",
            printable(&skill.name),
            source.unwrap_or_default()
        )?;
    }
    report.files.iter().try_for_each(|file| writeln!(out, "{ADDED}+{ADDED:#} {}", printable(file)))
}

fn print_list(list: &WorkspaceSkillList, terminal: &Terminal) -> Result<()> {
    terminal.print(list, |out| {
        if terminal.format == OutputFormat::Plain {
            return list
                .skills
                .iter()
                .try_for_each(|skill| writeln!(out, "{}", printable(&skill.name)));
        }
        let rows = list.skills.iter().map(|skill| {
            let source = skill.source.clone().unwrap_or_else(|| "local".into());
            let version = skill
                .version
                .clone()
                .or_else(|| skill.commit.as_ref().map(|commit| commit.chars().take(12).collect()));
            let edited = if skill.edited && skill.source.is_some() { "edited" } else { "" };
            vec![
                skill.name.clone(),
                source,
                version.unwrap_or_default(),
                edited.into(),
                skill.description.clone(),
            ]
        });
        write!(
            out,
            "{}",
            table(
                &["skill", "source", "version", "", "description"],
                rows.collect(),
                terminal.width()
            )
        )
    })
}

fn print_overview(overview: &WorkspaceOverview, terminal: &Terminal) -> Result<()> {
    terminal.print(overview, |out| {
        let version = overview.version.as_deref().unwrap_or("(unknown version)");
        writeln!(out, "SkillBag {version}")?;
        let contexts =
            if overview.contexts.is_empty() { "none".into() } else { overview.contexts.join(", ") };
        writeln!(out, "context: {contexts}\n\nskills:")?;
        overview.skills.iter().try_for_each(|skill| {
            writeln!(out, "  {}: {}", skill.name, printable(&skill.description))
        })?;
        if !overview.always.is_empty() {
            writeln!(out, "\nalways run:")?;
            for name in &overview.always {
                let tags = overview
                    .skills
                    .iter()
                    .find(|skill| skill.name == *name)
                    .map(|skill| skill.tags.join(" #"));
                writeln!(out, "  {name}  #{}", printable(&tags.unwrap_or_default()))?;
            }
        }
        if !overview.missing.is_empty() {
            writeln!(out, "\nmissing: {}", overview.missing.join(", "))?;
        }
        Ok(())
    })
}
