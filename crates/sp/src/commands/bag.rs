//! `sp bag`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use sp_engine::workspace::{
    self, ExtraSteps, GetSkillsRequest, RunSkillRequest, SaveParameters, UpgradePolicy,
};
use sp_engine::{Context, Error, FailureKind, ReplacePolicy, Result};
use sp_formats::output::{
    FolderAction, ParameterItem, ParameterList, ParameterValueItem, WorkspaceChangeReport,
    WorkspaceDependencyReport, WorkspaceOverview, WorkspaceRunReport, WorkspaceSkillList,
};
use sp_formats::printable::{printable, printable_text};

use super::{check, mode, pluralize};
use crate::cli::{
    CheckArgs, GlobalOptions, OutputFormat, WorkspaceCommand, WorkspaceSourceCommand,
};
use crate::terminal::{ADDED, CHANGED, DIM, REMOVED, STRONG, Terminal, WARNING, table};

pub(super) fn run(
    context: &Context<'_>,
    options: &GlobalOptions,
    command: &WorkspaceCommand,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let root = options.root.as_deref();
    match command {
        WorkspaceCommand::Init { dir, entrypoint, steps_done } => {
            let dir = dir.as_deref().or(root);
            let report = workspace::init(context, dir, entrypoint.as_deref(), steps(*steps_done))?;
            print_change(
                context,
                &report,
                "ready: `sp bag get <skill> --source <source>` installs more",
                terminal,
            )?;
        }
        WorkspaceCommand::Get {
            names,
            source,
            keep_query,
            version,
            upgrade,
            replace,
            steps_done,
            dry_run,
        } => {
            let request = GetSkillsRequest {
                names: names.clone(),
                source: source.clone(),
                keep_query: keep_query.clone(),
                version: version.clone(),
                upgrade: if *upgrade { UpgradePolicy::Upgrade } else { UpgradePolicy::Keep },
                replace: if *replace { ReplacePolicy::Allow } else { ReplacePolicy::Refuse },
                extra_steps: steps(*steps_done),
                root: options.root.clone(),
                mode: mode(*dry_run),
            };
            print_change(context, &workspace::get(context, &request)?, "", terminal)?;
        }
        WorkspaceCommand::Sync { dry_run } => {
            print_change(context, &workspace::sync(context, root, mode(*dry_run))?, "", terminal)?
        }
        WorkspaceCommand::Remove { names, dry_run } => {
            print_change(
                context,
                &workspace::remove(context, root, names, mode(*dry_run))?,
                "",
                terminal,
            )?;
        }
        WorkspaceCommand::Source(WorkspaceSourceCommand::Init) => {
            print_change(context, &workspace::source_init(context, root)?, "", terminal)?
        }
        WorkspaceCommand::Deps => print_dependencies(&workspace::deps(context, root)?, terminal)?,
        WorkspaceCommand::Check(check) => {
            return check_workspace(context, options, check, terminal);
        }
        WorkspaceCommand::Enter => print_overview(&workspace::enter(context, root)?, terminal)?,
        WorkspaceCommand::Run { identifier, set, save } => {
            let request = RunSkillRequest {
                identifier: identifier.clone(),
                set: set.clone(),
                save: if *save { SaveParameters::Yes } else { SaveParameters::No },
                root: options.root.clone(),
            };
            run_skill(context, &request, terminal)?;
        }
        WorkspaceCommand::Params { skill, explain, set } => {
            let list = workspace::params(context, root, skill, set)?;
            print_parameters(&list, skill, *explain, terminal)?;
        }
        WorkspaceCommand::List => print_list(&workspace::list(context, root)?, terminal)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn steps(done: bool) -> ExtraSteps {
    if done { ExtraSteps::Done } else { ExtraSteps::Unconfirmed }
}

/// Checks the given paths, or the workspace if there are none.
fn check_workspace(
    context: &Context<'_>,
    options: &GlobalOptions,
    given: &CheckArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let paths = if given.paths.is_empty() {
        vec![workspace::find_root(context, options.root.as_deref())?]
    } else {
        given.paths.clone()
    };
    let args = CheckArgs { paths, ..given.clone() };
    let mut fixed = 0;
    if given.fix && !given.dry_run {
        // Create missing files first; the check below then fixes the existing ones.
        let root = args.paths.first().map(PathBuf::as_path);
        let request = check::check_request(options, &args);
        let before = sp_engine::check(context, &request)?.finding_count();
        match workspace::repair(context, root) {
            // The check reports what prevented the repair.
            Err(error) if error.kind == FailureKind::Data => {}
            repaired => repaired?,
        }
        fixed = before.saturating_sub(sp_engine::check(context, &request)?.finding_count());
    }
    check::run_after_fixing(context, options, &args, fixed, terminal)
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
            writeln!(
                out,
                "\nkept the old `{}` in {}",
                printable(&kept.folder),
                context.display_path(&kept.kept_at)
            )?;
        }
        let changed =
            report.skills.iter().filter(|skill| skill.action != FolderAction::Keep).count();
        if !report.applied {
            let would = if changed > 0 || report.catalog_changed {
                "would change"
            } else {
                "nothing would change"
            };
            return writeln!(
                out,
                "\n{STRONG}{would}{STRONG:#} · {} · {}",
                context.display_path(&report.root),
                pluralize(changed, "skill")
            );
        }
        let catalog = if report.catalog_changed { "catalog written" } else { "catalog unchanged" };
        writeln!(
            out,
            "\n{STRONG}done{STRONG:#} · {} · {} changed · {catalog}",
            context.display_path(&report.root),
            pluralize(changed, "skill")
        )?;
        if next.is_empty() { Ok(()) } else { writeln!(out, "{next}") }
    })
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
            let source = skill.source.clone().unwrap_or_else(|| "your own".into());
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

/// Prints the dependency trees. Roots are context files, then skills that nothing depends on.
fn print_dependencies(deps: &WorkspaceDependencyReport, terminal: &Terminal) -> Result<()> {
    terminal.print(deps, |out| {
        let is_skill = |name: &str| deps.skills.iter().any(|skill| skill == name);
        let needed =
            |name: &str| deps.dependencies.iter().any(|dependency| dependency.name == name);
        let mut roots: Vec<&str> = deps
            .dependencies
            .iter()
            .map(|dependency| dependency.by.as_str())
            .filter(|by| !is_skill(by))
            .collect();
        roots.dedup();
        roots.extend(deps.skills.iter().map(String::as_str).filter(|name| !needed(name)));
        // If every skill is part of a cycle, there is no natural root: use all of them.
        if roots.is_empty() && deps.conflicts.is_empty() {
            roots.extend(deps.skills.iter().map(String::as_str));
        }
        for root in roots {
            writeln!(out, "{STRONG}{}{STRONG:#}", printable(root))?;
            write_branches(deps, root, &mut vec![root], "", out)?;
        }
        deps.conflicts.iter().try_for_each(|conflict| {
            writeln!(out, "{WARNING}conflict:{WARNING:#} {}", printable(conflict))
        })
    })
}

fn write_branches<'a>(
    deps: &'a WorkspaceDependencyReport,
    parent: &str,
    path: &mut Vec<&'a str>,
    indent: &str,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let needs: Vec<_> =
        deps.dependencies.iter().filter(|dependency| dependency.by == parent).collect();
    for (index, dependency) in needs.iter().enumerate() {
        let (branch, below) =
            if index + 1 == needs.len() { ("└─", "   ") } else { ("├─", "│  ") };
        let is_cycle = path.contains(&dependency.name.as_str());
        let state = match (dependency.present, dependency.required) {
            _ if is_cycle => "needs itself",
            (true, _) => "here",
            (false, true) => "missing",
            (false, false) => "missing, optional",
        };
        let from = [dependency.source.clone(), dependency.version.clone()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" at ");
        let from = if from.is_empty() {
            String::new()
        } else {
            format!("  {DIM}{}{DIM:#}", printable(&from))
        };
        writeln!(out, "{indent}{branch} {}  {state}{from}", printable(&dependency.name))?;
        if !is_cycle {
            path.push(&dependency.name);
            write_branches(deps, &dependency.name, path, &format!("{indent}{below}"), out)?;
            path.pop();
        }
    }
    Ok(())
}

fn print_overview(overview: &WorkspaceOverview, terminal: &Terminal) -> Result<()> {
    terminal.print(overview, |out| {
        let version = overview.version.as_deref().unwrap_or("of an unknown version");
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

fn run_skill(context: &Context<'_>, request: &RunSkillRequest, terminal: &Terminal) -> Result<()> {
    let run = workspace::run(context, request)?;
    terminal.print(&run, |out| write_run(&run, out))?;
    if run.missing.is_empty() { Ok(()) } else { Err(missing_values(&run)) }
}

fn missing_values(run: &WorkspaceRunReport) -> Error {
    let names = run.missing.join("`, `");
    Error::new(FailureKind::Request, format!("`{}` needs a value for `{names}`", run.skill.name)).hint(format!(
        "give it with `--set {}=<value>`, or below `Parameters` in `USER_CONTEXT.md` or `CONTEXT.md`",
        run.missing[0]
    ))
}

fn write_run(run: &WorkspaceRunReport, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "# {}\n", run.skill.name)?;
    if !run.parameters.is_empty() {
        writeln!(out, "## Values\n")?;
        for parameter in &run.parameters {
            let value = parameter
                .from
                .as_ref()
                .map_or("(not given)".into(), |from| value_text(&from.value));
            writeln!(out, "- {}: {}", printable(&parameter.name), printable(&value))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "{}", printable_text(&run.skill.instructions))?;
    for companion in &run.companions {
        writeln!(
            out,
            "\n# {} (runs with it)\n\n{}",
            companion.name,
            printable_text(&companion.instructions)
        )?;
    }
    Ok(())
}

fn value_text(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

fn print_parameters(
    list: &ParameterList,
    skill: &str,
    explain: bool,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(list, |out| {
        if list.parameters.is_empty() {
            return writeln!(out, "`{}` asks for nothing", printable(skill));
        }
        list.parameters.iter().try_for_each(|parameter| write_parameter(parameter, explain, out))
    })
}

fn write_parameter(
    parameter: &ParameterItem,
    explain: bool,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let value = parameter.from.as_ref().map(|from| value_text(&from.value));
    let value = value
        .unwrap_or_else(|| if parameter.required { "missing".into() } else { "not given".into() });
    writeln!(out, "{STRONG}{}{STRONG:#}: {}", printable(&parameter.name), printable(&value))?;
    if !explain {
        return Ok(());
    }
    let location = |origin: &ParameterValueItem| match origin.line {
        Some(line) => format!("{}:{line} ({})", printable(&origin.file), origin.level),
        None => format!("{} ({})", printable(&origin.file), origin.level),
    };
    if let Some(from) = &parameter.from {
        writeln!(out, "  from {}", location(from))?;
    }
    for overridden in &parameter.overrode {
        writeln!(
            out,
            "  over {} from {}",
            printable(&value_text(&overridden.value)),
            location(overridden)
        )?;
    }
    for blocked in &parameter.kept_out {
        let by = blocked.prohibited_by.as_deref().unwrap_or_default();
        writeln!(
            out,
            "  not {} from {}: prohibited in {}",
            printable(&value_text(&blocked.value)),
            location(blocked),
            printable(by)
        )?;
    }
    Ok(())
}
