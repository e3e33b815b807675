//! `sp add`, `sp sync`, `sp remove`, `sp update`, `sp outdated` and `sp migrate`.

mod contents;
mod migrate;
mod outdated;
mod picker;
mod report;

use std::process::ExitCode;

use sp_engine::{
    AddRequest, Context, EditChoice, FileTexts, MigrateRequest, ProjectLocation, RemoveRequest,
    Result, SinkScope, SkillChoice, SyncPolicy, SyncRequest, UpdateRequest,
};

use self::contents::{print_list, write_contents};
use self::picker::TerminalPicker;
use self::report::{exit_code, write_human, write_plain};
use super::plan::apply_options;
use crate::cli::{self, GlobalOptions, OutputFormat};
use crate::terminal::Terminal;

fn location(options: &GlobalOptions, manifest: &cli::ManifestArgs) -> ProjectLocation {
    let scope = if manifest.global { SinkScope::Global } else { SinkScope::Project };
    ProjectLocation { scope, root: options.root.clone() }
}

pub(super) fn add(
    context: &Context<'_>,
    options: &GlobalOptions,
    args: &cli::AddArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let skills = match (args.all, args.skill.as_slice()) {
        (true, _) => SkillChoice::All,
        (false, []) => SkillChoice::Ask,
        (false, names) => SkillChoice::Named(names.to_vec()),
    };
    let request = AddRequest {
        location: location(options, &args.manifest),
        sources: args.sources.clone(),
        skills,
        agents: args.agent.clone(),
        prefix: args.prefix.clone(),
        apply: apply_options(&args.plan),
    };
    if args.list {
        let list = sp_engine::list_source_skills(context, &request)?;
        print_list(&list, terminal)?;
        return Ok(ExitCode::SUCCESS);
    }
    let report = sp_engine::add(context, &request, &TerminalPicker { terminal })?;
    terminal.print(&report, |out| match terminal.format {
        OutputFormat::Plain => write_plain(&report.change, out),
        _ => {
            report.sources.iter().try_for_each(|it| write_contents(it, terminal.verbosity, out))?;
            write_human(context, &report.change, terminal, out)
        }
    })?;
    Ok(exit_code(&report.change))
}

pub(super) fn sync(
    context: &Context<'_>,
    options: &GlobalOptions,
    args: &cli::SyncArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let policy = match (args.frozen, args.locked) {
        (true, _) => SyncPolicy::Frozen,
        (false, true) => SyncPolicy::Locked,
        (false, false) => SyncPolicy::Resolve,
    };
    let request = SyncRequest {
        location: location(options, &args.manifest),
        policy,
        apply: apply_options(&args.plan),
    };
    let report = sp_engine::sync(context, &request)?;
    report::print(context, &report, terminal)
}

pub(super) fn remove(
    context: &Context<'_>,
    options: &GlobalOptions,
    args: &cli::RemoveArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let request = RemoveRequest {
        location: location(options, &args.manifest),
        names: args.names.clone(),
        apply: apply_options(&args.plan),
    };
    let report = sp_engine::remove(context, &request)?;
    report::print(context, &report, terminal)
}

pub(super) fn update(
    context: &Context<'_>,
    options: &GlobalOptions,
    args: &cli::UpdateArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let edits = match (args.theirs, args.ours) {
        (true, _) => EditChoice::Theirs,
        (false, true) => EditChoice::Ours,
        (false, false) => EditChoice::Policy,
    };
    let request = UpdateRequest {
        location: location(options, &args.manifest),
        names: args.names.clone(),
        edits,
        texts: if args.diff { FileTexts::Include } else { FileTexts::Omit },
        apply: apply_options(&args.plan),
    };
    let report = sp_engine::update(context, &request)?;
    report::print(context, &report, terminal)
}

pub(super) fn outdated(
    context: &Context<'_>,
    options: &GlobalOptions,
    args: &cli::OutdatedArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let list = sp_engine::outdated(context, &location(options, &args.manifest))?;
    outdated::print(&list, terminal)?;
    let fails = args.exit_code && !list.sources.is_empty();
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

pub(super) fn migrate(
    context: &Context<'_>,
    options: &GlobalOptions,
    args: &cli::MigrateArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let location = location(options, &args.manifest);
    let request = MigrateRequest { location, apply: apply_options(&args.plan) };
    let report = sp_engine::migrate(context, &request)?;
    migrate::print(context, &report, terminal)
}
