//! `sp install` and `sp switch`: select, plan, apply.
//!
//! ```text
//! selection     pack names × repository × imports → skill sets (skill_set)
//! change        skill sets × sinks × state → plan → applied
//! departures    packs that leave sinks that their agent does not read
//! sink_planner  skill set × sink × state → what happens to each folder
//! plan          all of it as a value, with an ID (plan_id)
//! apply         plan → new folders (stage) → one transaction → new state (records)
//! ```
//!
//! Planning reads the sinks and changes nothing. Applying stages every new folder first, then swaps
//! all folders of all sinks in one transaction, so an interrupted run leaves either the old or the
//! new content. A folder is replaced or removed only if the state records that `sp` installed it.
//!
//! Other operations change files through the same transaction: see [`change::ChangeExecutor`].

pub(crate) mod accepted_findings;
mod apply;
pub(crate) mod change;
mod departures;
mod local_digests;
pub(crate) mod plan;
mod plan_id;
mod records;
pub(crate) mod selection;
mod sink_planner;
pub(crate) mod skill_set;
mod stage;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use sp_formats::output::PackChangeReport;
use sp_formats::state::{InstallRecord, InstallState};

use crate::apply_mode::ApplyMode;
use crate::context::{Context, Event};
use crate::error::Result;
use crate::home::{DigestIndexes, LockedHome};
use crate::plan_id::{ApplyOptions, PlanId};
use crate::session::Session;
use crate::sinks::{Sink, SinkRequest, refuse_repository_overlap, resolve_sinks};
use accepted_findings::plan_accepted_findings;
use change::ChangeExecutor;
use plan::{OtherPacks, PlanRequest, ReplacePolicy, SinkTarget};
use selection::resolve_packs;
use skill_set::SkillSet;

/// Which packs to install, and where.
#[derive(Debug, Clone)]
pub struct InstallRequest {
    /// Pack names or paths of pack files.
    pub packs: Vec<String>,
    pub sinks: Vec<SinkRequest>,
    /// The repository given with `--root`. By default, the nearest one upward.
    pub root: Option<PathBuf>,
    pub other_packs: OtherPacks,
    pub replace: ReplacePolicy,
    pub mode: ApplyMode,
    /// The plan ID of an earlier dry run. If set, any other plan is refused.
    pub expected_plan: Option<PlanId>,
}

/// Installs packs into sinks.
pub fn install(context: &Context<'_>, request: &InstallRequest) -> Result<PackChangeReport> {
    let session = Session::begin(context)?;
    let sinks = resolve_sinks(&session, &request.sinks)?;
    let mut indexes = DigestIndexes::new(context);
    let packs = resolve_packs(&session, request.root.as_deref(), &request.packs, &mut indexes)?;
    for sink in &sinks {
        packs
            .iter()
            .try_for_each(|pack| refuse_repository_overlap(context, sink, &pack.repository))?;
    }
    let project = packs
        .first()
        .map_or_else(|| context.current_dir.clone(), |pack| pack.repository.root.clone());
    let sets: Vec<Arc<SkillSet>> = packs.into_iter().map(|pack| Arc::new(pack.into())).collect();
    let plan_request = PlanRequest {
        targets: SinkTarget::all(&sinks, &sets),
        removed_packs: Vec::new(),
        other_packs: request.other_packs,
        replace: request.replace,
    };

    let home = LockedHome::open_unless_missing(context, &session.limits, request.mode)?;
    let options = ApplyOptions { mode: request.mode, expected_plan: request.expected_plan };
    let change = ChangeExecutor { session: &session, home: home.as_ref(), options };
    let state = change.state()?;
    let left_behind = packs_left_behind(&state, &plan_request);
    let accepted = plan_accepted_findings(&session, request.root.as_deref(), &project)?;
    let mut plan =
        change.plan(state, &plan_request, accepted.into_iter().collect(), &mut indexes)?;
    plan.acceptance.root.clone_from(&request.root);
    let outcome = change.run(plan, &mut indexes)?;
    for (former, packs) in left_behind {
        hint_left_behind(context, former, &packs);
    }
    Ok(outcome.report)
}

/// Returns the packs that stay in a directory that their agent does not read.
fn packs_left_behind<'r>(
    state: &InstallState,
    request: &'r PlanRequest,
) -> Vec<(&'r Sink, Vec<String>)> {
    let former_sinks = |target: &'r SinkTarget| {
        target.sink.former.iter().map(move |former| {
            let stays = |install: &&InstallRecord| {
                former.has_install(install)
                    && !target.has_pack(&install.pack)
                    && !request.uninstalls(target, install)
                    && install.source.package().is_none()
            };
            let packs = state.installs.iter().filter(stays).map(|install| install.pack.clone());
            (former, packs.collect())
        })
    };
    request.targets.iter().flat_map(former_sinks).collect()
}

fn hint_left_behind(context: &Context<'_>, former: &Sink, packs: &[String]) {
    if packs.is_empty() {
        return;
    }
    let verb = if packs.len() == 1 { "is" } else { "are" };
    let pronoun = if packs.len() == 1 { "it" } else { "them" };
    context.emit(Event::Hint(format!(
        "`{}` {verb} still in `{}`, which {} does not read; run `sp install {} --agent {}` to \
         move {pronoun}",
        packs.join("`, `"),
        context.display_path(&former.path),
        former.agents.display_names(),
        packs.join(" "),
        former.agents.first()
    )));
}
