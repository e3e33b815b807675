//! Packs that leave a sink because their agent does not read it.
//!
//! The default sink of an agent is not always the directory that it reads: variables move the
//! settings of some agents, and Windsurf never read its default sink. What an earlier operation
//! installed there moves to the directory that the agent reads, with the next change of the pack.

use sp_formats::state::{InstallRecord, InstallState};

use super::plan::{Departure, PlanRequest, SinkTarget};
use crate::agent_set::AgentSet;
use crate::sinks::Sink;

/// Returns the targets of a request, and the former sinks that packs of it leave.
pub(super) fn targets_with_departures(
    state: &InstallState,
    request: &PlanRequest,
) -> Vec<SinkTarget> {
    let mut targets = request.targets.clone();
    for target in &request.targets {
        for former in &target.sink.former {
            let Some(departure) = departure(state, request, target, former) else { continue };
            match targets.iter_mut().find(|known| known.sink.path == former.path) {
                Some(known) => known.departures.push(departure),
                None => targets.push(SinkTarget {
                    uninstall_for: AgentSet::default(),
                    departures: vec![departure],
                    ..SinkTarget::new(former.clone())
                }),
            }
        }
    }
    targets
}

/// Returns what leaves a former sink when a target changes.
fn departure(
    state: &InstallState,
    request: &PlanRequest,
    target: &SinkTarget,
    former: &Sink,
) -> Option<Departure> {
    let is_moved = |install: &InstallRecord| {
        let set = target.set_of_pack(&install.pack);
        set.is_some_and(|set| set.agents.intersects(&former.agents))
    };
    let recorded = state.installs.iter().filter(|install| former.has_install(install));
    let (moved, other): (Vec<&InstallRecord>, Vec<_>) =
        recorded.partition(|install| is_moved(install));
    let removed = other.iter().filter(|install| request.uninstalls(target, install));
    let packs: Vec<String> =
        moved.iter().chain(removed).map(|install| install.pack.clone()).collect();
    let moved_to = (!moved.is_empty()).then(|| target.sink.path.clone());
    (!packs.is_empty()).then(|| Departure { agents: former.agents.clone(), packs, moved_to })
}
