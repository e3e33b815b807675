//! The commands that manage a project.

mod contents;
mod migrate;
mod outdated;
mod picker;
mod report;
mod state;

use std::process::ExitCode;

use sp_engine::{
    AddRequest, AdoptRequest, Context, EditChoice, FileTexts, MigrateRequest, ProjectLocation,
    RemoveRequest, RestoreRequest, RestoredVersion, Result, SinkScope, SkillChoice, SkillToggle,
    SyncPolicy, SyncRequest, ToggleRequest, UpdateRequest,
};

use self::contents::{print_list, write_contents};
use self::picker::TerminalPicker;
use self::report::{exit_code, write_human, write_plain};
use super::plan::apply_options;
use crate::cli::{self, CliCommand, GlobalOptions, OutputFormat};
use crate::terminal::Terminal;

/// Runs a command that manages a project.
pub(super) fn run(
    context: &Context<'_>,
    options: &GlobalOptions,
    command: &CliCommand,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let done = |result: Result<()>| result.map(|()| ExitCode::SUCCESS);
    match command {
        CliCommand::Add(args) => add(context, options, args, terminal),
        CliCommand::Sync(args) => sync(context, options, args, terminal),
        CliCommand::Remove(args) => remove(context, options, args, terminal),
        CliCommand::Update(args) => update(context, options, args, terminal),
        CliCommand::Outdated(args) => outdated(context, options, args, terminal),
        CliCommand::Migrate(args) => migrate(context, options, args, terminal),
        CliCommand::Status(args) => status(context, options, args, terminal),
        CliCommand::Why(args) => done(why(context, options, args, terminal)),
        CliCommand::Diff(args) => done(diff(context, options, args, terminal)),
        CliCommand::Restore(args) => restore(context, options, args, terminal),
        CliCommand::Adopt(args) => adopt(context, options, args, terminal),
        CliCommand::Disable(args) => {
            toggle(context, options, (args, SkillToggle::Disable), terminal)
        }
        CliCommand::Enable(args) => toggle(context, options, (args, SkillToggle::Enable), terminal),
        // The caller only passes these commands.
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn location(options: &GlobalOptions, manifest: &cli::ManifestArgs) -> ProjectLocation {
    let scope = if manifest.global { SinkScope::Global } else { SinkScope::Project };
    ProjectLocation { scope, root: options.root.clone() }
}

fn add(
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
        location: location(options, &args.change.manifest),
        sources: args.sources.clone(),
        skills,
        agents: args.agent.clone(),
        packs: args.pack.clone(),
        prefix: args.prefix.clone(),
        apply: apply_options(&args.change.plan),
    };
    if args.list {
        let list = sp_engine::list_source_skills(context, &request)?;
        print_list(&list, terminal)?;
        return Ok(ExitCode::SUCCESS);
    }
    let context = &args.consent.apply_to(context);
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

fn sync(
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
        location: location(options, &args.change.manifest),
        policy,
        apply: apply_options(&args.change.plan),
    };
    let context = &args.consent.apply_to(context);
    let report = sp_engine::sync(context, &request)?;
    report::print(context, &report, terminal)
}

fn remove(
    context: &Context<'_>,
    options: &GlobalOptions,
    args: &cli::RemoveArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let request = RemoveRequest {
        location: location(options, &args.change.manifest),
        names: args.names.clone(),
        apply: apply_options(&args.change.plan),
    };
    let report = sp_engine::remove(context, &request)?;
    report::print(context, &report, terminal)
}

fn update(
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
        location: location(options, &args.change.manifest),
        names: args.names.clone(),
        edits,
        texts: if args.diff { FileTexts::Include } else { FileTexts::Omit },
        apply: apply_options(&args.change.plan),
    };
    let context = &args.consent.apply_to(context);
    let report = sp_engine::update(context, &request)?;
    report::print(context, &report, terminal)
}

fn outdated(
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

fn migrate(
    context: &Context<'_>,
    options: &GlobalOptions,
    args: &cli::MigrateArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let location = location(options, &args.change.manifest);
    let request = MigrateRequest { location, apply: apply_options(&args.change.plan) };
    let report = sp_engine::migrate(context, &request)?;
    migrate::print(context, &report, terminal)
}

fn status(
    context: &Context<'_>,
    options: &GlobalOptions,
    args: &cli::StatusArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let report = sp_engine::status(context, &location(options, &args.manifest))?;
    state::print_status(context, &report, terminal)?;
    let fails = args.exit_code && !report.in_sync;
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn why(
    context: &Context<'_>,
    options: &GlobalOptions,
    args: &cli::WhyArgs,
    terminal: &Terminal,
) -> Result<()> {
    let list = sp_engine::why(context, &location(options, &args.manifest), &args.names)?;
    state::print_reasons(&list, terminal)
}

fn diff(
    context: &Context<'_>,
    options: &GlobalOptions,
    args: &cli::DiffArgs,
    terminal: &Terminal,
) -> Result<()> {
    let report = sp_engine::diff_skills(context, &location(options, &args.manifest), &args.names)?;
    state::print_edits(context, &report, terminal)
}

fn restore(
    context: &Context<'_>,
    options: &GlobalOptions,
    args: &cli::RestoreArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    if args.list {
        let list = sp_engine::list_trashed(context, &args.names)?;
        state::print_trashed(context, &list, terminal)?;
        return Ok(ExitCode::SUCCESS);
    }
    let version = match args.trash.as_deref() {
        None => RestoredVersion::Locked,
        Some("") => RestoredVersion::NewestTrashed,
        Some(run) => RestoredVersion::Trashed(run.to_owned()),
    };
    let request = RestoreRequest {
        location: location(options, &args.change.manifest),
        names: args.names.clone(),
        agents: args.agents.agent.clone(),
        version,
        apply: apply_options(&args.change.plan),
    };
    report::print(context, &sp_engine::restore(context, &request)?, terminal)
}

fn toggle(
    context: &Context<'_>,
    options: &GlobalOptions,
    (args, toggle): (&cli::ToggleArgs, SkillToggle),
    terminal: &Terminal,
) -> Result<ExitCode> {
    let request = ToggleRequest {
        location: location(options, &args.change.manifest),
        names: args.names.clone(),
        agents: args.agents.agent.clone(),
        toggle,
        apply: apply_options(&args.change.plan),
    };
    report::print(context, &sp_engine::toggle(context, &request)?, terminal)
}

fn adopt(
    context: &Context<'_>,
    options: &GlobalOptions,
    args: &cli::AdoptArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let request = AdoptRequest {
        location: location(options, &args.change.manifest),
        folders: args.folders.clone(),
        apply: apply_options(&args.change.plan),
    };
    report::print(context, &sp_engine::adopt(context, &request)?, terminal)
}
