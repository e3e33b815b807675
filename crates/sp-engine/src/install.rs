//! `sp install` and `sp switch`: resolve, plan, apply.

use std::path::PathBuf;

use sp_formats::output::{ChangeReport, KeptFolder};
use sp_formats::state::State;
use sp_tree::transaction::Kept;
use sp_tree::Limits;

use crate::apply::Apply;
use crate::config;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};
use crate::home::{Home, Indexes, read_state};
use crate::plan::{LocalDigests, Others, Plan, Planner, Wanted};
use crate::show::{Chosen, choose};
use crate::sinks::{Sink, SinkRequest, find, refuse_overlap};

pub use crate::plan::Replace;

/// Whether a change is made or only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Make it.
    Apply,
    /// Show it.
    DryRun,
}

/// What is to be installed where.
#[derive(Debug, Clone)]
pub struct InstallRequest {
    /// The packs, by name or path.
    pub packs: Vec<String>,
    /// The sinks.
    pub sinks: Vec<SinkRequest>,
    /// The authoring repository, if it was given.
    pub root: Option<PathBuf>,
    /// Whether all other packs of the sinks go (`sp switch`).
    pub alone: bool,
    /// Whether a pack of the same name from elsewhere may be replaced.
    pub replace: Replace,
    /// Whether it is done.
    pub mode: Mode,
}

/// Installs packs into sinks.
pub fn install(context: &Context<'_>, request: &InstallRequest) -> Result<ChangeReport> {
    let config = config::load(context)?;
    let limits = config::limits(context, &config);
    let sinks = distinct(request.sinks.iter().map(|sink| find(context, &config, sink)).collect::<Result<_>>()?);
    let mut indexes = Indexes::new(context);
    let packs = choose_all(context, &limits, request, &mut indexes)?;
    for (sink, chosen) in sinks.iter().flat_map(|sink| packs.iter().map(move |chosen| (sink, chosen))) {
        refuse_overlap(context, sink, &chosen.authoring.skills_dir())?;
    }
    let wanted = Wanted {
        packs: &packs,
        removed: Vec::new(),
        others: if request.alone { Others::Go } else { Others::Stay },
        replace: request.replace,
    };
    let report = change(context, &limits, &sinks, &wanted, request.mode, &mut indexes)?;
    for sink in &sinks {
        hint_place(context, sink);
    }
    Ok(report)
}

fn choose_all(context: &Context<'_>, limits: &Limits, request: &InstallRequest, indexes: &mut Indexes<'_>) -> Result<Vec<Chosen>> {
    let mut packs: Vec<Chosen> = Vec::new();
    for named in &request.packs {
        let chosen = choose(context, limits, request.root.as_deref(), named, Some(indexes))?;
        if packs.iter().any(|other| other.file.pack.name == chosen.file.pack.name) {
            return Err(Error::new(Kind::Usage, format!("the pack `{}` is named twice", chosen.file.pack.name)).hint("name it once"));
        }
        packs.push(chosen);
    }
    Ok(packs)
}

/// Plans a change of sinks and, unless it is a dry run, makes it.
pub(crate) fn change(
    context: &Context<'_>,
    limits: &Limits,
    sinks: &[Sink],
    wanted: &Wanted<'_>,
    mode: Mode,
    indexes: &mut Indexes<'_>,
) -> Result<ChangeReport> {
    // A dry run on a machine without a home makes none.
    let home = match mode {
        Mode::DryRun if !context.home.exists() => None,
        _ => Some(Home::open(context, limits)?),
    };
    let state = match &home {
        Some(home) => home.state()?,
        None => read_state(context)?,
    };
    let plan = plan(context, limits, &state, sinks, wanted, indexes)?;
    let mut report = ChangeReport {
        applied: mode == Mode::Apply,
        sinks: plan.sinks.iter().map(|sink| sink.describe(wanted.packs)).collect(),
    };
    if let (Mode::Apply, Some(home)) = (mode, &home) {
        let apply = Apply { context, limits, home, packs: wanted.packs };
        let kept = apply.apply(state, &plan, indexes)?;
        for (sink, kept) in report.sinks.iter_mut().zip(kept) {
            sink.kept = kept.into_iter().map(kept_folder).collect();
        }
    }
    Ok(report)
}

fn plan(
    context: &Context<'_>,
    limits: &Limits,
    state: &State,
    sinks: &[Sink],
    wanted: &Wanted<'_>,
    indexes: &mut Indexes<'_>,
) -> Result<Plan> {
    let digests = LocalDigests::find(context, limits, state, wanted.packs, sinks, indexes)?;
    let planner = Planner { context, limits, state, wanted, digests: &digests };
    let sinks: Result<Vec<_>> = sinks
        .iter()
        .map(|sink| planner.plan(sink, indexes.of(&sink.path)))
        .collect();
    Ok(Plan { sinks: sinks? })
}

fn kept_folder(kept: Kept) -> KeptFolder {
    let folder = kept.from.file_name().unwrap_or_default().to_string_lossy().into_owned();
    KeptFolder { folder, kept_at: kept.to }
}

/// Two names for one directory are one sink.
pub(crate) fn distinct(sinks: Vec<Sink>) -> Vec<Sink> {
    let mut seen = std::collections::HashSet::new();
    sinks.into_iter().filter(|sink| seen.insert(sink.path.clone())).collect()
}

fn hint_place(context: &Context<'_>, sink: &Sink) {
    if let Some(reads) = &sink.reads {
        let (name, reads) = (&sink.name, context.show(reads));
        context.tell(Event::Hint(format!(
            "on this machine {} reads `{reads}`; to install there, put `sinks: {{{name}: {reads}}}` into `{}`",
            sink.agent.map_or(name.as_str(), |agent| agent.name),
            context.show(&context.home.join("config.yaml")),
        )));
    }
}
